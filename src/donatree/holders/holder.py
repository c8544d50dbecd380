"""One other live reference to a leaf, to a container of leaves, or to a leaf's buffer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from donatree import paths
from donatree.ledger import Location
from donatree.ledger.shown import Shown

Kind = Literal["leaf", "container", "handle", "view"]


@dataclass(frozen=True, slots=True)
class Holder(Shown):
    """Who else holds what is given away.

    Attributes:
        held: the path of what is held, as the user writes it: ``state.w``, ``state.params``,
            ``state``. Of several leaves in one place the path that they have in common.
        kind: ``leaf`` and ``container`` are references to the objects themselves; ``handle`` is
            another `jax.Array` over the same buffer; ``view`` reads the memory without JAX: numpy,
            memoryview, dlpack, torch.
        root: where the chain of references begins, in words: "local `metrics` of `main`".
        location: where the root got its value, if known, else where its frame stands; of a closure
            and of a default argument where the function is defined.
        steps: from the root to what is held: ``("['prev']", ".w")``.
        leaves: paths of the leaves that are held, most bytes first.
        bytes: their bytes per device.
        what: the object that holds, where it is not the leaf itself: "numpy array float32[8]".
        read_at: where the root is read again, where that is known.
        thread: the thread whose frame it is; None for the main thread and for what is no frame.

    Example:
        >>> str(Holder("state.w", "leaf", "local `old` of `main`", Location("a.py", 3), ("[0]",)))
        'local `old` of `main` (a.py:3) -> [0]'
    """

    held: str
    kind: Kind
    root: str
    location: Location | None = None
    steps: tuple[str, ...] = ()
    leaves: tuple[str, ...] = ()
    bytes: int = 0
    what: str | None = None
    read_at: Location | None = None
    thread: str | None = None

    def __str__(self) -> str:
        thread = f" in thread `{self.thread}`" if self.thread else ""
        where = f" ({self.location})" if self.location else ""
        return " -> ".join((f"{self.root}{thread}{where}", *self.steps))

    def _told(self) -> dict[str, Any]:
        from donatree.holders.listed import Holders  # a list of these

        alone = Holders(paths.split(self.held)[0] or "tree", [self])
        return {"kind": "holders", **alone.to_dict()}

    def to_dict(self) -> dict[str, Any]:
        """The holder as plain data."""
        return {
            "held": self.held,
            "kind": self.kind,
            "root": self.root,
            "location": self.location and self.location.to_dict(),
            "steps": list(self.steps),
            "leaves": list(self.leaves),
            "bytes": self.bytes,
            "what": self.what,
            "read_at": self.read_at and self.read_at.to_dict(),
            "thread": self.thread,
        }
