"""The run copied the leaf, and nothing that was read says why

## What it means

The compiled program reuses the leaf's memory, and yet the new value is at another address.
None of the causes that donatree knows was seen: no view of the leaf, no memory of numpy's, no
other sharding.

## Why it happens

It is not known here.
Something that holds the buffer without being seen by Python can be the reason: an extension
module, a dlpack capsule that was handed on, a transfer that still runs.

## What to do

Look at what gets the leaf between two calls.
`donatree.holders(state)` lists what Python knows.

## Since when

It was met with dlpack capsules that are held by no array, on every JAX measured, 0.5.3 to 0.12.0.1.
"""

from __future__ import annotations

from donatree.findings.rule import Rule, copied, count
from donatree.ledger import Finding, Gate
from donatree.why.copies import Copies

FAILING = """\
import ctypes

import jax
import jax.numpy as jnp

# What an extension module does: it takes a capsule that Python cannot look into.
keep = ctypes.pythonapi.Py_IncRef


def train_step(state):
    return {"w": state["w"] - 0.1}


step = jax.jit(train_step, donate_argnums=0)
state = {"w": jnp.ones((64, 32)) + 1}
for _ in range(4):
    capsule = state["w"].__dlpack__()
    keep(ctypes.py_object(capsule))
    del capsule
    state = step(state)
print(state["w"][0, 0])
"""

REPAIRED = FAILING.replace("    keep(ctypes.py_object(capsule))\n", "")


def about(copies: Copies) -> Finding:
    """The finding for leaves of which no cause was seen."""
    return copied(
        copies,
        f"no cause was seen, {count(copies.group.bytes, 'byte')}",
        help="look at what gets the leaf between two calls; `donatree.holders` lists what Python "
        "knows of it",
        notes=["something that Python cannot see may hold the buffer"],
    )


RULE = Rule(
    code="DT605",
    name="copied-cause-unknown",
    gate=Gate.HONOURED,
    page=__doc__ or "",
    failing=FAILING,
    repaired=REPAIRED,
    runs=True,
)
