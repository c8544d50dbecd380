"""The memory went to another slot than the leaf's successor

## What it means

The leaf's memory is reused, but by another slot than the one that replaces the leaf.
No copy was found that takes the bytes back; where there is one, the finding is DT502.

## Why it happens

JAX pairs leaves and slots of one type in flatten order and never by path.
An output of the same type that stands before the state, or a dict whose keys sort otherwise than
the arguments stand, moves the pairing.

## What to do

Nothing has to be done where no memory is lost.
A result that nobody reads need not be returned; and the order in which the state is donated is the
safe order in which to return it.

## Since when

The same on every JAX measured, 0.5.3 to 0.12.0.1.
On the CPU the program below needs 16,400 bytes, and 24,592 without donation.

## Limits

The finding says what was paired, not what it costs: `--prove` measures that.
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


def train_step(params):
    grads = {"w": 0.2 * params["w"]}
    new_params = {"w": params["w"] - 0.1 * grads["w"]}
    return {"grads": grads, "params": new_params}


step = jax.jit(train_step, donate_argnums=0)
args = ({"w": jnp.ones((64, 32))},)
"""

REPAIRED = """\
import jax
import jax.numpy as jnp


def train_step(params):
    grads = {"w": 0.2 * params["w"]}
    new_params = {"w": params["w"] - 0.1 * grads["w"]}
    return {"params": new_params}


step = jax.jit(train_step, donate_argnums=0)
args = ({"w": jnp.ones((64, 32))},)
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
