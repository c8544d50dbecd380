"""The donated state as a folded tree, for a table that needs no script."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from donatree.reports import folding, sizes, standing, tree
from donatree.reports.folding import Row
from donatree.reports.group import Group
from donatree.reports.html.spans import WIDE, spans
from donatree.reports.leaves import join
from donatree.reports.text import UNICODE

_DEEPEST = 12


@dataclass(frozen=True, slots=True)
class Line:
    """A row of the table.

    Attributes:
        name: the leaf's path below the row above; a pattern where it stands for several.
        aval: the type of a leaf, how many leaves there are.
        bytes: per device; empty for a heading.
        depth: how far it is indented.
        heading: whether the rows below say what became of the leaves.
        cells: what became of them, on each target.
    """

    name: Markup
    aval: Markup
    bytes: str
    depth: int
    heading: bool
    cells: Sequence[Markup]


@dataclass(frozen=True, slots=True)
class State:
    """The rows, and what their figures are."""

    rows: Sequence[Line]
    figure: str


def of(group: Group, *, expand: bool = False) -> State:
    """The state of a program: at most some forty rows, folded as in the terminal.

    Args:
        group: the program.
        expand: a row for every leaf, nothing folded.
    """
    if len(group.ledgers) == 1:
        rows = folding.rows(group.first, expand=expand)
        cells = [[spans(tree.verdict(row, UNICODE, WIDE, True))] for row in rows]
        figures = list(map(tree.figure, rows))
        return State(list(map(_line, rows, figures, cells)), "bytes per device")
    leaves = join(group)
    rows = leaves.rows(expand=expand)
    cells = [_on_targets(leaves.of_row(row), len(group.ledgers)) for row in rows]
    figures = [_bytes(row) for row in rows]
    head = "bytes per device" if leaves.per_device else "global bytes"
    return State(list(map(_line, rows, figures, cells)), head)


def _line(row: Row, figure: str, cells: Sequence[Markup]) -> Line:
    name, *rest = tree.label(row)
    text = name[0].strip().removesuffix(":")
    return Line(
        spans([(text, "")]),
        spans(rest),
        figure,
        min(row.depth, _DEEPEST),
        row.opened,
        [] if row.opened else cells,
    )


def _on_targets(fared: Sequence[Sequence[standing.Standing]], number: int) -> list[Markup]:
    return [
        spans(standing.cell([each[target] for each in fared], UNICODE)) for target in range(number)
    ]


def _bytes(row: Row) -> str:
    if row.opened:
        return ""
    entries = row.view.entries() if row.view else row.rest
    return sizes.short(sum(entry.bytes for entry in entries))
