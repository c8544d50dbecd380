"""`jax_disable_jit` runs jitted functions as plain Python

## What it means

The program declares donation, but a part of it ran while `jax_disable_jit` was on.
There a jitted function is plain Python: nothing is compiled, and no buffer is given away.

## Why it happens

The flag was set by `jax.disable_jit()`, by `jax.config` or by the environment variable
`JAX_DISABLE_JIT`, most often to debug.
JAX says nothing about donation under it.

## What to do

Take the flag away once the debugging is done.

## Since when

The same on every JAX measured, 0.5.3 to 0.12.0.1.

## Limits

`donatree.audit` names the leaves, by the flag as it stands when it is called.
In `donatree run` and `donatree.watch()` the finding is about the program: it counts no bytes and
names no leaf.
A function that was jitted before the watch began is not known to them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from donatree.findings.rule import Rule, count, finding, subject, verb
from donatree.ledger import Finding, Gate, Location

if TYPE_CHECKING:
    from donatree.observation import Observation
    from donatree.why.causes import Group

FAILING = """\
import jax
import jax.numpy as jnp

jax.config.update("jax_disable_jit", True)


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
    """The finding for leaves that are not donated because nothing is compiled."""
    return finding(
        group,
        f"{subject(group)} {verb(group, 'is', 'are')} not donated because `jax_disable_jit` is on: "
        f"{count(group.bytes, 'byte')}",
        help=_HELP,
        notes=[_NOTE],
    )


_HELP = (
    "take `jax.disable_jit()`, the flag `jax_disable_jit` or the environment variable "
    "`JAX_DISABLE_JIT` away"
)
_NOTE = "under `jax_disable_jit` nothing is compiled, so no buffer can be given away"


def about(
    functions: Sequence[tuple[str, Location | None]], place: Location | None, never_compiled: bool
) -> Finding:
    """The finding about a program in which the flag was on.

    Args:
        functions: name and place of functions that declare donation.
        place: where the flag was switched on, if that was seen.
        never_compiled: whether none of these functions was ever compiled; where they were, it is
            not known that any of them was called while the flag was on.
    """
    names = ", ".join(f"`{name}`" for name, _ in functions[:4])
    more = f" and {len(functions) - 4} more" if len(functions) > 4 else ""
    places = [f"`{name}` is defined at {where}" for name, where in functions if where is not None]
    return Finding(
        code=RULE.code,
        headline=f"nothing was donated to {names}{more} while `jax_disable_jit` was on",
        level="warning" if never_compiled else "note",
        location=place,
        notes=(_NOTE, *places[:4]),
        help=_HELP,
    )


RULE = Rule(
    code="DT102",
    name="donation-off-disable-jit",
    gate=Gate.ASKED,
    page=__doc__ or "",
    failing=FAILING,
    repaired=REPAIRED,
    describe=describe,
)
