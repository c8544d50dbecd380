"""Which values of a program take up memory at its peak, from what a dump says in text."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import pairwise

from donatree.hlo.allocation import Buffer, Stretch, stretches
from donatree.hlo.assignment_text import TextAssignment, TextValue
from donatree.hlo.instructions import EntryComputation
from donatree.hlo.live_ranges import LiveRanges, Range, read_live_ranges
from donatree.hlo.shape import Index
from donatree.hlo.sharing import Place, find_sharing

__all__ = ["LiveRanges", "TimedAssignment", "read_live_ranges"]


class TimedAssignment:
    """A buffer assignment of which it is known when its values live.

    Args:
        assignment: of a module.
        ranges: of the same module.
        entry: of the same module, which tells what goes through its loops and branches. Without it
            a value that does so is not known to be anywhere but where it was computed.

    Raises:
        InstructionError: by `at_peak`, where the module's text is malformed.
    """

    def __init__(
        self, assignment: TextAssignment, ranges: LiveRanges, entry: EntryComputation | None = None
    ) -> None:
        self.assignment = assignment
        self._ranges = ranges.ranges
        self._entry = entry

    def at_peak(self, values: Sequence[Place]) -> tuple[bool | None, ...]:
        """Which of some values take up temporary memory that would not be needed without them.

        It means what `Assignment.at_peak` means, and counts the device's main memory alone: a value
        in a TPU's VMEM takes none of it.

        Args:
            values: each by the name of the instruction that defines it and its place in the value
                of the instruction, ``()`` where that is no tuple. One of them does not excuse
                another that has the same memory.

        Returns:
            The answer to each, None where it is not known.
        """
        ids = [self._id(*each) for each in values]
        known = frozenset(each for each in ids if each is not None)
        return tuple(None if each is None else self._is_at_peak(each, known) for each in ids)

    def peak_values(self) -> tuple[TextValue, ...]:
        """What is in the temporaries of main memory when most bytes are, the largest first."""
        found: list[TextValue] = []
        for number, buffers in self._temps.items():
            totals = self._totals[number]
            time = max(totals, key=lambda each: totals[each], default=None)
            live = (self._lives(each.id) for each in buffers)
            found += [
                self._values[each.id]
                for each, lives in zip(buffers, live, strict=True)
                if lives and time is not None and lives[0] <= time <= lives[1]
            ]
        return tuple(sorted(found, key=lambda each: (-each.size, each.id)))

    def _id(self, name: str, index: Index) -> int | None:
        found = self._ids.get((name, index))
        if found is None and self._entry is not None and name in self._entry:
            done = self._entry[name]
            if done.opcode == "copy-done" and done.operands:
                # It hands on what its `copy-start` defines: the first element is the copy.
                found = self._ids.get((done.operands[0], (0, *index)))
        return found

    def _is_at_peak(self, value: int, values: frozenset[int]) -> bool | None:
        buffer = self._buffers.get(value)
        if buffer is None:
            return False
        if self._lives(value) is None:
            return None
        if not any(map(self._is_high, self._together(value) & self._buffers.keys())):
            return False
        # Whether more than half of its bytes are needed without these values too.
        stretch = self._stretches[value]
        left_out = frozenset().union(*map(self._together, values))
        others = [each for each in stretch.buffers if each.id not in left_out]
        needed = max(self._sizes(others).values(), default=0)
        return 2 * (stretch.size - needed) >= buffer.size

    def _is_high(self, value: int) -> bool:
        """Whether a value is live when all are as many bytes as ever, but for half of its own."""
        buffer = self._buffers[value]
        totals, lives = self._totals[buffer.allocation], self._lives(value)
        if lives is None or not totals:
            return False
        enough = max(totals.values()) - buffer.size / 2
        return any(lives[0] <= time <= lives[1] and totals[time] > enough for time in totals)

    def _together(self, value: int) -> frozenset[int]:
        """The values that are at one place because of what the program does."""
        found = self._values[value]
        others = self._sharing.get((found.instruction, found.index), frozenset())
        return frozenset((value, *(self._ids[each] for each in others if each in self._ids)))

    def _lives(self, value: int) -> Range | None:
        found = self._values[value]
        lives = self._ranges.get((found.instruction, found.index))
        return lives if lives and lives[0] <= lives[1] else None

    def _sizes(self, buffers: Sequence[Buffer]) -> dict[int, int]:
        """The bytes that some buffers take, at the times when one of them begins to live."""
        starts: dict[int, list[Buffer]] = defaultdict(list)
        ends: dict[int, list[Buffer]] = defaultdict(list)
        for buffer in buffers:
            if (lives := self._lives(buffer.id)) is not None:
                starts[lives[0]].append(buffer)
                ends[lives[1] + 1].append(buffer)
        covered = _Covered(buffers)
        answer: dict[int, int] = {}
        for time in sorted(starts.keys() | ends.keys()):
            for each in ends[time]:
                covered.change(each, -1)
            for each in starts[time]:
                covered.change(each, 1)
            if starts[time]:
                answer[time] = covered.size
        return answer

    @cached_property
    def _sharing(self) -> Mapping[Place, frozenset[Place]]:
        return {} if self._entry is None else find_sharing(self._entry)

    @cached_property
    def _values(self) -> dict[int, TextValue]:
        return {each.id: each for part in self.assignment.allocations for each in part.values}

    @cached_property
    def _ids(self) -> dict[Place, int]:
        return {(each.instruction, each.index): each.id for each in self._values.values()}

    @cached_property
    def _temps(self) -> dict[int, tuple[Buffer, ...]]:
        """What is in the temporaries of main memory, by the number of the allocation."""
        return {
            part.number: tuple(
                Buffer(each.id, part.number, each.offset, each.size, each.id, each.index)
                for each in part.values
            )
            for part in self.assignment.allocations
            if part.is_temp and part.memory_space == 0
        }

    @cached_property
    def _buffers(self) -> dict[int, Buffer]:
        return {each.id: each for buffers in self._temps.values() for each in buffers}

    @cached_property
    def _totals(self) -> dict[int, dict[int, int]]:
        return {number: self._sizes(buffers) for number, buffers in self._temps.items()}

    @cached_property
    def _stretches(self) -> dict[int, Stretch]:
        parts = (part for buffers in self._temps.values() for part in stretches(buffers))
        return {each.id: part for part in parts for each in part.buffers}


class _Covered:
    """How many bytes of an allocation are taken, while buffers come and go.

    What is written over what is read for the last time is at one place with it, and counts once.

    Attributes:
        size: bytes that are taken.
    """

    def __init__(self, buffers: Sequence[Buffer]) -> None:
        edges = sorted({at for each in buffers for at in (each.offset, each.offset + each.size)})
        self._at = {edge: number for number, edge in enumerate(edges)}
        self._widths = [after - before for before, after in pairwise(edges)]
        self._counts = [0] * len(self._widths)
        self.size = 0

    def change(self, buffer: Buffer, by: int) -> None:
        """Takes note that a buffer comes (1) or goes (-1)."""
        first, end = self._at[buffer.offset], self._at[buffer.offset + buffer.size]
        for part in range(first, end):
            was = self._counts[part]
            self._counts[part] = was + by
            if not was or not was + by:
                self.size += by * self._widths[part]
