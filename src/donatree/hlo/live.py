"""When temporary buffers live, by the order and the uses in the entry computation.

How long a value of the entry computation lives shows in the module's text. What goes on inside of a
loop or a branch does not, so there are bounds: bytes that are surely live while an instruction
runs, and bytes that may be.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from donatree.hlo.allocation import Buffer, covered
from donatree.hlo.flow import destinations
from donatree.hlo.instructions import EntryComputation

Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Calls:
    """The instructions of an entry computation that run another computation.

    Attributes:
        positions: of all of them, in order.
        first: the position of the first that gives a value of the other computation on as it is,
            so that its buffer may live from then on; None without one.
    """

    positions: Sequence[int]
    first: int | None


def find_calls(entry: EntryComputation) -> Calls:
    """Finds the loops, branches and calls of an entry computation."""
    found = list(entry.of_opcode("while", "conditional", "call"))
    first = next((each.position for each in found if each.opcode == "call"), None)
    return Calls([each.position for each in found], first)


@dataclass(slots=True)
class _Place:
    """Buffers of the entry computation that must be at one address.

    Attributes:
        size: bytes.
        surely: from when to when it holds a value, both included.
        maybe: times from the first of which to the last it may hold one.
        given: when its memory goes on to what is computed from its last value.
    """

    size: int = 0
    surely: list[Range] = field(default_factory=list)
    maybe: list[int] = field(default_factory=list)
    given: set[int] = field(default_factory=set)


class Lifetimes:
    """The lifetimes of temporary buffers that take turns in a stretch of memory.

    Args:
        entry: the entry computation, in the order in which it runs.
        buffers: all that are in that memory.
        names: of the instructions of the entry computation, by number.
        sharing: gives the ids of the buffers that must be where another one is.
        calls: what runs another computation.

    Raises:
        InstructionError: a line of the text cannot be read.
    """

    def __init__(
        self,
        entry: EntryComputation,
        buffers: Sequence[Buffer],
        names: Mapping[int, str],
        sharing: Callable[[int], Collection[int]],
        calls: Calls,
    ) -> None:
        self._entry = entry
        self._calls = calls.positions
        self._escaping = 2 * (len(entry) if calls.first is None else calls.first)
        self._place_of = {each.id: min((each.id, *sharing(each.id))) for each in buffers}
        self._places: dict[int, _Place] = defaultdict(_Place)
        starts: dict[int, list[Buffer]] = defaultdict(list)
        ends: dict[int, list[Buffer]] = defaultdict(list)
        inside = []
        for buffer in buffers:
            name = names.get(buffer.instruction)
            if name is None:
                inside.append(buffer)
                continue
            start, end = self._add(buffer, name)
            starts[start].append(buffer)
            ends[end].append(buffer)
        for time in starts.keys() & ends.keys():
            self._hand_over(time, ends[time], starts[time])
        self._inside = [each for each in inside if self._place_of[each.id] not in self._places]

    def needed_without(self, buffers: Collection[int]) -> int:
        """Bytes that are surely needed at some time for others than these of all buffers."""
        left_out = {self._place_of[each] for each in buffers if each in self._place_of}
        places = [place for key, place in self._places.items() if key not in left_out]
        totals = self._totals(places, sure=True)
        calls = [total for time, total in totals.items() if self._is_call(time)]
        inside = [each.size for each in self._inside if self._place_of[each.id] not in left_out]
        # One of those inside lives during one of the calls, it is not known which.
        called = min(calls, default=0) + max(inside, default=0)
        return max((called, *totals.values()))

    def is_at_peak(self, buffer: int) -> bool | None:
        """Whether a buffer is live when most bytes are; None where it is not known."""
        place = self._places.get(self._place_of[buffer])
        if place is None:
            return None
        live = {_is_live(place, time) for time in self._peaks}
        return live.pop() if len(live) == 1 else None

    def _add(self, buffer: Buffer, name: str) -> Range:
        """Notes the lifetime of a value of the entry computation."""
        instruction = self._entry[name]
        goes = destinations(self._entry, name, buffer.index, copies=False)
        # Two times for each instruction: while it runs, and between it and the next.
        start = 2 * instruction.position
        end = 2 * max([each.position for each in goes.readers], default=instruction.position)
        if goes.results:
            end = 2 * len(self._entry)
        place = self._places[self._place_of[buffer.id]]
        place.size = max(place.size, buffer.size)
        place.maybe += (start, end)
        # While a loop runs, what it was given may be dead and what it gives not alive yet. Of a
        # table of pointers it is not known who reads it last.
        first, last = start + self._is_call(start), end - self._is_call(end)
        if first <= last and (buffer.index or not instruction.shape.is_tuple):
            place.surely.append((first, last))
        return start, end

    def _hand_over(self, time: int, ending: Iterable[Buffer], starting: Iterable[Buffer]) -> None:
        """Notes what takes the memory of an operand that nobody reads afterwards."""
        for old in ending:
            for new in starting:
                if old.overlaps(new):
                    key = self._place_of[old.id]
                    if key != self._place_of[new.id]:
                        self._places[key].given.add(time)

    def _is_call(self, time: int) -> bool:
        at = bisect_left(self._calls, time // 2)
        return not time % 2 and self._calls[at : at + 1] == [time // 2]

    @cached_property
    def _peaks(self) -> list[int]:
        """The times at which most bytes may be live."""
        places = list(self._places.values())
        most = max(self._totals(places, sure=True).values(), default=0)
        maybe = self._totals(places, sure=False)
        inside = covered(self._inside)
        return [
            time
            for time, total in maybe.items()
            if total + inside * (self._is_call(time) or time >= self._escaping) >= most
        ]

    def _totals(self, places: Sequence[_Place], *, sure: bool) -> dict[int, int]:
        """The live bytes at the times when they may change, while instructions run."""
        steps: dict[int, int] = defaultdict(int)
        for place in places:
            for first, last in _lives(place, sure=sure):
                steps[first] += place.size
                steps[last + 1] -= place.size
        times = {time + time % 2 for time in steps}
        if times:
            begin = bisect_left(self._calls, min(times) // 2)
            end = bisect_right(self._calls, max(times) // 2)
            times.update(2 * each for each in self._calls[begin:end])
        answer = dict.fromkeys(times, 0)
        total, changes = 0, sorted(steps, reverse=True)
        for time in sorted(answer):
            while changes and changes[-1] <= time:
                total += steps[changes.pop()]
            answer[time] = total
        return answer


def _lives(place: _Place, *, sure: bool) -> Iterator[Range]:
    """When a place is live, without the times at which its memory goes on to the next value."""
    whole = [(min(place.maybe), max(place.maybe))]
    for first, last in _merged(place.surely) if sure else whole:
        for time in sorted(place.given):
            if first <= time <= last:
                yield first, time - 1
                first = time + 1
        yield first, last


def _is_live(place: _Place, time: int) -> bool | None:
    if time in place.given or not min(place.maybe) <= time <= max(place.maybe):
        return False
    return True if any(first <= time <= last for first, last in place.surely) else None


def _merged(ranges: Iterable[Range]) -> list[Range]:
    """The ranges with those joined that overlap or touch."""
    answer: list[Range] = []
    for first, last in sorted(ranges):
        if answer and first <= answer[-1][1]:
            answer[-1] = answer[-1][0], max(answer[-1][1], last)
        else:
            answer.append((first, last))
    return answer
