"""Lines of source with what a finding says of places in them, drawn as rustc draws them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from donatree.ledger import Label, Location
from donatree.reports.places import columns, columns_of, place, shown, source_line
from donatree.reports.text import Line, Marks, cells, clean, wrapped

_NEAR = 2  # a gap of one line is shown, a longer one is `...`


@dataclass(frozen=True, slots=True)
class Spot:
    """A label on its line of source, in columns of the terminal.

    Attributes:
        start: the first column that is underlined.
        end: the column after the last one.
        label: the label.
    """

    start: int
    end: int
    label: Label


def gutter_of(labels: Sequence[Label]) -> int:
    """The columns that the line numbers take up."""
    readable = [label.location.line for label in labels if source_line(label.location)]
    return len(str(max(readable, default=0)))


def lines(labels: Sequence[Label], marks: Marks, width: int, style: str) -> Iterator[Line]:
    """The places of a finding: the file of the primary label first, then each other file.

    Args:
        labels: the places, in the order in which they are told; the last primary one leads.
        marks: the signs to use.
        width: columns; long lines of source are cut, long labels wrapped.
        style: of what is primary.

    Yields:
        `` --> file:line:col``, the labelled lines with their numbers, ``^^^^`` under the primary
        place and ``----`` under the others with what is said beside it, ``...`` between distant
        lines, ``::: file:line:col`` before each other file. Places whose source cannot be read
        are told in words.
    """
    if not labels:
        return
    leading = next((label for label in reversed(labels) if label.primary), labels[-1])
    gutter = gutter_of(labels)
    files = dict.fromkeys([leading.location.file, *(label.location.file for label in labels)])
    for file in files:
        here = [label for label in labels if label.location.file == file]
        first = leading if file == leading.location.file else here[0]
        sign = "-->" if first is leading else ":::"
        yield [(" " * gutter + sign + " ", "blue"), (clean(place(first.location)), "")]
        yield from _file(here, gutter, marks, width, style)


def _file(
    labels: Sequence[Label], gutter: int, marks: Marks, width: int, style: str
) -> Iterator[Line]:
    margin = " " * (gutter + 1)
    by_line: dict[int, list[Label]] = {}
    unread = []
    for label in labels:
        if source_line(label.location) is None:
            unread.append(label)
        else:
            by_line.setdefault(label.location.line, []).append(label)
    if by_line:
        yield [(f"{margin}|", "blue")]
    last = None
    for line in sorted(by_line):
        if last is not None and line - last == _NEAR:
            between = source_line(Location(by_line[line][0].location.file, last + 1)) or ""
            yield from _source(between, last + 1, [], gutter, marks, width, style)
        elif last is not None and line - last > _NEAR:
            yield [("...", "blue")]
        text = source_line(by_line[line][0].location) or ""
        yield from _source(text, line, by_line[line], gutter, marks, width, style)
        last = line
    if by_line:
        yield [(f"{margin}|", "blue")]
    for label in unread:
        head: Line = [(f"{margin}= ", "blue"), (f"{clean(place(label.location))}: ", "")]
        room = width - len(margin) - 2
        rows = wrapped(f"{place(label.location)}: {label.text}", room)
        yield [head[0], (rows[0], style if label.primary else "")]
        yield from ([(margin + "  " + row, "")] for row in rows[1:])


def _source(
    text: str,
    number: int,
    labels: Sequence[Label],
    gutter: int,
    marks: Marks,
    width: int,
    style: str,
) -> Iterator[Line]:
    """A line of source, and under it what is said of places in it."""
    room = max(width - gutter - 3, 24)
    margin = " " * gutter
    text, spots = _fitted(text, labels, room, marks)
    yield [(f"{number:>{gutter}} |", "blue"), (f" {text}" if text else "", "")]
    if not spots:
        return
    bar = (f"{margin} | ", "blue")
    hung = _hung(spots, room)
    beside = spots[-1] if spots[-1] not in hung else None
    row = _underline(spots, style)
    if beside is not None:
        row.append((" " + clean(beside.label.text), _style(beside.label, style)))
    yield [bar, *row]
    for i, spot in reversed(list(enumerate(hung))):
        before = hung[:i]
        if i == len(hung) - 1 or spot.start > hung[i + 1].start:
            yield [bar, *_bars(hung[: i + 1], style)]
        indent = spot.start
        longest = room - indent
        if cells(clean(spot.label.text)) > longest and longest < 40:
            indent = max(min(indent, room - 40), 0)
            before = [each for each in before if each.start < indent]
        for each in wrapped(spot.label.text, room - indent):
            bars = _bars(before, style)
            used = sum(len(piece) for piece, _ in bars)
            yield [bar, *bars, (" " * (indent - used) + each, _style(spot.label, style))]


def _hung(spots: Sequence[Spot], room: int) -> list[Spot]:
    """The labels that do not fit beside the underline: all but the last, or all."""
    last = spots[-1]
    alone = all(spot.end <= last.end for spot in spots[:-1])
    fits = last.end + 1 + cells(clean(last.label.text)) <= room
    return list(spots[:-1] if alone and fits and last.end > last.start else spots)


def _underline(spots: Sequence[Spot], style: str) -> Line:
    """The row of signs; where places overlap the primary one, then the inner one, is seen."""
    owner: dict[int, Spot] = {}
    for spot in sorted(spots, key=lambda each: (each.label.primary, each.start - each.end)):
        owner.update(dict.fromkeys(range(spot.start, spot.end), spot))
    row: Line = []
    for column in range(max(owner, default=-1) + 1):
        spot = owner.get(column)
        sign = " " if spot is None else "^" if spot.label.primary else "-"
        kind = "" if spot is None else _style(spot.label, style)
        if row and row[-1][1] == kind:
            row[-1] = (row[-1][0] + sign, kind)
        else:
            row.append((sign, kind))
    return row


def _bars(spots: Sequence[Spot], style: str) -> Line:
    row: Line = []
    used = 0
    for spot in spots:
        if spot.start >= used:
            row.append((" " * (spot.start - used) + "|", _style(spot.label, style)))
            used = spot.start + 1
    return row


def _style(label: Label, style: str) -> str:
    return style if label.primary else "blue"


def _fitted(text: str, labels: Sequence[Label], room: int, marks: Marks) -> tuple[str, list[Spot]]:
    """The line cut to the room that there is, so that the places that matter are seen."""
    spots = []
    for label in labels:
        start, end = columns(label.location, text)
        if start == end:  # not known: the whole line is meant
            start, end = len(text) - len(text.lstrip()), len(text)
        before = shown(text[:start])
        spots.append(Spot(cells(before), cells(before + shown(text[start:end])), label))
    spots.sort(key=lambda spot: (spot.start, -spot.end))
    whole = shown(text)
    if cells(whole) <= room:
        return whole, spots
    wanted = next((spot for spot in spots if spot.label.primary), spots[0] if spots else None)
    dots = len(marks.dots)
    cut = 0
    if wanted is not None and wanted.end > room - dots:
        cut = max(min(wanted.start - 8, wanted.end - room + 2 * dots + 1), 0)
    kept = (marks.dots if cut else "") + columns_of(whole, cut, cut + room - (dots if cut else 0))
    if cells(columns_of(whole, cut, None)) > room - (dots if cut else 0):
        kept = (marks.dots if cut else "") + columns_of(
            whole, cut, cut + room - dots - (dots if cut else 0)
        )
        kept += marks.dots
    shift = cut - (dots if cut else 0)
    low, high = (dots if cut else 0), cells(kept)
    moved = [
        Spot(
            min(max(spot.start - shift, low), max(high - 1, low)),
            max(min(spot.end - shift, high), min(max(spot.start - shift, low), high - 1) + 1),
            spot.label,
        )
        for spot in spots
    ]
    return kept, moved
