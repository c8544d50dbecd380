"""One finding in the form that rustc gave its users, with the line of source that it points at."""

from __future__ import annotations

import linecache
from collections.abc import Iterator, Sequence

from donatree import paths
from donatree.ledger import Finding, Location
from donatree.reports import sizes
from donatree.reports.text import BAD, CARE, HEAD, Line, Marks, cells, clean, paragraph

_STYLES = {"error": BAD, "warning": f"bold {CARE}", "note": "bold cyan"}


def lines(
    finding: Finding, marks: Marks, width: int = 100, functions: Sequence[str] = ()
) -> Iterator[Line]:
    """A finding with its place in the source, the leaves it speaks of, its facts and its help.

    Args:
        finding: the finding.
        marks: the signs to use.
        width: columns that notes and helps are wrapped to.
        functions: names of the functions that it concerns, where the reader cannot tell.

    Yields:
        ``error[DT402]: headline``, `` --> train.py:41``, the line of source where it can be read,
        underlined where the columns are known, then ``= leaf:``, ``= in:``, ``= note:`` and
        ``= help:``.
    """
    style = _STYLES[finding.level]
    code = clean(finding.code)
    yield [(f"{finding.level}[{code}]", style), (f": {clean(finding.headline)}", HEAD)]
    gutter = 1
    if finding.location:
        source = list(_source(finding.location, marks, width, style))
        gutter = len(str(finding.location.line)) if source else 1
        yield [(" " * gutter + "--> ", "blue"), (clean(str(finding.location)), "")]
        yield from source
    for word, text in _attached(finding, functions):
        head: Line = [(" " * (gutter + 1) + "= ", "blue"), (f"{word}: ", HEAD)]
        yield from paragraph(text, width, head, gutter + 3 + len(word) + 2)


def _attached(finding: Finding, functions: Sequence[str]) -> Iterator[tuple[str, str]]:
    if finding.leaves or finding.folded:
        folded = finding.folded or paths.fold(finding.leaves)
        word = "leaves" if len(finding.leaves) > 1 else "leaf"
        yield word, f"{folded}, {sizes.size(finding.bytes)}"
        if len(finding.leaves) > 1 and ("*" in folded or "..." in folded):
            yield "largest", finding.leaves[0]
    elif finding.bytes:
        yield "bytes", sizes.size(finding.bytes)
    if functions:
        yield "in", ", ".join(functions)
    for note in finding.notes:
        yield "note", note
    if finding.help:
        yield "help", finding.help


def _source(location: Location, marks: Marks, width: int, style: str) -> Iterator[Line]:
    """The line of source between bars; nothing where it cannot be read."""
    try:
        text = linecache.getline(location.file, location.line).rstrip()
    except ValueError:  # a name that no file can have
        return
    if not text.strip():
        return
    number = str(location.line)
    margin = " " * len(number)
    start, end = _columns(location, text)
    before, under = _shown(text[:start]), _shown(text[start:end])
    shown = before + under + _shown(text[end:])
    room = max(width - len(number) - 3, 24)
    # A long line is cut on the left when what it underlines would not be seen.
    cut = 0
    if cells(shown) > room:
        if under and len(before) + len(under) > room:
            cut = max(min(len(before) - 8, len(before) + len(under) - room + 8), 0)
        shown = (marks.dots if cut else "") + shown[cut:]
        if cells(shown) > room:
            while cells(shown) > room - len(marks.dots):
                shown = shown[:-1]
            shown += marks.dots
    yield [(f"{margin} |", "blue")]
    yield [(f"{number} | ", "blue"), (shown, "")]
    offset = cells(before[cut:]) + (len(marks.dots) if cut else 0)
    length = min(cells(under), room - offset)
    if length > 0:
        yield [(f"{margin} | ", "blue"), (" " * offset + "^" * length, style)]
    yield [(f"{margin} |", "blue")]


def _columns(location: Location, text: str) -> tuple[int, int]:
    """What to underline as places in the text; an empty range where that is not known.

    Columns are those of Python's code objects and syntax trees: they count bytes of UTF-8.
    """
    if location.column is None:
        return len(text), len(text)
    data = text.encode("utf-8", "surrogatepass")
    last = location.end_column
    if last is None or (location.end_line or location.line) > location.line:
        last = len(data)
    if not 0 <= location.column < last <= len(data):
        return len(text), len(text)
    start = len(data[: location.column].decode("utf-8", "ignore"))
    return start, len(data[:last].decode("utf-8", "ignore"))


def _shown(text: str) -> str:
    return clean(text.replace("\t", "    "))
