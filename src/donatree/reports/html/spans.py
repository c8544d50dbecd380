"""The words of the terminal's report as HTML: lines of styled text, and prose with code in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from markupsafe import Markup

from donatree.reports.text import BAD, CARE, DIM, GOOD, HEAD, Line, clean, code_spans

WIDE = 1_000_000
"""Columns for lines that the browser wraps."""

_CLASSES = {
    GOOD: "good",
    f"bold {GOOD}": "good",
    BAD: "bad",
    CARE: "care",
    f"bold {CARE}": "care",
    DIM: "dim",
    HEAD: "strong",
    "bold cyan": "name",
}


@dataclass(frozen=True, slots=True)
class Told:
    """A line of a report.

    Attributes:
        word: ``note``, ``help`` ... where the line begins with one, else empty.
        text: the rest.
    """

    word: str
    text: Markup


def spans(line: Line) -> Markup:
    """A line of styled text; what it shows in bold between backticks becomes ``code``."""
    made: list[Markup] = []
    for text, style in line:
        if style == HEAD and len(text) > 2 and text[0] == text[-1] == "`":
            made.append(Markup("<code>{}</code>").format(clean(text[1:-1])))
        elif style in _CLASSES:
            made.append(Markup('<span class="{}">{}</span>').format(_CLASSES[style], clean(text)))
        else:
            made.append(Markup("{}").format(clean(text)))
    return Markup("").join(made)


def told(lines: Iterable[Line]) -> Iterator[Told]:
    """Lines as they stand in the terminal, without their indentation and signs.

    Args:
        lines: made ``WIDE``, so that each is a whole paragraph. Empty ones are left out.
    """
    for line in lines:
        left = [span for span in line if span[0].strip() not in ("", "=")]
        if not left:
            continue
        head, style = left[0]
        if style == HEAD and head.endswith(": ") and len(left) < len(line):
            yield Told(head[:-2], spans(left[1:]))
        else:
            start = next(i for i, span in enumerate(line) if span is left[0])
            yield Told("", spans([(head.lstrip(), style), *line[start + 1 :]]))


def prose(text: str) -> Markup:
    """A sentence of a finding or a note, with what stands in backticks as ``code``.

    Example:
        >>> prose("return `x < 1`")
        Markup('return <code>x &lt; 1</code>')
    """
    lines = (spans(list(code_spans(clean(line)))) for line in text.splitlines() or [""])
    return Markup("<br>").join(lines)
