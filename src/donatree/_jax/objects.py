"""Paths to arrays inside a user's own objects, by identity."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

_LIMIT = 500_000
# Where an nnx Variable (flax 0.12.1 on, earlier) and a VariableState (flax 0.10) keep their array.
# A module of the user's may well have a `value`, but never nnx's own mark beside it.
_VALUE_NAMES = ("_raw_value", "raw_value", "value")
_VARIABLE_MARK = "_var_metadata"
_STATE_INSIDE = "_mapping"  # what an nnx State is indexed like


def paths_by_identity(roots: Iterable[tuple[str, Any]]) -> dict[int, str]:
    """The shortest path to each array that can be reached, by `id`.

    Walks containers and instance attributes breadth first, public names before private ones; a
    holder of one value (an nnx Variable) adds nothing to the path.

    Args:
        roots: names and the objects they stand for.
    """
    import jax

    found: dict[int, str] = {}
    queue = deque((name, value) for name, value in roots)
    seen: set[int] = set()
    keep: list[Any] = []  # an id is only good while its object lives
    while queue and len(seen) < _LIMIT:
        path, value = queue.popleft()
        if isinstance(value, jax.Array):
            found.setdefault(id(value), path)
            continue
        if id(value) in seen or isinstance(value, (str, bytes, int, float, complex, type)):
            continue
        seen.add(id(value))
        keep.append(value)
        queue.extend(_children(path, value))
    return found


def _children(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, each in value.items():
            yield f"{path}[{key!r}]", each
    elif isinstance(value, tuple) and hasattr(value, "_fields"):
        for name, each in zip(getattr(value, "_fields"), value, strict=True):  # noqa: B009
            yield f"{path}.{name}", each
    elif isinstance(value, (list, tuple)):
        for index, each in enumerate(value):
            yield f"{path}[{index}]", each
    else:
        attributes = _attributes(value)
        if _VARIABLE_MARK in attributes:
            held = next((name for name in _VALUE_NAMES if name in attributes), None)
            if held is not None:
                yield path, attributes.pop(held)
        if isinstance(attributes.get(_STATE_INSIDE), dict):
            yield path, attributes.pop(_STATE_INSIDE)
        is_mapping = isinstance(value, Mapping)  # an nnx.Dict keeps its items as attributes
        for name in sorted(attributes, key=lambda name: name.startswith("_")):
            yield _attribute_path(path, name, is_mapping), attributes[name]


def _attribute_path(path: str, name: str, is_mapping: bool) -> str:
    if name.isdecimal():
        return f"{path}[{name}]"
    if is_mapping or not name.isidentifier():
        return f"{path}[{name!r}]"
    return f"{path}.{name}"


def _attributes(value: Any) -> dict[str, Any]:
    try:
        attributes = dict(object.__getattribute__(value, "__dict__"))
    except AttributeError:
        attributes = {}
    for kind in type(value).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            try:
                attributes[name] = object.__getattribute__(value, name)
            except AttributeError:
                continue
    # nnx.List keeps its elements in `__dict__` under their numbers.
    named = {str(name): each for name, each in attributes.items()}
    return {name: each for name, each in named.items() if not name.endswith("__state")}
