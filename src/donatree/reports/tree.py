"""The donated state as a tree: one line a leaf, with its type, bytes, verdict and slot.

A long tree is folded: like layers become one line, and so does a subtree whose leaves all fared
alike; what lost the most bytes is opened first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from donatree import paths
from donatree.ledger import Gate, Ledger
from donatree.reports import folding, nodes, sizes
from donatree.reports.folding import Row
from donatree.reports.nodes import View
from donatree.reports.text import (
    BAD,
    CARE,
    DIM,
    GOOD,
    HEAD,
    Line,
    Marks,
    cells,
    clean,
    elide,
    width_of,
)

_LEAST_SLOT = 24
_ORDER = {gate.value: gate.position for gate in Gate}


def lines(
    ledger: Ledger, marks: Marks, width: int = 100, *, expand: bool = False, evidence: bool = False
) -> Iterator[Line]:
    """The tree of a ledger's donated leaves.

    Args:
        ledger: the ledger.
        marks: the signs to use.
        width: columns; a slot's path is shortened in its middle to fit.
        expand: show every leaf on a line of its own.
        evidence: show under each leaf what was read for each gate.

    Yields:
        At most about 40 lines without ``expand`` and ``evidence``, fewer where nothing is lost.
    """
    rows = folding.rows(ledger, expand=expand)
    table = [(row, label(row), figure(row)) for row in rows]
    labels = [width_of(name) for _, name, shown in table if shown]
    column = min(max(labels, default=0), max(width * 3 // 5, 24))
    figures = max((cells(shown) for _, _, shown in table), default=0)
    for row, name, shown in table:
        if not shown:
            yield name
            continue
        gap = " " * max(column - width_of(name), 0)
        line: Line = [*name, (f"{gap}  {' ' * (figures - cells(shown))}{shown}  ", "")]
        room = max(width - width_of(line), _LEAST_SLOT)
        yield line + verdict(row, marks, room, expand)
        entry = row.view.first.entry if row.view and row.view.leaves == 1 else None
        if evidence and entry:
            indent = "  " * (row.depth + 2)
            for gate, read in in_gate_order(entry.evidence):
                yield [(f"{indent}{clean(gate.replace('_', ' '))}: {clean(read)}", DIM)]


def in_gate_order(evidence: Mapping[str, str]) -> list[tuple[str, str]]:
    """What was read of a leaf, by the name of the gate."""
    return sorted(evidence.items(), key=lambda item: (_ORDER.get(item[0], len(_ORDER)), item[0]))


def label(row: Row) -> Line:
    """The indented name of a row, with the type of a leaf or how many leaves it stands for."""
    indent = "  " * row.depth
    if row.view is None:
        number = sizes.count(len(row.rest), "more leaf", "more leaves")
        return [(f"{indent}and {number}", DIM)]
    view = row.view
    name = clean(view.label if row.depth == 0 else view.label.removeprefix(".")) or "(itself)"
    if row.opened:
        return [(indent + name, HEAD)]
    entry = view.first.entry
    if entry is None:
        return [(f"{indent}{name}: ", HEAD), (sizes.leaves(view.leaves), "")]
    times = f"{view.leaves:,} x " if view.leaves > 1 else ""
    return [(f"{indent}{name}: ", HEAD), (clean(times + entry.leaf.spec.aval), "")]


def figure(row: Row) -> str:
    """Bytes per device, with the global figure beside where it differs; empty for a heading."""
    if row.opened:
        return ""
    entries = list(row.view.entries() if row.view else row.rest)
    local = sum(entry.bytes for entry in entries)
    total = sum(entry.leaf.spec.global_bytes for entry in entries)
    beside = f" ({sizes.short(total)} global)" if total != local else ""
    return sizes.short(local) + beside


def verdict(row: Row, marks: Marks, room: int, expand: bool) -> Line:
    """What became of the leaves of a row; the slot's path in what is left of ``room`` columns."""
    view = row.view
    if view is None:
        return _rest(row, marks)
    if not view.uniform:
        lost = f"{view.lost_leaves:,} of {sizes.leaves(view.leaves)}"
        if not view.lost_leaves:
            return [(f"{marks.kept} ", GOOD), *_codes(view)]
        what = f"{marks.lost} {lost} lost, {sizes.short(view.lost_bytes)}"
        return [(what, BAD), *_codes(view)]
    ((gate, code),) = view.first.verdicts
    if gate is not None:
        return [(f"{marks.lost} {gate.label}", BAD), *_code(code, BAD), *_drift(view)]
    line: Line = [(marks.kept, GOOD)]
    slot = _slot(view)
    beside = [*_code(code, CARE), *_not_successor(view)]
    if slot:
        room -= width_of(line) + width_of(beside) + len(" -> ")
        slot = clean(slot)
        shown = slot if expand else _fitted(slot, view, max(room, _LEAST_SLOT), marks)
        line += [(" -> ", DIM), (shown, "")]
    return line + beside


