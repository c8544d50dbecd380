"""An array was donated a second time

## What it means

A call was given, as an argument that it donates, an array that an earlier call had taken already.
Very often it is the same call in the next turn of a loop.

## Why it happens

The result of the call was bound to another name, or to none, and the name of the argument still
stands for the array that is gone.
The first turn of a loop works, the second one breaks.

## What to do

Assign the result to the name that was donated: `state = train_step(state, batch)`.
Where the result is no new state, the argument has nothing to be reused for: do not donate it.

## Since when

Measured on JAX 0.5.3, 0.7.2, 0.10.2 and 0.12.0.1 on the CPU: the second call raises.
Up to 0.10 it is a `ValueError` that comes out of C++ and names no array; since 0.11 it is the
`RuntimeError` of every other use.
"""

from __future__ import annotations

from donatree.findings.rule import Rule

FAILING = """\
import jax
import jax.numpy as jnp


def train_step(state, batch):
    return {"w": state["w"] - 0.1 * batch}


train_step = jax.jit(train_step, donate_argnums=0)
state = {"w": jnp.ones((4, 4))}
for _ in range(3):
    result = train_step(state, jnp.ones((4, 4)))
print(float(result["w"].sum()))
"""

REPAIRED = """\
import jax
import jax.numpy as jnp


def train_step(state, batch):
    return {"w": state["w"] - 0.1 * batch}


train_step = jax.jit(train_step, donate_argnums=0)
state = {"w": jnp.ones((4, 4))}
for _ in range(3):
    state = train_step(state, jnp.ones((4, 4)))
print(float(state["w"].sum()))
"""

RULE = Rule(
    code="DT705",
    name="donated-again",
    gate=None,
    page=__doc__ or "",
    failing=FAILING,
    repaired=REPAIRED,
    runs=True,
)
