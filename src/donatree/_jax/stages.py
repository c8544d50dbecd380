"""What stands behind JAX's own stages: the function under a jit, the computation of a lowering."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from donatree._jax import abroad, aim, hooks
from donatree.errors import DonatreeError, TargetError, in_one_line

# Where equinox, flax nnx (its class) and flax nnx up to 0.10 (its closure) keep JAX's function.
_HOLDERS = ("_cached", "jitted_fn", "inner")


def jitted_inside(step: Any) -> Any:
    """JAX's own jitted function inside `step`, which may be that itself; None where there is none.

    Args:
        step: what `jax.jit`, `equinox.filter_jit` or `flax.nnx.jit` returned, or a wrapper of it.
    """
    for _ in range(32):
        if hasattr(step, "_jit_info") or hasattr(step, "_cache_size"):  # the first since JAX 0.6
            return step
        held = next((name for name in (*_HOLDERS, "__wrapped__") if hasattr(step, name)), None)
        if held is None:
            return None
        step = getattr(step, held)
    return None


def function_of(jitted: Any) -> Any:
    """The function under the jit, the same object that `pjit._infer_params` is called with.

    Args:
        jitted: JAX's own jitted function.
    """
    return jitted._fun


def jax_lowered(lowered: Any) -> Any:
    """JAX's own `Lowered` inside those of equinox and flax nnx; None where there is none."""
    for _ in range(4):
        if hasattr(lowered, "_lowering"):
            return lowered
        lowered = getattr(lowered, "lowered", None)
    return None


def name_of(step: Any) -> str:
    """The name of what a user jitted."""
    return getattr(step, "__name__", None) or type(step).__name__


def lower(step: Any, args: tuple[Any, ...], kwargs: dict[str, Any], *, afresh: bool = False) -> Any:
    """JAX's own `Lowered` of a function for these arguments.

    Args:
        step: it has a method `lower`.
        args: its positional arguments.
        kwargs: its keyword arguments.
        afresh: lower it under the observers' eyes even if JAX did so before; to change a program
            needs that call.

    Raises:
        TargetError: JAX refuses the arguments, or `lower` gave no lowering of JAX's.
    """
    try:
        with aimed(), hooks.afresh() if afresh else contextlib.nullcontext():
            found = step.lower(*args, **kwargs)
    except DonatreeError:
        raise
    except Exception as error:
        what = f"JAX refuses `{name_of(step)}` with these arguments"
        raise TargetError(f"{what}: {in_one_line(error)}") from error
    lowered = jax_lowered(found)
    if lowered is None:
        kind = type(found).__name__
        raise TargetError(f"`lower` gave a {kind}, which holds no lowering of JAX's")
    return lowered


@contextlib.contextmanager
def aimed() -> Iterator[None]:
    """What JAX lowers and compiles inside is the program that donatree looks at; see `hooks`."""
    platform = aim.platform()
    with hooks.aimed(), abroad.standing_in(platform) if platform else contextlib.nullcontext():
        yield


def computation_of(lowered: Any) -> Any:
    """The `MeshComputation` that JAX's `Lowered` compiles."""
    return lowered._lowering
