"""Which leaf is replaced by which slot: by its path, and by what the slot is computed from.

By type alone nearly every batch could be the state: of 63 arguments that were tried type matching
took 21 that ought to stay.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from donatree import paths
from donatree.advice import nearness, pairing
from donatree.advice.pairing import Pair, alike
from donatree.ledger import Leaf, Slot
from donatree.origin.drift import Graph
from donatree.why import successor


@dataclass(frozen=True, slots=True)
class Replaced:
    """What could replace one argument.

    Attributes:
        leaves: its leaves.
        near: pairs whose slot is near to the leaf and of its type, one slot for one leaf.
        typed: leaves for which the result has an array of their type at all, by flat index; each
            array counts once over all arguments, and pairs that are near or named come first.
        at: the place in the result that repeats the argument's paths, folded.
    """

    leaves: tuple[Leaf, ...]
    near: tuple[Pair, ...] = ()
    typed: Mapping[int, Slot] = field(default_factory=dict)
    named: Mapping[int, Slot] = field(default_factory=dict)
    at: str = ""

    @property
    def bytes(self) -> int:
        """Bytes per device."""
        return sum(leaf.bytes for leaf in self.leaves)

    @property
    def share(self) -> float:
        """The part of the bytes whose slot lies near."""
        near = {pair.leaf for pair in self.near}
        return sum(_weight(each) for each in self.leaves if each.flat_index in near) / max(
            sum(map(_weight, self.leaves)), 1
        )

    @property
    def named_share(self) -> float:
        """The part of the bytes that has a slot of its type at its own path, by a name in it."""
        found = sum(
            _weight(leaf)
            for leaf in self.leaves
            if leaf.flat_index in self.named and _is_named(leaf)
        )
        return found / max(sum(map(_weight, self.leaves)), 1)

    @property
    def rivals(self) -> frozenset[str]:
        """Arguments that could as well be what the same slots replace."""
        return frozenset().union(*(pair.rivals for pair in self.near))


def _is_named(leaf: Leaf) -> bool:
    return any(not step.strip("[]").isdecimal() for step in paths.split(leaf.path)[1:])


def _weight(leaf: Leaf) -> int:
    return max(leaf.bytes, 1)


def find(
    graph: Graph | None,
    inputs: Sequence[int],
    outputs: Sequence[int],
    leaves: Sequence[Leaf],
    slots: Sequence[Slot],
    first: Collection[str] = (),
) -> dict[str, Replaced]:
    """What could replace each argument.

    Args:
        graph: the program; None where there is none, and paths and types alone speak.
        inputs: the graph's number of each leaf.
        outputs: of each slot.
        leaves: of all dynamic arguments, in flatten order.
        slots: of the result.
        first: arguments that the call statement rebinds: they choose their slots first.

    Returns:
        By the argument's name.
    """
    by_path = successor.pair(leaves, slots)
    named = {index: slot for index, slot in by_path.items() if alike(leaves[index], slot)}
    distances = (
        nearness.distances(graph, inputs, outputs, leaves, slots) if graph is not None else {}
    )
    near: dict[int, Pair] = {}
    typed: dict[int, Slot] = {}
    for chooses in (True, False):
        own = [leaf for leaf in leaves if (leaf.argument in first) is chooses]
        used = {slot.flat_index for slot in typed.values()}
        pairs = pairing.nearest(distances, named, leaves, slots, own, used)
        near |= pairs
        typed |= pairing.of_type(pairs, named, own, slots, used)
    groups: dict[str, list[Leaf]] = defaultdict(list)
    for leaf in leaves:
        groups[leaf.argument].append(leaf)
    return {
        name: Replaced(
            tuple(group),
            tuple(near[leaf.flat_index] for leaf in group if leaf.flat_index in near),
            {i: typed[i] for leaf in group if (i := leaf.flat_index) in typed},
            {i: named[i] for leaf in group if (i := leaf.flat_index) in named},
            _place([by_path.get(leaf.flat_index) for leaf in group], group),
        )
        for name, group in groups.items()
    }


def _place(successors: Sequence[Slot | None], group: Sequence[Leaf]) -> str:
    """The place in the result at which an argument's inner paths stand: `result.params`."""
    starts: dict[str, int] = defaultdict(int)
    for leaf, slot in zip(group, successors, strict=True):
        if slot is None:
            continue
        inner = paths.split(leaf.path)[1:]
        parts = paths.split(slot.path)
        if not inner:
            starts[slot.path] += 1
        elif parts[-len(inner) :] == inner:
            starts["".join(parts[: len(parts) - len(inner)])] += 1
    return max(starts, key=lambda start: starts[start], default="")
