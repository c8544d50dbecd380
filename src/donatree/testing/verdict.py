"""An account held against a demand."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from donatree import policy
from donatree.ledger import Account, Entry, Finding, Ledger
from donatree.policy import pattern
from donatree.testing.demand import MARKER, Demand


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of a demand.

    Attributes:
        demand: what was demanded.
        below: the ledgers that do not meet it, those with the most lost bytes first.
        missing: patterns of functions of which none donated anything.
        nothing: whether nothing at all was donated.
        seen: names of the functions that donated.
        findings: about the program as a whole, which may say why nothing was donated.
        unmatched: ignores of the marker that matched nothing.
    """

    demand: Demand
    below: tuple[Ledger, ...] = ()
    missing: tuple[str, ...] = ()
    nothing: bool = False
    seen: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    unmatched: tuple[str, ...] = ()

    @property
    def failed(self) -> bool:
        """Whether the demand is not met, or there was nothing that could meet it."""
        return bool(self.below or self.missing or self.nothing)


def judge(account: Account, demand: Demand, settings: policy.Settings) -> Verdict:
    """Holds an account against a demand, each function and signature by itself.

    Args:
        account: what was learnt.
        demand: what is demanded.
        settings: the project's configuration, whose ignores and functions count here as well.

    Returns:
        The verdict. With `minimum` 0 nothing fails, but a function that was named and donated
        nothing.
    """
    account = policy.applied(
        account, dataclasses.replace(settings, ignore=(*settings.ignore, *demand.ignore))
    )
    donating = [ledger for ledger in account.ledgers if ledger.entries]
    wanted = [ledger for ledger in account.ledgers if _is_wanted(ledger, demand)]
    missing = tuple(
        each
        for each in demand.functions
        if not any(pattern.function_matches(each, one.function, one.location) for one in donating)
    )
    strict = demand.minimum > 0
    below = [ledger for ledger in wanted if strict and is_below(ledger, demand.minimum)]
    return Verdict(
        demand,
        tuple(sorted(below, key=lambda each: -sum(entry.bytes for entry in lost(each)))),
        missing if donating else (),
        strict and not below and not donating,
        tuple(dict.fromkeys(ledger.function for ledger in donating)),
        tuple(each for each in account.findings if each.level != "note" and not each.ignored),
        tuple(each for each in account.unmatched if each.startswith(MARKER)),
    )


def _is_wanted(ledger: Ledger, demand: Demand) -> bool:
    return not demand.functions or any(
        pattern.function_matches(each, ledger.function, ledger.location)
        for each in demand.functions
    )


def is_below(ledger: Ledger, minimum: float) -> bool:
    """Whether a ledger keeps less than a fraction of its bytes, losses that are ignored aside.

    Where all is demanded, an error that lost no byte counts as well, as it does for `require`.
    """
    if Account(ledgers=(ledger,)).judged_fraction < minimum:
        return True
    return bool(lost(ledger) or errors(ledger)) if minimum >= 1 else False


def lost(ledger: Ledger) -> list[Entry]:
    """The lost leaves whose loss nobody ignores."""
    accepted = ledger.accepted
    return [entry for entry in ledger.lost if entry.path not in accepted]


def errors(ledger: Ledger) -> list[Finding]:
    """The errors that nobody ignores."""
    return [each for each in ledger.findings if each.level == "error" and not each.ignored]
