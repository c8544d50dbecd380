"""The copies that stand between a donated parameter and the output that takes its memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from donatree.hlo.alias import Alias
from donatree.hlo.flow import Value, destinations, origin
from donatree.hlo.frames import Frame
from donatree.hlo.instructions import EntryComputation, Instruction
from donatree.hlo.shape import EntryShape, Index

_COPIES = ("copy", "copy-start")
_FAST_MEMORY = 1  # where a TPU stages values


class Peaks(Protocol):
    """A buffer assignment that tells what it has at its peak, from a message or from a text."""

    def at_peak(self, values: Sequence[tuple[str, Index]]) -> tuple[bool | None, ...]:
        """Which of some values take up temporary memory that would not be needed without them."""
        ...


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy that needs memory of a donated parameter's size beside the parameter's own.

    Attributes:
        instruction: the ``copy``, or the ``copy-start`` of a pair.
        bytes: per device.
        of_parameters: the parameters whose value it keeps, as `Alias.input` counts them, because
            their memory is written over while the value is still to be read.
        into_outputs: the outputs whose value it moves to its place, as `Alias.output` counts them,
            because the memory that they take was still to be read when the value was computed.
        readers: who still reads, in the order of the program. Of a copy of a parameter: what
            computes with the copied value. Of a copy into an output: what reads the parameter
            whose memory the output takes, from the instruction on that computes the output, or
            at all where nothing does from there on.
        computed_by: the instruction that computed the value of a copy into an output, else None.
        overwritten_by: the instruction that computes what takes the memory of a parameter that is
            copied; None for copies into an output, and where another parameter moves there.
        held: the value whose memory is needed beside the parameter's own: that of a copy of a
            parameter is the copy itself, that of a copy into an output is what it copies.
    """

    instruction: Instruction
    bytes: int
    of_parameters: tuple[int, ...]
    into_outputs: tuple[int, ...]
    held: Value
    readers: tuple[Instruction, ...] = ()
    computed_by: Instruction | None = None
    overwritten_by: Instruction | None = None

    @property
    def name(self) -> str:
        """The name of the instruction."""
        return self.instruction.name

    @property
    def frames(self) -> tuple[Frame, ...]:
        """The copy's own places in the source, which XLA's CPU compiler leaves out."""
        return self.instruction.frames


def find_copies(entry: EntryComputation, aliases: Iterable[Alias]) -> tuple[Copy, ...]:
    """Finds the copies that take back what a granted donation saves.

    Left out are copies between memory spaces (a TPU stages values in ``S(1)``), those that change
    a layout, which are made without donation too, those that only move a parameter to memory that
    an output has anyway, and those inside of loops and other called computations.

    Args:
        entry: the entry computation of the compiled module.
        aliases: of the module's header.

    Returns:
        The copies in the order of the program.

    Raises:
        InstructionError: a line that had to be read cannot be read.

    Example:
        >>> from donatree.hlo.instructions import read_entry
        >>> text = '''ENTRY %main {
        ...   %x = f32[8,8]{1,0} parameter(0)
        ...   %dot = f32[8,8]{1,0} dot(%x, %x)
        ...   ROOT %copy = f32[8,8]{1,0} copy(%dot)
        ... }'''
        >>> (copy,) = find_copies(read_entry(text), [Alias((), 0, (), "may-alias")])
        >>> copy.bytes, copy.into_outputs, copy.computed_by.name
        (256, (0,), 'dot')
    """
    search = _Search(entry, tuple(aliases))
    candidates = entry.of_opcode(*_COPIES) if search.aliases else ()
    return tuple(copy for each in candidates if (copy := search.judge(each)) is not None)


def at_peak(copies: Sequence[Copy], assignment: Peaks | None) -> tuple[bool | None, ...]:
    """Which copies take up temporary memory that would not be needed without them.

    The memory in question is that of `Copy.held`. It counts where it is in use when the temporaries
    have most bytes, and is not needed at another time for something else than these copies.

    Args:
        copies: all that `find_copies` found; one of them does not excuse another.
        assignment: the buffer assignment of the same module, an `Assignment` or a
            `TimedAssignment`; None where there is none.

    Returns:
        The answer to each copy, None where the assignment does not tell.

    Raises:
        ProtoError: the assignment is malformed.
        InstructionError: the module's text is malformed.
    """
    if assignment is None:
        return (None,) * len(copies)
    return assignment.at_peak([(copy.held.instruction.name, copy.held.index) for copy in copies])


