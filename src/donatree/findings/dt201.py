"""A donated leaf whose value is never used is dropped

## What it means

The leaf is donated, but no result depends on its value.
JAX left it out of the compiled function, so its memory is not reused and its array stays alive.

## Why it happens

JAX prunes arguments that are not used before it compiles.
A leaf of which only the shape is read counts as not used.
There is no warning.

## What to do

Leave it out of the argument, or delete it after the call with `.delete()`.
Pass `keep_unused=True` to `jax.jit` where the result has a slot of its type: then the slot takes
the leaf's memory.

## Since when

The same on every JAX measured, 0.5.3 to 0.12.0.1.
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


def train_step(state, batch):
    return {"w": state["w"] - 0.1 * batch.mean()}


step = jax.jit(train_step, donate_argnums=0)
state = {"w": jnp.ones((64, 32)), "last_prediction": jnp.zeros((512, 10))}
args = (state, jnp.ones((8,)))
"""

REPAIRED = """\
import jax
import jax.numpy as jnp


def train_step(state, batch):
    return {"w": state["w"] - 0.1 * batch.mean()}


step = jax.jit(train_step, donate_argnums=0)
state = {"w": jnp.ones((64, 32))}
args = (state, jnp.ones((8,)))
"""


def describe(group: Group, observation: Observation) -> Finding:
    """The finding for leaves that JAX pruned."""
    return finding(
        group,
        f"{subject(group)} {verb(group, 'is', 'are')} donated but never used: JAX drops "
        f"{verb(group, 'it', 'them')} and {count(group.bytes, 'byte')} stay alive",
        help="leave it out of the argument, delete it after the call, or pass `keep_unused=True` "
        "where a slot of its size waits for it",
        notes=["a pruned leaf is no parameter of the compiled module, so nothing can reuse it"],
    )


RULE = Rule(
    code="DT201",
    name="value-never-used",
    gate=Gate.KEPT,
    page=__doc__ or "",
    failing=FAILING,
    repaired=REPAIRED,
    describe=describe,
)
