"""The findings of an account, each shown once, in the order in which a reader needs them."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from donatree.ledger import Account, Finding
from donatree.reports import diagnostic, fixes
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
    """All findings, those about the same leaves together: most bytes first, notes last.

    Args:
        account: what was learnt of a program.

    Returns:
        The findings; those of equal bytes by level, then code, then as they came.
    """
    groups: dict[object, list[Finding]] = {}
    names: dict[object, Counter[str]] = {}
    for function, finding in _all(account):
        place = finding.location if finding.labels else None  # what is told of two places is two
        about = finding.leaves or finding.headline
        key = (finding.code, finding.level, about, place, function)
        same = next((k for k, group in groups.items() if finding in group), key)
        groups.setdefault(same, []).append(finding)
        names.setdefault(same, Counter()).update([function] if function else [])
    shown = [Shown(_largest(group), tuple(_names(names[key]))) for key, group in groups.items()]
    levels = ("error", "warning", "note")
    return sorted(
        shown,
        key=lambda s: (
            s.finding.level == "note",
            -s.finding.bytes,
            levels.index(s.finding.level),
            s.finding.code,
        ),
    )


def _all(account: Account) -> Iterator[tuple[str | None, Finding]]:
    for finding in account.findings:
        yield None, finding
    for ledger in account.ledgers:
        for finding in ledger.findings:
            yield ledger.function, finding


def _largest(group: Sequence[Finding]) -> Finding:
    """One finding for the same leaves in several signatures: the one with the most bytes."""
    largest = max(group, key=lambda finding: finding.bytes)
    if all(finding == largest for finding in group):
        return largest
    total = sum(finding.bytes for finding in group)
    note = f"the largest of {len(group):,} signatures is shown; together {total:,} bytes"
    return dataclasses.replace(largest, notes=(*largest.notes, note))


def _names(counted: Counter[str]) -> Iterator[str]:
    for name, number in counted.items():
        yield f"{name} ({number:,} signatures)" if number > 1 else name


def sections(
    account: Account, marks: Marks, width: int, evidence: bool = False
) -> Iterator[list[Line]]:
    """The lines of each finding.

    Args:
        account: what was learnt of a program.
        marks: the signs to use.
        width: columns.
        evidence: whether to tell of fixes that were tried and did not hold as well.

    Yields:
        One list of lines a finding, with the fixes that were tried for it. The functions are named
        where there is more than one ledger.
    """
    several = len(account.ledgers) > 1
    for shown in ranked(account):
        functions = shown.functions if several else ()
        tried = partial(_tried, account, shown.finding, width, evidence)
        yield list(diagnostic.lines(shown.finding, marks, width, functions, tried))


def _tried(
    account: Account, finding: Finding, width: int, evidence: bool, gutter: int
) -> Iterator[Line]:
    ledgers = [ledger for ledger in account.ledgers if finding in ledger.findings]
    found = fixes.of_finding((fix for each in ledgers for fix in each.fixes), finding)
    devices = max((each.devices for each in ledgers), default=1)
    yield from fixes.lines(found, devices, width, gutter, evidence=evidence)
