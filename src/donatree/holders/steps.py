"""How one object refers to another, as the user would write it."""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Iterator
from types import CellType, MethodType
from typing import Any

DICT = ".__dict__"
# Where flax keeps an array or a mapping inside its own objects: nothing that a user writes.
_UNWRITTEN = frozenset({"_raw_value", "raw_value", "_mapping", "_dict", "_value"})


def label(holder: Any, held: Any) -> str:
    """How `holder` refers to `held`.

    Args:
        holder: the object that refers.
        held: the object that is referred to.

    Returns:
        ``['key']``, ``[0]``, ``.name``; ``.__dict__`` for an instance and its dict; empty where
        nothing is written: cells, iterators, what is not known.

    Example:
        >>> held = object()
        >>> label({"prev": held}, held), label([1, held], held)
        ("['prev']", '[1]')
    """
    if type(holder) is CellType:
        return ""
    for step, value in edges(holder):
        if value is held:
            return step
    return ""


def edges(holder: Any) -> Iterator[tuple[str, Any]]:
    """What an object refers to, and how each is written. Runs no code of the user's."""
    kind = type(holder)  # `isinstance` would ask the object itself, which may run its code
    if issubclass(kind, dict):
        for key, value in list(dict.items(holder)):
            yield _key(key), value
        for key in list(dict.keys(holder)):
            yield "[key]", key
    elif issubclass(kind, tuple) and "_fields" in vars(kind):
        for name, value in zip(vars(kind)["_fields"], tuple.__iter__(holder), strict=False):
            yield f".{name}", value
    elif issubclass(kind, (list, tuple, deque)):
        for index, value in enumerate(list(holder)):
            yield f"[{index}]", value
    elif issubclass(kind, (set, frozenset)):
        for value in list(holder):
            yield "{...}", value
    elif kind is MethodType:
        yield ".__self__", holder.__self__
    elif issubclass(kind, functools.partial):
        yield ".args", holder.args
        yield ".keywords", holder.keywords
    yield from attributes(holder)


def attributes(holder: Any) -> Iterator[tuple[str, Any]]:
    """The attributes of an instance: its dict itself, what is in it, and its slots."""
    try:
        kept = object.__getattribute__(holder, "__dict__")
    except Exception:
        kept = None
    if type(kept) is dict and not issubclass(type(holder), type):
        yield DICT, kept
        for name, value in list(kept.items()):
            yield _attribute(name), value
    own: Any = type(holder)
    for kind in own.__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in _names(slots):
            if name in ("__dict__", "__weakref__"):
                continue
            try:
                yield _attribute(name), object.__getattribute__(holder, _mangled(kind, name))
            except Exception:
                continue


def _names(slots: Any) -> tuple[str, ...]:
    return (slots,) if isinstance(slots, str) else tuple(slots)


def _mangled(kind: type, name: str) -> str:
    hidden = name.startswith("__") and not name.endswith("__")
    return f"_{kind.__name__.lstrip('_')}{name}" if hidden else name


def _attribute(name: Any) -> str:
    if name in _UNWRITTEN:
        return ""
    return f".{name}" if isinstance(name, str) and name.isidentifier() else f"[{name!r}]"


def _key(key: Any) -> str:
    """A key as it is written; only plain keys are asked for their repr."""
    if isinstance(key, (str, int, float, bool, bytes, type(None))):
        return f"[{key!r}]"
    if type(key) is tuple and all(isinstance(each, (str, int, type(None))) for each in key):
        return f"[{key!r}]"
    return f"[<{type(key).__name__}>]"
