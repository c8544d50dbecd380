"""The table of leaves against targets: what became of each leaf on each of them.

A column a target while that fits the page; else one for targets on which all leaves fared alike;
else under each row a line for each verdict, with the targets that gave it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from donatree.ledger import Gate
from donatree.reports import sizes, standing, tree
from donatree.reports.folding import Row
from donatree.reports.group import Group
from donatree.reports.hardware import device_of, name_of
from donatree.reports.leaves import Leaves, join
from donatree.reports.text import (
    DIM,
    HEAD,
    Line,
    Marks,
    cells,
    clean,
    elide,
    paragraph,
    width_of,
)

_LEAST_LABEL = 24
_GAP = "  "


@dataclass(frozen=True, slots=True)
class _Column:
    """Targets that share a column, and its cells; a row that was opened has an empty one."""

    names: tuple[str, ...]
    device: str
    cells: tuple[Line, ...]

    @property
    def width(self) -> int:
        return max([*map(cells, self.names), *map(width_of, self.cells)])


def lines(
    group: Group, marks: Marks, width: int = 100, *, expand: bool = False, evidence: bool = False
) -> Iterator[Line]:
    """The table of a group of ledgers, and what its words mean.

    Args:
        group: the ledgers of one program, each of another target.
        marks: the signs to use.
        width: columns.
        expand: a row for every leaf.
        evidence: show under each leaf what was read on each target.
    """
    leaves = join(group)
    rows = leaves.rows(expand=expand)
    labels = [tree.label(row) for row in rows]
    figures = [_figure(row) for row in rows]
    columns = _columns(group, leaves, rows, marks)
    widest = max([width_of(x) for x, f in zip(labels, figures, strict=True) if f], default=0)
    figure = max(map(cells, figures), default=0)
    head = "bytes per device" if leaves.per_device else "global bytes"
    figure = max(figure, cells(head))
    room = width - figure - len(_GAP)
    chosen = next((c for c in (columns, _alike(columns)) if _fits(c, widest, room)), None)
    column = widest
    if chosen:
        column = min(widest, room - sum(each.width + len(_GAP) for each in chosen))
        yield from _heads(chosen, " " * column + _GAP + f"{head:>{figure}}")
    else:
        column = min(widest, max(room, _LEAST_LABEL))
        yield [(" " * column + _GAP + f"{head:>{figure}}", DIM)]
    for number, (row, label, shown) in enumerate(zip(rows, labels, figures, strict=True)):
        if not shown:
            yield label
            continue
        start = _fitted(label, column, marks)
        gap = " " * max(column - width_of(start), 0)
        start = [*start, (f"{gap}{_GAP}{' ' * (figure - cells(shown))}{shown}", "")]
        if chosen:
            yield [*start, *_in_columns([each.cells[number] for each in chosen], chosen)]
        else:
            yield from _as_list(start, [each.cells[number] for each in columns], group, row, width)
        if evidence:
            yield from _evidence(group, leaves, row)
    yield from _legend(leaves, width)


def _figure(row: Row) -> str:
    """The bytes of a row; empty for a heading."""
    if row.opened:
        return ""
    entries = row.view.entries() if row.view else row.rest
    return sizes.short(sum(entry.bytes for entry in entries))


def _columns(group: Group, leaves: Leaves, rows: Sequence[Row], marks: Marks) -> list[_Column]:
    fared = [[] if row.opened else leaves.of_row(row) for row in rows]
    return [
        _Column(
            (name_of(ledger),),
            device_of(ledger),
            tuple(
                standing.cell([each[number] for each in row], marks) if row else [] for row in fared
            ),
        )
        for number, ledger in enumerate(group.ledgers)
    ]


def _alike(columns: Sequence[_Column]) -> list[_Column]:
    """One column for all targets whose cells are the same."""
    found: dict[object, list[_Column]] = {}
    for each in columns:
        found.setdefault(tuple(map(tuple, each.cells)), []).append(each)
    return [
        _Column(tuple(name for one in same for name in one.names), "", same[0].cells)
        for same in found.values()
    ]


def _fits(columns: Sequence[_Column], widest: int, room: int) -> bool:
    taken = sum(column.width + len(_GAP) for column in columns)
    return min(widest, _LEAST_LABEL) <= room - taken


def _heads(columns: Sequence[_Column], start: str) -> Iterator[Line]:
    """The names of the targets over their columns, then their devices where all have room."""
    height = max(len(column.names) for column in columns)
    for number in range(height):
        line: Line = [(start if number == height - 1 else " " * cells(start), DIM)]
        for column in columns:
            missing = height - len(column.names)
            name = column.names[number - missing] if number >= missing else ""
            line.append((f"{_GAP}{name}{' ' * (column.width - cells(name))}", HEAD))
        yield _stripped(line)
    if all(column.device and cells(column.device) <= column.width for column in columns):
        devices = [f"{_GAP}{c.device}{' ' * (c.width - cells(c.device))}" for c in columns]
        yield _stripped([(" " * cells(start) + "".join(devices), DIM)])


def _in_columns(row: Sequence[Line], columns: Sequence[_Column]) -> Line:
    line: Line = []
    for spans, column in zip(row, columns, strict=True):
        line += [(_GAP, ""), *spans, (" " * (column.width - width_of(spans)), "")]
    return _stripped(line)


def _stripped(line: Line) -> Line:
    """The line without blanks at its end."""
    line = list(line)
    while line and not line[-1][0].strip():
        line.pop()
    if line:
        text, style = line.pop()
        line.append((text.rstrip(), style))
    return line


def _as_list(
    start: Line, row: Sequence[Line], group: Group, made: Row, width: int
) -> Iterator[Line]:
    """A verdict that all targets share beside the row, else one line for each verdict."""
    names = [name_of(ledger) for ledger in group.ledgers]
    found: dict[object, list[str]] = {}
    for spans, name in zip(row, names, strict=True):
        found.setdefault(tuple(spans), []).append(name)
    if len(found) == 1:
        yield [*start, (_GAP, ""), *row[0], (" on all", DIM)]
        return
    yield start
    indent = " " * (2 * made.depth + 4)
    verdicts = {tuple(spans): spans for spans in row}
    column = max(width_of(spans) for spans in row)
    for key, which in found.items():
        spans = verdicts[tuple(key)]  # type: ignore[arg-type]
        gap = " " * (column - width_of(spans)) + _GAP
        head: Line = [(indent, ""), *spans, (gap, "")]
        yield from paragraph(", ".join(which), width, head, width_of(head))


def _fitted(label: Line, room: int, marks: Marks) -> Line:
    """A row's label in so many columns: without its type, then without the middle of its name."""
    if width_of(label) <= room:
        return label
    name, style = label[0]
    return [(elide(name.removesuffix(": "), room, marks), style)]


def _evidence(group: Group, leaves: Leaves, row: Row) -> Iterator[Line]:
    entry = row.view.first.entry if row.view and row.view.leaves == 1 else None
    if entry is None:
        return
    indent = "  " * (row.depth + 2)
    number = [e.path for e in leaves.entries[: entry.leaf.flat_index]].count(entry.path)
    for ledger in group.ledgers:
        own = [each for each in ledger.entries if each.path == entry.path]
        for gate, read in tree.in_gate_order(own[number].evidence if number < len(own) else {}):
            what = f"{name_of(ledger)}, {gate.replace('_', ' ')}: {read}"
            yield [(f"{indent}{clean(what)}", DIM)]


def _legend(leaves: Leaves, width: int) -> Iterator[Line]:
    """What the words mean that no other report uses, of those that were."""
    used = {each.words for row in leaves.standings for each in row}
    stopped = any(
        each.gate not in (None, Gate.IN_PLACE) for row in leaves.standings for each in row
    )
    told = [f"{word}: {what}" for word, what in standing.LEGEND.items() if word in used]
    if stopped:
        told.append("a gate's name: where the leaf was lost")
    if told:
        yield from paragraph("; ".join(told), width, [], 0, DIM)
