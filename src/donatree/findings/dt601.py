"""A live view of the leaf's memory made the run copy it

## What it means

The compiled program reuses the leaf's memory, but while it ran something outside of JAX still
looked at that memory: a numpy array, a `memoryview`, a dlpack capsule or a torch tensor.
XLA then copies the leaf first, and reuses the copy.
The call costs the leaf's bytes once more, and the leaf itself stays alive.

## Why it happens

On the CPU `np.asarray(x)`, `jax.device_get(x)`, `memoryview(x)` and `np.from_dlpack(x)` copy
nothing: they show the very bytes of `x`.
So does a slice of such an array, and so does whatever holds one: a list of past states, a metric
that is printed later, a saver that still writes.
Nothing is said, and `x.is_deleted()` is `False` after the call.

## What to do

Make a copy of what is to be kept: `np.array(x)` where `np.asarray(x)` stood.
Or let the view go before the call.

## Since when

The same on every JAX measured, 0.5.3 to 0.12.0.1, on the CPU.
"""

from __future__ import annotations

from donatree.findings.rule import Rule, copied, count
from donatree.ledger import Finding, Gate
from donatree.why.copies import Copies

FAILING = """\
import jax
import jax.numpy as jnp
import numpy as np


@jax.jit
def init():
    return {"w": jnp.ones((64, 32))}


def train_step(state):
    return {"w": state["w"] - 0.1}


step = jax.jit(train_step, donate_argnums=0)
state = init()
history = []
for _ in range(4):
    history.append(np.asarray(state["w"]))
    state = step(state)
print(len(history))
"""

REPAIRED = FAILING.replace("np.asarray(", "np.array(")


def about(copies: Copies) -> Finding:
    """The finding for leaves of which a view was alive."""
    return copied(
        copies,
        f"a view of {'its' if len(copies.group.entries) == 1 else 'their'} memory was alive, "
        f"{count(copies.group.bytes, 'byte')}",
        help="keep a copy instead of a view (`np.array(x)` for `np.asarray(x)` or "
        "`jax.device_get(x)`), or let the view go before the call",
    )


RULE = Rule(
    code="DT601",
    name="view-alive",
    gate=Gate.HONOURED,
    page=__doc__ or "",
    failing=FAILING,
    repaired=REPAIRED,
    runs=True,
)
