"""Plain data back to what an account says of another one that it was compared with."""

from __future__ import annotations

from typing import Any, cast, get_args

from donatree.ledger import Change, ChangeKind, Comparison
from donatree.reports.item import Item, location


def comparison(data: Any, place: str) -> Comparison:
    """An account held against an older one, or against a baseline."""
    item = Item(data, place)
    return Comparison(
        old=item.get("old", str),
        new=item.maybe("new", str),
        changes=item.each("changes", _change),
        same=item.get("same", int),
        missing=item.texts("missing"),
        notes=item.texts("notes"),
    )


def _change(data: Any, place: str) -> Change:
    item = Item(data, place)
    kind = item.get("kind", str)
    if kind not in get_args(ChangeKind):
        raise ValueError(f"not a donatree report: `{item.at('kind')}` is {kind!r}")
    return Change(
        kind=cast(ChangeKind, kind),
        function=item.get("function", str),
        file=item.maybe("file", str),
        signature=item.get("signature", str),
        path=item.get("path", str),
        bytes=item.get("bytes", int),
        platform=item.maybe("platform", str),
        before=item.maybe("before", str),
        after=item.maybe("after", str),
        old_jax=item.maybe("old_jax", str),
        new_jax=item.maybe("new_jax", str),
        location=item.one("location", location),
    )
