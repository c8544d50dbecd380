"""The funnel as a picture: for each gate the bytes that passed, and those that were lost there."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from donatree.ledger import Gate, Ledger, by_bytes
from donatree.reports import funnel

_LEAST = 1.5  # percent: a loss is seen, however small


@dataclass(frozen=True, slots=True)
class Stage:
    """One row of the picture. Percentages are of what was promised, with one decimal.

    Attributes:
        name: ``promised`` or the gate's name.
        kind: the CSS class of what is lost here.
        bytes: per device, that passed.
        leaves: that passed.
        full: how long the bar is, in percent.
        lost: how long the part is that is lost here, in percent.
        next: how long the bar below is; None for the last row.
        lost_bytes: per device, lost at this gate.
        lost_leaves: lost at this gate.
        codes: of the findings that say why, most bytes first.
    """

    name: str
    kind: str
    bytes: int
    leaves: int
    full: float
    lost: float
    next: float | None
    lost_bytes: int = 0
    lost_leaves: int = 0
    codes: tuple[str, ...] = ()


def stages(ledger: Ledger) -> list[Stage]:
    """The rows of a ledger's funnel: ``promised``, then each gate that was checked."""
    found = funnel.stages(ledger)
    bars = [_percent(ledger, size, leaves) for _, _, size, leaves in found]
    made: list[Stage] = []
    above = (ledger.promised, len(ledger.entries), bars[0])
    for (name, gate, size, leaves), full, following in itertools.zip_longest(found, bars, bars[1:]):
        lost = gate is not None and leaves < above[1]
        made.append(
            Stage(
                name,
                gate.value if gate else "promised",
                size,
                leaves,
                full,
                round(max(above[2] - full, _LEAST), 1) if lost else 0.0,
                following,
                above[0] - size,
                above[1] - leaves,
                _codes(ledger, gate) if gate and lost else (),
            )
        )
        above = (size, leaves, full)
    return made


def _percent(ledger: Ledger, size: int, leaves: int) -> float:
    """Full only where nothing is lost, empty only where everything is."""
    if leaves == len(ledger.entries):
        return 100.0
    part, whole = (size, ledger.promised) if ledger.promised else (leaves, len(ledger.entries))
    least = _LEAST if part else 0.0
    return round(min(max(100 * part / whole, least), 100 - _LEAST), 1)


def _codes(ledger: Ledger, gate: Gate) -> tuple[str, ...]:
    lost = by_bytes(entry for entry in ledger.entries if entry.stopped_at is gate)
    return tuple(dict.fromkeys(entry.finding for entry in lost if entry.finding))
