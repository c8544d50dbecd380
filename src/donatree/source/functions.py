"""The Python function inside a callable: under a jit, a partial, a method or a decorator."""

from __future__ import annotations

import functools
from types import CodeType, FunctionType, MethodType
from typing import Any


def function_of(value: Any) -> FunctionType | None:
    """The Python function that a callable ends in; None where there is none.

    Reads no attribute that could run code of the user's.

    Args:
        value: anything.
    """
    for _ in range(16):
        kind = type(value)  # `isinstance` would ask the object itself, which may run its code
        if kind is FunctionType:
            inner = value.__dict__.get("__wrapped__")
            if inner is None:
                return value
            value = inner
        elif kind is MethodType:
            value = value.__func__
        elif issubclass(kind, functools.partial):
            value = value.func
        elif kind in (staticmethod, classmethod):
            value = value.__func__
        else:
            try:
                value = object.__getattribute__(value, "__dict__")["__wrapped__"]
            except Exception:
                return None
    return None


def code_of(value: Any) -> tuple[CodeType, tuple[Any, ...]] | None:
    """Code and closure cells of the function that a callable ends in."""
    function = function_of(value)
    return None if function is None else (function.__code__, function.__closure__ or ())
