"""What one process of a test run learnt, and the parts of several processes put together."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from donatree.ledger import SCHEMA_VERSION, Account, Gate, Ledger
from donatree.reports import decode

BEFORE = "(before the first test)"


class Test(NamedTuple):
    """A test: its place in the order of collection, and its id. The smallest came first."""

    order: int
    name: str


Test.__test__ = False  # type: ignore[attr-defined] # pytest takes a class of this name for a test


@dataclass(frozen=True, slots=True)
class Part:
    """What one process learnt.

    Attributes:
        account: its account.
        first: for each ledger of it the test in which its function was first met.
    """

    account: Account
    first: tuple[Test, ...]

    def dumps(self) -> str:
        """The part as JSON, for the process that reports."""
        return json.dumps({"account": self.account.to_dict(), "first": self.first})

    @classmethod
    def loads(cls, text: str) -> Part:
        """What `dumps` wrote.

        Raises:
            ValueError: it is no such text.
        """
        data = json.loads(text)
        account = decode.account(data["account"], SCHEMA_VERSION)
        return cls(account, tuple(Test(order, name) for order, name in data["first"]))


def merged(parts: Sequence[Part]) -> Part:
    """The parts of several processes as one: a program that several compiled counts once.

    Programs are the same where function, place, signature and the fate of each leaf up to gate
    granted are. Of the same ones that is kept which lost the most, and the first of the tests.

    Args:
        parts: at least one; their order does not matter, but for the versions.

    Returns:
        One part, its ledgers in the order of their tests.

    Example:
        >>> step = Ledger("step", "(x)", (), ())
        >>> parts = [Part(Account(ledgers=(step,)), (Test(n, f"test_{n}"),)) for n in (2, 1)]
        >>> merged(parts).first
        (Test(order=1, name='test_1'),)
    """
    found: dict[object, tuple[Test, Ledger]] = {}
    for part in parts:
        for ledger, test in zip(part.account.ledgers, part.first, strict=True):
            key = key_of(ledger)
            first, worst = found.get(key, (test, ledger))
            found[key] = min(first, test), min(worst, ledger, key=_order)
    rows = sorted(found.values(), key=lambda row: (row[0], _text(row[1])))
    accounts = [part.account for part in parts]
    account = dataclasses.replace(
        accounts[0],
        ledgers=tuple(ledger for _, ledger in rows),
        findings=_each_once(one for each in accounts for one in each.findings),
        faults=_each_once(one for each in accounts for one in each.faults),
        versions=next((each.versions for each in accounts if "jax" in each.versions), {})
        or accounts[0].versions,
        platform=next((each.platform for each in accounts if each.platform), None),
    )
    return Part(account, tuple(test for test, _ in rows))


def key_of(ledger: Ledger) -> object:
    """What tells two ledgers of one `merged` part apart."""
    fate = tuple((entry.path, entry.passed(Gate.GRANTED)) for entry in ledger.entries)
    where = ledger.location or ledger.call
    return ledger.function, where and str(where), ledger.signature, ledger.platform, fate


def _order(ledger: Ledger) -> tuple[int, int]:
    """The one that lost the most is the smallest, then the one of which most was checked."""
    return ledger.kept_in_place, -len(ledger.checked)


def _text(ledger: Ledger) -> str:
    return f"{ledger.function} {ledger.signature} {ledger.location}"


def _each_once(records: Iterable[Any]) -> tuple[Any, ...]:
    kept: list[Any] = []
    for each in records:
        if each not in kept:
            kept.append(each)
    return tuple(kept)
