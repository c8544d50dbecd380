"""The output sharding that is given differs from the leaf's

## What it means

`out_shardings` asks for the leaf's new value in another sharding than the leaf has.
Where the shards differ in size, the old shards stay alive during the step.
Where they are of one size, the memory may be reused, but the next call compiles again.

## Why it happens

The state was put on the devices with one sharding, and the step returns it with another, for
example replicated.

## What to do

Give `out_shardings` equal to the shardings that the state comes with.

## Since when

With shards of another size, the same on every JAX measured, 0.5.3 to 0.12.0.1.
With shards of one size but another shape, the leaf is lost up to 0.7.2 and reused since 0.8.3.
JAX warns about lost leaves, with the shape of one shard.
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
    return {"w": state["w"] - 0.1}


step = jax.jit(train_step, donate_argnums=0, out_shardings={"w": replicated})
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


def train_step(state):
    return {"w": state["w"] - 0.1}


step = jax.jit(train_step, donate_argnums=0, out_shardings={"w": sharded})
args = ({"w": jax.device_put(jnp.ones((64, 32)), sharded)},)
"""


def describe(group: Group, observation: Observation) -> Finding:
    """The finding for leaves that are returned with another sharding, as asked."""
    if not group.lost:
        return finding(
            group,
            f"{subject(group)} {verb(group, 'is', 'are')} reused but "
            f"{verb(group, 'comes', 'come')} back sharded otherwise ({group.detail})",
            help="give `out_shardings` equal to the shardings that the state comes with",
            notes=["the next call meets another sharding and compiles again"],
        )
    return finding(
        group,
        f"{subject(group)} {verb(group, 'comes', 'come')} back with another sharding "
        f"({group.detail}): {count(group.bytes, 'byte')} per device not reused",
        help="give `out_shardings` equal to the shardings that the state comes with",
        notes=["a shard of another shape needs a buffer of its own on every device"],
    )


RULE = Rule(
    code="DT404",
    name="sharding-changed",
    gate=Gate.GRANTED,
    page=__doc__ or "",
    failing=FAILING,
    repaired=REPAIRED,
    describe=describe,
)