def _fitted(slot: str, view: View, room: int, marks: Marks) -> str:
    """The slot's path in `room` columns; the part that repeats the leaf's own path goes first."""
    entry = view.first.entry
    if cells(slot) > room and view.leaves == 1 and entry is not None:
        inner = clean("".join(paths.split(entry.path)[1:]))
        if inner and slot.endswith(inner):
            slot = slot.removesuffix(inner) + marks.dots
    return elide(slot, room, marks)


def _rest(row: Row, marks: Marks) -> Line:
    lost = [entry for entry in row.rest if entry.stopped_at]
    if not lost:
        return [(marks.kept, GOOD)]
    what = f"{len(lost):,} of {sizes.leaves(len(row.rest))} lost"
    return [(f"{marks.lost} {what}, {sizes.short(sum(entry.bytes for entry in lost))}", BAD)]


def _code(code: str | None, style: str) -> Line:
    return [(f" {clean(code)}", style)] if code else []


def _codes(view: View) -> Line:
    codes = list(dict.fromkeys(code for _, code in view.first.verdicts if code))
    more = f" +{len(codes) - 3}" if len(codes) > 3 else ""
    return [("  " + clean(", ".join(codes[:3])) + more, BAD)] if codes else []


def _slot(view: View) -> str | None:
    """The slot of a leaf; for several leaves the pattern of theirs, or how many there are."""
    entry = view.first.entry
    if view.leaves == 1 and entry:
        return entry.slot.path if entry.slot else None
    pairs = [(entry, entry.slot) for entry in view.entries()]
    slots = [slot for _, slot in pairs if slot]
    if not slots:
        return None
    if len(slots) == len(pairs):
        if entry:
            pattern = paths.fold(slot.path for slot in slots)
            counted = f" ({sizes.leaves(len(slots))})"
            if pattern.endswith(counted) and "..." not in pattern and "*" not in pattern:
                return pattern.removesuffix(counted)
        starts = [_start(node, leaf) for node in view.nodes for leaf in nodes.leaves(node)]
        if starts[0] and len(set(starts)) == 1:
            return starts[0]
    return sizes.count(len(slots), "slot")


def _start(node: nodes.Node, leaf: nodes.Node) -> str | None:
    """Where the slot's subtree starts, if the slot lies in it as the leaf does below the node."""
    below = leaf.path[len(node.path) :]
    slot = leaf.entry and leaf.entry.slot
    return slot.path.removesuffix(below) if slot and slot.path.endswith(below) else None


def _drift(view: View) -> Line:
    """For lost leaves on one line: how the result at their own place differs from them."""
    entry = view.first.entry
    if entry is None or entry.successor is None:
        return []
    after = entry.successor.spec.aval
    if after == entry.leaf.spec.aval:
        return []
    return [(f"  returned as {clean(after)}", DIM)]


def _not_successor(view: View) -> Line:
    """For one leaf whose memory another place of the result took: its own place."""
    entry = view.first.entry
    if view.leaves > 1 or entry is None or entry.slot is None or entry.successor is None:
        return []
    if entry.slot.path == entry.successor.path:
        return []
    return [(f", not {clean(entry.successor.path)}", CARE)]
