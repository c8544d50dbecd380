"""A cure that was tried by compiling the changed program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from donatree.ledger.place import Location

Grade = Literal["sure", "maybe", "sketch"]


FixKind = Literal[
    "cast", "out_shardings", "order", "drop_argument", "keep_unused", "copy_twins", "together"
]


FixStatus = Literal["held", "failed", "untried"]


@dataclass(frozen=True, slots=True)
class Edit:
    """A place in a file of the user's, and what to write there.

    Attributes:
        location: what is replaced, with its columns.
        original: the text that stands there.
        replacement: the text to put in its place.
    """

    location: Location
    original: str
    replacement: str

    def to_dict(self) -> dict[str, Any]:
        """The edit as plain data."""
        return {
            "location": self.location.to_dict(),
            "original": self.original,
            "replacement": self.replacement,
        }


@dataclass(frozen=True, slots=True)
class Tally:
    """What one compiled program keeps and needs, bytes per device.

    Attributes:
        promised: of the donated leaves.
        in_place: those of them that passed every gate checked.
        live: what the program needs while it runs; where a fix keeps leaves that JAX drops, with
            these. None where XLA keeps no totals.
    """

    promised: int
    in_place: int
    live: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """The tally as plain data."""
        return {
            "promised_bytes": self.promised,
            "in_place_bytes": self.in_place,
            "live_bytes": self.live,
        }


@dataclass(frozen=True, slots=True)
class Fix:
    """A cure for findings, tried by compiling the changed program.

    Attributes:
        kind: what was changed.
        codes: codes of the findings that it is for.
        leaves: paths of the leaves that it is for, largest bytes first.
        change: what is changed, in words that go on from there: ``with `keep_unused=True```.
        status: ``held`` where the compiled program showed it, ``failed`` where it showed the
            opposite, ``untried`` where it could not be built or did not fit the budget.
        why_not: why it did not hold or was not tried; None where it held.
        before: of the program as it is.
        after: of the changed program; None where it was not compiled.
        compiles_again: whether the next call of the program as it is compiles again, and that of
            the changed one does not.
        grade: how far the edit is certain, as rustc grades: ``sure``, ``maybe``, or ``sketch``
            where there is no edit of one expression.
        edit: what to write where; None for a sketch.
        notes: facts.
    """

    kind: FixKind
    codes: tuple[str, ...]
    leaves: tuple[str, ...]
    change: str
    status: FixStatus
    why_not: str | None = None
    before: Tally = Tally(0, 0)
    after: Tally | None = None
    compiles_again: bool = False
    grade: Grade = "sketch"
    edit: Edit | None = None
    notes: tuple[str, ...] = ()

    @property
    def held(self) -> bool:
        """Whether the compiled program showed that it cures."""
        return self.status == "held"

    def to_dict(self) -> dict[str, Any]:
        """One element of ``fixes`` in the JSON report."""
        return {
            "kind": self.kind,
            "codes": list(self.codes),
            "leaves": list(self.leaves),
            "change": self.change,
            "status": self.status,
            "why_not": self.why_not,
            "before": self.before.to_dict(),
            "after": self.after and self.after.to_dict(),
            "compiles_again": self.compiles_again,
            "grade": self.grade,
            "edit": self.edit and self.edit.to_dict(),
            "notes": list(self.notes),
        }
