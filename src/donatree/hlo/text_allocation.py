"""Stretches of memory, and what the text of a buffer assignment puts into them."""

from __future__ import annotations

from dataclasses import dataclass

from donatree.hlo.shape import Index


@dataclass(frozen=True, slots=True)
class TextValue:
    """A value, or an element of one, in memory.

    Attributes:
        id: XLA's number.
        instruction: the name of the instruction that defines it.
        index: place in the value of the instruction, ``()`` where that is no tuple.
        size: bytes per device.
        offset: bytes from the beginning of the allocation.
        shape: XLA's text of its type, with the layout.
        is_phi: whether it stands for several others: the state of a loop, the result of a branch.
    """

    id: int
    instruction: str
    index: Index
    size: int
    offset: int
    shape: str
    is_phi: bool = False


@dataclass(frozen=True, slots=True)
class TextAllocation:
    """A stretch of memory.

    Attributes:
        number: XLA's number.
        size: bytes per device.
        memory_space: 0 the device's main memory, 1 a TPU's VMEM, 2 its SMEM, 5 the host's.
        parameter: number of the parameter of the module that it holds, None for another.
        parameter_index: place in the parameter, ``()`` where that is no tuple.
        is_output: whether a part of the result is in it.
        is_temp: whether it holds temporaries: those are XLA's ``temp_size_in_bytes`` on a CPU.
        is_constant: whether it holds a constant.
        is_thread_local: whether each call of an inner computation has its own.
        values: what is in it, at one time or another.
    """

    number: int
    size: int
    memory_space: int = 0
    parameter: int | None = None
    parameter_index: Index = ()
    is_output: bool = False
    is_temp: bool = False
    is_constant: bool = False
    is_thread_local: bool = False
    values: tuple[TextValue, ...] = ()
