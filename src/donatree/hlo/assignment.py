"""Where XLA puts the values of a program: its buffer assignment.

XLA's CPU compiler hands it out since JAX 0.6.2. What it says of the peak of the temporaries changed
twice (measured): JAX 0.6.2 has the events of the simulated heap; 0.7.2, 0.8.3 and 0.9.2 have
nothing; since 0.10.2 the buffers at the peak are listed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from donatree.hlo.allocation import Allocation, Buffer, Stretch, covered, stretches
from donatree.hlo.ids import InstructionIds
from donatree.hlo.instructions import EntryComputation
from donatree.hlo.live import Calls, Lifetimes, find_calls
from donatree.hlo.shape import Index
from donatree.hlo.tables import Tables

__all__ = ["Allocation", "Assignment", "Buffer", "read_assignment"]


class Assignment:
    """A buffer assignment; made by `read_assignment`.

    Its parts are read when they are asked for: everything may raise a ProtoError where they are
    malformed, `at_peak` an InstructionError too.
    """

    def __init__(self, proto: bytes, module: bytes, entry: EntryComputation | None) -> None:
        self._tables = Tables(proto)
        self._ids = InstructionIds(module)
        self._entry = entry
        self._calls: Calls | None = None
        self._lifetimes: dict[int, Lifetimes] = {}  # by the id of the stretch's first buffer

    @property
    def allocations(self) -> tuple[Allocation, ...]:
        """All allocations."""
        return self._tables.allocations

    @property
    def temp_size(self) -> int:
        """Bytes per device of the temporary allocations."""
        return sum(each.size for each in self.allocations if each.is_temp)

    @property
    def temp_buffers(self) -> tuple[Buffer, ...]:
        """All that is in the temporary allocations, at one time or another."""
        return tuple(self._tables.temporary.values())

    @property
    def peak_buffers(self) -> tuple[Buffer, ...] | None:
        """What is in the temporary allocations when it has most bytes, the largest first.

        None where the message does not tell it of each of them.
        """
        if self._tables.peaks.keys() != self._tables.temps.keys():
            return None
        ids = frozenset().union(*self._tables.peaks.values())
        found = (self._tables.temporary[each] for each in ids if each in self._tables.temporary)
        return tuple(sorted(found, key=lambda each: (-each.size, each.id)))

    def name(self, buffer: Buffer) -> str | None:
        """The name of the instruction that defines a value, if the entry computation has it."""
        return self._ids.in_entry.get(buffer.instruction)

    def at_peak(self, values: Sequence[tuple[str, Index]]) -> tuple[bool | None, ...]:
        """Which of some values take up temporary memory that would not be needed without them.

        Such a value is in a temporary buffer that is live when most bytes are, and its memory is
        not needed for other values at another time. What the message does not tell may follow from
        the order and the uses in the entry computation.

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

    def _id(self, name: str, index: Index) -> int | None:
        instruction = self._ids.number(name)
        return None if instruction is None else self._tables.ids.get((instruction, index))

    def _is_at_peak(self, value: int, values: frozenset[int]) -> bool | None:
        tables = self._tables
        buffer = tables.temporary.get(value)
        if buffer is None:
            return False
        peak = tables.peaks.get(buffer.allocation)
        if peak is not None and peak.isdisjoint((value, *tables.sharing(value))):
            return False
        if self._is_needed_without(buffer, values):
            return False
        if peak is not None:
            return True
        lifetimes = self._lifetimes_in(self._stretches[value])
        return lifetimes and lifetimes.is_at_peak(value)

    def _is_needed_without(self, buffer: Buffer, values: frozenset[int]) -> bool:
        """Whether more than half of a buffer's bytes are needed without these values too."""
        stretch = self._stretches[buffer.id]
        others = [each for each in stretch.buffers if each.id not in values]
        if 2 * (stretch.size - covered(others)) >= buffer.size:
            return False
        lifetimes = self._lifetimes_in(stretch)
        needed = lifetimes.needed_without(values) if lifetimes else 0
        return 2 * (stretch.size - needed) < buffer.size

    def _lifetimes_in(self, stretch: Stretch) -> Lifetimes | None:
        """When the buffers of a stretch of memory live."""
        if self._entry is None:
            return None
        if self._calls is None:
            self._calls = find_calls(self._entry)
        first = stretch.buffers[0].id
        known = self._lifetimes.get(first)
        if known is None:
            names, sharing = self._ids.in_entry, self._tables.sharing
            known = Lifetimes(self._entry, stretch.buffers, names, sharing, self._calls)
            self._lifetimes[first] = known
        return known

    @cached_property
    def _stretches(self) -> Mapping[int, Stretch]:
        """The stretch of memory of each temporary buffer, by the id of the buffer."""
        parts = (part for buffers in self._tables.temps.values() for part in stretches(buffers))
        return {each.id: part for part in parts for each in part.buffers}


def read_assignment(
    proto: bytes, module: bytes, entry: EntryComputation | None = None
) -> Assignment:
    """Reads a buffer assignment.

    Args:
        proto: ``BufferAssignmentProto``, as JAX's
            ``memory_analysis().serialized_buffer_assignment_proto`` gives it; empty on a TPU.
        module: ``HloModuleProto`` of the same compiled module, which has the names of the
            instructions, as ``HloModule.as_serialized_hlo_module_proto()`` gives it.
        entry: its entry computation, for what the message does not tell.

    Raises:
        ProtoError: ``proto`` is no message. Other faults show when a part is read.
    """
    return Assignment(proto, module, entry)
