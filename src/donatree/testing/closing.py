"""The end of a watched suite: the configuration applied, and the percentage judged."""

from __future__ import annotations

import dataclasses

from donatree import policy
from donatree.ledger import Account
from donatree.testing.demand import percent
from donatree.testing.part import Part, key_of
from donatree.testing.table import Line


def applied(part: Part, settings: policy.Settings) -> Part:
    """A part with the configuration applied; each ledger says in which test it was first met.

    Args:
        part: what `merged` gave.
        settings: the project's configuration.
    """
    rows = list(zip(part.account.ledgers, part.first, strict=True))
    tests = {key_of(ledger): test for ledger, test in rows}
    noted = (
        dataclasses.replace(ledger, notes=(*ledger.notes, f"first met in {test.name}"))
        for ledger, test in rows
    )
    account = dataclasses.replace(part.account, ledgers=tuple(noted))
    account = policy.applied(account, settings)
    return Part(account, tuple(tests[key_of(ledger)] for ledger in account.ledgers))


def judged(account: Account, percentage: float | None) -> tuple[Line | None, bool]:
    """The last line of the report, and whether the suite is to fail.

    Args:
        account: of the whole suite, with the configuration applied.
        percentage: of the promised bytes that must be reused; None where none is demanded.

    Returns:
        No line where nothing is demanded. A suite that donates nothing fails for a percentage
        above 0.
    """
    if percentage is None:
        return None, False
    asked = f"--donation-fail-under {percentage:g}"
    if not any(ledger.entries for ledger in account.ledgers):
        failed = percentage > 0
        words = "there is nothing to judge" if failed else "nothing was asked"
        return (f"{asked}: nothing was donated, so {words}", "red" if failed else ""), failed
    share = account.judged_fraction
    failed = share * 100 < percentage
    word = "not reached" if failed else "reached"
    line = f"{asked} is {word}: {percent(share)} of the promised bytes are reused"
    return (line, "red" if failed else "green"), failed
