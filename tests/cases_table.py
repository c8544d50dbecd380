"""The table of cases: small programs that donate, each with the truth that was measured of it.

A case has two truths where JAX changed with 0.8: what it did up to 0.7.2, and what it does since.
Both are written by hand from measurements with JAX's own means. `cases_oracle` measures them again
on the JAX that is installed, and shares no code with donatree.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from donatree import Ledger

_GATES = ("asked", "kept", "matched", "granted")
CASES: dict[str, Case] = {}


@dataclass(frozen=True)
class Call:
    """A jitted function and the arguments of one call; `static` are positions."""

    step: Any
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    static: tuple[int, ...] = ()


class Row(NamedTuple):
    """What became of one donated leaf; bytes are per device."""

    path: str
    aval: str
    bytes: int
    slot: str | None
    stopped_at: str | None
    finding: str | None

    def passed(self, gate: str) -> bool:
        """Whether the leaf passed this gate."""
        return self.stopped_at is None or _GATES.index(self.stopped_at) > _GATES.index(gate)


def kept(path: str, aval: str, size: int, slot: str, finding: str | None = None) -> Row:
    """A leaf whose memory the slot took; with a finding where that still has a price."""
    return Row(path, aval, size, slot, None, finding)


def lost(path: str, aval: str, size: int, gate: str, finding: str) -> Row:
    """A leaf that stopped at a gate."""
    return Row(path, aval, size, None, gate, finding)


@dataclass(frozen=True)
class Truth:
    """What is true of one call.

    Attributes:
        rows: one per promised leaf, in flatten order.
        funnel: bytes promised, asked, kept, matched, granted.
        alias: `alias_size_in_bytes`.
        warning: the first line of JAX's own warning; None where it stays silent.
        others: codes of findings that speak of no leaf of this ledger.
    """

    rows: tuple[Row, ...]
    funnel: tuple[int, int, int, int, int]
    alias: int
    warning: str | None = None
    others: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Case:
    """A program and its two truths; `runs` is False where a call of it fails."""

    name: str
    make: Callable[[], Call]
    upto_07: Truth
    since_08: Truth
    runs: bool = True
    devices: int = 1

    def truth(self, since_08: bool) -> Truth:
        """The truth on this side of JAX 0.8."""
        return self.since_08 if since_08 else self.upto_07


def case(
    upto_07: Truth, since_08: Truth | None = None, *, runs: bool = True, devices: int = 1
) -> Callable[[Callable[[], Call]], Callable[[], Call]]:
    """Enters a program into the table; with one truth it is the same on every JAX."""

    def enter(make: Callable[[], Call]) -> Callable[[], Call]:
        assert make.__name__ not in CASES
        both = (upto_07, since_08 or upto_07)
        CASES[make.__name__] = Case(make.__name__, make, *both, runs, devices)
        return make

    return enter


def unusable(*avals: str) -> str:
    """The first line of JAX's own warning about these leaves, as JAX words it."""
    return f"Some donated buffers were not usable: {', '.join(avals)}."


def plain(text: str) -> str:
    """A warning in the words that JAX uses since 0.6; before, avals read `ShapedArray(...)`."""
    return re.sub(r"ShapedArray\((.*?\])\)", r"\1", text)


# What the finding of a leaf was before gate in place had another one; the table ends before it.
_BEFORE_IN_PLACE = {"DT501": None, "DT502": "DT408", "DT503": None}


def _finding_before_in_place(entry: dict[str, Any], findings: list[dict[str, Any]]) -> str | None:
    if entry["finding"] not in _BEFORE_IN_PLACE:
        return entry["finding"]
    others = (each for each in findings if entry["path"] in each["leaves"])
    codes = [each["code"] for each in others if each["code"] < "DT5"]
    return codes[0] if codes else _BEFORE_IN_PLACE[entry["finding"]]


def said(ledger: Ledger) -> dict[str, Any]:
    """What a ledger says of the first four gates, in the shape of `written`; plain data."""
    found = ledger.to_dict()
    codes = {each["code"] for each in found["findings"]}
    codes = {_BEFORE_IN_PLACE.get(code, code) for code in codes} - {None}
    after = found["bytes_after"]
    return {
        "rows": [
            Row(
                entry["path"],
                f"{entry['dtype']}[{','.join(map(str, entry['shape']))}]",
                entry["bytes"],
                entry["slot"],
                None if entry["stopped_at"] == "in_place" else entry["stopped_at"],
                _finding_before_in_place(entry, found["findings"]),
            )
            for entry in found["entries"]
        ],
        "funnel": (found["promised_bytes"], *(after[gate] for gate in _GATES)),
        "alias_size_in_bytes": found["alias_size_in_bytes"],
        "warnings": [plain(note) for note in found["notes"] if "donated buffers" in note],
        "codes": sorted(codes),
    }


def written(truth: Truth) -> dict[str, Any]:
    """What the table says, in the shape of `said`."""
    warning = truth.warning
    return {
        "rows": list(truth.rows),
        "funnel": truth.funnel,
        "alias_size_in_bytes": truth.alias,
        "warnings": [] if warning is None else [f"JAX itself warned: {warning}"],
        "codes": sorted({row.finding for row in truth.rows if row.finding} | truth.others),
    }
