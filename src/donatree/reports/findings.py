"""The findings of an account, each shown once, in the order in which a reader needs them."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from donatree.ledger import Account, Finding, Ledger
from donatree.reports import diagnostic, fixes, group, made_copies
from donatree.reports.group import Group
from donatree.reports.hardware import listed, name_of
from donatree.reports.text import Line, Marks


@dataclass(frozen=True, slots=True)
class Shown:
    """A finding with the functions in whose ledgers it stands.

    Attributes:
        finding: the finding.
        functions: their names; ``step (2 signatures)`` where it stands in two programs of one
            function; empty for a finding about the program.
        ledgers: those ledgers.
    """

    finding: Finding
    functions: tuple[str, ...]
    ledgers: tuple[Ledger, ...] = ()


@dataclass(frozen=True, slots=True)
class _Found:
    """A finding of one ledger; ``group`` is the number of the program that the ledger is of."""

    finding: Finding
    group: int | None = None
    ledger: Ledger | None = None


def ranked(account: Account, *, ignored: bool = False) -> list[Shown]:
    """The findings to be told, those about the same leaves together: most bytes first, notes last.

    Args:
        account: what was learnt of a program.
        ignored: those that are ignored instead.

    Returns:
        The findings; those of equal bytes by level, then code, then as they came.
    """
    groups = group.groups(account.ledgers)
    found: dict[object, list[_Found]] = {}
    for each in _all(account, groups):
        finding = each.finding
        if (finding.ignored is not None) != ignored:
            continue
        place = finding.location if finding.labels else None  # what is told of two places is two
        about = frozenset(finding.leaves) or finding.headline
        key = (finding.code, finding.level, about, place, each.ledger and each.ledger.function)
        same = next((k for k, those in found.items() if _holds(those, finding)), key)
        found.setdefault(same, []).append(each)
    shown = [
        Shown(
            _one(those, groups),
            tuple(_names(those)),
            tuple(each.ledger for each in those if each.ledger),
        )
        for those in found.values()
    ]
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


def _all(account: Account, groups: Sequence[Group]) -> Iterator[_Found]:
    for finding in account.findings:
        yield _Found(finding)
    number_of = {id(ledger): n for n, one in enumerate(groups) for ledger in one.ledgers}
    for ledger in account.ledgers:
        for finding in ledger.findings:
            yield _Found(finding, number_of[id(ledger)], ledger)


def _holds(those: Sequence[_Found], finding: Finding) -> bool:
    return any(each.finding == finding for each in those)


def _one(those: Sequence[_Found], groups: Sequence[Group]) -> Finding:
    """The finding that is shown for all: the one with the most bytes, and what it leaves unsaid."""
    largest = max((each.finding for each in those), key=lambda finding: finding.bytes)
    notes: list[str] = []
    if not all(each.finding == largest for each in those):
        sizes = {each.group: 0 for each in those}
        for each in those:
            sizes[each.group] = max(sizes[each.group], each.finding.bytes)
        if len(those) > len(set(sizes)):
            notes += _by_target(those, largest)
        if len(sizes) > 1:
            total = sum(sizes.values())
            notes.append(
                f"the largest of {len(sizes):,} signatures is shown; together {total:,} bytes"
            )
    notes += dict.fromkeys(_only(those, groups))
    return dataclasses.replace(largest, notes=(*largest.notes, *notes)) if notes else largest


def _by_target(those: Sequence[_Found], shown: Finding) -> Iterator[str]:
    """Whose facts are shown where they differ; the bytes of each target where these differ."""
    first = next(each.ledger for each in those if each.finding is shown)
    if first is not None and any(each.finding.notes != shown.notes for each in those):
        yield f"these facts are those of {name_of(first)}"
    found: dict[str, int] = {}
    for each in those:
        if each.ledger is not None:
            name = name_of(each.ledger)
            found[name] = max(found.get(name, 0), each.finding.bytes)
    if len(set(found.values())) > 1:
        told = (f"{size:,} bytes on {name}" for name, size in found.items())
        yield f"{listed(list(told))}, each as its target lays them out"


def _only(those: Sequence[_Found], groups: Sequence[Group]) -> Iterator[str]:
    """That no other target makes a copy, where that is so of each program that has the finding."""
    for number in dict.fromkeys(each.group for each in those):
        if number is None:
            continue
        makers = [each.ledger for each in those if each.group == number and each.ledger]
        mine = set(map(id, makers))
        others = [each for each in groups[number].ledgers if id(each) not in mine]
        note = made_copies.only(those[0].finding, makers, others)
        if note:
            yield note


def _names(those: Sequence[_Found]) -> Iterator[str]:
    programs = {(each.ledger.function, each.group): 0 for each in those if each.ledger}
    for name, number in Counter(function for function, _ in programs).items():
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
        where there is more than one program, the targets where there is more than one of them.
    """
    for shown, functions, targets in told(account):
        tried = partial(_tried, shown, width, evidence)
        yield list(diagnostic.lines(shown.finding, marks, width, functions, tried, targets))


def told(
    account: Account, *, ignored: bool = False
) -> Iterator[tuple[Shown, tuple[str, ...], str | None]]:
    """The findings as ``ranked`` gives them, each with what a reader could not tell.

    Args:
        account: what was learnt of a program.
        ignored: those that are ignored instead.

    Yields:
        The finding; its functions, empty where there is only one program; the targets on which it
        was found, None where there is only one.
    """
    several = len(group.groups(account.ledgers)) > 1
    names = group.targets(account.ledgers)
    for shown in ranked(account, ignored=ignored):
        functions = shown.functions if several else ()
        targets = _on(group.targets(shown.ledgers), names) if len(names) > 1 else None
        yield shown, functions, targets


def _on(found: Sequence[str], names: Sequence[str]) -> str | None:
    """The targets on which something was found, of all that there are; None for none."""
    if not found:
        return None
    if set(found) == set(names):
        which = "both" if len(names) == 2 else f"all {len(names):,}"
        return f"{which} targets: {', '.join(names)}"
    return f"{', '.join(found)} only" if len(found) == 1 else ", ".join(found)


def _tried(shown: Shown, width: int, evidence: bool, gutter: int) -> Iterator[Line]:
    found = fixes.of_finding((fix for each in shown.ledgers for fix in each.fixes), shown.finding)
    devices = max((each.devices for each in shown.ledgers), default=1)
    yield from fixes.lines(found, devices, width, gutter, evidence=evidence)
