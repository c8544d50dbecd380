"""An argument ought to be donated

## What it means

The function gets an argument, returns what replaces it, and the caller needs the old one no more.
Both are in memory while the call runs.
Were the argument donated, XLA could write the new arrays into the memory of the old ones.

## Why it happens

Nothing is donated unless the jit says so.
The evidence, in its order: the statement of the call rebinds the argument to the call's own result;
the result repeats the argument's paths; its arrays are computed from those of the argument.
That some array of the result has the type of the argument's arrays proves nothing: a batch can have
the type of a weight.

## What to do

Add the keyword that the help names.
Where another name still holds the old arrays, `donatree run --before` says who and where.
The bytes are those that a compiled program needs less; where it says *estimated* nothing was
compiled, and they are the bytes of the leaves for which the result has an array of the same type.

## Since when

Measured on JAX 0.5.3, 0.7.2, 0.10.2, 0.11.2 and 0.12.0.1 on the CPU.
"""

from __future__ import annotations

from donatree.findings.advised import Advised, finding
from donatree.findings.rule import Rule, count
from donatree.ledger import Finding

FAILING = """\
import jax
import jax.numpy as jnp


def train_step(state, batch):
    return {"w": state["w"] - 0.1 * batch.mean(), "step": state["step"] + 1}


step = jax.jit(train_step)
state = {"w": jnp.ones((64, 32)), "step": jnp.int32(0)}
for turn in range(3):
    state = step(state, jnp.ones(8) * turn)


def target():
    return step, (state, jnp.ones(8))
"""

REPAIRED = FAILING.replace("jax.jit(train_step)", "jax.jit(train_step, donate_argnums=0)")


def about(advised: Advised) -> Finding:
    """The finding about an argument that ought to be donated."""
    saved, size = count(advised.saved, "byte"), count(advised.size, "byte")
    how = "measured by compiling" if advised.measured else "estimated from types"
    return finding(
        RULE,
        advised,
        f"`{advised.argument}` of `{advised.function}` is not donated and could be: "
        f"{saved} of {size} per device",
        size=advised.saved,
        notes=(*advised.reasons, f"the bytes are {how}"),
    )


RULE = Rule(
    code="DT801",
    name="ought-to-be-donated",
    gate=None,
    page=__doc__ or "",
    failing=FAILING,
    repaired=REPAIRED,
    runs=True,
)
