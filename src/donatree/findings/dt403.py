"""A leaf is reused although its successor has another type, and the next call compiles again

## What it means

Some slot took the leaf's memory, so nothing is lost in this step.
But the leaf's new value has another dtype or shape, or is weakly typed where the leaf was not, or
the reverse.
The next call meets the new type and compiles again.

## Why it happens

Since 0.8.3 JAX offers a leaf to any slot of as many elements, and XLA takes it where the bytes are
equal: an `int32` counter that comes back as `float32`, a matrix that comes back transposed.
On every JAX, a slot of the leaf's type that belongs to another leaf can take it, and weak types
make no difference to memory.

The finding points at the expression in which the value stopped being the leaf's type; several such
expressions are several findings.
Where a library did it, that is your call into the library, and its own line is a note.
Where a constant is returned in the leaf's stead, there is nothing to point at, and a note says so.
How exact the place is, the page of DT402 says.

## What to do

Return the leaf with the type that it came with.

## Since when

The program below is reused since JAX 0.8.3; up to 0.7.2 the leaf is lost, and the finding is DT402.
A change of the weak type alone is the same on every JAX measured, 0.5.3 to 0.12.0.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from donatree.findings.rule import Rule, drift, subject, verb
from donatree.ledger import Finding, Gate

if TYPE_CHECKING:
    from donatree.observation import Observation
    from donatree.why.causes import Group

FAILING = """\
import jax
import jax.numpy as jnp


def count_tokens(state, tokens):
    return {"counts": state["counts"] + 1.0 * jnp.bincount(tokens, length=1024)}


step = jax.jit(count_tokens, donate_argnums=0)
args = ({"counts": jnp.zeros((1024,), jnp.int32)}, jnp.arange(8))
"""

REPAIRED = """\
import jax
import jax.numpy as jnp


def count_tokens(state, tokens):
    return {"counts": state["counts"] + jnp.bincount(tokens, length=1024)}


step = jax.jit(count_tokens, donate_argnums=0)
args = ({"counts": jnp.zeros((1024,), jnp.int32)}, jnp.arange(8))
"""


def describe(group: Group, observation: Observation) -> Finding:
    """The finding for leaves that were reused although their type drifted."""
    first = group.entries[0]
    by = f" by `{first.slot.path}`" if first.slot and len(group.entries) == 1 else ""
    notes = ["the state that the step returns is not the state that it was compiled for"]
    if any(entry.slot and entry.slot.spec.aval != entry.leaf.spec.aval for entry in group.entries):
        notes.append(
            "a slot of another type but as many bytes took the memory; up to JAX 0.7.2 such a leaf "
            "is lost"
        )
    return drift(
        group,
        f"{subject(group)} {verb(group, 'is', 'are')} reused{by} but "
        f"{verb(group, 'comes', 'come')} back as another type ({group.detail}): the next call "
        "compiles again",
        help=f"return {verb(group, 'it', 'them')} with the type that went in",
        notes=notes,
    )


RULE = Rule(
    code="DT403",
    name="reused-after-drift",
    gate=Gate.GRANTED,
    page=__doc__ or "",
    failing=FAILING,
    repaired=REPAIRED,
    describe=describe,
)
