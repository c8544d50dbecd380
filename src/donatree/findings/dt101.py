"""`jax_debug_nans` switches donation off

## What it means

The function declares donation, but it was traced while `jax_debug_nans` was on.
JAX recorded none of its leaves as donated.
The old state and the new one are both alive during the step.

## Why it happens

To find the operation that made a NaN, JAX runs the function again, and it needs the arguments for
that. So it drops every donation while the flag is on, without a warning.
What was compiled under the flag stays without donation after the flag is cleared.

## What to do

Leave the flag, and the environment variable `JAX_DEBUG_NANS`, off in runs that are short of memory.
After switching it off in a running program, call `jax.clear_caches()`.

## Since when

The same on every JAX measured, 0.5.3 to 0.12.0.1.
`jax_debug_infs` does not switch donation off (measured on 0.7.2 and 0.12.0.1).
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

jax.config.update("jax_debug_nans", True)


def train_step(params, grads):
    return {"w": params["w"] - 0.1 * grads["w"]}


step = jax.jit(train_step, donate_argnums=0)
args = ({"w": jnp.ones((64, 32))}, {"w": jnp.ones((64, 32))})
"""

REPAIRED = """\
import jax
import jax.numpy as jnp


def train_step(params, grads):
    return {"w": params["w"] - 0.1 * grads["w"]}


step = jax.jit(train_step, donate_argnums=0)
args = ({"w": jnp.ones((64, 32))}, {"w": jnp.ones((64, 32))})
"""


def describe(group: Group, observation: Observation) -> Finding:
    """The finding for leaves that `jax_debug_nans` kept from being donated."""
    return finding(
        group,
        f"{subject(group)} {verb(group, 'is', 'are')} not donated because `jax_debug_nans` was on: "
        f"{count(group.bytes, 'byte')}",
        help="switch `jax_debug_nans` off for runs that are short of memory, and call "
        "`jax.clear_caches()` after switching it off in a running program",
        notes=[
            "JAX drops every donation while it traces under `jax_debug_nans`, without a warning",
            "the compiled function keeps it dropped after the flag is cleared",
        ],
    )


RULE = Rule(
    code="DT101",
    name="donation-off-debug-nans",
    gate=Gate.ASKED,
    page=__doc__ or "",
    failing=FAILING,
    repaired=REPAIRED,
    describe=describe,
)
