"""A coded statement about leaves, an argument or a place in the program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from donatree.ledger.place import Label, Location
from donatree.ledger.shown import Shown

Level = Literal["error", "warning", "note"]


@dataclass(frozen=True, slots=True)
class Finding(Shown):
    """A coded statement about leaves, an argument or a place in the program.

    Attributes:
        code: ``DT402``.
        headline: one line that stands alone; lower case, no full stop.
        leaves: paths of the leaves concerned, largest bytes first.
        bytes: their bytes per device.
        level: ``error`` where the promise was refused or the run broke it, ``warning`` where XLA
            kept it and takes the bytes back, where something is paid for or about to break,
            ``note`` where nothing is lost.
        location: where in the user's code.
        folded: the leaves' paths folded by their common path, for people.
        notes: facts.
        help: what to change.
        labels: places in source, in the order in which they are told.
        ignored: why it is not to be told, and where that is written; None where it is to be told.
        ignored_leaves: those of `leaves` that are ignored: all of them, or some while it is told.
    """

    code: str
    headline: str
    leaves: tuple[str, ...] = ()
    bytes: int = 0
    level: Level = "error"
    location: Location | None = None
    folded: str | None = None
    notes: tuple[str, ...] = ()
    help: str | None = None
    labels: tuple[Label, ...] = ()
    ignored: str | None = None
    ignored_leaves: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """One element of ``findings`` in the JSON report."""
        return {
            "code": self.code,
            "level": self.level,
            "headline": self.headline,
            "leaves": list(self.leaves),
            "bytes": self.bytes,
            "location": self.location and self.location.to_dict(),
            "folded": self.folded,
            "notes": list(self.notes),
            "help": self.help,
            "labels": [label.to_dict() for label in self.labels],
            "ignored": self.ignored,
            "ignored_leaves": list(self.ignored_leaves),
        }
