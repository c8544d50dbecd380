"""What became of one leaf on one target, in the two or three words of a table's cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from donatree.ledger import Entry, Gate, Ledger
from donatree.reports.text import BAD, CARE, DIM, GOOD, Line, Marks, clean

State = Literal["kept", "open", "lost", "absent"]

COPIES = frozenset({"DT501", "DT502"})  # findings that say that a copy takes the bytes back

LEGEND = {
    "open": "granted, and not known whether the bytes stay saved",
    "copy": "granted, and a copy takes the bytes back",
    "taken back": "granted, and the call needs as much without it",
}


@dataclass(frozen=True, slots=True)
class Standing:
    """What became of a leaf.

    Attributes:
        state: ``kept`` where it passed every gate checked and *in place* among them, ``open``
            where it did not stop and it is not known whether it is in place, ``lost`` where it
            stopped, ``absent`` where it was not donated.
        words: ``in place``, ``copy``, ``taken back``, ``open``, or the gate that it stopped at.
        code: of the finding that speaks of it.
        gate: the gate that it stopped at.
    """

    state: State
    words: str
    code: str | None = None
    gate: Gate | None = None

    @property
    def copied(self) -> bool:
        """Whether a copy takes its bytes back."""
        return self.words == "copy"


ABSENT = Standing("absent", "not donated")


def of(ledger: Ledger, entry: Entry) -> Standing:
    """What became of an entry of a ledger.

    Example:
        >>> from donatree.ledger import ArraySpec, Leaf
        >>> leaf = Leaf("x", "x", 0, ArraySpec("int32", (), (), 4, 4))
        >>> of(Ledger("f", "(x)", ("x",), ()), Entry(leaf, stopped_at=Gate.KEPT)).words
        'kept'
    """
    gate = entry.stopped_at
    if gate is None:
        known = Gate.IN_PLACE in ledger.checked or _is_known(entry)
        return Standing("kept" if known else "open", _passed(ledger, known), entry.finding)
    words = gate.label
    if gate is Gate.IN_PLACE:
        words = "copy" if entry.finding in COPIES else "taken back"
    return Standing("lost", words, entry.finding, gate)


def _is_known(entry: Entry) -> bool:
    """Whether gate *in place* let it pass though it is open for other leaves."""
    read = entry.evidence.get(Gate.IN_PLACE.value, "not known")
    return not read.startswith("not known")


def _passed(ledger: Ledger, known: bool) -> str:
    if known:
        return Gate.IN_PLACE.label
    # Where the alias map was not read, not even that is known.
    return "open" if Gate.GRANTED in ledger.checked else "not compiled"


def cell(standings: Sequence[Standing], marks: Marks) -> Line:
    """A cell that stands for one leaf, or for several in one row.

    Args:
        standings: of the leaves of the row, at least one.
        marks: the signs to use.

    Returns:
        For example ``✗ granted DT401`` or, where the leaves fared differently, ``✗ 3 of 61 lost``.
    """
    distinct = list(dict.fromkeys(standings))
    whole = len(standings)
    mark = {"kept": marks.kept, "lost": marks.lost, "open": "?", "absent": "-"}
    style = {"kept": GOOD, "lost": BAD, "open": CARE, "absent": DIM}
    state, words, codes = distinct[0].state, distinct[0].words, [distinct[0].code]
    if len({(each.state, each.words) for each in distinct}) > 1:
        states = [each.state for each in standings]
        state = next(s for s in ("lost", "open", "absent", "kept") if s in states)
        what = {"lost": "lost", "open": "open", "absent": "not donated", "kept": "in place"}
        words = f"{states.count(state):,} of {whole:,} {what[state]}"
        codes = []
    elif len(distinct) > 1:
        codes = [each.code for each in distinct]
    told = [clean(code) for code in codes if code]
    more = f" +{len(told) - 1}" if len(told) > 1 else ""
    pad = " " * (len(marks.lost) - len(mark[state]))
    line: Line = [(f"{mark[state]}{pad} {words}", style[state])]
    if told:
        line.append((f" {told[0]}{more}", BAD if state == "lost" else CARE))
    return line
