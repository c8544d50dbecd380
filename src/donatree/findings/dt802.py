"""A donated argument is read again

## What it means

The jit donates an argument that is read after the call, or that something else still holds.
Where XLA takes its memory, that read fails: `Array has been deleted`.
Where XLA finds no use for it the read still works, today, on this version of JAX.

## Why it happens

Most often the batch is donated with the state, `donate_argnums=(0, 1)`, and looked at afterwards.
Whether it is deleted depends on whether an output happens to have its size: since JAX 0.8 an equal
number of elements is enough, so a batch of shape `(512, 128)` can be taken for a weight of shape
`(128, 512)`.

## What to do

Donate what the call replaces, and nothing else: the help names the keyword.
Or read it before the call, or keep a copy, `jnp.copy(batch)`, which costs its bytes.

## Since when

Measured on JAX 0.5.3, 0.7.2, 0.10.2, 0.11.2 and 0.12.0.1 on the CPU.
It is found in the source of the call; `donatree run` sees the use itself, as DT704.
"""

from __future__ import annotations

from donatree.findings.advised import Advised, finding
from donatree.findings.rule import Rule
from donatree.ledger import Finding

FAILING = """\
import jax
import jax.numpy as jnp


def train_step(state, batch):
    return {"w": state["w"] - 0.1 * batch.mean()}, batch * 0.5


step = jax.jit(train_step, donate_argnums=(0, 1))


def fit(state):
    for turn in range(3):
        batch = jnp.ones((64, 32)) * turn
        state, predicted = step(state, batch)
        print(float(jnp.abs(predicted - batch).max()))


def target():
    return step, ({"w": jnp.ones((64, 32))}, jnp.ones((64, 32)))
"""

REPAIRED = FAILING.replace("donate_argnums=(0, 1)", "donate_argnums=0")


def about(advised: Advised) -> Finding:
    """The finding about a donated argument that is read after the call."""
    return finding(
        RULE,
        advised,
        f"`{advised.argument}` is donated to `{advised.function}`, and read after the call",
        size=advised.size,
        notes=advised.reasons[:1],
        help=f"{advised.write}, or keep a copy before the call",
    )


RULE = Rule(
    code="DT802",
    name="donated-and-read-again",
    gate=None,
    page=__doc__ or "",
    failing=FAILING,
    repaired=REPAIRED,
    runs=True,
)
