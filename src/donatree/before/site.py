"""One call site that is rehearsed: what its first calls showed."""

from __future__ import annotations

import gc
import re
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from donatree._jax import buffers
from donatree.before.choice import Chosen
from donatree.holders import Fault, find
from donatree.holders.holder import Holder
from donatree.holders.twins import Twins, find_twins
from donatree.ledger import Leaf, Location
from donatree.observation import Request


@dataclass(frozen=True, slots=True)
class Watched:
    """A leaf of a checked call, held weakly."""

    array: weakref.ref[Any]
    leaf: Leaf


@dataclass(slots=True)
class Site:
    """A call of a function at one place of the program.

    Attributes:
        request: the function and its leaves.
        call: where it is called.
        chosen: the arguments that are rehearsed.
        dialect: how the function was jitted: ``jax``, ``nnx``, ``equinox``.
        declared: numbers of the arguments that it donates already.
        taken: flat indices of the leaves that a donation would take.
        fault: told where a search for holders went wrong.
        begun: calls that began.
        checked: calls that were looked at.
        confirmed: calls after which it was looked whether anybody held a leaf.
        held: leaves found alive after the name was bound anew, by path.
        found: holders, by what tells them apart.
        twins: likewise.
    """

    request: Request
    call: Location | None
    chosen: list[Chosen]
    dialect: str
    declared: tuple[int, ...]
    taken: frozenset[int]
    fault: Fault | None = None
    begun: int = 0
    checked: int = 0
    confirmed: int = 0
    held: dict[str, Leaf] = field(default_factory=dict)
    found: dict[tuple[Any, ...], Holder] = field(default_factory=dict)
    stayed: set[tuple[Any, ...]] = field(default_factory=set)
    twins: dict[tuple[str, ...], Twins] = field(default_factory=dict)
    before: list[Watched] = field(default_factory=list)

    @property
    def leaves(self) -> list[Leaf]:
        """The leaves that would be donated, in flatten order."""
        found = [leaf for each in self.chosen for leaf in each.leaves]
        return sorted(found, key=lambda leaf: leaf.flat_index)

    def look(self, values: dict[str, Any], flat: Sequence[Any], frame: FrameType) -> None:
        """Who else holds what the call would be given.

        Args:
            values: the objects that would be donated, by argument.
            flat: the call's flat arguments.
            frame: the user's frame that makes the call.
        """
        leaves = [(leaf.path, flat[leaf.flat_index]) for leaf in self.leaves]
        for holder in find(
            values, leaves, frame, own=[flat], in_place=self.request.in_place, fault=self.fault
        ):
            self.found.setdefault(_key(holder), holder)
        donated = {leaf.flat_index for leaf in self.leaves} | self.request.asked
        every = [
            (leaf.path, flat[leaf.flat_index], leaf.flat_index in donated)
            for leaf in self.request.leaves
        ]
        for each in find_twins(every):
            self.twins.setdefault(each.paths, each)
        self.checked += 1

    def remember(self, flat: Sequence[Any]) -> None:
        """Keeps the leaves of a checked call, weakly."""
        self.before = [
            Watched(weakref.ref(flat[leaf.flat_index]), leaf)
            for leaf in self.leaves
            if buffers.is_array(flat[leaf.flat_index])
        ]

    def confirm(self, frame: FrameType | None) -> None:
        """Looks which leaves of the call before are still alive, and who holds them.

        Args:
            frame: the user's frame that makes the next call; None at the end of the run.
        """
        before, self.before = self.before, []
        if not before:
            return
        if any(each.array() is not None for each in before):
            gc.collect()
        alive = [(each.leaf.path, each.array()) for each in before]
        alive = [(path, array) for path, array in alive if array is not None]
        self.confirmed += 1
        if not alive:
            return
        found = find({}, alive, frame, own=[before], fault=self.fault)
        alive.clear()
        really: set[str] = set()
        for holder in found:
            same = [key for key in self.found if key[:2] == _key(holder)[:2]]
            if not same and frame is None:
                continue  # nothing is read any more: what is just left over breaks nothing
            if not same:
                same = [_key(holder)]
                self.found[same[0]] = holder
            self.stayed.update(same)
            really.update(holder.leaves)
        self.held |= {each.leaf.path: each.leaf for each in before if each.leaf.path in really}


_NUMBER = re.compile(r"\[\d+\]")


def _key(holder: Holder) -> tuple[Any, ...]:
    """What tells holders apart: the place in a list that grows does not."""
    steps = tuple(_NUMBER.sub("[]", step) for step in holder.steps)
    return holder.root, holder.thread, steps, holder.held, holder.kind
