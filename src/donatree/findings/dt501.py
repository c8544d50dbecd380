"""The memory is reused, but a copy protects a value that is still to be read

## What it means

XLA writes the slot into the leaf's memory, as it was asked to.
Something still reads a value that would be overwritten, so XLA copies it first, and the copy is
one of the temporaries that are alive when most of them are.
The alias is granted and counted, and no memory is saved.

## Why it happens

The new value depends on the old one as a whole, as in `x @ x`.
Or the old value is read after the new one is written, for example by another slot of the result.

## What to do

Let the last read of the old value come before the new value is written.
Where both are needed at once, as in a matrix product, this leaf's donation saves nothing: leave
the argument out where no other leaf of it gains.

## Since when

The same on every JAX measured, 0.5.3 to 0.12.0.1.
The program below needs 32,768 bytes with donation and without it.

## Limits

Copies are those that the CPU's compiler makes; another platform has its own.
Where this jaxlib gives no buffer assignment (before 0.6.2), a copy counts as long as the
temporaries are as large as it is.
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


def power(state):
    return {"a": state["a"] @ state["a"]}


step = jax.jit(power, donate_argnums=0)
args = ({"a": jnp.ones((64, 64))},)
"""

REPAIRED = """\
import jax
import jax.numpy as jnp


def power(state):
    return {"a": state["a"] * state["a"]}


step = jax.jit(power, donate_argnums=0)
args = ({"a": jnp.ones((64, 64))},)
"""


def describe(group: Group, observation: Observation) -> Finding:
    """The finding for leaves of which a copy took the bytes back."""
    return finding(
        group,
        f"{subject(group)} {verb(group, 'is', 'are')} reused, but a copy protects a value that is "
        f"still to be read: {count(group.bytes, 'byte')} not saved",
        level="warning",
        help="let the last read of the old value come before the new one is written; where both "
        f"are needed at once, donating {verb(group, 'this leaf', 'these leaves')} saves nothing",
        notes=notes(group.entries, observation),
        labels=labels(group.entries, observation),
    )


RULE = Rule(
    code="DT501",
    name="copied-aside",
    gate=Gate.IN_PLACE,
    page=__doc__ or "",
    failing=FAILING,
    repaired=REPAIRED,
    describe=describe,
)
