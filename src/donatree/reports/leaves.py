"""The leaves of one program on several targets, joined by path and folded as one tree."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from donatree.ledger import Entry, Gate, Leaf, Ledger
from donatree.reports import folding, standing
from donatree.reports.folding import Row
from donatree.reports.group import Group
from donatree.reports.standing import Standing

_MAX_ROWS = 20  # fewer than in the tree of one target: what differs is to be seen at once


@dataclass(frozen=True, slots=True)
class Leaves:
    """The leaves that any of the targets was promised.

    Attributes:
        entries: one for each; what became of it on all targets is told by ``standings``.
        standings: for each of ``entries`` what became of it on each target.
        found: for each of ``entries`` its own entry on each target, None where it has none.
        per_device: whether the entries' bytes are those of one device; else the targets have
            other bytes each and these are of the whole array.
    """

    entries: tuple[Entry, ...]
    standings: tuple[tuple[Standing, ...], ...]
    found: tuple[tuple[Entry | None, ...], ...]
    per_device: bool

    def rows(self, *, expand: bool = False) -> list[Row]:
        """The rows of the tree: folded where the leaves fared alike on every target."""
        ledger = Ledger("", "", (), self.entries)
        return folding.rows(ledger, expand=expand, budget=_MAX_ROWS)

    def of_row(self, row: Row) -> list[tuple[Standing, ...]]:
        """What became of the leaves of a row: for each of them, on each target."""
        entries = row.view.entries() if row.view else row.rest
        return [self.standings[entry.leaf.flat_index] for entry in entries]


def join(group: Group) -> Leaves:
    """The leaves of all ledgers of a group, those of the first one first.

    A leaf is known by its path; of a path that comes twice the first goes with the first.
    """
    found: dict[tuple[str, int], list[Entry | None]] = {}
    for number, ledger in enumerate(group.ledgers):
        seen: dict[str, int] = {}
        for entry in ledger.entries:
            place = entry.path, seen.get(entry.path, 0)
            seen[entry.path] = place[1] + 1
            found.setdefault(place, [None] * len(group.ledgers))[number] = entry
    per_device = all(len({each.bytes for each in row if each}) == 1 for row in found.values())
    standings = [
        tuple(
            standing.of(ledger, entry) if entry else standing.ABSENT
            for ledger, entry in zip(group.ledgers, row, strict=True)
        )
        for row in found.values()
    ]
    entries = [
        _entry(number, [each for each in row if each], fared, per_device)
        for number, (row, fared) in enumerate(zip(found.values(), standings, strict=True))
    ]
    own = tuple(map(tuple, found.values()))
    return Leaves(tuple(entries), tuple(standings), own, per_device)


def _entry(
    number: int, entries: Sequence[Entry], fared: Sequence[Standing], per_device: bool
) -> Entry:
    """An entry for folding: lost where any target lost it, alike where all targets agree."""
    first = entries[0].leaf
    spec = first.spec
    if not per_device:
        whole = max(entry.leaf.spec.global_bytes for entry in entries)
        spec = dataclasses.replace(spec, bytes=whole, global_bytes=whole)
    plain = all(each.state == "kept" and not each.code for each in fared)
    told = None if plain else "|".join(f"{each.words} {each.code or ''}" for each in fared)
    gates: list[Gate] = [each.gate for each in fared if each.gate]
    return Entry(
        Leaf(first.path, first.argument, number, spec),
        stopped_at=gates[0] if gates else None,
        finding=told,
    )
