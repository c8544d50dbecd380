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

from donatree.findings.advised import Advised, finding
from donatree.findings.rule import Rule, count
from donatree.ledger import Finding

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


_UNMEASURED = "no array of the result has its type"


def about(advised: Advised) -> Finding:
    """The finding about an argument that is donated for nothing."""
    saved = advised.saved
    does = f"costs {count(-saved, 'byte')} per device" if saved < 0 else "saves nothing"
    how = "measured by compiling without it"
    return finding(
        RULE,
        advised,
        f"the donation of `{advised.argument}` to `{advised.function}` {does}",
        size=advised.size,
        notes=(*advised.reasons[:1], how if advised.measured else _UNMEASURED),
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
