"""The funnel: how many of the promised bytes passed each gate.

The table has one line a gate with a bar, and beside each narrowing the findings that say why.
Gates that were not checked are left out.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from donatree.ledger import Gate, Ledger, by_bytes
from donatree.reports import sizes
from donatree.reports.text import BAD, CARE, DIM, GOOD, HEAD, Line, Marks, cells

_BAR = 24
_BESIDE = 40  # columns for what stands beside the bar


def stages(ledger: Ledger) -> list[tuple[str, Gate | None, int, int]]:
    """The stages of the funnel that were checked.

    Returns:
        ``(name, gate, bytes per device, leaves)`` for ``promised`` and each gate checked, in the
        order of the gates. A gate that is open for some leaves and lost others is among them, with
        what passed at most.
    """
    found: list[tuple[str, Gate | None, int, int]] = [
        ("promised", None, ledger.promised, len(ledger.entries))
    ]
    for gate in Gate:
        passed = ledger.bytes_after(gate)
        if passed is not None:
            found.append((gate.label, gate, passed, ledger.leaves_after(gate) or 0))
        elif any(entry.stopped_at is gate for entry in ledger.entries):
            rest = [entry for entry in ledger.entries if entry.passed(gate)]
            size = sum(entry.bytes for entry in rest)
            found.append((f"{gate.label} at most", gate, size, len(rest)))
    return found


def line(ledger: Ledger) -> str:
    """The funnel on one line of ASCII.

    Bytes are exact below 10,000, and wherever two different figures would read the same.

    Returns:
        For example ``promised 84 -> asked 84 -> kept 84 -> matched 84 -> granted 80``.
    """
    found = stages(ledger)
    figures = {passed for _, _, passed, _ in found}
    shorts = {sizes.short(figure) for figure in figures}
    if max(figures) < 10_000 or len(shorts) < len(figures):
        return " -> ".join(f"{name} {passed:,}" for name, _, passed, _ in found)
    return " -> ".join(f"{name} {sizes.short(passed)}" for name, _, passed, _ in found)


def lines(ledger: Ledger, marks: Marks, width: int = 100) -> Iterator[Line]:
    """The funnel for people, ended by the fraction ``80 of 84 bytes, 2 of 3 leaves``.

    A table with bars where something is lost and the marks have bars, else one line.
    """
    found = stages(ledger)
    if not ledger.lost or not marks.bar:
        yield [(line(ledger), "")]
        for (_, _, above, more), (name, gate, passed, fewer) in itertools.pairwise(found):
            if gate and more > fewer:
                lost = f"lost at {name}: {sizes.size(above - passed)}, {sizes.leaves(more - fewer)}"
                yield [(lost, BAD), *_codes(ledger, gate)]
    else:
        yield from _table(ledger, marks, width)
    yield [(ledger.summary, f"bold {GOOD}" if not ledger.lost else BAD)]


def _table(ledger: Ledger, marks: Marks, width: int) -> Iterator[Line]:
    found = stages(ledger)
    columns = [[name, sizes.short(passed), sizes.leaves(n)] for name, _, passed, n in found]
    names, figures, counts = (max(map(cells, column)) for column in zip(*columns, strict=True))
    cell = min(max(width - names - figures - counts - _BESIDE, 8), _BAR)
    above, more = ledger.promised, len(ledger.entries)
    for (_, gate, passed, n), (name, figure, leaves) in zip(found, columns, strict=True):
        full = _bar(cell, (passed, ledger.promised), (n, len(ledger.entries)))
        row: Line = [
            (f"{name:<{names}}  ", HEAD if n < more else ""),
            (f"{figure:>{figures}}  {leaves:>{counts}}  ", ""),
            (marks.bar * full, GOOD if full == cell else CARE),
            (marks.gap * (cell - full), DIM),
        ]
        if gate and n < more:
            lost = f"  {sizes.short(above - passed)}, {sizes.leaves(more - n)} lost"
            row += [(lost, BAD), *_codes(ledger, gate)]
        yield row
        above, more = passed, n


def _bar(length: int, figures: tuple[int, int], leaves: tuple[int, int]) -> int:
    """Cells of the bar: full only where nothing is lost, empty only where everything is."""
    part, whole = figures if figures[1] else leaves  # leaves of no bytes are counted
    if leaves[0] == leaves[1]:
        return length
    return min(max(length * part // max(whole, 1), 1 if part else 0), length - 1)


def _codes(ledger: Ledger, gate: Gate) -> Line:
    """The codes of the findings that speak of the leaves lost at a gate, most bytes first."""
    lost = by_bytes(entry for entry in ledger.entries if entry.stopped_at is gate)
    codes = dict.fromkeys(entry.finding for entry in lost if entry.finding)
    return [("  " + ", ".join(codes), HEAD)] if codes else []
