"""How far a slot's value lies from each leaf: a walk back through what it was computed from.

A slot that adds something to a leaf lies near to it, one that a matrix product makes of it does
not; see `origin.walk` for the costs. Plain reachability says nothing: every output of a training
step depends on every input.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence

from donatree.advice.pairing import alike
from donatree.ledger import Leaf, Slot
from donatree.origin.drift import Graph

# Distances: below NEAR the value is much the same. What one turn of a loop takes of many slices is
# no state, though its own values lie near to it.
NEAR = 50
_SLICE, _PRICE_OF_A_SLICE = 8, 60
_MOVED, _PRICE_OF_A_MOVE = frozenset({"unstack"}), 4
_MOST = 4_000
_ALL = 400_000


def distances(
    graph: Graph,
    inputs: Sequence[int],
    outputs: Sequence[int],
    leaves: Sequence[Leaf],
    slots: Sequence[Slot],
) -> dict[tuple[int, int], int]:
    """By the places of leaf and slot: how far the slot lies from the leaf, where it is near."""
    place = {number: index for index, number in enumerate(inputs)}
    kinds = {(leaf.spec.dtype, leaf.spec.shape) for leaf in leaves}
    left = _ALL
    found = {}
    for index, (number, slot) in enumerate(zip(outputs, slots, strict=False)):
        if (slot.spec.dtype, slot.spec.shape) not in kinds:
            continue
        reached, looked_at = _near(graph, number, place, min(_MOST, max(left, 50)))
        left -= looked_at
        for leaf, distance in reached.items():
            if alike(leaves[leaf], slot):
                found[leaf, index] = distance
    return found


def _near(
    graph: Graph, slot: int, place: Mapping[int, int], most: int
) -> tuple[dict[int, int], int]:
    """The leaves near to a slot with their distances, and how many values were looked at."""
    best = {slot: 0}
    heap = [(0, slot)]
    done: set[int] = set()
    reached: dict[int, int] = {}
    while heap and len(done) < most:
        cost, value = heapq.heappop(heap)
        if value in done:
            continue
        done.add(value)
        if value in place:
            reached[place[value]] = cost
            continue
        moved = graph.kind(value) in _MOVED
        for behind, more in graph.operands(value):
            price = _PRICE_OF_A_MOVE if moved else _PRICE_OF_A_SLICE if more == _SLICE else more
            total = cost + price
            if total < min(NEAR, best.get(behind, NEAR)):
                best[behind] = total
                heapq.heappush(heap, (total, behind))
    return reached, len(done)
