"""A donated leaf is also passed undonated

## What it means

One buffer reaches the call twice: as a leaf that is given away, and as one that is to be read.
XLA refuses the call: `Attempt to use a buffer that was previously donated in the same call`, with
flat argument numbers and no names.
Nothing is deleted.

## Why it happens

A state is donated, and a part of it is passed beside it: `step(state, state["params"])`.
Or two arguments were built from one array: an optimiser whose `init` keeps the parameters, with
only one of the two donated; a target network that begins as the online one.

## What to do

Read the part inside the function, from the donated argument, and leave the other argument out.
Or pass a copy, which costs its bytes.

## Since when

The same on every JAX measured, 0.5.3 to 0.12.0.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from donatree.findings.rule import Rule, count
from donatree.ledger import Finding, Location

if TYPE_CHECKING:
    from donatree.holders.twins import Twins

FAILING = """\
import jax
import jax.numpy as jnp


def train_step(params, target):
    return params - 0.1 * (params - target)


step = jax.jit(train_step, donate_argnums=0)
params = jnp.ones((64, 32))
target = params
for _ in range(3):
    params = step(params, target)
"""

REPAIRED = FAILING.replace("target = params\n", "target = jnp.copy(params)\n")

_SHOWN = 4


def about(twins: Sequence[Twins], function: str, call: Location | None = None) -> Finding | None:
    """The finding about donated leaves of one call that are passed undonated as well.

    Args:
        twins: groups of leaves, see `find_twins`; those with no undonated leaf are passed over.
        function: the donating function.
        call: where it is called.

    Returns:
        None where no donated leaf is passed undonated.
    """
    pairs = sorted(_pairs(twins), key=lambda pair: -pair[2].bytes)
    if not pairs:
        return None
    given, read, first = pairs[0]
    if len(pairs) == 1:
        headline = f"`{given}` is given away to `{function}`, and `{read}` is the same buffer"
    else:
        headline = f"{count(len(pairs), 'leaf')} given away to `{function}` are passed to it again"
    size = sum(each.bytes for _, _, each in pairs)
    return Finding(
        code=RULE.code,
        headline=headline,
        leaves=tuple(given for given, _, _ in pairs),
        bytes=size,
        level="error",
        location=call,
        notes=(
            *(
                f"{given} is given away and {read} is not: one {each.aval}"
                for given, read, each in pairs[:_SHOWN]
            ),
            *([f"and {len(pairs) - _SHOWN} more"] if len(pairs) > _SHOWN else ()),
            "XLA refuses the call and deletes nothing",
        ),
        help=f"read it inside `{function}` from the donated argument, or pass a copy: "
        f"`jnp.copy({read})` costs {count(first.bytes, 'byte')} per device",
    )


def _pairs(twins: Sequence[Twins]) -> list[tuple[str, str, Twins]]:
    answer = []
    for each in twins:
        flags = list(zip(each.paths, each.donated, strict=True))
        given = [path for path, donated in flags if donated]
        read = [path for path, donated in flags if not donated]
        if given and read:
            answer.append((given[0], read[0], each))
    return answer


RULE = Rule(
    code="DT703",
    name="donated-and-passed",
    gate=None,
    page=__doc__ or "",
    failing=FAILING,
    repaired=REPAIRED,
    runs=True,
)
