"""A donation saves nothing

## What it means

The argument is donated, and the compiled program needs as much memory as it would without that, or
more.
The caller's arrays may be deleted all the same.

## Why it happens

- No array of the result can take its memory: a batch of labels, gradients beside the parameters.
- Its memory is taken, and a copy is made of what is still to be read: nothing is gained.
- It takes the slot of another leaf, which then needs memory of its own.

`alias_size_in_bytes` counts all of these as aliased.
What a donation saves is the live memory of the program without it minus that with it.

## What to do

Leave the argument out of the declaration; the help names what stays.

## Since when

Measured on JAX 0.5.3, 0.7.2, 0.10.2, 0.11.2 and 0.12.0.1 on the CPU.
Another backend may place its copies otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence

from donatree.findings.rule import Rule, count
from donatree.ledger import Finding, Location

FAILING = """\
import jax
import jax.numpy as jnp


def train_step(state, labels):
    return {"w": state["w"] - 0.1 * labels.mean()}


step = jax.jit(train_step, donate_argnums=(0, 1))


def fit(state):
    for turn in range(3):
        state = step(state, jnp.arange(48) + turn)


def target():
    return step, ({"w": jnp.ones((64, 32))}, jnp.arange(48))
"""

REPAIRED = FAILING.replace("donate_argnums=(0, 1)", "donate_argnums=0")


def about(
    function: str,
    argument: str,
    leaves: Sequence[str],
    size: int,
    saved: int,
    measured: bool,
    reason: str,
    keyword: str,
    location: Location | None,
) -> Finding:
    """The finding about an argument that is donated for nothing.

    Args:
        function: the jitted function.
        argument: the argument.
        leaves: its leaves, largest first.
        size: their bytes per device.
        saved: bytes per device that its donation saves: 0 or less.
        measured: whether that was measured by compiling.
        reason: what replaces it, in words.
        keyword: what to write instead; empty where nothing is to be donated.
        location: where the function is defined.
    """
    does = f"costs {count(-saved, 'byte')} per device" if saved < 0 else "saves nothing"
    how = "measured by compiling without it" if measured else "no array of the result has its type"
    return Finding(
        code=RULE.code,
        headline=f"the donation of `{argument}` to `{function}` {does}",
        leaves=tuple(leaves),
        bytes=size,
        level="warning",
        location=location,
        notes=(reason, how),
        help=f"write `{keyword}`" if keyword else "donate nothing",
    )


RULE = Rule(
    code="DT803",
    name="donation-saves-nothing",
    gate=None,
    page=__doc__ or "",
    failing=FAILING,
    repaired=REPAIRED,
    runs=True,
)
