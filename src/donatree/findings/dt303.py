"""The platform is not on JAX's list of platforms with donation

## What it means

JAX lowers no donation for the platform that the function was compiled for.
Every donated leaf stays alive, whatever the program does.

## Why it happens

JAX keeps a private list of the platforms with donation.
A plugin for other hardware is not on it until somebody adds it there.
JAX warns with the shapes of the leaves, and the arrays are not deleted.

## What to do

Ask the makers of the platform's plugin for donation.
Until then plan for both copies of the state.

## Since when

The list is `cpu`, `cuda`, `rocm`, `tpu` and `neuron` on JAX 0.5.3 to 0.10.2, and `oneapi` as well
on 0.11.2 and 0.12.0.1.

## Limits

There is no repaired program, because no change of the program cures it.
The program below is an ordinary step: it shows the finding on a platform that is not on the list.
The finding was measured on the CPU, with `cpu` taken off the list.
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


def train_step(params, grads):
    return {"w": params["w"] - 0.1 * grads["w"]}


step = jax.jit(train_step, donate_argnums=0)
args = ({"w": jnp.ones((64, 32))}, {"w": jnp.ones((64, 32))})
"""

REPAIRED = ""


def describe(group: Group, observation: Observation) -> Finding:
    """The finding for leaves on a platform for which JAX lowers no donation."""
    return finding(
        group,
        f"{subject(group)} {verb(group, 'is', 'are')} not donated because JAX lowers no donation "
        f"for `{observation.platform}`: {count(group.bytes, 'byte')}",
        help="ask the makers of the platform's plugin for donation; until then plan for both "
        "copies",
        notes=["JAX keeps a private list of platforms with donation, and this one is not on it"],
    )


RULE = Rule(
    code="DT303",
    name="platform-without-donation",
    gate=Gate.MATCHED,
    page=__doc__ or "",
    failing=FAILING,
    repaired=REPAIRED,
    describe=describe,
)
