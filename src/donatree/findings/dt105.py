"""A donated argument is passed in a way that the declaration does not cover

## What it means

The argument is declared by name and was passed by position, or the reverse.
JAX did not record it as donated.

## Why it happens

With only one of `donate_argnums` and `donate_argnames`, JAX finds the other form by itself.
With both, it takes each literally: a number answers for positions and a name for keywords.
It gives no warning.

## What to do

Give only one of the two, with all the arguments that are to be donated.

## Since when

The same on every JAX measured, 0.5.3 to 0.12.0.1.
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


def train_step(params, opt_state, grads):
    mu = 0.9 * opt_state["mu"] + grads["w"]
    return {"w": params["w"] - 0.1 * mu}, {"mu": mu}


step = jax.jit(train_step, donate_argnums=0, donate_argnames="opt_state")
opt_state = {"mu": jnp.zeros((64, 32))}
args = ({"w": jnp.ones((64, 32))}, opt_state, {"w": jnp.ones((64, 32))})
"""

REPAIRED = """\
import jax
import jax.numpy as jnp


def train_step(params, opt_state, grads):
    mu = 0.9 * opt_state["mu"] + grads["w"]
    return {"w": params["w"] - 0.1 * mu}, {"mu": mu}


step = jax.jit(train_step, donate_argnums=(0, 1))
opt_state = {"mu": jnp.zeros((64, 32))}
args = ({"w": jnp.ones((64, 32))}, opt_state, {"w": jnp.ones((64, 32))})
"""


def describe(group: Group, observation: Observation) -> Finding:
    """The finding for leaves passed by keyword though declared by position, or the reverse."""
    request = observation.request
    reasons = {request.why_not.get(entry.leaf.flat_index) for entry in group.entries}
    ways = " or ".join(way for reason, way in _WAYS.items() if reason in reasons)
    return finding(
        group,
        f"{subject(group)} {verb(group, 'is', 'are')} declared by {ways}, and so not donated: "
        f"{count(group.bytes, 'byte')}",
        help="give only one of `donate_argnums` and `donate_argnames`: JAX then finds the other "
        "form by itself",
        notes=[
            f"declared `{request.declared}`",
            "where both are given, JAX takes each literally and matches no argument across them",
        ],
        location=request.call,
    )


_WAYS = {
    "passed_by_keyword": "position but passed by keyword",
    "passed_by_position": "name but passed by position",
}


RULE = Rule(
    code="DT105",
    name="donated-argument-passed-otherwise",
    gate=Gate.ASKED,
    page=__doc__ or "",
    failing=FAILING,
    repaired=REPAIRED,
    describe=describe,
)
