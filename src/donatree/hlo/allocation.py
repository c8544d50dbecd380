"""Stretches of memory, and what a buffer assignment puts into them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from donatree.hlo.shape import Index
from donatree.hlo.wire import Message, nested, number, repeated

# Fields of LogicalBufferProto.Location, BufferAllocationProto and BufferAllocationProto.Assigned in
# XLA's `hlo.proto`.
_INDEX, _INSTRUCTION = 3, 4
_NUMBER, _SIZE, _THREAD_LOCAL, _IS_PARAMETER, _PARAMETER, _LIVE_OUT = 1, 2, 3, 5, 6, 7
_ASSIGNED, _PARAMETER_INDEX, _CONSTANT = 9, 10, 12
_BUFFER, _OFFSET, _BYTES = 1, 2, 3
_NO_TEMP = frozenset((_THREAD_LOCAL, _IS_PARAMETER, _LIVE_OUT, _CONSTANT))


@dataclass(frozen=True, slots=True)
class Buffer:
    """A value, or an element of one, in memory: what XLA calls a logical buffer.

    Attributes:
        id: XLA's number.
        allocation: index of the allocation that it is in.
        offset: bytes from the beginning of the allocation.
        size: bytes per device.
        instruction: number of the instruction that defines the value, see `InstructionIds`.
        index: place in the value of the instruction, ``()`` where that is no tuple.
    """

    id: int
    allocation: int
    offset: int
    size: int
    instruction: int
    index: Index = ()

    def overlaps(self, other: Buffer) -> bool:
        """Whether it has bytes in common with another buffer."""
        return (
            self.allocation == other.allocation
            and self.offset < other.offset + other.size
            and other.offset < self.offset + self.size
        )


@dataclass(frozen=True, slots=True)
class Allocation:
    """A stretch of memory.

    Attributes:
        index: XLA's number.
        size: bytes per device.
        parameter: number of the parameter of the module that it holds, None for another.
        parameter_index: place in the parameter, ``()`` where that is no tuple.
        live_out: whether a part of the result is in it.
        constant: whether it holds a constant.
        thread_local: whether each call of an inner computation has its own.
    """

    index: int
    size: int
    parameter: int | None = None
    parameter_index: Index = ()
    live_out: bool = False
    constant: bool = False
    thread_local: bool = False

    @property
    def is_temp(self) -> bool:
        """Whether it holds temporaries: those are XLA's ``temp_size_in_bytes``."""
        is_parameter = self.parameter is not None
        return not (is_parameter or self.live_out or self.constant or self.thread_local)


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of an allocation whose buffers take turns in its bytes; no other buffer has any.

    Attributes:
        size: bytes per device.
        buffers: in the order of their offsets.
    """

    size: int
    buffers: tuple[Buffer, ...]


def stretches(buffers: Iterable[Buffer]) -> list[Stretch]:
    """The parts of an allocation, from all of its buffers.

    Example:
        >>> buffers = [Buffer(1, 0, 0, 8, 10), Buffer(2, 0, 4, 8, 11), Buffer(3, 0, 64, 4, 12)]
        >>> [(part.size, [each.id for each in part.buffers]) for part in stretches(buffers)]
        [(12, [1, 2]), (4, [3])]
    """
    parts: list[list[Buffer]] = []
    end = 0
    for buffer in sorted(buffers, key=lambda each: (each.offset, each.id)):
        if not parts or buffer.offset >= end:
            parts.append([])
        parts[-1].append(buffer)
        end = max(end, buffer.offset + buffer.size)
    return [_stretch(part) for part in parts]


def covered(buffers: Iterable[Buffer]) -> int:
    """How many bytes buffers take that may overlap.

    Example:
        >>> covered([Buffer(1, 0, 0, 8, 10), Buffer(2, 0, 4, 8, 11), Buffer(3, 0, 64, 4, 12)])
        16
    """
    return sum(each.size for each in stretches(buffers))


def _stretch(part: list[Buffer]) -> Stretch:
    end = max(each.offset + each.size for each in part)
    return Stretch(end - part[0].offset, tuple(part))


def read_allocation(message: Message) -> Allocation:
    """Reads a ``BufferAllocationProto`` without what is assigned to it.

    Raises:
        ProtoError: it is malformed.
    """
    found: dict[int, int] = {}
    parameter_index: list[int] = []
    for field, value in message:
        if field == _PARAMETER_INDEX:
            parameter_index += repeated(value)
        elif field != _ASSIGNED and isinstance(value, int):
            found[field] = number(field, value)
    return Allocation(
        found.get(_NUMBER, 0),
        found.get(_SIZE, 0),
        found.get(_PARAMETER, 0) if found.get(_IS_PARAMETER) else None,
        tuple(parameter_index),
        bool(found.get(_LIVE_OUT)),
        bool(found.get(_CONSTANT)),
        bool(found.get(_THREAD_LOCAL)),
    )


def is_temp(message: Message) -> bool:
    """`Allocation.is_temp` of a ``BufferAllocationProto``, read no further than it takes.

    Most allocations are a parameter or live out, which stands near their beginning.

    Raises:
        ProtoError: it is malformed.
    """
    return not any(value for field, value in message if field in _NO_TEMP)


def read_assigned(message: Message, places: Mapping[int, tuple[int, Index]]) -> tuple[Buffer, ...]:
    """Reads what a ``BufferAllocationProto`` says is assigned to it.

    Args:
        message: the allocation.
        places: where each logical buffer is defined.

    Raises:
        ProtoError: it is malformed, or a buffer is not among ``places``.
    """
    answer = []
    allocation = read_allocation(message).index
    for field, value in message:
        if field != _ASSIGNED:
            continue
        assigned = nested(message, field, value)
        found = {_BUFFER: 0, _OFFSET: 0, _BYTES: 0}
        for inner, each in assigned:
            if inner in found:
                found[inner] = number(inner, each)
        place = places.get(found[_BUFFER])
        if place is None:
            raise assigned.error(f"no logical buffer has the id {found[_BUFFER]}")
        answer.append(Buffer(found[_BUFFER], allocation, found[_OFFSET], found[_BYTES], *place))
    return tuple(answer)


def read_location(message: Message) -> tuple[int, Index]:
    """Reads a ``LogicalBufferProto.Location``: an instruction and a place in its value.

    Raises:
        ProtoError: it is malformed.
    """
    instruction, index = 0, ()
    for field, value in message:
        if field == _INSTRUCTION:
            instruction = number(field, value)
        elif field == _INDEX:
            index = (*index, *repeated(value))
    return instruction, index
