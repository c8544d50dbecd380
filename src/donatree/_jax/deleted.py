"""What JAX does when a dead array is read: which array it was, and how this JAX says so."""

from __future__ import annotations

import re
from functools import cache
from types import CodeType, FrameType
from typing import Any

from donatree._jax import buffers, dispatch, frames

_VARYING = re.compile(r"\[[0-9, ]*\]|[0-9]+")


@cache
def _check() -> CodeType | None:
    """The code of the method in which an array finds that it is deleted."""
    from jax._src.array import ArrayImpl

    method = getattr(ArrayImpl, "_check_if_deleted", None)
    return getattr(method, "__code__", None)


def receiver(frame: FrameType) -> Any:
    """The array that a frame of JAX found deleted; None if the frame is no such one.

    JAX's C++ calls back into this Python method too, so it is the innermost frame of nearly every
    error of this kind.
    """
    if frame.f_code is not _check():
        return None
    return frames.local(frame, "self")


def is_meant(error: BaseException) -> bool:
    """Whether JAX's C++ raised `error` because an array is deleted, or was donated.

    Neither text nor class is fixed from one JAX to the next, so this JAX is asked: a small array
    is donated, then waited for and passed to a compiled function, and `error` is compared with
    what that gave, numbers and shapes left out. It is asked once a process, after an error only.
    """
    return (type(error), _text(error)) in _said()


def _text(error: BaseException) -> str:
    try:
        return _VARYING.sub("#", str(error))
    except Exception:
        return ""


@cache
def _said() -> frozenset[tuple[type[BaseException], str]]:
    """What reads of a donated array raise where only C++ notices.

    Not `memoryview`: of an array that was deleted by hand it ends the process (0.7.2, measured).
    """
    reads = (lambda array: array.block_until_ready(), dispatch.dispatched_call())
    errors = filter(None, map(dispatch.error_of, reads))
    return frozenset((type(error), _text(error)) for error in errors)


def is_same(one: Any, other: Any) -> bool:
    """Whether two are one array, or a typed PRNG key and the array under it."""
    return one is other or buffers.physical(one) is buffers.physical(other)
