"""A donated leaf comes back with another shape

## What it means

The new value of the leaf has another shape, so it needs a buffer of its own.
The old one stays alive during the step.
The next call meets the new shape and compiles again.

## Why it happens

The step makes the array grow, shrink or turn: a cache that is concatenated to, a batch that is
padded, an array that is transposed.

The finding points at the expression in which the value stopped being the leaf's type; several such
expressions are several findings.
Where a library did it, that is your call into the library, and its own line is a note.
Where a constant is returned in the leaf's stead, there is nothing to point at, and a note says so.
How exact the place is, the page of DT402 says.

## What to do

Allocate the full size once and write into it with `.at[].set` or `jax.lax.dynamic_update_slice`.

## Since when

With another number of elements, the same on every JAX measured, 0.5.3 to 0.12.0.1.
With the same number, as after a transposition, only up to 0.7.2: since 0.8.3 the memory is reused,
and the finding is DT403.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from donatree.findings.rule import Rule, count, drift, subject, verb
from donatree.ledger import Entry, Finding, Gate

if TYPE_CHECKING:
    from donatree.observation import Observation
    from donatree.why.causes import Group

FAILING = """\
import jax
import jax.numpy as jnp


def decode(cache, key):
    return {"keys": jnp.concatenate([cache["keys"], key[None]]), "used": cache["used"] + 1}


step = jax.jit(decode, donate_argnums=0)
cache = {"keys": jnp.zeros((16, 8)), "used": jnp.zeros((), jnp.int32)}
args = (cache, jnp.ones((8,)))
"""

REPAIRED = """\
import jax
import jax.numpy as jnp


def decode(cache, key):
    return {"keys": cache["keys"].at[cache["used"]].set(key), "used": cache["used"] + 1}


step = jax.jit(decode, donate_argnums=0)
cache = {"keys": jnp.zeros((16, 8)), "used": jnp.zeros((), jnp.int32)}
args = (cache, jnp.ones((8,)))
"""


def describe(group: Group, observation: Observation) -> Finding:
    """The finding for leaves whose successor has another shape."""
    changes = dict.fromkeys(_change(entry) for entry in group.entries)
    first, more = next(iter(changes)), len(changes) - 1
    others = f", and {more} more" if more else ""
    return drift(
        group,
        f"{subject(group)} {verb(group, 'comes', 'come')} back with another shape "
        f"({first}{others}): {count(group.bytes, 'byte')} not reused",
        help="keep the shape: allocate the full size once and write into it with `.at[].set` or "
        "`jax.lax.dynamic_update_slice`",
        notes=[
            f"the new {verb(group, 'value needs a buffer of its', 'values need buffers of their')} "
            "own, so old and new are both alive during the step",
            "the next call meets another shape and compiles again",
        ],
    )


def _change(entry: Entry) -> str:
    new = entry.successor.spec.aval if entry.successor else "another shape"
    return f"{entry.leaf.spec.aval} -> {new}"


RULE = Rule(
    code="DT401",
    name="shape-drift",
    gate=Gate.GRANTED,
    page=__doc__ or "",
    failing=FAILING,
    repaired=REPAIRED,
    describe=describe,
)
