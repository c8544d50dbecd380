"""One finding in the form that rustc gave its users, with the line of source that it points at."""

from __future__ import annotations

import linecache
from collections.abc import Callable, Iterable, Iterator, Sequence

from donatree import paths
from donatree.ledger import Finding, Location
from donatree.reports import cell_names, sizes, snippet
from donatree.reports.places import columns, shown
from donatree.reports.text import ASCII, BAD, CARE, HEAD, Line, Marks, cells, clean, paragraph

_STYLES = {"error": BAD, "warning": f"bold {CARE}", "note": "bold cyan"}


def lines(
    finding: Finding,
    marks: Marks,
    width: int = 100,
    functions: Sequence[str] = (),
    tried: Callable[[int], Iterable[Line]] | None = None,
    targets: str | None = None,
) -> Iterator[Line]:
    """A finding with its place in the source, the leaves it speaks of, its facts and its help.

    Args:
        finding: the finding.
        marks: the signs to use.
        width: columns that notes and helps are wrapped to.
        functions: names of the functions that it concerns, where the reader cannot tell.
        tried: gives the lines of the fixes that were tried for it, by the columns of its gutter.
        targets: the targets on which it was found, where there are others.

    Yields:
        ``error[DT402]: headline``, `` --> train.py:41``, the line of source where it can be read,
        underlined where the columns are known, then ``= leaf:``, ``= in:``, ``= on:``,
        ``= note:`` and ``= help:``. A finding with labels has all of its places drawn instead of
        the one.
    """
    style = _STYLES[finding.level]
    code = clean(finding.code)
    yield [(f"{finding.level}[{code}]", style), (f": {clean(finding.headline)}", HEAD)]
    gutter, source = drawn(finding, marks, width)
    yield from source
    for word, text in attached(finding, functions, targets):
        head: Line = [(" " * (gutter + 1) + "= ", "blue"), (f"{word}: ", HEAD)]
        yield from paragraph(text, width, head, gutter + 3 + len(word) + 2)
    if tried is not None:
        yield from tried(gutter)


def drawn(finding: Finding, marks: Marks, width: int = 100) -> tuple[int, list[Line]]:
    """The places of a finding, with the lines of source where they can be read.

    Args:
        finding: the finding.
        marks: the signs to use.
        width: columns.

    Returns:
        The columns that the line numbers take up, and the lines, ``--> file:line`` first; none
        where the finding has no place.
    """
    style = _STYLES[finding.level]
    if finding.labels:
        lines = list(snippet.lines(finding.labels, marks, width, style))
        return snippet.gutter_of(finding.labels), lines
    if finding.location is None:
        return 1, []
    source = list(_source(finding.location, marks, width, style))
    gutter = len(str(finding.location.line)) if source else 1
    head: Line = [(" " * gutter + "--> ", "blue"), (clean(str(finding.location)), "")]
    return gutter, [head, *source]


def text(finding: Finding, width: int = 100) -> str:
    """A finding as plain text, for a note on an exception: no colour, its own marks ASCII only.

    Args:
        finding: the finding.
        width: columns.

    Returns:
        Its lines, without a newline at the end.

    Example:
        >>> print(text(Finding("DT704", "`old` is used", help="copy it")))
        error[DT704]: `old` is used
          = help: copy it
    """
    made = lines(finding, ASCII, width)
    rows = ("".join(piece for piece, _ in line).rstrip() for line in made)
    return cell_names.named("\n".join(rows))


def attached(
    finding: Finding, functions: Sequence[str] = (), targets: str | None = None
) -> Iterator[tuple[str, str]]:
    """What is told of a finding below its place: ``leaf``, ``in``, ``on``, ``note``, ``help``.

    Args:
        finding: the finding.
        functions: names of the functions that it concerns, where the reader cannot tell.
        targets: the targets on which it was found, where there are others.

    Yields:
        The word and the text after it.
    """
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
    if targets:
        yield "on", targets
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
    start, end = columns(location, text)
    before, under = shown(text[:start]), shown(text[start:end])
    whole = before + under + shown(text[end:])
    room = max(width - len(number) - 3, 24)
    # A long line is cut on the left when what it underlines would not be seen.
    cut = 0
    if cells(whole) > room:
        if under and len(before) + len(under) > room:
            cut = max(min(len(before) - 8, len(before) + len(under) - room + 8), 0)
        whole = (marks.dots if cut else "") + whole[cut:]
        if cells(whole) > room:
            while cells(whole) > room - len(marks.dots):
                whole = whole[:-1]
            whole += marks.dots
    yield [(f"{margin} |", "blue")]
    yield [(f"{number} | ", "blue"), (whole, "")]
    offset = cells(before[cut:]) + (len(marks.dots) if cut else 0)
    length = min(cells(under), room - offset)
    if length > 0:
        yield [(f"{margin} | ", "blue"), (" " * offset + "^" * length, style)]
    yield [(f"{margin} |", "blue")]
