"""Pairs of leaves and slots, one slot for one leaf: the nearest first, then any of the type."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from donatree import paths
from donatree.ledger import Leaf, Slot


@dataclass(frozen=True, slots=True)
class Pair:
    """A leaf and the slot that could replace it.

    Attributes:
        leaf: its flat index.
        slot: the slot.
        distance: how far its value lies from the leaf's; None where it is not near.
        same_path: whether it stands at the leaf's own path in what replaces the argument.
        rivals: other arguments that lie as near to the slot.
    """

    leaf: int
    slot: Slot
    distance: int | None
    same_path: bool
    rivals: frozenset[str] = frozenset()


def alike(leaf: Leaf, slot: Slot) -> bool:
    """Whether a slot has a leaf's type and global shape."""
    return (leaf.spec.dtype, leaf.spec.shape) == (slot.spec.dtype, slot.spec.shape)


def nearest(
    distances: Mapping[tuple[int, int], int],
    named: Mapping[int, Slot],
    leaves: Sequence[Leaf],
    slots: Sequence[Slot],
    choosing: Sequence[Leaf],
    taken: Collection[int],
) -> dict[int, Pair]:
    """One slot for one leaf, the surest first: the least distance, then the path."""
    rows = []
    mine_too = {leaf.flat_index for leaf in choosing}
    for (leaf, slot), distance in distances.items():
        if leaf not in mine_too or slots[slot].flat_index in taken:
            continue
        own = leaf in named and named[leaf].flat_index == slots[slot].flat_index
        common = _common(leaves[leaf], slots[slot])
        rows.append((distance, -common, not own, leaf, slot))
    rows.sort()
    by_slot: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
    for distance, common, _, leaf, slot in rows:
        by_slot[slot].append((distance, common, leaf))
    pairs: dict[int, Pair] = {}
    used: set[int] = set()
    for distance, common, other, leaf, slot in rows:
        if leaf in pairs or slot in used:
            continue
        used.add(slot)
        mine = leaves[leaf].argument
        rivals = frozenset(
            leaves[its].argument
            for its_distance, its_common, its in by_slot[slot]
            if (its_distance, its_common) <= (distance, common)
            and its not in pairs
            and leaves[its].argument != mine
        )
        pairs[leaf] = Pair(leaf, slots[slot], distance, not other, rivals)
    still = {leaves[index].argument for index in range(len(leaves)) if index not in pairs}
    # A rival that has a slot of its own is none.
    return {
        leaf: Pair(p.leaf, p.slot, p.distance, p.same_path, p.rivals & still)
        for leaf, p in pairs.items()
    }


def _common(leaf: Leaf, slot: Slot) -> int:
    """Steps at the end of both paths that are the same."""
    mine, its = paths.split(leaf.path)[1:], paths.split(slot.path)[1:]
    count = 0
    for one, other in zip(reversed(mine), reversed(its), strict=False):
        if one != other:
            break
        count += 1
    return count


def of_type(
    near: Mapping[int, Pair],
    named: Mapping[int, Slot],
    leaves: Sequence[Leaf],
    slots: Sequence[Slot],
    taken: Collection[int],
) -> dict[int, Slot]:
    """The leaves that some slot of their type could take, each slot once."""
    found = {leaf: pair.slot for leaf, pair in near.items()}
    used = {slot.flat_index for slot in found.values()} | set(taken)
    mine = {leaf.flat_index for leaf in leaves}
    for leaf, slot in named.items():
        if leaf in mine and leaf not in found and slot.flat_index not in used:
            found[leaf] = slot
            used.add(slot.flat_index)
    free: dict[object, list[Slot]] = defaultdict(list)
    for slot in slots:
        if slot.flat_index not in used:
            free[slot.spec.dtype, slot.spec.shape].append(slot)
    for leaf in leaves:
        kind = leaf.spec.dtype, leaf.spec.shape
        if leaf.flat_index not in found and free[kind]:
            found[leaf.flat_index] = free[kind].pop(0)
    return found
