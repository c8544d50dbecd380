"""What each target keeps in place and needs, per device: a line a target."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from donatree.ledger import ArraySpec, Entry, Ledger
from donatree.reports import fit, sizes, standing
from donatree.reports.group import Group
from donatree.reports.hardware import device_of, name_of
from donatree.reports.text import BAD, CARE, DIM, GOOD, HEAD, Line, cells, paragraph, width_of

_GAP = "  "


def lines(group: Group, width: int = 100) -> Iterator[Line]:
    """The table of a group of ledgers: device, bytes in place of bytes promised, live memory.

    Args:
        group: the ledgers of one program, each of another target.
        width: columns; where the table is wider, each target gets several lines.

    Yields:
        The table, then a line for each target whose own layout has other bytes than the arrays.
    """
    heads, rows = table(group)
    widths = [
        max(cells(head), *(width_of(row[number]) for row in rows))
        for number, head in enumerate(heads)
    ]
    if sum(widths) + len(_GAP) * (len(widths) - 1) <= width:
        yield _set([[(head, DIM)] for head in heads], widths)
        for row in rows:
            yield _set(row, widths)
    else:
        yield [(heads[0], DIM)]
        for row in rows:
            yield [(_GAP, ""), *row[0], (_GAP if row[1] else "", ""), *row[1]]
            for head, found in zip(heads[2:], row[2:], strict=True):
                if found:
                    yield [(f"{_GAP * 2}{head}: ", DIM), *found]
    for ledger in group.ledgers:
        yield from padding(ledger, width)


def table(group: Group) -> tuple[list[str], list[list[Line]]]:
    """The heads of the table and its rows, one a target: name, device, bytes in place, memory."""
    saved = any(ledger.saved is not None for ledger in group.ledgers)
    heads = ["per device", "", "bytes in place", "live memory"]
    heads += ["donation saves"] if saved else []
    return heads, [_row(ledger, saved) for ledger in group.ledgers]


def padding(ledger: Ledger, width: int = 100) -> Iterator[Line]:
    """A line on the target's own layout, where the leaves take other bytes in it than elsewhere.

    Args:
        ledger: of a target.
        width: columns.
    """
    plain = sum(plain_bytes(entry.leaf.spec) for entry in ledger.entries)
    if ledger.target is None or plain == ledger.promised:
        return
    text = (
        f"{name_of(ledger)} pads arrays to its own layout: the promised {sizes.short(plain)} of "
        f"values take {sizes.short(ledger.promised)}"
    )
    if sizes.short(plain) == sizes.short(ledger.promised):
        text = (
            f"{name_of(ledger)} pads arrays to its own layout: the promised {plain:,} bytes of "
            f"values take {ledger.promised:,}"
        )
    yield from paragraph(text, width, [], 0, DIM)


def plain_bytes(spec: ArraySpec) -> int:
    """Bytes of the local shard's values alone, without what a layout adds.

    Example:
        >>> plain_bytes(ArraySpec("float32", (8, 3), (4, 3), 8192, 96))
        48
    """
    whole = math.prod(spec.shape)
    return spec.global_bytes * math.prod(spec.local_shape) // whole if whole else 0


def _row(ledger: Ledger, saved: bool) -> list[Line]:
    row: list[Line] = [
        [(name_of(ledger), HEAD)],
        [(device_of(ledger), DIM)],
        _in_place(ledger),
        fit.verdict(ledger) or [("not known", CARE)],
    ]
    return [*row, _saved(ledger)] if saved else row


def _in_place(ledger: Ledger) -> Line:
    """Bytes in place of those promised; what is open is told beside."""
    fared: list[tuple[standing.Standing, Entry]] = [
        (standing.of(ledger, entry), entry) for entry in ledger.entries
    ]
    kept = sum(entry.bytes for what, entry in fared if what.state == "kept")
    open_ = sum(entry.bytes for what, entry in fared if what.state == "open")
    granted = kept + open_
    whole = all(what.state == "kept" for what, _ in fared)
    lost = any(what.state == "lost" for what, _ in fared)
    style = GOOD if whole else BAD if lost else CARE
    shown = sizes.of(granted, ledger.promised)
    if granted < ledger.promised and sizes.short(granted) == sizes.short(ledger.promised):
        shown = f"all but {sizes.short(ledger.promised - granted)} of {sizes.short(granted)}"
    line: Line = [(shown, style)]
    if any(what.state == "open" for what, _ in fared):
        much = "all" if not kept else sizes.short(open_)
        line.append((f", {much} of it open", CARE))
    return line


def _saved(ledger: Ledger) -> Line:
    if ledger.saved is None:
        return []
    if ledger.saved > 0:
        return [(sizes.short(ledger.saved), GOOD)]
    return [(f"costs {sizes.short(-ledger.saved)}" if ledger.saved else "nothing", BAD)]


def _set(row: Sequence[Line], widths: Sequence[int]) -> Line:
    line: Line = []
    for number, (spans, room) in enumerate(zip(row, widths, strict=True)):
        last = number == len(widths) - 1
        line += [*spans, ("" if last else " " * (room - width_of(spans)) + _GAP, "")]
    while line and not line[-1][0].strip():
        line.pop()
    return line
