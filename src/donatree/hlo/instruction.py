"""One instruction, read from its line in a module's text."""

from __future__ import annotations

import re
from dataclasses import dataclass

from donatree.hlo.error import InstructionError
from donatree.hlo.frames import Frame, Frames, read_metadata
from donatree.hlo.scanner import Scanner
from donatree.hlo.shape import EntryShape, read_shape

_NAME = re.compile(r"\s*(ROOT )?%?([^\s=(),{}]+) = ")
# All that has to be known of most lines, those whose shape is no tuple, to say who uses what. The
# others are read token by token.
_USUAL = re.compile(r"[^=(]+ = [a-z0-9]+\[\S* ([a-z0-9-]+)\(([^()\"]*)\)")
_OPERAND = re.compile(r"%([^\s,%(){}\[\]=]+)")
_COMMENT = re.compile(r"/\*.*?\*/")
_BRACKETED = re.compile(r"[\[({][^\[\](){}]*[\])}]")
_DEEPEST_BRACKETS = 32
_COMPUTATION = re.compile(r"[^\s,%{}]+")
_CALLS = (
    *("body", "called_computations", "calls", "condition", "scatter", "select", "to_apply"),
    *("async_computation", "branch_computations", "false_computation", "true_computation"),
)
_NO_OPERANDS = frozenset(("constant", "parameter"))
_NUMBER = re.compile(r"[0-9]{1,18}")


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction of the entry computation.

    Attributes:
        name: unique in the module, without ``%``.
        opcode: ``copy``, ``fusion``, ``get-tuple-element``.
        shape: of its value, as one device sees it.
        operands: names of the instructions that it reads, in order.
        called: names of the computations that it calls.
        position: its place in the computation, from 0; in a compiled module its place in time.
        is_root: whether its value is the module's result.
        parameter: the number of a ``parameter``, else None.
        index: the element that a ``get-tuple-element`` takes, else None.
        op_name: the name that JAX gave the operation, ``jit(step)/mul``, empty without one.
        frames: places in the user's source, innermost first; empty where the text names none.
    """

    name: str
    opcode: str
    shape: EntryShape
    operands: tuple[str, ...] = ()
    called: tuple[str, ...] = ()
    position: int = 0
    is_root: bool = False
    parameter: int | None = None
    index: int | None = None
    op_name: str = ""
    frames: tuple[Frame, ...] = ()


def read_instruction(
    line: str, position: int, number: int, frames: Frames, known: dict[str, EntryShape]
) -> Instruction:
    """Reads a line of a computation.

    Args:
        line: ``  %copy.1 = f32[4]{0} copy(%x.1), metadata={...}``, without its end.
        position: place of the instruction in its computation.
        number: of the line in the text, from 1, for the error.
        frames: the tables of the module.
        known: shapes read before, by their text.

    Raises:
        InstructionError: it is no instruction. Attributes that are not known are passed over.
    """
    begin = _NAME.match(line)
    if begin is None:
        raise InstructionError.at(line, 0, "expected `%name = ...`, an instruction", number)
    scanner = _Line(line, begin.end(), number)
    shape = read_shape(scanner, known)
    opcode = scanner.word("an opcode after the shape")
    scanner.expect("(", f"after the opcode `{opcode[:60]}`")
    start = scanner.position
    scanner.position -= 1
    scanner.bracketed()
    inside = line[start : scanner.position - 1]
    attributes = scanner.attributes()
    op_name, places = read_metadata(attributes.get("metadata", ""), frames)
    return Instruction(
        begin[2],
        opcode,
        shape,
        () if opcode in _NO_OPERANDS else _names(inside),
        tuple(
            name
            for attribute in _CALLS
            if attribute in attributes
            for name in _COMPUTATION.findall(attributes[attribute])
        ),
        position,
        begin[1] is not None,
        _number(inside) if opcode == "parameter" else None,
        _number(attributes.get("index", "")),
        op_name,
        places,
    )


def name_of(line: str) -> str | None:
    """The name of the instruction in a line, None where there is none."""
    begin = _NAME.match(line)
    return begin[2] if begin else None


def operands_of(line: str) -> tuple[str, ...] | None:
    """The operands of the instruction in a line; None where the whole line must be read for it."""
    usual = _USUAL.match(line)
    if usual is None:
        return None
    return () if usual[1] in _NO_OPERANDS else _names(usual[2])


class _Line(Scanner):
    """A cursor over the line of an instruction."""

    __slots__ = ("line_number",)

    def __init__(self, text: str, position: int, line_number: int) -> None:
        super().__init__(text, position)
        self.line_number = line_number

    def error(self, problem: str, position: int | None = None) -> InstructionError:
        """The error for ``problem`` at ``position``, by default here."""
        at = self.position if position is None else position
        return InstructionError.at(self.text, at, problem, self.line_number)

    def attributes(self) -> dict[str, str]:
        """Reads ``, index=1, metadata={...}``, as raw text by name."""
        answer: dict[str, str] = {}
        while not self.done():
            self.expect(",", "before an attribute")
            name = self.word("an attribute after `,`")
            answer[name] = self.value(name) if self.accept("=") else ""
        return answer


def _names(operands: str) -> tuple[str, ...]:
    """The names in ``%a, /*index=5*/%b``; XLA may leave out ``%`` and give shapes before it."""
    if "%" in operands:
        return tuple(_OPERAND.findall(operands))
    left = _COMMENT.sub("", operands)
    for _ in range(_DEEPEST_BRACKETS):
        left, before = _BRACKETED.sub("", left), left
        if left == before:
            break
    return tuple(each.split()[-1] for each in left.split(",") if each.strip())


def _number(text: str) -> int | None:
    return int(text) if _NUMBER.fullmatch(text) else None
