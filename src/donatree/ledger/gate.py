"""The six gates that a donated leaf passes in order."""

from __future__ import annotations

import enum


class Gate(enum.StrEnum):
    """One of the six checks that a donated leaf passes in order."""

    ASKED = "asked"
    KEPT = "kept"
    MATCHED = "matched"
    GRANTED = "granted"
    IN_PLACE = "in_place"
    HONOURED = "honoured"

    @property
    def position(self) -> int:
        """Place in the order of the gates, 0 to 5."""
        return GATES.index(self)

    @property
    def label(self) -> str:
        """The gate's name as it is written for people."""
        return self.value.replace("_", " ")


GATES: tuple[Gate, ...] = tuple(Gate)
