"""All that else holds the leaves of a tree: a list that shows itself."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from donatree.holders.holder import Holder
from donatree.ledger.shown import Shown


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
