"""A resharded copy was donated in the leaf's stead

## What it means

The leaf came in another sharding than the compiled program takes.
JAX moved it there first and donated what it had moved.
The leaf itself stays alive: its bytes are needed beside the new ones, and it can be read again.

## Why it happens

Most often it is the first call: the state was built on one device, and a constraint or
`in_shardings` inside the program wants it on several.
What the call returns has the right sharding, so the second call is in place.

## What to do

Place the state before the first call: `state = jax.device_put(state, shardings)`.
Or build it under `jax.jit(init, out_shardings=shardings)`, which never makes the whole state on one
device.

## Since when

The same on every JAX measured, 0.5.3 to 0.12.0.1.
"""

from __future__ import annotations

from donatree.findings.rule import Rule, copied, count, verb
from donatree.ledger import Finding, Gate
from donatree.why.copies import Copies

FAILING = """\
import os

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"

import jax
import jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding, PartitionSpec

mesh = Mesh(jax.devices(), ("data",))
sharded = {"w": NamedSharding(mesh, PartitionSpec("data"))}


def train_step(state):
    return {"w": state["w"] - 0.1}


step = jax.jit(train_step, donate_argnums=0, in_shardings=(sharded,), out_shardings=sharded)
state = {"w": jnp.ones((64, 32))}
for _ in range(4):
    state = step(state)
print(state["w"].sharding)
"""

REPAIRED = FAILING.replace("for _ in", "state = jax.device_put(state, sharded)\nfor _ in")


def about(copies: Copies) -> Finding:
    """The finding for leaves that were moved first."""
    return copied(
        copies,
        f"{verb(copies.group, 'it', 'they')} came in another sharding, and what JAX had moved was "
        f"donated, {count(copies.group.bytes, 'byte')} per device",
        help="place the state before the first call, `state = jax.device_put(state, shardings)`, "
        "or build it under `jax.jit(init, out_shardings=shardings)`",
    )


RULE = Rule(
    code="DT604",
    name="resharded-copy-donated",
    gate=Gate.HONOURED,
    page=__doc__ or "",
    failing=FAILING,
    repaired=REPAIRED,
    runs=True,
)
