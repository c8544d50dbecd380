"""The compiler chose another sharding for the result than the leaf has

## What it means

The sharding of the leaf's new value was left open, and the compiler chose another one than the leaf
has.
Where the shards differ in size, the old shards stay alive during the step.
Either way the next call meets the new sharding and compiles again.

## Why it happens

A `with_sharding_constraint` inside the step, or the sharding of another argument, decided the
sharding of the result.

## What to do

Give `out_shardings` equal to the shardings that the state comes with.
Or take the constraint on the new value away.

## Since when

The same on every JAX measured, 0.5.3 to 0.12.0.1.
JAX never warns about donation on several devices where an output sharding is left open.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from donatree.findings.rule import Rule, count, finding, subject, verb
from donatree.ledger import Finding, Gate

if TYPE_CHECKING:
    from donatree.observation import Observation
    from donatree.why.causes import Group

FAILING = """\
import os

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"

import jax
import jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding, PartitionSpec

mesh = Mesh(jax.devices(), ("data",))
sharded = NamedSharding(mesh, PartitionSpec("data"))
replicated = NamedSharding(mesh, PartitionSpec())


def train_step(state):
    w = state["w"] - 0.1
    return {"w": jax.lax.with_sharding_constraint(w, replicated)}


step = jax.jit(train_step, donate_argnums=0)
args = ({"w": jax.device_put(jnp.ones((64, 32)), sharded)},)
"""

REPAIRED = """\
import os

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"

import jax
import jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding, PartitionSpec

mesh = Mesh(jax.devices(), ("data",))
sharded = NamedSharding(mesh, PartitionSpec("data"))
replicated = NamedSharding(mesh, PartitionSpec())


def train_step(state):
    w = state["w"] - 0.1
    return {"w": jax.lax.with_sharding_constraint(w, replicated)}


step = jax.jit(train_step, donate_argnums=0, out_shardings={"w": sharded})
args = ({"w": jax.device_put(jnp.ones((64, 32)), sharded)},)
"""


def describe(group: Group, observation: Observation) -> Finding:
    """The finding for leaves whose output sharding was left to the compiler."""
    price = f": {count(group.bytes, 'byte')} per device not reused" if group.lost else ""
    return finding(
        group,
        f"{subject(group)} {verb(group, 'comes', 'come')} back with another sharding "
        f"({group.detail}), which was left open{price}",
        help="give `out_shardings` equal to the shardings that the state comes with, or take the "
        "`with_sharding_constraint` on its new value away",
        notes=[
            "where any output sharding is left open on several devices JAX never warns",
            *([] if group.lost else ["the next call meets another sharding and compiles again"]),
        ],
    )


RULE = Rule(
    code="DT405",
    name="sharding-changed-by-compiler",
    gate=Gate.GRANTED,
    page=__doc__ or "",
    failing=FAILING,
    repaired=REPAIRED,
    describe=describe,
)
