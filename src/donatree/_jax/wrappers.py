"""Names in the user's own words where a library flattens the arguments before `jax.jit`.

Equinox and flax nnx hand `jax.jit` lists of leaves, so JAX's own names read
``dynamic_donate['first'][0]`` or ``m.states[0][1]``. Both carry enough to find the user's words
again: equinox's static half holds the tree structures, nnx's leaves are the very arrays that the
caller's modules hold. What is read of either library stands in its own file; where a library has
changed, the answer is None and JAX's own names stand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any

from donatree._jax import equinox, nnx


@dataclass(frozen=True, slots=True)
class Names:
    """Names of the dynamic leaves and of the result's leaves, and the user's own function."""

    leaves: list[str]
    slots: list[str]
    function: Any


def dialect_of(fun: Any) -> str:
    """How a function was jitted: ``jax``, ``nnx`` or ``equinox``.

    Args:
        fun: the function under the jit.
    """
    return "equinox" if equinox.is_wrapper(fun) else "nnx" if nnx.is_wrapper(fun) else "jax"


def names_of(
    fun: Any,
    info: Any,
    args: Sequence[Any],
    kwargs: dict[str, Any],
    params: Any,
    frame: FrameType,
    leaf_names: Sequence[str],
    slot_names: Sequence[str],
) -> Names | None:
    """The user's names, or None where `fun` is no wrapper that is known.

    Args:
        fun: the function under the jit.
        info: JAX's `PjitInfo` of it.
        args: what the wrapper passed to the jitted function, static arguments included.
        kwargs: likewise.
        params: JAX's `PjitParams` of the call.
        frame: a frame inside JAX, below the wrapper's own frames.
        leaf_names: JAX's own names of the leaves.
        slot_names: JAX's own names of the result's leaves.
    """
    found = None
    if equinox.is_wrapper(fun):
        found = equinox.names(args, leaf_names, slot_names)
    elif nnx.is_wrapper(fun):
        found = nnx.names(fun, info, args, kwargs, params, frame, leaf_names, slot_names)
    return None if found is None else Names(*found)
