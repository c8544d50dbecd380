"""The errors that name a place in what XLA wrote."""

from __future__ import annotations

from typing import Self

_EXCERPT_BEFORE = 16
_EXCERPT_AFTER = 24


class HloError(ValueError):
    """Compiler output that cannot be read.

    ``str()`` of it is one line that names the place.

    Attributes:
        problem: what was expected and what was found.
        position: where, counted from 0; a class of its own says in what.
        excerpt: the text around the place, cut ends marked by ``...``.
    """

    _subject = "compiler output"
    _unit = "position"

    def __init__(self, problem: str, position: int, excerpt: str = "") -> None:
        # All three go to `args`, so that the error survives pickling.
        super().__init__(problem, position, excerpt)
        self.problem = problem
        self.position = position
        self.excerpt = excerpt

    @classmethod
    def at(cls, line: str, position: int, problem: str) -> Self:
        """The error for ``problem`` at ``position`` of ``line``, with the text around it."""
        return cls(_printable(problem), position, _excerpt(line, position))

    @property
    def place(self) -> str:
        """The place in words, ``column 12``."""
        return f"{self._unit} {self.position}"

    def __str__(self) -> str:
        message = f"{self._subject} cannot be read at {self.place}: {self.problem}"
        return f"{message}: {self.excerpt}" if self.excerpt else message


class HeaderError(HloError):
    """A module header that cannot be read.

    Attributes:
        position: column in the header line, from 0, at most the length of the line.
    """

    _subject = "module header"
    _unit = "column"


class InstructionError(HloError):
    """The text of a module that cannot be read below its header.

    Attributes:
        position: column in the line, from 0, at most the length of the line.
        line: number of the line in the text, from 1.
    """

    _subject = "module text"

    def __init__(self, problem: str, position: int, excerpt: str = "", line: int = 1) -> None:
        super().__init__(problem, position, excerpt)
        self.line = line
        self.args = (problem, position, excerpt, line)

    @classmethod
    def at(cls, line: str, position: int, problem: str, number: int = 1) -> Self:
        """The error for ``problem`` at ``position`` of the line with that ``number``."""
        return cls(_printable(problem), position, _excerpt(line, position), number)

    @property
    def place(self) -> str:
        """The place in words, ``line 3, column 12``."""
        return f"line {self.line}, column {self.position}"


class AssignmentError(InstructionError):
    """The text of a buffer assignment, or of live ranges, that cannot be read.

    Attributes:
        position: column in the line, from 0, at most the length of the line.
        line: number of the line in the text, from 1.
    """

    _subject = "buffer assignment"


class ProtoError(HloError):
    """A protobuf message that cannot be read.

    Attributes:
        position: byte in the outermost message, from 0, at most its length.
    """

    _subject = "protobuf message"
    _unit = "byte"


def _excerpt(line: str, position: int) -> str:
    start = max(0, position - _EXCERPT_BEFORE)
    end = min(len(line), position + _EXCERPT_AFTER)
    before = "..." if start > 0 else ""
    after = "..." if end < len(line) else ""
    return f"{before}{_printable(line[start:end])}{after}"


def _printable(text: str) -> str:
    """``text`` with everything escaped that could break a line or a terminal."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode("ascii")
        for char in text
    )
