"""The values of a frame's variables, and of simple expressions, without running user code."""

from __future__ import annotations

import ast
import builtins
import collections
import types
from collections.abc import Mapping
from types import FrameType, ModuleType
from typing import Any, Final

from donatree._jax.frames import locals_of


class Missing:
    """The type of `MISSING`."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = Missing()

Names = Mapping[str, Any]
_KEYS = (str, int, float, bool, bytes, type(None))
_LISTS = (list, tuple, collections.deque)


def variables(frame: FrameType) -> Names:
    """What the names of a frame stand for: its variables, then globals, then builtins.

    Args:
        frame: a frame, finished or not.

    Returns:
        A mapping that no change of the program's changes; drop it soon, it holds the values.
    """
    return collections.ChainMap(locals_of(frame), frame.f_globals, builtins.__dict__)


def evaluate(node: ast.AST, names: Names) -> Any:
    """What an expression stands for.

    Names, attributes that are plain data (of instances, modules, named tuples, slots) and
    subscripts of built-in containers are followed. Nothing else is, so that no property, no
    ``__getattr__`` and no ``__getitem__`` of the program runs.

    Args:
        node: an expression.
        names: what its names stand for.

    Returns:
        The value, or `MISSING`.

    Example:
        >>> evaluate(ast.parse("d['a'][-1]", mode="eval").body, {"d": {"a": [1, 2]}})
        2
    """
    match node:
        case ast.Name(id=name):
            return names.get(name, MISSING)
        case ast.NamedExpr(target=ast.Name(id=name)):
            return names.get(name, MISSING)
        case ast.Starred(value=value):
            return evaluate(value, names)
        case ast.Constant(value=value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(value))):
            return -value
        case ast.Attribute(value=value, attr=attr):
            owner = evaluate(value, names)
            return MISSING if owner is MISSING else _attribute(owner, attr)
        case ast.Subscript(value=value, slice=index):
            owner = evaluate(value, names)
            key = MISSING if owner is MISSING else evaluate(index, names)
            return MISSING if key is MISSING else _item(owner, key)
    return MISSING


def _attribute(owner: Any, name: str) -> Any:
    if isinstance(owner, ModuleType):
        return vars(owner).get(name, MISSING)
    if isinstance(owner, type):
        return _of_class(owner, name)
    kept = _own_dict(owner)
    if kept is not None and name in kept:
        return dict.__getitem__(kept, name)
    for kind in type(owner).__mro__:
        found = vars(kind).get(name, MISSING)
        if found is MISSING:
            continue
        if isinstance(found, types.MemberDescriptorType):  # a slot
            try:
                return found.__get__(owner, kind)
            except AttributeError:
                return MISSING
        fields = vars(kind).get("_fields")
        if isinstance(owner, tuple) and isinstance(fields, tuple) and name in fields:
            return tuple.__getitem__(owner, fields.index(name))
        return MISSING if hasattr(type(found), "__get__") else found
    return MISSING


def _of_class(owner: type, name: str) -> Any:
    for kind in owner.__mro__:
        found = vars(kind).get(name, MISSING)
        if found is not MISSING:
            plain = not hasattr(type(found), "__get__") or isinstance(found, types.FunctionType)
            return found if plain else MISSING
    return MISSING


def _own_dict(owner: Any) -> dict[str, Any] | None:
    try:
        kept = object.__getattribute__(owner, "__dict__")
    except Exception:
        return None
    return kept if isinstance(kept, dict) else None


def _item(owner: Any, key: Any) -> Any:
    if not isinstance(key, _KEYS) and not (
        type(key) is tuple and all(isinstance(each, _KEYS) for each in key)
    ):
        return MISSING
    try:
        if isinstance(owner, dict):
            return dict.get(owner, key, MISSING)
        for kind in _LISTS:
            if isinstance(owner, kind) and type(owner).__getitem__ is kind.__getitem__:
                return kind.__getitem__(owner, key)  # type: ignore[index]
    except Exception:
        return MISSING
    return MISSING
