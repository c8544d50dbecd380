"""The leaf and its successor have different layouts

## What it means

The leaf's elements lie in memory in one order, and those of its new value in another.
The memory can be reused all the same, but a temporary of the leaf's size can be needed to turn it.

## Why it happens

The array came with a `Format` of its own, from `jax.device_put` or from a compiled function with
`Layout.AUTO`, and the output has the default layout, or the reverse.

## What to do

Give the input and the output one `Format`, or `Layout.AUTO` on both sides.

## Since when

The same on every JAX measured, 0.5.3 to 0.12.0.1: on the CPU the memory is reused, and the program
below needs a temporary of 8,192 bytes that the repaired one does not need.
The names `Format` and `Layout` are those of 0.7.2 and later; 0.5.3 and 0.6.2 say `Layout` and
`DeviceLocalLayout`.
With `Layout.AUTO` on one side only, JAX refuses the program.
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
from jax.experimental.layout import Format, Layout

here = jax.sharding.SingleDeviceSharding(jax.devices()[0])
rows = Format(Layout(major_to_minor=(0, 1)), here)
columns = Format(Layout(major_to_minor=(1, 0)), here)


def train_step(state):
    return {"w": state["w"] * 0.9}


step = jax.jit(train_step, donate_argnums=0, out_shardings=rows)
args = ({"w": jax.device_put(jnp.ones((64, 32)), columns)},)
"""

REPAIRED = """\
import jax
import jax.numpy as jnp
from jax.experimental.layout import Format, Layout

here = jax.sharding.SingleDeviceSharding(jax.devices()[0])
columns = Format(Layout(major_to_minor=(1, 0)), here)


def train_step(state):
    return {"w": state["w"] * 0.9}


step = jax.jit(train_step, donate_argnums=0, out_shardings=columns)
args = ({"w": jax.device_put(jnp.ones((64, 32)), columns)},)
"""


def describe(group: Group, observation: Observation) -> Finding:
    """The finding for leaves whose successor has another layout."""
    if group.lost:
        price = f": {count(group.bytes, 'byte')} not reused"
    else:
        price = f", which can cost a temporary of {verb(group, 'its', 'their')} size"
    return finding(
        group,
        f"{subject(group)} {verb(group, 'comes', 'come')} back in another layout "
        f"({group.detail}){price}",
        help="give both sides one `Format`, or `Layout.AUTO` on both",
    )


RULE = Rule(
    code="DT406",
    name="layout-changed",
    gate=Gate.GRANTED,
    page=__doc__ or "",
    failing=FAILING,
    repaired=REPAIRED,
    describe=describe,
)
