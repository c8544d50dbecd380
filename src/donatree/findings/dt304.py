"""The leaf and its successor lie in different memories

## What it means

The leaf was donated in one memory and comes back in another, for example in `pinned_host`.
Its old buffer stays alive during the step.

## Why it happens

JAX pairs a leaf only with a slot of the same memory kind.
Where the output is given another `memory_kind`, none is left for it.

## What to do

Give `out_shardings` with the memory kind that the state comes with.
Where the state has to move, move it outside the step with `jax.device_put`.

## Since when

Measured on the CPU.
JAX 0.5.3 and 0.6.2 know only one memory kind there, so it cannot happen.
On 0.7.2, 0.8.3 and 0.9.2 the leaf is lost, and then the CPU cannot compile such a program, which
DT410 reports.
On 0.10.2, 0.11.2 and 0.12.0.1 it compiles and the leaf is lost.
JAX warns with the shape of the leaf and without its name.
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
from jax.sharding import SingleDeviceSharding

device = jax.devices()[0]
here = SingleDeviceSharding(device)
host = SingleDeviceSharding(device, memory_kind="pinned_host")


def train_step(state):
    return {"mu": 0.9 * state["mu"]}


step = jax.jit(train_step, donate_argnums=0, out_shardings=host)
args = ({"mu": jax.device_put(jnp.ones((64, 32)), here)},)
"""

REPAIRED = """\
import jax
import jax.numpy as jnp
from jax.sharding import SingleDeviceSharding

device = jax.devices()[0]
here = SingleDeviceSharding(device)


def train_step(state):
    return {"mu": 0.9 * state["mu"]}


step = jax.jit(train_step, donate_argnums=0, out_shardings=here)
args = ({"mu": jax.device_put(jnp.ones((64, 32)), here)},)
"""


def describe(group: Group, observation: Observation) -> Finding:
    """The finding for leaves that come back in another memory kind."""
    return finding(
        group,
        f"{subject(group)} {verb(group, 'comes', 'come')} back in another memory "
        f"({group.detail}): {count(group.bytes, 'byte')} not reused",
        help="return the state in the memory that it came from: give `out_shardings` with the same "
        "`memory_kind`, or move it outside the step",
        notes=["a buffer in one memory cannot be reused for a result in another"],
    )


RULE = Rule(
    code="DT304",
    name="memory-kind-changed",
    gate=Gate.MATCHED,
    page=__doc__ or "",
    failing=FAILING,
    repaired=REPAIRED,
    describe=describe,
)
