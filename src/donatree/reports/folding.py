"""Which rows a tree is shown in: all where it is short, else those that say the most.

Like siblings become one row, and so does a subtree whose leaves all fared alike. What fared
differently is opened, most lost bytes first, while lines are left.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from donatree.ledger import Entry, Ledger
from donatree.reports import nodes
from donatree.reports.nodes import View

MAX_LINES = 40
_MAX_LINES_KEPT = 12
_FEW = 3


@dataclass(slots=True)
class Row:
    """One line of the tree before it is set in columns."""

    view: View | None
    depth: int
    below: list[Row] = field(default_factory=list)
    opened: bool = False
    rest: Sequence[Entry] = ()  # what a row without a view stands for


def rows(ledger: Ledger, *, expand: bool = False, budget: int = MAX_LINES) -> list[Row]:
    """Chooses the rows of a ledger's tree.

    Args:
        ledger: the ledger.
        expand: a row for every leaf, nothing folded.
        budget: how many rows there may be without ``expand``; fewer where nothing is lost.

    Returns:
        The rows in the order of the page. Each donated leaf is counted in just one row that is
        not ``opened``.
    """
    top = [Row(view, 0) for view in nodes.roots(ledger.entries)]
    if not ledger.lost:
        budget = min(budget, _MAX_LINES_KEPT)
    if expand or len(ledger.entries) <= budget:
        _open_all(top)
        rows = list(_in_order(top))
        if expand or len(rows) <= budget:
            return rows
        top = [Row(row.view, 0) for row in top]
    _open_best(top, budget)
    return list(_in_order(top))


def _in_order(top: Sequence[Row]) -> Iterator[Row]:
    waiting = list(reversed(top))
    while waiting:
        row = waiting.pop()
        yield row
        waiting.extend(reversed(row.below))


def _open_all(top: Sequence[Row]) -> None:
    waiting = list(top)
    while waiting:
        row = waiting.pop()
        if row.view and row.view.first.children:
            row.opened = True
            row.below = [Row(view, row.depth + 1) for view in row.view.children(group=False)]
            waiting.extend(row.below)


def _open_best(top: list[Row], budget: int) -> None:
    """Opens rows whose leaves fared differently, most lost bytes first, while lines are left."""
    if len(top) > budget:
        _keep_best(top, budget)
    free = budget - len(top)
    heap: list[tuple[bool, int, int, Row]] = []
    order = itertools.count()

    def offer(row: Row) -> None:
        view = row.view
        if view and view.first.children and (not view.uniform or row.depth == 0):
            heapq.heappush(heap, (view.uniform, -view.lost_bytes, next(order), row))

    for row in top:
        offer(row)
    while heap and free > 1:
        row = heapq.heappop(heap)[-1]
        assert row.view is not None
        below = _below(row.view, row.depth + 1)
        share = max(free - 4 * len(heap), min(8, free))
        if len(below) > share:
            if row.view.uniform:
                continue
            _keep_best(below, share)
        row.opened, row.below = True, below
        free -= len(below)
        for child in below:
            offer(child)


def _below(view: View, depth: int) -> list[Row]:
    """The rows of an opened row: its children, or straight the few leaves that matter below."""
    children = view.children(group=True)
    deeper = any(not child.uniform and child.first.children for child in children)
    if not deeper or view.first.told > _FEW:
        return [Row(child, depth) for child in children]
    rows = [Row(leaf, depth) for leaf in view.told()]
    return [*rows, Row(None, depth, rest=view.plain())]


def _keep_best(rows: list[Row], budget: int) -> None:
    """Leaves the rows with the most lost bytes, in their order, and one for all the others."""
    ranked = sorted(range(len(rows)), key=lambda i: _rank(rows[i].view))
    # What was kept and has no finding needs no line each where not everything can be shown.
    told = [i for i in ranked if _rank(rows[i].view) < (0, 0, 0)]
    shown = set((told or ranked[:1])[: max(budget - 1, 1)])
    rest: list[Entry] = []
    for i, row in enumerate(rows):
        if i not in shown:
            rest += row.view.entries() if row.view else row.rest
    depth = rows[0].depth
    rows[:] = [row for i, row in enumerate(rows) if i in shown]
    rows.append(Row(None, depth, rest=rest))


def _rank(view: View | None) -> tuple[int, int, int]:
    if view is None:
        return 0, 0, 0
    return -view.lost_bytes, -view.lost_leaves, -any(code for _, code in view.first.verdicts)
