"""The memory is reused, but the call needs as much without it

## What it means

No copy protects the leaf, yet the program without this donation, compiled to compare, does not need
more memory: what the slot no longer takes, the temporaries take.
The alias is granted and counted, and no memory is saved.

## Why it happens

Without donation the slot's own memory is there from the start of the call, and XLA keeps
temporaries in it until the slot is written: most often the gradient of the very same leaf.
With donation that memory holds the old value, and the gradient needs room of its own.

## What to do

Nothing is broken, and other leaves of the argument can gain: look at the saving of the whole call.
Where that is nothing too, the keyword can be left out: the repaired program needs no byte more.

## Since when

The same on every JAX measured, 0.5.3 to 0.12.0.1.
The program below needs 65,536 bytes with donation and without it.

## Limits

Only `--prove` can tell: without the further compile gate *in place* stays open for such a leaf.
What is measured is the whole call: a leaf can save nothing alone and something beside another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from donatree.findings.rule import Rule, count, finding, subject, verb
from donatree.findings.taken_back import notes
from donatree.ledger import Finding, Gate

if TYPE_CHECKING:
    from donatree.observation import Observation
    from donatree.why.causes import Group

FAILING = """\
import jax
import jax.numpy as jnp


def loss(params, batch):
    return jnp.mean((batch @ params["w"]) ** 2)


def train_step(params, batch):
    grads = jax.grad(loss)(params, batch)
    return {"w": params["w"] - 0.1 * grads["w"]}


step = jax.jit(train_step, donate_argnums=0)
args = ({"w": jnp.ones((64, 64))}, jnp.ones((64, 64)))
"""

REPAIRED = """\
import jax
import jax.numpy as jnp


def loss(params, batch):
    return jnp.mean((batch @ params["w"]) ** 2)


def train_step(params, batch):
    grads = jax.grad(loss)(params, batch)
    return {"w": params["w"] - 0.1 * grads["w"]}


step = jax.jit(train_step)
args = ({"w": jnp.ones((64, 64))}, jnp.ones((64, 64)))
"""


def describe(group: Group, observation: Observation) -> Finding:
    """The finding for leaves whose donation was measured to save nothing."""
    savings = (
        [observation.proof.of(e.leaf.flat_index) for e in group.entries]
        if (observation.proof)
        else []
    )
    total = sum({id(s): s.saved for s in savings if s}.values())
    what = "saves nothing"
    if total > 0:
        what = f"saves {total:,} of {count(group.bytes, 'byte')}"
    elif total < 0:
        what = f"costs {count(-total, 'byte')}"
    return finding(
        group,
        f"{subject(group)} {verb(group, 'is', 'are')} reused, but donating "
        f"{verb(group, 'it', 'them')} {what}: the temporaries take the bytes back",
        level="warning",
        help="nothing is broken; where the whole call saves nothing, the keyword can be left out",
        notes=notes(group.entries, observation),
    )


RULE = Rule(
    code="DT503",
    name="saves-nothing",
    gate=Gate.IN_PLACE,
    page=__doc__ or "",
    failing=FAILING,
    repaired=REPAIRED,
    describe=describe,
    proved=True,
)
