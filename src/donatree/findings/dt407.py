"""A slot is aliased by a mutable reference and not by a donation

## What it means

The function writes to a mutable reference, and XLA updates its buffer in place.
Nobody donated it, yet it stands in the alias map of the compiled function.
Nothing is lost.

## Why it happens

JAX turns a reference into an input and an output that share one buffer.

## What to do

There is nothing to repair, so there is no repaired program.
Keep in mind that `alias_size_in_bytes` counts these bytes: it is no measure of what was donated.

## Since when

The same on every JAX measured, 0.5.3 to 0.12.0.1.
`jax.new_ref` has this name on 0.7.2 and later; 0.5.3 and 0.6.2 have `mutable_array` in a private
module.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from donatree.findings.rule import Rule, count
from donatree.ledger import Finding, Gate

if TYPE_CHECKING:
    from donatree.observation import Observation

FAILING = """\
import jax
import jax.numpy as jnp


def accumulate(total, grads):
    total[...] = total[...] + grads
    return grads.sum()


step = jax.jit(accumulate)
args = (jax.new_ref(jnp.zeros((64, 32))), jnp.ones((64, 32)))
"""

REPAIRED = ""


def about(observation: Observation) -> Finding | None:
    """The finding, where references take part in the alias map."""
    numbers = observation.reference_parameters
    if not numbers or observation.header is None or observation.parameter_of is None:
        return None
    aliased = {alias.input for alias in observation.header.aliases}
    index_of = {number: index for index, number in observation.parameter_of.items()}
    leaves = [
        observation.request.leaves[index_of[number]]
        for number in sorted(numbers & aliased)
        if number in index_of
    ]
    if not leaves:
        return None
    names = ", ".join(f"`{leaf.path}`" for leaf in leaves[:4])
    more = f" and {len(leaves) - 4} more" if len(leaves) > 4 else ""
    size = sum(leaf.bytes for leaf in leaves)
    return Finding(
        code=RULE.code,
        headline=f"{names}{more} {_updated(len(leaves))}, not by donation: {count(size, 'byte')}",
        leaves=tuple(leaf.path for leaf in leaves),
        level="note",
        notes=("`alias_size_in_bytes` counts these bytes although nobody donated them",),
    )


def _updated(number: int) -> str:
    if number == 1:
        return "is updated in place as a mutable reference"
    return "are updated in place as mutable references"


RULE = Rule(
    code="DT407",
    name="aliased-by-reference",
    gate=Gate.GRANTED,
    page=__doc__ or "",
    failing=FAILING,
    repaired=REPAIRED,
)
