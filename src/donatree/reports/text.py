"""Lines of styled text, and the care that text from a user's program needs.

A report is a list of lines, a line is a list of ``(text, style)``. Text never passes through
rich's markup, so a leaf called ``['[red]x[/]']`` is printed as it is.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

Span = tuple[str, str]
Line = list[Span]

GOOD, BAD, CARE, DIM, HEAD = "green", "bold red", "yellow", "dim", "bold"

# Control codes, line separators, lone surrogates, and what turns the direction of writing.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_CODE = re.compile(r"`[^`]+`")


@dataclass(frozen=True, slots=True)
class Marks:
    """The signs of a report.

    Attributes:
        kept: beside a leaf that passed every gate checked.
        lost: beside a leaf that stopped at one; as wide as ``kept``.
        bar: one cell of a full bar; empty where there are no bars.
        gap: one cell of what is missing.
        dots: in place of what was left out.
    """

    kept: str
    lost: str
    bar: str
    gap: str
    dots: str


UNICODE = Marks("✓", "✗", "━", "┄", "…")
ASCII = Marks("ok", "x ", "", "", "...")


def clean(text: str) -> str:
    r"""One line of text without anything that a terminal would act on; newlines are escaped too.

    Example:
        >>> print(clean("a\x1b[31m"))
        a\x1b[31m
    """
    if text.isascii() and text.isprintable():  # nearly always, and much quicker
        return text
    return _UNSAFE.sub(lambda found: ascii(found[0])[1:-1], text)


def cells(text: str) -> int:
    """The columns that a text takes up in a terminal."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def width_of(line: Line) -> int:
    """The columns that a line takes up in a terminal."""
    return sum(cells(text) for text, _ in line)


def elide(text: str, width: int, marks: Marks) -> str:
    """The text with its middle left out, where it is longer than ``width`` columns."""
    if cells(text) <= width:
        return text
    room = max(width - cells(marks.dots), 2)
    head, tail = room // 2, room - room // 2
    first, last = text[:head], text[-tail:]
    while cells(first) > head:
        first = first[:-1]
    while cells(last) > tail:
        last = last[1:]
    return first + marks.dots + last


def wrapped(text: str, width: int) -> list[str]:
    """The lines of a text, broken between words; code in backticks stays in one piece."""
    lines: list[str] = []
    for line in text.expandtabs(4).splitlines() or [""]:
        # clean() has taken every NUL out, so that it can hold the place of a space.
        held = _CODE.sub(lambda found: found[0].replace(" ", "\0"), clean(line))
        pieces = textwrap.wrap(held, max(width, 24), break_long_words=False, break_on_hyphens=False)
        lines += [piece.replace("\0", " ") for piece in pieces or [""]]
    return lines


def paragraph(text: str, width: int, first: Line, indent: int, style: str = "") -> Iterator[Line]:
    """A text set beside ``first``, its later lines indented by ``indent`` columns."""
    for number, line in enumerate(wrapped(text, width - indent)):
        before = first if number == 0 else [(" " * indent, "")]
        yield [*before, *code_spans(line, style)]


def code_spans(line: str, style: str = "") -> Iterator[Span]:
    """The line, with what stands in backticks set apart."""
    end = 0
    for found in _CODE.finditer(line):
        if found.start() > end:
            yield line[end : found.start()], style
        yield found[0], HEAD
        end = found.end()
    if end < len(line):
        yield line[end:], style
