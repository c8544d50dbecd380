"""What became of one donated leaf."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from donatree.ledger.array import Leaf, Slot
from donatree.ledger.gate import Gate


@dataclass(frozen=True, slots=True)
class Entry:
    """What became of one donated leaf.

    Attributes:
        leaf: the leaf.
        slot: the slot that took its memory, None where none did.
        successor: the slot at the same path inside the tree that replaces the donated one.
        stopped_at: the first gate that the leaf failed; None if it passed every gate checked.
        finding: the code of the finding that speaks of it.
        evidence: per gate, what was read and where.
    """

    leaf: Leaf
    slot: Slot | None = None
    successor: Slot | None = None
    stopped_at: Gate | None = None
    finding: str | None = None
    evidence: Mapping[str, str] = field(default_factory=dict)

    @property
    def path(self) -> str:
        """The leaf's path."""
        return self.leaf.path

    @property
    def bytes(self) -> int:
        """The leaf's bytes per device."""
        return self.leaf.spec.bytes

    def passed(self, gate: Gate) -> bool:
        """Whether the leaf passed ``gate`` and every gate before it."""
        return self.stopped_at is None or self.stopped_at.position > gate.position

    def to_dict(self) -> dict[str, Any]:
        """One element of ``entries`` in the JSON report."""
        return {
            "path": self.leaf.path,
            "argument": self.leaf.argument,
            "flat_index": self.leaf.flat_index,
            **self.leaf.spec.to_dict(),
            "stopped_at": self.stopped_at and self.stopped_at.value,
            "slot": self.slot and self.slot.path,
            "slot_array": self.slot and self.slot.to_dict(),
            "successor": self.successor and self.successor.path,
            "successor_array": self.successor and self.successor.to_dict(),
            "successor_aval": self.successor and self.successor.spec.aval,
            "finding": self.finding,
            "evidence": dict(self.evidence),
        }


def by_bytes(entries: Iterable[Entry]) -> list[Entry]:
    """Entries with the most bytes first, equal ones in flatten order."""
    return sorted(entries, key=lambda entry: (-entry.bytes, entry.leaf.flat_index))
