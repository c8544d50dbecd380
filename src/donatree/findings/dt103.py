"""A jit that donates is called inside another traced function

## What it means

The function that declares donation was called while another function was traced.
There its declaration counts for nothing: the caller's buffer stays alive during the step.

## Why it happens

Only the outermost `jax.jit` takes buffers from the caller and can give them away.
An inner `donate_argnums` is ignored in silence, under `jax.jit`, `jax.lax.scan` and the like.

## What to do

Declare the donation on the outermost function, for the argument that the inner one's comes from.
The inner declaration can stay.

## Since when

The same on every JAX measured, 0.5.3 to 0.12.0.1.

## Limits

An inner donation of a value that the outer function made itself loses nothing and is not reported:
XLA reuses such values without being asked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from donatree.findings.rule import Rule, count, finding, subject, verb
from donatree.ledger import Finding, Gate

if TYPE_CHECKING:
    from donatree.observation import Observation
    from donatree.why.causes import Group

FAILING = """\
import jax
import jax.numpy as jnp


def update(state, batch):
    return {"w": state["w"] - 0.1 * batch.mean()}


fast_update = jax.jit(update, donate_argnums=0)


def train_step(state, batch):
    state = fast_update(state, batch)
    return state, state["w"].sum()


step = jax.jit(train_step)
args = ({"w": jnp.ones((64, 32))}, jnp.ones((8,)))
"""

REPAIRED = """\
import jax
import jax.numpy as jnp


def update(state, batch):
    return {"w": state["w"] - 0.1 * batch.mean()}


fast_update = jax.jit(update, donate_argnums=0)


def train_step(state, batch):
    state = fast_update(state, batch)
    return state, state["w"].sum()


step = jax.jit(train_step, donate_argnums=0)
args = ({"w": jnp.ones((64, 32))}, jnp.ones((8,)))
"""


def describe(group: Group, observation: Observation) -> Finding:
    """The finding for leaves that only an inner jit donates."""
    request = observation.request
    outer = f"`{request.outer}`" if request.outer else "another traced function"
    return finding(
        group,
        f"{subject(group)} {verb(group, 'is', 'are')} not donated because `{request.function}` is "
        f"called inside {outer}: {count(group.bytes, 'byte')}",
        help=f"donate the argument of {outer} that "
        f"{verb(group, 'the leaf comes', 'the leaves come')} from",
        notes=["only the outermost jit donates; an inner `donate_argnums` is ignored in silence"],
        location=request.call,
    )


RULE = Rule(
    code="DT103",
    name="donating-jit-inside-jit",
    gate=Gate.ASKED,
    page=__doc__ or "",
    failing=FAILING,
    repaired=REPAIRED,
    describe=describe,
)
