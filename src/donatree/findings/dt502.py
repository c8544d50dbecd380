"""The memory went to another leaf's slot, and that costs a copy

## What it means

The leaf's memory is reused by another slot than the one that replaces it.
The leaf's value is still to be read when that slot is written, so XLA copies it first, and the
copy is one of the temporaries that are alive when most of them are.
The alias is granted and counted, and no memory is saved.

## Why it happens

JAX pairs leaves and slots of one type in flatten order and never by path.
An output of the same type that stands before the state, or a dict whose keys sort otherwise than
the arguments stand, moves the pairing.

## What to do

Return the state first, in the order in which it is donated.

## Since when

The same on every JAX measured, 0.5.3 to 0.12.0.1.
The program below needs 32,784 bytes, as many as without donation, and the repaired one 24,592.

## Limits

Copies are those that the CPU's compiler makes; another platform has its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from donatree.findings.rule import Rule, count, finding, subject, verb
from donatree.findings.taken_back import labels, notes
from donatree.ledger import Finding, Gate

if TYPE_CHECKING:
    from donatree.observation import Observation
    from donatree.why.causes import Group

FAILING = """\
import jax
import jax.numpy as jnp


def train_step(state, batch):
    new_state = {"w": state["w"] + 1}
    return {"logits": 2 * batch, "state": new_state}


step = jax.jit(train_step, donate_argnums=0)
args = ({"w": jnp.ones((64, 32))}, jnp.ones((64, 32)))
"""

REPAIRED = """\
import jax
import jax.numpy as jnp


def train_step(state, batch):
    new_state = {"w": state["w"] + 1}
    return new_state, 2 * batch


step = jax.jit(train_step, donate_argnums=0)
args = ({"w": jnp.ones((64, 32))}, jnp.ones((64, 32)))
"""


def describe(group: Group, observation: Observation) -> Finding:
    """The finding for leaves whose memory another leaf's slot took, at the price of a copy."""
    pairs = [f"`{each.path}` by `{each.slot.path}`" for each in group.entries if each.slot]
    more = f" and {len(pairs) - 4:,} more" if pairs[4:] else ""
    paired = [f"reused: {', '.join(pairs[:4])}{more}"] if pairs else []
    return finding(
        group,
        f"{subject(group)} {verb(group, 'is', 'are')} reused by another leaf's slot, and a copy "
        f"takes the bytes back: {count(group.bytes, 'byte')} not saved",
        level="warning",
        help="return the state first, in the order in which it is donated: JAX pairs leaves and "
        "slots of one type in flatten order and never by path",
        notes=[*paired, *notes(group.entries, observation)],
        labels=labels(group.entries, observation),
    )


RULE = Rule(
    code="DT502",
    name="paired-with-another-slot",
    gate=Gate.IN_PLACE,
    page=__doc__ or "",
    failing=FAILING,
    repaired=REPAIRED,
    describe=describe,
)
