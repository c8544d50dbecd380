"""The error that names a place in a module header."""

from __future__ import annotations

_EXCERPT_BEFORE = 16
_EXCERPT_AFTER = 24


class HeaderError(ValueError):
    """A module header that cannot be read.

    ``str()`` of it is one line that names the place.

    Attributes:
        problem: what was expected and what was found.
        position: column in the header line, from 0, at most the length of the line.
        excerpt: the text around the place, cut ends marked by ``...``.
    """

    def __init__(self, problem: str, position: int, excerpt: str) -> None:
        # All three go to `args`, so that the error survives pickling.
        super().__init__(problem, position, excerpt)
        self.problem = problem
        self.position = position
        self.excerpt = excerpt

    @classmethod
    def at(cls, line: str, position: int, problem: str) -> HeaderError:
        """The error for ``problem`` at ``position`` of ``line``, with the text around it."""
        start = max(0, position - _EXCERPT_BEFORE)
        end = min(len(line), position + _EXCERPT_AFTER)
        before = "..." if start > 0 else ""
        after = "..." if end < len(line) else ""
        return cls(_printable(problem), position, f"{before}{_printable(line[start:end])}{after}")

    def __str__(self) -> str:
        message = f"module header cannot be read at column {self.position}: {self.problem}"
        return f"{message}: {self.excerpt}" if self.excerpt else message


def _printable(text: str) -> str:
    """``text`` with everything escaped that could break a line or a terminal."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode("ascii")
        for char in text
    )
