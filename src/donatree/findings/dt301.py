"""No slot of the result has the leaf's type and size

## What it means

The leaf is donated, but the result has no array that could live in its memory, and none that
replaces it.
Its buffer stays alive during the step as if it had not been donated.

## Why it happens

Most often too much is donated: a batch goes in beside the state, and no batch comes out.

## What to do

Donate only the arguments that the step replaces.
If the leaf is part of the state, return its new value.

## Since when

The same on every JAX measured, 0.5.3 to 0.12.0.1.
JAX warns about it with the shape of the leaf and without its name, and not at all on several
devices where an output sharding is left open.

## Limits

A slot of another type can take the memory since JAX 0.8.3, where elements and bytes are equal.
A donated batch can then be deleted for the sake of a weight that happens to be of its size.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from donatree.findings.rule import Rule, count, finding, subject, verb
from donatree.ledger import ArraySpec, Finding, Gate

if TYPE_CHECKING:
    from donatree.observation import Observation
    from donatree.why.causes import Group

FAILING = """\
import jax
import jax.numpy as jnp


def train_step(params, batch):
    loss = (batch["images"] @ params["w"]).mean()
    return {"w": params["w"] - 0.1 * loss}, loss


step = jax.jit(train_step, donate_argnums=(0, 1))
args = ({"w": jnp.ones((784, 10))}, {"images": jnp.ones((128, 784))})
"""

REPAIRED = """\
import jax
import jax.numpy as jnp


def train_step(params, batch):
    loss = (batch["images"] @ params["w"]).mean()
    return {"w": params["w"] - 0.1 * loss}, loss


step = jax.jit(train_step, donate_argnums=0)
args = ({"w": jnp.ones((784, 10))}, {"images": jnp.ones((128, 784))})
"""


def describe(group: Group, observation: Observation) -> Finding:
    """The finding for leaves that no slot could take."""
    wanted = sorted({_on_one_device(entry.leaf.spec) for entry in group.entries})
    types = " or ".join(wanted[:4]) + (f" or one of {len(wanted) - 4} more" if wanted[4:] else "")
    where = " on each device" if observation.devices > 1 else ""
    return finding(
        group,
        f"{subject(group)} {verb(group, 'is', 'are')} donated but nothing in the result can take "
        f"{verb(group, 'its', 'their')} memory: {count(group.bytes, 'byte')}",
        help="stop donating what the step does not replace (a batch, most often), or return the "
        "leaf's new value from the step",
        notes=[f"no slot of the result is {types}{where}"],
    )


def _on_one_device(spec: ArraySpec) -> str:
    return f"{spec.dtype}[{','.join(map(str, spec.local_shape))}]"


RULE = Rule(
    code="DT301",
    name="no-slot",
    gate=Gate.MATCHED,
    page=__doc__ or "",
    failing=FAILING,
    repaired=REPAIRED,
    describe=describe,
)
