"""The places in source that a finding points at: the lines, what is underlined, what is said."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from donatree.ledger import Finding, Label, Location
from donatree.reports.places import columns, place, shown, source_line
from donatree.reports.text import cells, clean

_NEAR = 2  # a gap of one line is shown, a longer one is a mark


@dataclass(frozen=True, slots=True)
class Said:
    """What is said of a place, in a line below it.

    Attributes:
        indent: blanks before it, so that it stands under its place.
        text: the words.
        kind: ``primary`` or ``other``.
    """

    indent: str
    text: str
    kind: str


@dataclass(frozen=True, slots=True)
class SourceLine:
    """One line of source.

    Attributes:
        number: from 1; 0 for lines that are left out.
        pieces: the text in pieces, each with ``primary``, ``other`` or nothing.
        said: what is said of its places.
    """

    number: int
    pieces: tuple[tuple[str, str], ...] = ()
    said: tuple[Said, ...] = ()


@dataclass(slots=True)
class SourceFile:
    """What is shown of one file.

    Attributes:
        place: ``file:line:column`` of the place that matters most.
        gutter: the columns that the line numbers take up.
        lines: in their order; none where nothing can be read.
        unread: places whose source cannot be read, with what is said of them.
    """

    place: str
    gutter: int = 1
    lines: list[SourceLine] = field(default_factory=list)
    unread: list[tuple[str, str, str]] = field(default_factory=list)


def files(finding: Finding) -> list[SourceFile]:
    """The places of a finding: the file of its primary place first.

    Args:
        finding: a finding without labels is drawn at its location.

    Returns:
        One element a file; none where the finding has no place.
    """
    labels = list(finding.labels)
    if not labels and finding.location:
        labels = [Label(finding.location, "", primary=True)]
    if not labels:
        return []
    leading = next((label for label in reversed(labels) if label.primary), labels[-1])
    names = dict.fromkeys([leading.location.file, *(label.location.file for label in labels)])
    return [_file([x for x in labels if x.location.file == name], leading) for name in names]


def _file(labels: Sequence[Label], leading: Label) -> SourceFile:
    first = leading if leading in labels else labels[0]
    made = SourceFile(place(first.location))
    by_line: dict[int, list[Label]] = {}
    for label in labels:
        if source_line(label.location) is None:
            if label is not first or label.text:
                made.unread.append((place(label.location), label.text, _kind(label)))
        else:
            by_line.setdefault(label.location.line, []).append(label)
    made.gutter = len(str(max(by_line, default=0)))
    last = None
    for number in sorted(by_line):
        if last is not None and number - last > _NEAR:
            made.lines.append(SourceLine(0))
        elif last is not None and number - last == _NEAR:
            between = source_line(Location(first.location.file, last + 1)) or ""
            made.lines.append(SourceLine(last + 1, ((shown(between), ""),)))
        made.lines.append(_line(number, by_line[number]))
        last = number
    return made


def _line(number: int, labels: Sequence[Label]) -> SourceLine:
    text = source_line(labels[0].location) or ""
    spans = []
    for label in labels:
        start, end = columns(label.location, text)
        if start == end:  # not known: the whole line is meant
            start, end = len(text) - len(text.lstrip()), len(text)
        spans.append((start, end, label))
    said = [
        Said(" " * cells(shown(text[:start])), clean(label.text), _kind(label))
        for start, _, label in sorted(spans, key=lambda span: -span[0])
        if label.text
    ]
    return SourceLine(number, tuple(_pieces(text, spans)), tuple(said))


def _pieces(text: str, spans: Sequence[tuple[int, int, Label]]) -> Iterator[tuple[str, str]]:
    """The line cut where an underline begins or ends; the inner one of two is the one seen."""
    cuts = sorted({0, len(text), *(cut for start, end, _ in spans for cut in (start, end))})
    for start, end in itertools.pairwise(cuts):
        over = [span for span in spans if span[0] <= start and end <= span[1]]
        inner = min(over, key=lambda s: (not s[2].primary, s[1] - s[0]), default=None)
        yield shown(text[start:end]), _kind(inner[2]) if inner else ""


def _kind(label: Label) -> str:
    return "primary" if label.primary else "other"
