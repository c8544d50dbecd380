"""A declaration that no argument of the call answers

## What it means

The declaration names a position or a name that only `*args` or `**kwargs` could take, and this call
passes nothing there.
Nothing is donated for it.

## Why it happens

JAX reads the parameters from the function's signature.
Behind `*args` and `**kwargs`, as in a decorator, it cannot tell that the first position and the
name `state` are the same argument, so `donate_argnames="state"` misses a state passed by position.
It gives no warning.

## What to do

Name the parameter in the signature, or put `functools.wraps` on the wrapper, which lends it the
signature of the function inside.
Or pass the argument in the way that the declaration counts on.

## Since when

The same on every JAX measured, 0.5.3 to 0.12.0.1.

## Limits

The finding counts no bytes, because no leaf of this call answers to the declaration.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from donatree.findings.rule import Rule
from donatree.ledger import Finding, Gate

if TYPE_CHECKING:
    from donatree.observation import Observation

FAILING = """\
import jax
import jax.numpy as jnp


def train_step(state, batch):
    return {"w": state["w"] - 0.1 * batch.mean()}


def logged(function):
    def wrapper(*args, **kwargs):
        print("tracing", function.__name__)
        return function(*args, **kwargs)

    return wrapper


step = jax.jit(logged(train_step), donate_argnames="state")
args = ({"w": jnp.ones((64, 32))}, jnp.ones((8,)))
"""

REPAIRED = """\
from functools import wraps

import jax
import jax.numpy as jnp


def train_step(state, batch):
    return {"w": state["w"] - 0.1 * batch.mean()}


def logged(function):
    @wraps(function)
    def wrapper(*args, **kwargs):
        print("tracing", function.__name__)
        return function(*args, **kwargs)

    return wrapper


step = jax.jit(logged(train_step), donate_argnames="state")
args = ({"w": jnp.ones((64, 32))}, jnp.ones((8,)))
"""


def about(observation: Observation) -> Finding | None:
    """The finding, where a declared argument went into `*args` or `**kwargs` the other way."""
    request = observation.request
    if not request.undelivered:
        return None
    what = " and ".join(request.undelivered)
    return Finding(
        code=RULE.code,
        headline=f"`{request.declared}` donates {what}, and this call of `{request.function}` "
        "passes none",
        level="error",
        location=request.call,
        help="name the parameter in the function's signature, or pass the argument in the way "
        "that the declaration counts on",
        notes=("inside `*args` and `**kwargs` JAX cannot tell a position from a name",),
    )


RULE = Rule(
    code="DT104",
    name="donation-lost-in-variadic-arguments",
    gate=Gate.ASKED,
    page=__doc__ or "",
    failing=FAILING,
    repaired=REPAIRED,
)
