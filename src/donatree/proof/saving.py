"""The saving of a call and of its leaves, by compiles that donate fewer of them."""

from __future__ import annotations

import dataclasses
import heapq
import itertools
from collections.abc import Callable, Sequence

from donatree import paths
from donatree.gates.in_place import ALIGNMENT
from donatree.ledger import Entry, Live
from donatree.observation import Proof, Saving
from donatree.proof.budget import Budget

_MOST_COMPILES = 40

Compile = Callable[[frozenset[int]], Live]
Range = tuple[int, int]


def prove(
    entries: Sequence[Entry],
    live: Live,
    without: Compile,
    seconds: float,
    budget: Budget,
    last: frozenset[int] = frozenset(),
) -> Proof | None:
    """Measures what the granted leaves save.

    First the program that donates nothing; where all is saved, that proves it. Otherwise the
    leaves stand in a row, and programs are compiled that donate the first ones only: what a
    group saves is what live memory falls by as the group joins those before it. So the savings
    of all groups add up to that of the call. A group that saves neither all nor nothing is
    parted, for as long as the budget lasts, by 40 compiles at most.

    Args:
        entries: of all donated leaves, after gate granted.
        live: totals of the program as it is, bytes per device.
        without: compiles the program with the promise taken from the leaves of these flat
            indices and gives its totals.
        seconds: what the program's own compile took, as the estimate of one more.
        budget: of all further compiles.
        last: flat indices of leaves that stand at the end of the row, since a copy was seen that
            takes their bytes back.

    Returns:
        None where the budget does not allow the first compile.

    Raises:
        CannotBuild: the program cannot be compiled without its donation.
    """
    if not budget.allows(seconds):
        return None
    with budget.spent() as first:
        undonated = without(frozenset(entry.leaf.flat_index for entry in entries))
    seconds = max(seconds, first.seconds)  # JAX may have had the program's own in its cache
    row = [entry for entry in entries if entry.slot is not None and entry.bytes]
    row.sort(key=lambda entry: (entry.leaf.flat_index in last, entry.leaf.flat_index))
    if not row:
        return Proof(undonated, (), 1)
    totals = {0: undonated.total, len(row): live.total}
    found: list[Saving] = []
    waiting: list[tuple[int, Range]] = [(0, (0, len(row)))]  # the group of most bytes first
    compiles, why = 1, None
    while waiting:
        _, (start, stop) = heapq.heappop(waiting)
        group = row[start:stop]
        saving = _saving(group, totals[start], totals[stop])
        if len(group) == 1 or _is_settled(saving, group):
            found.append(saving)
            continue
        if compiles >= _MOST_COMPILES or not budget.allows(seconds):
            why = f"{budget.words} was spent"
            if compiles >= _MOST_COMPILES:
                why = f"{compiles} further compiles were made"
            found.append(dataclasses.replace(saving, settled=False))
            continue
        middle = start + _middle(group)
        with budget.spent():
            built = without(frozenset(entry.leaf.flat_index for entry in row[middle:]))
        totals[middle] = built.total
        compiles += 1
        for part in ((start, middle), (middle, stop)):
            heapq.heappush(waiting, (-sum(entry.bytes for entry in row[slice(*part)]), part))
    return Proof(undonated, tuple(found), compiles, why)


def _saving(entries: Sequence[Entry], before: int, after: int) -> Saving:
    saved, size = before - after, sum(entry.bytes for entry in entries)
    return Saving(
        leaves=frozenset(entry.leaf.flat_index for entry in entries),
        bytes=size,
        before=before,
        after=after,
        whole=saved > size - _slack(entries),
    )


def _slack(entries: Sequence[Entry]) -> int:
    """What alignment may explain, but never so much that a leaf could hide in it."""
    sizes = [entry.bytes for entry in entries if entry.bytes > ALIGNMENT]
    return min([ALIGNMENT * len(entries), *sizes]) if sizes else ALIGNMENT


def _is_settled(saving: Saving, entries: Sequence[Entry]) -> bool:
    """Whether one number says it of each leaf: all of it is saved, or nothing."""
    return saving.whole or (
        saving.saved <= 0 and len({entry.leaf.argument for entry in entries}) == 1
    )


def _middle(entries: Sequence[Entry]) -> int:
    """Where a group is parted: where its paths differ first, as near to half of its bytes.

    So arguments are told apart first, then parameters from moments, then layers.
    """
    pieces = [paths.split(entry.path) for entry in entries]
    shared = [_shared(above, below) for above, below in itertools.pairwise(pieces)]
    highest = min(shared)
    whole, before, best = sum(entry.bytes for entry in entries), 0, (float("inf"), 0)
    for place, common in enumerate(shared, start=1):
        before += entries[place - 1].bytes
        if common == highest:
            best = min(best, (abs(2 * before - whole), place))
    return int(best[1])


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    """With how many equal pieces two paths begin."""
    for number, (mine, its) in enumerate(zip(one, other, strict=False)):
        if mine != its:
            return number
    return min(len(one), len(other))
