"""A negative `donate_argnums` is ignored

## What it means

The argument is declared by a number that counts from the end.
JAX did not record it as donated.

## Why it happens

JAX up to 0.11 compares the number as it stands with the positions of the arguments, and no
position is negative.
It gives no warning.

## What to do

Count from the start, or use `donate_argnames`.

## Since when

Measured on JAX 0.5.3 to 0.11.2.
JAX 0.12 counts negative numbers from the end, as Python does, and donates.
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


def train_step(grads, params):
    return {"w": params["w"] - 0.1 * grads["w"]}


step = jax.jit(train_step, donate_argnums=-1)
args = ({"w": jnp.ones((64, 32))}, {"w": jnp.ones((64, 32))})
"""

REPAIRED = """\
import jax
import jax.numpy as jnp


def train_step(grads, params):
    return {"w": params["w"] - 0.1 * grads["w"]}


step = jax.jit(train_step, donate_argnums=1)
args = ({"w": jnp.ones((64, 32))}, {"w": jnp.ones((64, 32))})
"""


def describe(group: Group, observation: Observation) -> Finding:
    """The finding for leaves declared by a negative number."""
    return finding(
        group,
        f"{subject(group)} {verb(group, 'is', 'are')} declared by a negative number, and so not "
        f"donated: {count(group.bytes, 'byte')}",
        help="count from the start in `donate_argnums`, or use `donate_argnames`",
        notes=[
            f"declared `{observation.request.declared}`",
            "JAX up to 0.11 ignores negative numbers without a warning",
        ],
        location=observation.request.call,
    )


RULE = Rule(
    code="DT106",
    name="negative-argnum",
    gate=Gate.ASKED,
    page=__doc__ or "",
    failing=FAILING,
    repaired=REPAIRED,
    describe=describe,
)