class _Search:
    """What is known of the module while its copies are judged, in their order."""

    def __init__(self, entry: EntryComputation, aliases: tuple[Alias, ...]) -> None:
        self.entry = entry
        self.aliases = aliases
        self._of = {(each.parameter, each.parameter_index): each for each in aliases}
        self._into = {each.output_index: each for each in aliases}
        self._found: set[str] = set()

    def judge(self, instruction: Instruction) -> Copy | None:
        """The copy that an instruction is, if it costs memory."""
        operand = instruction.operands[0] if instruction.operands else ""
        size = _size(instruction, self.entry[operand].shape)
        held = origin(self.entry, operand, copies=False)
        # A constant, and what an earlier copy keeps, is in memory anyway.
        kept = held.instruction.opcode == "constant" or held.instruction.name in self._found
        if kept or not size:
            return None
        ends = (instruction, *self._done(instruction))
        straight = destinations(self.entry, ends[-1].name, copies=False).results
        source = origin(self.entry, operand)
        copy = None
        if source.instruction.opcode != "parameter":
            copy = self._into_outputs(instruction, size, held, source.instruction, straight)
        elif not straight:
            # Where it goes straight into the result it is in memory that an output has anyway.
            copy = self._of_parameter(instruction, size, source)
        if copy is not None:
            self._found.update(each.name for each in ends)
        return copy

    def _of_parameter(self, instruction: Instruction, size: int, source: Value) -> Copy | None:
        alias = self._of.get((source.instruction.parameter or 0, source.index))
        if alias is None:
            return None
        goes = destinations(self.entry, instruction.name)
        writer = origin(self.entry, self.entry.root.name, alias.output_index).instruction
        return Copy(
            instruction,
            size,
            of_parameters=(alias.input,),
            into_outputs=(),
            readers=goes.readers,
            overwritten_by=None if writer.opcode == "parameter" else writer,
            held=Value(instruction, (0,) if instruction.shape.is_tuple else ()),
        )

    def _into_outputs(
        self,
        instruction: Instruction,
        size: int,
        held: Value,
        computed_by: Instruction,
        straight: Iterable[Index],
    ) -> Copy | None:
        aliases = [self._into[place] for place in straight if place in self._into]
        if not aliases:
            return None
        readers: dict[int, Instruction] = {}
        for alias in aliases:
            parameter = self.entry.parameter(alias.parameter)
            goes = destinations(self.entry, parameter.name, alias.parameter_index)
            readers |= {each.position: each for each in goes.readers}
        # XLA puts copies before it orders the program: the order may turn out to need none.
        late = [at for at in readers if at >= computed_by.position] or readers
        inner = self.entry.computed_in(held.instruction)
        return Copy(
            instruction,
            size,
            of_parameters=(),
            into_outputs=tuple(sorted(alias.output for alias in aliases)),
            readers=tuple(readers[at] for at in sorted(late)),
            computed_by=computed_by,
            held=held if inner is None else Value(inner, held.index),
        )

    def _done(self, instruction: Instruction) -> tuple[Instruction, ...]:
        """The ``copy-done`` of a ``copy-start``."""
        if instruction.opcode != "copy-start":
            return ()
        users = self.entry.users(instruction.name)
        return tuple(each for each in users if each.opcode == "copy-done")[:1]


def _size(instruction: Instruction, read: EntryShape) -> int:
    """The bytes that are copied as they are; 0 where the copy has another purpose."""
    written = instruction.shape
    if instruction.opcode == "copy-start" and len(written.elements) > 1:
        written, read = written.elements[:2]
    is_plain = written.text == read.text and not written.is_tuple
    return written.size_in_bytes if is_plain and written.memory_space != _FAST_MEMORY else 0
