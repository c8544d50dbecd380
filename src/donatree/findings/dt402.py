"""A donated leaf comes back with another dtype

## What it means

The new value of the leaf has another dtype and did not get the leaf's memory.
The old buffer stays alive during the step.
The next call meets the new dtype and compiles again.

## Why it happens

The step changes the type: a counter takes `+ 1.0`, an optimiser's average is cast to `bfloat16`, a
parameter meets a learning rate of a wider type.

The finding points at the expression in which the value stopped being the leaf's type; several such
expressions are several findings.
Where a library did it, that is your call into the library, and its own line is a note.
Where a constant is returned in the leaf's stead, there is nothing to point at, and a note says so.

The place is read from the program that JAX traced, from the returned value back to the leaf.
Its columns are those of Python's own code objects and are not exact everywhere: a chain such as
`x.mean().astype(t)` is underlined from its beginning; a gradient has the place of the expression
that it is the gradient of; what a loop converts on entry has the place of the whole call of the
loop; of the branches of a `cond` the first is shown and the others are named in a note; code made
by `exec`, and Python under `-X no_debug_ranges`, has no columns.

## What to do

Return the leaf with the dtype that it came with, for example with `.astype(state.step.dtype)`.

## Since when

Up to JAX 0.7.2 every leaf without a slot of its own type is lost, with a warning that has the shape
but not the name.
Since 0.8.3 JAX pairs such leaves by their number of elements and XLA decides.
Where the bytes differ, as from `float32` to `bfloat16`, the leaf is lost without a warning.
Where they are equal, the memory is reused, and the finding is DT403.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from donatree.findings.rule import Rule, count, drift, subject, verb
from donatree.ledger import Finding, Gate

if TYPE_CHECKING:
    from donatree.observation import Observation
    from donatree.why.causes import Group

FAILING = """\
import jax
import jax.numpy as jnp


def train_step(params, opt_state, grads):
    mu = 0.9 * opt_state["mu"] + grads["w"]
    params = {"w": params["w"] - (0.1 * mu).astype(jnp.bfloat16)}
    return params, {"mu": mu.astype(jnp.bfloat16)}


step = jax.jit(train_step, donate_argnums=(0, 1))
params = {"w": jnp.ones((64, 32), jnp.bfloat16)}
args = (params, {"mu": jnp.zeros((64, 32))}, {"w": jnp.ones((64, 32), jnp.bfloat16)})
"""

REPAIRED = """\
import jax
import jax.numpy as jnp


def train_step(params, opt_state, grads):
    mu = 0.9 * opt_state["mu"] + grads["w"]
    params = {"w": params["w"] - (0.1 * mu).astype(jnp.bfloat16)}
    return params, {"mu": mu}


step = jax.jit(train_step, donate_argnums=(0, 1))
params = {"w": jnp.ones((64, 32), jnp.bfloat16)}
args = (params, {"mu": jnp.zeros((64, 32))}, {"w": jnp.ones((64, 32), jnp.bfloat16)})
"""


def describe(group: Group, observation: Observation) -> Finding:
    """The finding for leaves whose successor has another dtype."""
    old, new = group.detail.split(" -> ")
    notes = []
    if all(entry.stopped_at is Gate.GRANTED for entry in group.entries):  # offered, then refused
        notes.append("JAX gives no warning here")
    notes.append("the next call meets another dtype and compiles again")
    return drift(
        group,
        f"{subject(group)} {verb(group, 'is', 'are')} donated as {old} and returned as {new}: "
        f"{count(group.bytes, 'byte')} not reused",
        help=f"return {verb(group, 'it', 'them')} as {old}: `.astype({_example(group)}.dtype)`",
        notes=notes,
    )


def _example(group: Group) -> str:
    return group.entries[0].path


RULE = Rule(
    code="DT402",
    name="dtype-drift",
    gate=Gate.GRANTED,
    page=__doc__ or "",
    failing=FAILING,
    repaired=REPAIRED,
    describe=describe,
)
