"""The walk from a leaf's new value back to the leaf, and the step at which its type left it.

The cheapest way from the slot back to the leaf is the leaf's own history; the last step at which
the type left the leaf's is the one to show. No JAX: see `origin.drift.Graph`.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from donatree.ledger import Location
from donatree.origin import operand
from donatree.origin.drift import CONSTANT, NO_FRAME, Graph, Origin, Place, Type, What

_NOT_FROM_IT = "the value returned in its stead is not computed from the leaf"
_TOO_LONG = "too much of the program lies between the leaf and its new value"

# Values that may be looked at: in one search at most and at least, and in all searches together.
_MOST, _LEAST, _ALL = 20_000, 300, 600_000
_WAYS, _ASKED = 4, 20


@dataclass(slots=True)
class _Way:
    """A way that was found: which operand each value was left by, and what came of it.

    Attributes:
        words: what was learnt of the cause where it names an argument, which can be another one
            for the next leaf; it is asked for a few leaves only.
        asked: for how many.
    """

    operands: tuple[int, ...]
    kinds: tuple[str, ...]
    types: tuple[Type, ...]
    step: int
    place: Place | None
    origin: Origin
    words: set[str | None]
    asked: int = 1


class Finder:
    """Finds origins in one graph; what all searches together may cost is bounded.

    Leaves of one expression lie alike: a way that was found is tried for the next leaf of the same
    types before a search.

    Example:
        >>> from donatree.origin.walk import Finder
        >>> Finder.__name__
        'Finder'
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._left = _ALL
        self._ways: dict[tuple[Type, Type, What], list[_Way]] = {}

    def find(self, slot: int, leaf: int, what: What) -> Origin:
        """The origin of the drift between a leaf and its slot.

        Args:
            slot: the value that is returned.
            leaf: the value that was donated.
            what: what of the type drifted.
        """
        graph = self._graph
        ways = self._ways.setdefault((graph.type_of(slot), graph.type_of(leaf), what), [])
        for way in ways:
            path = self._same(way, slot, leaf)
            if path is not None:
                return self._again(way, path, what)
        path, exhausted = self._path(slot, leaf)
        if path is None:
            return self._made_elsewhere(slot) if exhausted else Origin(unknown=_TOO_LONG)
        step = self._last_step(path, what)
        if step is None:
            return Origin(unknown=NO_FRAME)
        origin = self._origin(path, step, what)
        also = self._in_other_branches(path, step, leaf, what)
        places = dict.fromkeys([*filter(None, [origin.location]), *also])
        if len(places) > 1:
            first, *others = sorted(places, key=_in_order)
            origin = Origin(first, None, origin.primitive, None, None, tuple(others))
        if len(ways) < _WAYS:
            ways.append(self._way(path, step, origin))
        return origin

    def _way(self, path: Sequence[int], step: int, origin: Origin) -> _Way:
        graph = self._graph
        return _Way(
            tuple(
                [each for each, _ in graph.operands(value)].index(behind)
                for value, behind in itertools.pairwise(path)
            ),
            tuple(graph.kind(value) for value in path),
            tuple(graph.type_of(value) for value in path),
            step,
            graph.place(path[step]),
            origin,
            {origin.because},
        )

    def _again(self, way: _Way, path: Sequence[int], what: What) -> Origin:
        """The origin of a leaf that lies as another one did."""
        if self._graph.place(path[way.step]) != way.place:
            return self._origin(path, way.step, what)
        if not any("argument" in words for words in way.words if words):
            return way.origin
        if way.asked >= _ASKED:
            return way.origin if len(way.words) == 1 else _without_words(way.origin)
        way.asked += 1
        origin = self._origin(path, way.step, what)
        way.words.add(origin.because)
        return origin

    def _same(self, way: _Way, slot: int, leaf: int) -> list[int] | None:
        """The path of a known way from another slot, if it leads to that slot's leaf."""
        graph = self._graph
        value, path = slot, [slot]
        for turn, kind, type_ in zip(way.operands, way.kinds, way.types, strict=False):
            if graph.kind(value) != kind or graph.type_of(value) != type_:
                return None
            operands = graph.operands(value)
            if turn >= len(operands):
                return None
            value = operands[turn][0]
            path.append(value)
        return path if value == leaf else None

    def _path(self, slot: int, leaf: int) -> tuple[list[int] | None, bool]:
        """The cheapest way from slot to leaf, and, where there is none, whether that is certain."""
        operands = self._graph.operands
        limit = max(_LEAST, min(_MOST, self._left))
        near = {slot: 0}
        towards: dict[int, int] = {}
        heap = [(0, slot)]
        looked_at = 0
        while heap:
            cost, value = heapq.heappop(heap)
            if value == leaf:
                break
            if cost > near[value]:
                continue
            looked_at += 1
            if looked_at > limit:
                self._left -= looked_at
                return None, False
            for behind, more in operands(value):
                total = cost + more
                if total < near.get(behind, total + 1):
                    near[behind] = total
                    towards[behind] = value
                    heapq.heappush(heap, (total, behind))
        else:
            self._left -= looked_at
            return None, True
        self._left -= looked_at
        path = [leaf]
        while path[-1] != slot:
            path.append(towards[path[-1]])
        return path[::-1], True

    def _last_step(self, path: Sequence[int], what: What) -> int | None:
        """The place in the path of the value that is the first for good to have another type.

        An inner program that sees a slice or a shard of the leaf has its own idea of the leaf's
        type: that of what was handed in.
        """
        graph = self._graph
        leaf = len(path) - 1
        wanted = {graph.scopes(path[leaf])[-1]: getattr(graph.type_of(path[leaf]), what)}
        alike, last = True, leaf
        for index in range(leaf - 1, -1, -1):
            value = path[index]
            scopes = graph.scopes(value)
            mine = getattr(graph.type_of(value), what)
            if alike and graph.kind(value) == "enter":
                wanted[scopes[0]] = mine
            want = next(wanted[scope] for scope in scopes if scope in wanted)
            alike = mine == want
            if alike:
                last = index
        return last - 1 if last else None

    def _origin(self, path: Sequence[int], step: int, what: What) -> Origin:
        graph = self._graph
        place = graph.place(path[step]) or Place(None)
        kind = graph.kind(path[step])
        unknown = None if place.user else NO_FRAME
        words = operand.because(graph, path, step, what)
        return Origin(place.user, place.library, kind, words, unknown)

    def _made_elsewhere(self, slot: int) -> Origin:
        """The slot is not computed from the leaf: where is it from."""
        graph = self._graph
        seen, waiting = {slot}, [slot]
        while waiting and graph.passes_on(slot := waiting.pop()):
            behind = [each for each in graph.everything(slot) if each not in seen]
            # What a loop carries is at its end what the body made of it.
            waiting += behind if graph.kind(slot) == "carry" else behind[::-1]
            seen.update(behind)
        kind = graph.kind(slot)
        if kind in ("literal", "constant"):
            return Origin(unknown=CONSTANT)
        if kind == "input":
            return Origin(unknown=f"{graph.words(slot)} is returned in its stead")
        place = graph.place(slot) or Place(None)
        unknown = None if place.user else NO_FRAME
        return Origin(place.user, place.library, kind, _NOT_FROM_IT, unknown)

    def _in_other_branches(
        self, path: Sequence[int], step: int, leaf: int, what: What
    ) -> list[Location]:
        """The expressions that do the same beside a step that lies in a branch of a `cond`."""
        graph = self._graph
        found: list[Location] = []
        for choice, inside in itertools.pairwise(path[: step + 1]):
            if graph.kind(choice) != "cond":
                continue
            if graph.scopes(inside)[0] not in graph.scopes(path[step]):
                continue  # it lies before the `cond`
            for branch, cost in graph.operands(choice):
                if branch == inside or cost:
                    continue
                other, _ = self._path(branch, leaf)
                at = self._last_step(other, what) if other else None
                place = graph.place(other[at]) if other and at is not None else None
                if place and place.user:
                    found.append(place.user)
        return found


def _without_words(origin: Origin) -> Origin:
    return Origin(origin.location, origin.library, origin.primitive, None, origin.unknown)


def _in_order(location: Location) -> tuple[str, int, int]:
    return location.file, location.line, location.column or 0
