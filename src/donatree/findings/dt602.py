"""The leaf's memory is not XLA's own, so the run copied it

## What it means

The leaf was deleted by the call, as it should be, but the new value is at another address.
The leaf lay in memory that XLA does not own, so XLA could not hand it on.

## Why it happens

On the CPU `jax.device_put` copies nothing where numpy's memory is aligned to 64 bytes: the array
that it returns is numpy's own memory, also with `may_alias=False`.
States that were restored from a file or built in numpy are made so, and so is what
`jnp.from_dlpack` takes over from another library.
Only the first call pays: what it returns is XLA's own.

## What to do

Where the first call counts (it is the one that may run out of memory), let JAX make the memory:
`jnp.array(x)` instead of `jax.device_put(x)`, or build the state under `jax.jit`.

## Since when

The same on every JAX measured, 0.5.3 to 0.12.0.1, on the CPU.
`jnp.asarray` of such an array copies nothing up to 0.9, and copies since 0.10.
"""

from __future__ import annotations

from donatree.findings.rule import Rule, copied, count
from donatree.ledger import Finding, Gate
from donatree.why.copies import Copies

FAILING = """\
import jax
import numpy as np


def aligned(shape):
    raw = np.zeros(4 * int(np.prod(shape)) + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : raw.size - 64 + start].view(np.float32).reshape(shape)


def train_step(state):
    return {"w": state["w"] - 0.1}


step = jax.jit(train_step, donate_argnums=0)
state = {"w": jax.device_put(aligned((64, 32)))}
for _ in range(4):
    state = step(state)
print(state["w"][0, 0])
"""

REPAIRED = FAILING.replace("import numpy", "import jax.numpy as jnp\nimport numpy").replace(
    "jax.device_put(aligned((64, 32)))", "jnp.array(aligned((64, 32)))"
)


def about(copies: Copies) -> Finding:
    """The finding for leaves over memory that is not XLA's."""
    one = len(copies.group.entries) == 1
    return copied(
        copies,
        f"{'its memory is' if one else 'their memory is'} not XLA's own, "
        f"{count(copies.group.bytes, 'byte')}",
        help="make the array with `jnp.array(x)` instead of `jax.device_put(x)`, or under "
        "`jax.jit`",
        notes=[
            f"{'the leaf is' if one else 'the leaves are'} deleted after the call and the new "
            "value is at another address: so XLA treats memory that it was lent, most often by "
            "numpy",
        ],
    )


RULE = Rule(
    code="DT602",
    name="memory-of-numpy",
    gate=Gate.HONOURED,
    page=__doc__ or "",
    failing=FAILING,
    repaired=REPAIRED,
    runs=True,
)
