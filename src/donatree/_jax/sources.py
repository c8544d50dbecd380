"""From an equation of a jaxpr to the place in the user's code that made it."""

from __future__ import annotations

from typing import Any

from donatree._jax import frames
from donatree.ledger import Location


def location_of_equation(equation: Any) -> Location | None:
    """The innermost user frame of an equation's traceback, exact to columns.

    `traceback.raw_frames()` gives code objects and instruction offsets on JAX 0.5.3 to 0.12;
    `co_positions` turns them into an expression.
    """
    traceback = getattr(equation.source_info, "traceback", None)
    if traceback is None:
        return None
    codes, offsets = traceback.raw_frames()
    for code, offset in zip(codes, offsets, strict=True):
        if not frames.is_user_file(code.co_filename):
            continue
        return frames.location_at(code, offset)
    return None
