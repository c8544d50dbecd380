"""The findings of an account, each shown once, in the order in which a reader needs them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from donatree.ledger import Account, Finding
from donatree.reports import diagnostic
from donatree.reports.text import Line, Marks


@dataclass(frozen=True, slots=True)
class Shown:
    """A finding with the functions in whose ledgers it stands.

    Attributes:
        finding: the finding.
        functions: their names; ``step (2 signatures)`` where it stands in two ledgers of one
            function; empty for a finding about the program.
    """

    finding: Finding
    functions: tuple[str, ...]


def ranked(account: Account) -> list[Shown]:
    """All findings, equal ones together: most bytes first, those that cost nothing last.

    Args:
        account: what was learnt of a program.

    Returns:
        The findings; those of equal bytes by level, then code, then as they came.
    """
    where: dict[Finding, Counter[str]] = {finding: Counter() for finding in account.findings}
    for ledger in account.ledgers:
        for finding in ledger.findings:
            where.setdefault(finding, Counter())[ledger.function] += 1
    levels = ("error", "warning", "note")
    order = sorted(
        where, key=lambda f: (f.level == "note", -f.bytes, levels.index(f.level), f.code)
    )
    return [Shown(finding, tuple(_names(where[finding]))) for finding in order]


def _names(counted: Counter[str]) -> Iterator[str]:
    for name, number in counted.items():
        yield f"{name} ({number:,} signatures)" if number > 1 else name


def sections(account: Account, marks: Marks, width: int) -> Iterator[list[Line]]:
    """The lines of each finding.

    Args:
        account: what was learnt of a program.
        marks: the signs to use.
        width: columns.

    Yields:
        One list of lines a finding. The functions are named where there is more than one ledger.
    """
    several = len(account.ledgers) > 1
    for shown in ranked(account):
        functions = shown.functions if several else ()
        yield list(diagnostic.lines(shown.finding, marks, width, functions))
