"""One other live reference to a leaf, to a container or to a buffer; and the list of all."""

from __future__ import annotations

from collections.abc import Iterable
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


class Holders(Shown, list[Holder]):
    """What `donatree.holders` returns: a list, which is printed as a report.

    Attributes:
        of: the expression by which the caller named what it asked about; ``tree`` where it is no
            plain name. The tree itself is not kept.

    Example:
        >>> print(Holders("state", [Holder("state.w", "leaf", "local `old` of `main`", bytes=64)]))
        1 other holder of `state`
          state.w  64 bytes, the array itself
            local `old` of `main`
    """

    __slots__ = ("of",)

    def __init__(self, of: str = "tree", holders: Iterable[Holder] = ()) -> None:
        super().__init__(holders)
        self.of = of

    def to_dict(self) -> dict[str, Any]:
        """The holders as plain data, each with its ``chain`` of references in one line."""
        found = [{**each.to_dict(), "chain": str(each)} for each in self]
        return {"of": self.of, "holders": found}

    def _told(self) -> dict[str, Any]:
        return {"kind": "holders", **self.to_dict()}
