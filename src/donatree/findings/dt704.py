"""An array was used after a call took it

## What it means

The program used an array whose buffer it had given away.
The error that JAX raised says the shape of the array and no more.
This finding says which name had the array and where it got it, which call of which function took
it as which leaf, and where it was used.

## Why it happens

`old = state` makes a second name, not a second array.
The call that donates `state` deletes the buffer for every name: in a list, in another object, in
another thread, in a function that was jitted while it could see the array.
A jitted function that donates takes its arguments also when `jax.grad` calls it.
Of a donated tree only the leaves that were asked for die; the others stay alive, so that a program
can break in one leaf only.

## What to do

Use what the call returned.
Where the old value is needed, copy it before the call, `jax.tree.map(jnp.copy, state)`; the finding
says how many bytes that costs.

## Since when

Measured on JAX 0.5.3, 0.7.2, 0.10.2 and 0.12.0.1 on the CPU: the same programs break at the same
expressions.
Text and class of the error are not the same: `RuntimeError`, `ValueError`, `XlaRuntimeError` and
`JaxRuntimeError` were seen, so the array is recognised and not its error.
`memoryview` of a dead array raises an error that is not explained.
"""

from __future__ import annotations

from donatree.findings.rule import Rule

FAILING = """\
import jax
import jax.numpy as jnp


def train_step(state, batch):
    return {"w": state["w"] - 0.1 * batch, "step": state["step"] + 1}


train_step = jax.jit(train_step, donate_argnums=0)
state = {"w": jnp.ones((4, 4)), "step": jnp.int32(0)}
old = state
for _ in range(3):
    state = train_step(state, jnp.ones((4, 4)))
print("change", float(jnp.abs(state["w"] - old["w"]).sum()))
"""

REPAIRED = """\
import jax
import jax.numpy as jnp


def train_step(state, batch):
    return {"w": state["w"] - 0.1 * batch, "step": state["step"] + 1}


train_step = jax.jit(train_step, donate_argnums=0)
state = {"w": jnp.ones((4, 4)), "step": jnp.int32(0)}
old = jax.tree.map(jnp.copy, state)
for _ in range(3):
    state = train_step(state, jnp.ones((4, 4)))
print("change", float(jnp.abs(state["w"] - old["w"]).sum()))
"""

RULE = Rule(
    code="DT704",
    name="use-after-donation",
    gate=None,
    page=__doc__ or "",
    failing=FAILING,
    repaired=REPAIRED,
    runs=True,
)
