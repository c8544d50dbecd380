"""The entry computation of a compiled module, its instructions read when they are asked for."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property

from donatree.hlo.elements import element_of, split_element
from donatree.hlo.error import InstructionError
from donatree.hlo.frames import Frame, Frames
from donatree.hlo.instruction import Instruction, name_of, operands_of, read_instruction
from donatree.hlo.shape import EntryShape

__all__ = ["EntryComputation", "Frame", "Instruction", "InstructionError", "read_entry"]

_ENTRY = "ENTRY "
_ROOT = "ROOT "


class EntryComputation:
    """The entry computation of a module; made by `read_entry`.

    A module's text may have a hundred megabytes, of which a few lines matter: a line is read when
    its instruction is asked for.

    Attributes:
        name: of the computation, without ``%``.
    """

    def __init__(self, text: str) -> None:
        at = 0 if text.startswith(_ENTRY) else text.find(f"\n{_ENTRY}") + 1
        if not text.startswith(_ENTRY, at):
            raise InstructionError("expected a line that begins with `ENTRY`, found none", 0)
        self._text = text
        self._start = text.find("\n", at) + 1
        self._end = text.find("\n}", self._start - 1) + 1
        words = text[at + len(_ENTRY) : self._start].split(maxsplit=1)
        if not self._start or not self._end or not words:
            problem = "expected an entry computation and `}` in a line of its own, found no end"
            line = text[at : at + 200].partition("\n")[0]
            raise InstructionError.at(line, 0, problem, text.count("\n", 0, at) + 1)
        self.name = words[0].lstrip("%")
        self._frames = Frames(text)
        self._shapes: dict[str, EntryShape] = {}
        self._read: dict[int, Instruction] = {}

    def __len__(self) -> int:
        """How many instructions it has."""
        return len(self._lines)

    def __iter__(self) -> Iterator[Instruction]:
        """The instructions in their order."""
        return map(self._at, range(len(self)))

    def __contains__(self, name: str) -> bool:
        return name in self._positions or self._element(name) is not None

    def __getitem__(self, name: str) -> Instruction:
        """The instruction of that name.

        Raises:
            InstructionError: there is none, or its line cannot be read.
        """
        position = self._positions.get(name)
        if position is None:
            if element := self._element(name):
                return element
            problem = f"the entry computation has no instruction `{name[:60]}`"
            raise InstructionError.at("", 0, problem, self._line_number(0))
        return self._at(position)

    def of_opcode(self, *opcodes: str) -> Iterator[Instruction]:
        """The instructions with one of the opcodes, in their order; reads no other line."""
        marks = [f" {opcode}(" for opcode in opcodes]
        if not any(self._text.find(mark, self._start, self._end) >= 0 for mark in marks):
            return
        for position, line in enumerate(self._lines):
            if any(mark in line for mark in marks):
                instruction = self._at(position)
                if instruction.opcode in opcodes:
                    yield instruction

    @cached_property
    def root(self) -> Instruction:
        """The instruction whose value is the module's result.

        Raises:
            InstructionError: there is none, or its line cannot be read.
        """
        for position in range(len(self) - 1, -1, -1):
            if self._lines[position].lstrip().startswith(_ROOT):
                return self._at(position)
        problem = "the entry computation has no `ROOT`"
        raise InstructionError.at("", 0, problem, self._line_number(0))

    def parameter(self, number: int) -> Instruction:
        """The parameter of that number.

        Raises:
            InstructionError: there is none, or its line cannot be read.
        """
        position = self._parameters.get(number)
        if position is None:
            problem = f"the entry computation has no parameter {number}"
            raise InstructionError.at("", 0, problem, self._line_number(0))
        return self._at(position)

    def users(self, name: str) -> tuple[Instruction, ...]:
        """The instructions that have this one as an operand, in their order.

        The first question reads the operands of all lines.
        """
        elements = tuple(self[each] for each in self._elements.get(name, ()))
        return (*elements, *map(self._at, self._users.get(name, ())))

    def computed_in(self, call: Instruction) -> Instruction | None:
        """The instruction inside the computation of a ``call`` whose value the call gives.

        XLA calls what it runs on several threads of a CPU, and leaves the buffer and the metadata
        to the inner instruction (measured: JAX 0.5.3 and 0.6.2).

        Returns:
            None where the instruction is no ``call``, or its computation is not in the text.
        """
        if call.opcode != "call" or not call.called:
            return None
        start = self._text.find(f"\n%{call.called[0]} ")
        end = self._text.find("\n}", start)
        root = self._text.rfind(f"\n  {_ROOT}", start, end) + 1
        if start < 0 or end < 0 or not root:
            return None
        line = self._text[root:end].partition("\n")[0]
        number = self._text.count("\n", 0, root) + 1
        return read_instruction(line, 0, number, self._frames, self._shapes)

    def computation(self, name: str) -> EntryComputation | None:
        """Another computation of the module's text, read as this one is; None where it is not."""
        start = self._text.find(f"\n%{name} ") + 1
        end = self._text.find("\n}", start)
        if not start or end < 0:
            return None
        return EntryComputation(f"{_ENTRY}{self._text[start : end + 2]}")

    @cached_property
    def _lines(self) -> list[str]:
        inside = self._text[self._start : self._end - 1]
        return inside.split("\n") if inside else []

    @cached_property
    def _positions(self) -> dict[str, int]:
        """The places of the instructions by their names."""
        answer: dict[str, int] = {}
        for position, line in enumerate(self._lines):
            name = name_of(line)
            if name is None or name in answer:
                problem = "a second instruction of this name" if name else "no instruction"
                raise InstructionError.at(line, 0, problem, self._line_number(position))
            answer[name] = position
        return answer

    @cached_property
    def _parameters(self) -> dict[int, int]:
        """The places of the parameters by their numbers."""
        answer: dict[int, int] = {}
        for position, line in enumerate(self._lines):
            before, mark, after = line.partition(" parameter(")
            number = after.partition(")")[0]
            if mark and '"' not in before and number.isdecimal():
                answer[int(number)] = position
        return answer

    @cached_property
    def _users(self) -> dict[str, list[int]]:
        """The places of the instructions that have each name as an operand."""
        answer: dict[str, list[int]] = defaultdict(list)
        for position, line in enumerate(self._lines):
            operands = operands_of(line)
            if operands is None:
                operands = self._at(position).operands
            for operand in dict.fromkeys(operands):
                answer[operand].append(position)
        return answer

    @cached_property
    def _elements(self) -> dict[str, dict[str, None]]:
        """The elements that the text names without an instruction, by the tuple's name."""
        answer: dict[str, dict[str, None]] = defaultdict(dict)
        for name in self._users if "#" in self._text else ():
            while found := split_element(name):
                answer[found[0]][name] = None
                name = found[0]
        return answer

    def _element(self, name: str) -> Instruction | None:
        """The instruction that a name like ``while.6#1`` stands for."""
        found = split_element(name)
        if found is None or found[0] not in self:
            return None
        return element_of(self[found[0]], found[1])

    def _at(self, position: int) -> Instruction:
        instruction = self._read.get(position)
        if instruction is None:
            line, number = self._lines[position], self._line_number(position)
            instruction = read_instruction(line, position, number, self._frames, self._shapes)
            inner = None if instruction.op_name else self.computed_in(instruction)
            if inner is not None:
                instruction = dataclasses.replace(
                    instruction, op_name=inner.op_name, frames=inner.frames
                )
            self._read[position] = instruction
        return instruction

    def _line_number(self, position: int) -> int:
        return self._before + position + 1

    @cached_property
    def _before(self) -> int:
        """How many lines stand before the first instruction."""
        return self._text.count("\n", 0, self._start)


def read_entry(text: str) -> EntryComputation:
    r"""Finds the entry computation in the text of a compiled module.

    Args:
        text: of the module, as ``compiled.as_text()`` gives it.

    Raises:
        InstructionError: it has no entry computation, or that has no end. Later, where a line
            that is asked for cannot be read.

    Example:
        >>> entry = read_entry("ENTRY %main {\n  ROOT %x.1 = f32[4]{0} parameter(0)\n}")
        >>> entry.root.name, entry.root.shape.shape, entry.parameter(0).name
        ('x.1', (4,), 'x.1')
    """
    return EntryComputation(text)
