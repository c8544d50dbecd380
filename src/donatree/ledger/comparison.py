"""What changed between two accounts, or between a baseline and an account, leaf by leaf."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from donatree.ledger.place import Location

ChangeKind = Literal["worse", "new", "better", "other", "gone"]


@dataclass(frozen=True, slots=True)
class Change:
    """One leaf that is not what it was.

    Attributes:
        kind: ``worse`` where it was reused and no longer is; ``new`` where it is lost and was not
            there before; ``better`` where it was lost and is reused; ``other`` where it is lost as
            before and for another reason; ``gone`` where it was there and no longer is.
        function: the name of the jitted function.
        file: the file that defines it, as the baseline names it; None where not known.
        signature: the function's arguments in short.
        path: the leaf's path.
        bytes: per device, after the change where it is still there.
        platform: ``cpu``, ``gpu``, ``tpu``, or the name of a target.
        before: ``reused``, or the code of the finding that said why it was lost; None where it was
            not there.
        after: the same of now; None where it is not there.
        old_jax: the version of JAX for which ``before`` was recorded, None where not known.
        new_jax: the version of JAX of now.
        location: where in the user's code it is lost now: the finding's place, else where the
            function is defined.
    """

    kind: ChangeKind
    function: str
    signature: str
    path: str
    file: str | None = None
    bytes: int = 0
    platform: str | None = None
    before: str | None = None
    after: str | None = None
    old_jax: str | None = None
    new_jax: str | None = None
    location: Location | None = None

    @property
    def fails(self) -> bool:
        """Whether a check against a baseline fails for it: a loss that nobody accepted."""
        return self.kind in ("worse", "new")

    def to_dict(self) -> dict[str, Any]:
        """One element of ``changes`` in the JSON report."""
        return {
            "kind": self.kind,
            "function": self.function,
            "file": self.file,
            "signature": self.signature,
            "path": self.path,
            "bytes": self.bytes,
            "platform": self.platform,
            "before": self.before,
            "after": self.after,
            "old_jax": self.old_jax,
            "new_jax": self.new_jax,
            "location": self.location and self.location.to_dict(),
        }


@dataclass(frozen=True, slots=True)
class Comparison:
    """An account held against an older one, or against a baseline.

    Attributes:
        old: what was compared with, as the user named it.
        new: what was compared; None for the account that this stands in.
        changes: those that fail first, of each kind the most bytes first.
        same: how many leaves are as they were.
        missing: functions that are in the old one and were not met.
        notes: what the reader should know, for example that a baseline was written.
    """

    old: str
    new: str | None = None
    changes: tuple[Change, ...] = ()
    same: int = 0
    missing: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def fails(self) -> bool:
        """Whether a leaf is lost that was not lost before."""
        return any(change.fails for change in self.changes)

    def of_kind(self, kind: ChangeKind) -> tuple[Change, ...]:
        """The changes of one kind."""
        return tuple(change for change in self.changes if change.kind == kind)

    def to_dict(self) -> dict[str, Any]:
        """``comparison`` in the JSON report."""
        return {
            "old": self.old,
            "new": self.new,
            "fails": self.fails,
            "changes": [change.to_dict() for change in self.changes],
            "same": self.same,
            "missing": list(self.missing),
            "notes": list(self.notes),
        }
