"""The memory went to another slot than the leaf's successor

## What it means

The leaf's memory is reused, but by another slot than the one that replaces the leaf.
All bytes count as reused, yet a value that is still to be read must be copied aside first.
The saving can be smaller than it looks, or nothing.

## Why it happens

JAX pairs leaves and slots of one type in flatten order and never by path.
An output of the same type that stands before the state, or a dict whose keys sort otherwise than
the arguments stand, moves the pairing.

## What to do

Return the state first, in the order in which it is donated.

## Since when

The same on every JAX measured, 0.5.3 to 0.12.0.1.
On the CPU the program below needs 32,784 bytes, as many as without donation, and the repaired one
24,592.

## Limits

The finding says what was paired, not what it costs: often the order costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from donatree.findings.rule import Rule, finding, subject, verb
from donatree.ledger import Finding, Gate

if TYPE_CHECKING:
    from donatree.observation import Observation
    from donatree.why.causes import Group

FAILING = """\
import jax
import jax.numpy as jnp


def train_step(params, momentum):
    new_params = {"w": params["w"] - 0.1 * momentum["w"]}
    new_momentum = {"w": 0.9 * momentum["w"]}
    return {"params": new_params, "momentum": new_momentum}


step = jax.jit(train_step, donate_argnums=(0, 1))
args = ({"w": jnp.ones((64, 32))}, {"w": jnp.ones((64, 32))})
"""

REPAIRED = """\
import jax
import jax.numpy as jnp


def train_step(params, momentum):
    new_params = {"w": params["w"] - 0.1 * momentum["w"]}
    new_momentum = {"w": 0.9 * momentum["w"]}
    return new_params, new_momentum


step = jax.jit(train_step, donate_argnums=(0, 1))
args = ({"w": jnp.ones((64, 32))}, {"w": jnp.ones((64, 32))})
"""


def describe(group: Group, observation: Observation) -> Finding:
    """The finding for leaves that were reused by a slot that is not their successor."""
    pairs = [f"`{each.path}` by `{each.slot.path}`" for each in group.entries if each.slot]
    replaces = verb(group, "the slot that replaces it", "the slots that replace them")
    return finding(
        group,
        f"{subject(group)} {verb(group, 'is', 'are')} reused, but not by {replaces}",
        level="note",
        help="return the state first, in the order in which it is donated, where this costs a copy",
        notes=[
            ", ".join(pairs[:4]) + (f" and {len(pairs) - 4} more" if pairs[4:] else ""),
            "JAX pairs leaves and slots of one type in flatten order; a value that is still to be "
            "read is then protected by a copy",
        ],
    )


RULE = Rule(
    code="DT408",
    name="reused-by-another-slot",
    gate=Gate.GRANTED,
    page=__doc__ or "",
    failing=FAILING,
    repaired=REPAIRED,
    describe=describe,
)
