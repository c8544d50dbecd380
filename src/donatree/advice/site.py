"""The call statement in which a frame of the running program stands."""

from __future__ import annotations

from types import FrameType

from donatree._jax import calls
from donatree.advice.callers import CallFound
from donatree.advice.statement import CallSite, site_of
from donatree.before.fate import call_of
from donatree.observation import Request


def site_at(user: FrameType, frame: FrameType, found: Request) -> CallSite | None:
    """The call statement in which a frame of the user's stands.

    Args:
        user: the frame.
        frame: a frame inside JAX, below it.
        found: tells the function's parameters.

    Returns:
        None where the source cannot be read.
    """
    place = call_of(user)
    if place is None:
        return None
    source, call = place
    arguments = calls.callers_arguments(frame)
    shift = max(len(arguments[0]) - len(call.args), 0) if arguments is not None else 0
    return site_of(CallFound(source, call, shift), found.positional, [source])
