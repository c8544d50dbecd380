"""Several accounts become one.

The processes of a program mostly compile the same functions, so their ledgers are mostly the
same. Those that are become one; where two differ in a leaf, the worst verdict stands and its
evidence names the process; what only some processes have is kept and says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from donatree.ledger import GATES, Account, Entry, Fault, Finding, Ledger, Process
from donatree.reports.processes import named


def merge(parts: Sequence[tuple[Process, Account | None]]) -> Account:
    """One account of all processes.

    Args:
        parts: each process with its account, None where it left none; in the order of their
            indexes. Where they have different versions or names of the program, the first counts.

    Returns:
        The account; its `processes` are those of `parts`, without their numbers.

    Raises:
        ValueError: no process has an account.

    Example:
        >>> one, two = Process(0, 2, status="ended"), Process(1, 2, status="ended")
        >>> [each.index for each in merge([(one, Account()), (two, Account())]).processes]
        [0, 1]
    """
    accounts = {process.index: account for process, account in parts if account is not None}
    if not accounts:
        raise ValueError("no process has an account")
    count = max(process.count for process, _ in parts)
    # A process that died or is still at work may have been about to learn the same.
    whole = {process.index for process, _ in parts if process.status == "ended"} & {*accounts}
    only = _Only(count, frozenset(whole))
    first = next(iter(accounts.values()))
    return replace(
        first,
        ledgers=tuple(_ledgers({i: each.ledgers for i, each in accounts.items()}, only)),
        findings=_findings({i: each.findings for i, each in accounts.items()}, only),
        faults=_faults({i: each.faults for i, each in accounts.items()}, count),
        ended=_ended(accounts),
        platform=next((each.platform for each in accounts.values() if each.platform), None),
        processes=tuple(replace(process, pid=None) for process, _ in parts),
    )


@dataclass(frozen=True, slots=True)
class _Only:
    """Says which processes have something, where others that came to their end have it not."""

    count: int
    whole: frozenset[int]

    def notes(self, having: Iterable[int], among: Iterable[int] | None = None) -> tuple[str, ...]:
        there = frozenset(having)
        expected = self.whole if among is None else self.whole.intersection(among)
        return () if expected <= there else (f"only in {named(there, self.count)}",)


def _ended(accounts: Mapping[int, Account]) -> str | None:
    for index, account in accounts.items():
        if account.ended:
            return account.ended if index == 0 else f"{account.ended} in process {index}"
    return None


def _faults(faults: Mapping[int, tuple[Fault, ...]], count: int) -> tuple[Fault, ...]:
    having: dict[Fault, list[int]] = {}
    for index, each in faults.items():
        for fault in dict.fromkeys(each):
            having.setdefault(fault, []).append(index)
    return tuple(
        replace(fault, where=f"{fault.where}, {named(indexes, count)}")
        for fault, indexes in having.items()
    )


def _findings(findings: Mapping[int, tuple[Finding, ...]], only: _Only) -> tuple[Finding, ...]:
    """Each finding once, though its notes may differ from process to process."""
    having: dict[object, dict[int, Finding]] = {}
    for index, each in findings.items():
        for finding in each:
            key = (finding.code, finding.headline, finding.leaves, finding.location)
            having.setdefault(key, {}).setdefault(index, finding)
    merged: list[Finding] = []
    for alike in having.values():
        finding = next(iter(alike.values()))
        merged.append(replace(finding, notes=finding.notes + only.notes(alike, findings)))
    return tuple(merged)


def _ledgers(ledgers: Mapping[int, tuple[Ledger, ...]], only: _Only) -> Iterator[Ledger]:
    """In the order of the first process's compiles, then what the next ones have beside."""
    groups: dict[object, dict[int, list[Ledger]]] = {}
    for index, each in ledgers.items():
        for ledger in each:
            key = (ledger.function, ledger.location, ledger.signature)
            groups.setdefault(key, {}).setdefault(index, []).append(ledger)
    for group in groups.values():
        for alike in _rows(group):
            yield _one(alike, only)


def _rows(group: Mapping[int, list[Ledger]]) -> list[dict[int, Ledger]]:
    """Which ledger of one process is which of another; all are of one function and signature.

    A process has several of them where the function was jitted several times with different
    outcomes. Those with the same outcome belong together, then those with the same leaves.
    """
    rows: list[dict[int, Ledger]] = []
    for index, ledgers in group.items():
        for view in (_verdicts, _leaves):
            rest: list[Ledger] = []
            for ledger in ledgers:
                seen = view(ledger)
                row = next(
                    (r for r in rows if index not in r and seen in map(view, r.values())), None
                )
                if row is None:
                    rest.append(ledger)
                else:
                    row[index] = ledger
            ledgers = rest
        rows += [{index: ledger} for ledger in ledgers]
    return rows


def _leaves(ledger: Ledger) -> list[object]:
    return [(entry.path, entry.leaf.spec.aval) for entry in ledger.entries]


def _verdicts(ledger: Ledger) -> list[object]:
    return [(entry.path, entry.leaf.spec.aval, entry.stopped_at) for entry in ledger.entries]


def _one(alike: Mapping[int, Ledger], only: _Only) -> Ledger:
    first = next(iter(alike.values()))
    notes = list(dict.fromkeys(note for ledger in alike.values() for note in ledger.notes))
    checked = tuple(gate for gate in GATES if any(gate in each.checked for each in alike.values()))
    for gate in checked:
        without = [index for index, ledger in alike.items() if gate not in ledger.checked]
        if without:
            notes.append(f"gate {gate.label} was not checked in {named(without, only.count)}")
    findings = _findings({i: ledger.findings for i, ledger in alike.items()}, only)
    if len(findings) > len(first.findings):
        findings = tuple(sorted(findings, key=lambda finding: -finding.bytes))
    rows = zip(*(ledger.entries for ledger in alike.values()), strict=True)
    # XLA's totals are read at a program's end, which a process that died never came to.
    totals = next((x for x in alike.values() if x.live is not None), first)
    return replace(
        first,
        entries=tuple(_worst(dict(zip(alike, row, strict=True))) for row in rows),
        findings=findings,
        checked=checked,
        live=totals.live,
        undonated=totals.undonated,
        alias_not_donated_bytes=totals.alias_not_donated_bytes,
        notes=(*notes, *only.notes(alike)),
    )


def _worst(entries: Mapping[int, Entry]) -> Entry:
    """The entry that was lost at the earliest gate, with the process that says so."""
    lost = {index: entry.stopped_at for index, entry in entries.items() if entry.stopped_at}
    if len({entry.stopped_at for entry in entries.values()}) == 1:
        return next(iter(entries.values()))
    index, gate = min(lost.items(), key=lambda each: each[1].position)
    worst = entries[index]
    said = worst.evidence.get(gate.value, f"stopped at gate {gate.label}")
    return replace(worst, evidence={**worst.evidence, gate.value: f"process {index}: {said}"})
