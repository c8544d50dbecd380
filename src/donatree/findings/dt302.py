"""The slot was taken by another donated leaf

## What it means

The result has slots of the leaf's type, but each of them took the memory of another donated leaf.
This leaf's buffer stays alive during the step.

## Why it happens

A slot takes the memory of one leaf only.
JAX pairs leaves and slots of one type first come, first served, in flatten order and never by path.
So gradients that are donated beside the parameters gain nothing where only the parameters come
back, and the leaf that came first may even rob the leaf that the slot replaces.

## What to do

Donate only the arguments that the step replaces.

## Since when

The same on every JAX measured, 0.5.3 to 0.12.0.1.
JAX warns about it with the shape of the leaf and without its name, and not at all on several
devices where an output sharding is left open.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from donatree.findings.rule import Rule, count, finding, subject, verb
from donatree.ledger import Finding, Gate

if TYPE_CHECKING:
    from donatree.observation import Observation
    from donatree.why.causes import Group

FAILING = """\
import jax
import jax.numpy as jnp


def apply_updates(params, grads):
    return {"w": params["w"] - 0.1 * grads["w"]}


step = jax.jit(apply_updates, donate_argnums=(0, 1))
args = ({"w": jnp.ones((64, 32))}, {"w": jnp.ones((64, 32))})
"""

REPAIRED = """\
import jax
import jax.numpy as jnp


def apply_updates(params, grads):
    return {"w": params["w"] - 0.1 * grads["w"]}


step = jax.jit(apply_updates, donate_argnums=0)
args = ({"w": jnp.ones((64, 32))}, {"w": jnp.ones((64, 32))})
"""


def describe(group: Group, observation: Observation) -> Finding:
    """The finding for leaves that came too late for a slot."""
    if group.detail:
        taken = f"{verb(group, 'its slot', 'their slot')} went to `{group.detail}`"
    else:
        taken = f"every slot of {verb(group, 'its type', 'their types')} went to another leaf"
    return finding(
        group,
        f"{subject(group)} {verb(group, 'is', 'are')} donated but {taken}: "
        f"{count(group.bytes, 'byte')} not reused",
        help="donate only what the step replaces: each slot takes the memory of one leaf",
        notes=[
            "JAX pairs leaves and slots of one type first come, first served, in flatten order, "
            "and never by path"
        ],
    )


RULE = Rule(
    code="DT302",
    name="slot-taken",
    gate=Gate.MATCHED,
    page=__doc__ or "",
    failing=FAILING,
    repaired=REPAIRED,
    describe=describe,
)
