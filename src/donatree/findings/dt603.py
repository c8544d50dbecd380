"""A numpy array was passed where a leaf is donated

## What it means

The argument is donated, but what was passed is a numpy array or a Python number and no
`jax.Array`.
JAX copies it to the device and donates that copy.
The numpy array stays as it is, and its bytes are needed beside those of the copy.

## Why it happens

The state was restored from a file, built in numpy, or brought to the host with `jax.device_get`.
After the first call the state is what the step returned, and that is a `jax.Array`.

## What to do

Where only the first call is concerned and there is memory enough, nothing.
Else bring the state to the device once, before the loop, and let the numpy arrays go:
`state = jax.tree.map(jnp.array, state)`.

## Since when

The same on every JAX measured, 0.5.3 to 0.12.0.1.
"""

from __future__ import annotations

from donatree.findings.rule import Rule, copied, count, verb
from donatree.ledger import Finding, Gate
from donatree.why.copies import Copies

FAILING = """\
import jax
import numpy as np


def train_step(state):
    return {"w": state["w"] - 0.1}


step = jax.jit(train_step, donate_argnums=0)
state = {"w": np.ones((64, 32), np.float32)}
for _ in range(4):
    state = step(state)
print(state["w"][0, 0])
"""

REPAIRED = FAILING.replace("import numpy", "import jax.numpy as jnp\nimport numpy").replace(
    "for _ in", "state = jax.tree.map(jnp.array, state)\nfor _ in"
)


def about(copies: Copies) -> Finding:
    """The finding for leaves that were no arrays of JAX."""
    return copied(
        copies,
        f"what was passed {verb(copies.group, 'is', 'are')} no `jax.Array`, "
        f"{count(copies.group.bytes, 'byte')}",
        help="bring the state to the device once, before the first call: "
        "`state = jax.tree.map(jnp.array, state)`",
        notes=["JAX made a copy on the device and donated that"],
    )


RULE = Rule(
    code="DT603",
    name="not-a-jax-array",
    gate=Gate.HONOURED,
    page=__doc__ or "",
    failing=FAILING,
    repaired=REPAIRED,
    runs=True,
)
