"""From an equation of a jaxpr to the user's expression, and to the library's line below it.

A traceback is the stack of whoever traced the function. JAX traces a jitted function once for each
signature, so within `jnp.median` or a library's own `jit` it is the stack of the first caller in
the process (measured on 0.5.3 to 0.7.2; since then it ends at the jitted function). What lies
outside of the frame of a library's traced function is therefore not believed; the equation that
calls it knows better.
"""

from __future__ import annotations

import os
import re
from functools import cache
from types import CodeType
from typing import Any, NamedTuple

from donatree._jax import frames
from donatree.ledger import Location
from donatree.origin.drift import Place

_CASTS = frozenset(("astype", "_astype", "convert_element_type", "asarray", "array", "full"))


class Function(NamedTuple):
    """The function that a jaxpr was traced from, as `func_src_info` has it."""

    file: str
    line: int
    is_users: bool


def function_of(jaxpr: Any) -> Function | None:
    """Where the function of a jaxpr is defined; None where JAX does not say."""
    info = getattr(getattr(jaxpr, "debug_info", None), "func_src_info", None)
    match = re.fullmatch(r".* at (.*):(\d+)", str(info or ""))
    if match is None:
        return None
    return Function(match[1], int(match[2]), frames.is_user_file(match[1]))


class Places:
    """Places of equations; those of equal tracebacks are looked for once.

    JAX's tracebacks are equal, and hash alike, where their code objects and instructions are
    (measured on 0.5.3 to 0.12), so thousands of leaves of one expression share one place.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[CodeType, int], Location] = {}
        self._found: dict[tuple[Any, ...], Place | None] = {}
        self._casts: dict[Any, bool] = {}

    def of(self, equation: Any, function: Function | None, outermost: bool) -> Place | None:
        """The innermost frame of the user's in an equation's traceback.

        Args:
            equation: of a jaxpr.
            function: the one that its jaxpr was traced from.
            outermost: whether that jaxpr is the whole program, so that all frames are its own.

        Returns:
            None where no frame is the user's, or none that can be believed; the library's line
            alone where the whole program is a library's function.
        """
        traceback = getattr(equation.source_info, "traceback", None)
        if traceback is None or (function is None and not outermost):
            return None
        key = traceback, function, outermost
        if key not in self._found:
            self._found[key] = self._of(traceback, function, outermost)
        return self._found[key]

    def is_cast(self, equation: Any) -> bool:
        """Whether somebody asked for a type by name, so that no other operand brought it in."""
        traceback = getattr(equation.source_info, "traceback", None)
        if traceback not in self._casts:
            self._casts[traceback] = traceback is not None and _is_cast(traceback)
        return self._casts[traceback]

    def _of(self, traceback: Any, function: Function | None, outermost: bool) -> Place | None:
        codes, offsets = traceback.raw_frames()
        library = None
        for code, offset in zip(codes, offsets, strict=True):
            file = code.co_filename
            kind = _kind(file)
            if kind == "user":
                below = self._location(*library) if library else None
                return Place(self._location(code, offset), below)
            if kind == "library" and library is None:
                library = (code, offset)
            if (
                not outermost
                and function is not None
                and code.co_firstlineno == function.line
                and file == function.file
            ):
                return None
        return Place(None, self._location(*library)) if outermost and library else None

    def _location(self, code: CodeType, offset: int) -> Location:
        key = code, offset
        if key not in self._known:
            self._known[key] = frames.location_at(code, offset)
        return self._known[key]


def _is_cast(traceback: Any) -> bool:
    for code in traceback.raw_frames()[0]:
        if _kind(code.co_filename) != "jax":
            return False
        if code.co_name in _CASTS:
            return True
    return False


@cache
def _kind(filename: str) -> str:
    """`user`, `library`, or `jax` for JAX, Python and whatever else lies between."""
    if frames.is_user_file(filename):
        return "user"
    packages = f"{os.sep}site-packages{os.sep}"
    _, found, inside = filename.rpartition(packages)
    if not found or inside.startswith(("jax" + os.sep, "jaxlib" + os.sep)):
        return "jax"
    return "library"
