"""An array would be used after donation

## What it means

`donatree run --before` rehearsed a donation that the program does not make yet.
The program read an array that a call would have taken, had its argument been donated.
With the keyword added, the program would stop at this place with an error, or read what the array
was replaced by.

## Why it happens

`old = state` makes a second name, not a second array.
So does a list of past states, an attribute, a closure, another thread's variable, and so does an
argument of the call that the caller goes on using.
A call that donates `state` deletes its buffer for all of them.

## What to do

Use what the call returned.
Where the old value is needed, copy it before the call, `jax.tree.map(jnp.copy, state)`: the finding
says how many bytes that costs.
Then run `donatree run --before` again; it names the keyword to add once nothing is left.

## Since when

Measured on JAX 0.5.3, 0.7.2, 0.10.2 and 0.12.0.1 on the CPU.
Reads through Python's buffer protocol are not seen: `np.asarray(x)`, `np.array(x)`, `np.save` and
`memoryview(x)` of an array on the CPU.
Who looks at the array's memory at the time of a call is found nonetheless, as DT701.
"""

from __future__ import annotations

from donatree.findings.rule import Rule

FAILING = """\
import jax
import jax.numpy as jnp


@jax.jit
def train_step(state, batch):
    return {"w": state["w"] - 0.1 * batch, "step": state["step"] + 1}


state = {"w": jnp.ones((4, 4)), "step": jnp.int32(0)}
for _ in range(3):
    old = state
    state = train_step(state, jnp.ones((4, 4)))
    print("change", float(jnp.abs(state["w"] - old["w"]).sum()))
"""

REPAIRED = FAILING.replace("old = state", "old = jax.tree.map(jnp.copy, state)")

RULE = Rule(
    code="DT706",
    name="would-be-used-after-donation",
    gate=None,
    page=__doc__ or "",
    failing=FAILING,
    repaired=REPAIRED,
    runs=True,
)
