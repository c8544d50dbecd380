"""Which argument takes the keyword: evidence, proof by compile, and what to write.

Data flows one way: what JAX was asked (`recording`), the call statements (`callers`, `statement`),
what replaces what (`replaced`), an opinion of each argument (`opinion`), what compiles show
(`proof`), the advice (`conclusion`).
"""

from __future__ import annotations

from typing import Any

from donatree.advice.advice import Advice as Advice
from donatree.advice.advice import AdviceList as AdviceList

BUDGET = 30.0


def advise(step: Any, /, *args: Any, **kwargs: Any) -> AdviceList:
    """Tells which arguments of a jitted function ought to be donated, and what that saves.

    Lowers `step` for these arguments and compiles it with and without each donation, for 30 seconds
    at most; runs nothing and donates nothing. The calls of `step` are looked for in the source of
    the file that calls `advise` and of the file that defines the function.

    Args:
        step: a jitted function: `jax.jit`, `equinox.filter_jit`, `flax.nnx.jit`, or anything with
            a `lower` method that leads to one.
        *args: arrays, or `jax.ShapeDtypeStruct` with or without shardings.
        **kwargs: likewise.

    Returns:
        The advice, most bytes saved first; printed, it is a table with what to write.

    Raises:
        TargetError: `step` is not jitted, or JAX refuses the arguments.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> step = jax.jit(lambda state, x: {"w": state["w"] - x.mean()})
        >>> advise(step, {"w": jnp.ones((4, 4))}, jnp.ones(8)).keyword
        'donate_argnums=0'
    """
    from donatree._jax import frames
    from donatree.advice.making import advice_on
    from donatree.proof.budget import Budget
    from donatree.source.tree import source_of

    user = frames.user_frame(frames.current_frame())
    file = source_of(user.f_code.co_filename) if user is not None else None
    return advice_on(step, args, kwargs, [file] if file else [], Budget(BUDGET))
