"""Places in the user's source, and what is said of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Location:
    """A place in source code. Lines count from 1, columns from 0; None where not known."""

    file: str
    line: int
    column: int | None = None
    end_line: int | None = None
    end_column: int | None = None
    function: str | None = None

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"

    def to_dict(self) -> dict[str, Any]:
        """The location as plain data."""
        return {
            "file": self.file,
            "line": self.line,
            "column": self.column,
            "end_line": self.end_line,
            "end_column": self.end_column,
            "function": self.function,
        }


@dataclass(frozen=True, slots=True)
class Label:
    """A place in source that a finding points at, and what it says there.

    Attributes:
        location: the place; with columns it is underlined.
        text: what is said of it, lower case, no full stop.
        primary: whether the finding is about this place; the others explain it.
    """

    location: Location
    text: str
    primary: bool = False

    def to_dict(self) -> dict[str, Any]:
        """The label as plain data."""
        return {
            "location": self.location.to_dict(),
            "text": self.text,
            "primary": self.primary,
        }
