"""Two donated leaves are one buffer

## What it means

Two leaves that are given away in one call stand for the same memory.
XLA cannot reuse it twice and refuses the call: `Attempt to donate the same buffer twice`, with flat
argument numbers and no names.
Nothing is deleted, so the call can be repeated once the leaves are two buffers.

## Why it happens

The state was built so that two places share an array: an optimiser whose `init` keeps the
parameters (in optax 0.2.8 `dog`, `dowg`, `madgrad`, `prodigy`, `cocob`, `mechanize`, and `lbfgs`
within its own state), `nnx.clone`, `equinox.tree_at`, `target = params`, one array of zeros used
for several accumulators.

## What to do

Give one of them a buffer of its own when the state is built: `jnp.copy`.
`jnp.asarray`, `astype` to the same type and `jax.tree.map` with an identity copy nothing.

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


def train_step(state):
    return {"params": state["params"] - 0.1, "target": 0.9 * state["target"]}


step = jax.jit(train_step, donate_argnums=0)
params = jnp.ones((64, 32))
state = {"params": params, "target": params}
for _ in range(3):
    state = step(state)
"""

REPAIRED = FAILING.replace('"target": params}\nfor', '"target": jnp.copy(params)}\nfor')

_SHOWN = 4


def about(twins: Sequence[Twins], function: str, call: Location | None = None) -> Finding | None:
    """The finding about donated leaves of one call that are one buffer.

    Args:
        twins: groups of leaves, see `find_twins`; those with one donated leaf are passed over.
        function: the donating function.
        call: where it is called.

    Returns:
        None where no two donated leaves are one buffer.
    """
    groups = [(_donated(each), each) for each in twins]
    groups = [(names, each) for names, each in groups if len(names) > 1]
    if not groups:
        return None
    groups.sort(key=lambda group: -group[1].bytes)
    names, first = groups[0]
    if len(groups) == 1:
        together = " and ".join(f"`{name}`" for name in names[:_SHOWN])
        headline = f"{together} are one buffer, and `{function}` is given both"
        if len(names) > 2:
            headline = f"{count(len(names), 'leaf')} given away to `{function}` are one buffer"
    else:
        headline = f"{count(len(groups), 'buffer')} are each given away to `{function}` twice"
    extra = sum(each.bytes * (len(names) - 1) for names, each in groups)
    kind = "object" if first.same_object else "buffer under two arrays"
    return Finding(
        code=RULE.code,
        headline=headline,
        leaves=tuple(name for names, _ in groups for name in names),
        bytes=sum(each.bytes for _, each in groups),
        level="error",
        location=call,
        notes=(
            *(f"{' and '.join(names)}: one {each.aval}" for names, each in groups[:_SHOWN]),
            *([f"and {len(groups) - _SHOWN} more"] if len(groups) > _SHOWN else ()),
            f"they are one {kind}; XLA refuses the call and deletes nothing",
        ),
        help=f"give one of them a buffer of its own: `jnp.copy({names[-1]})` when the state is "
        f"built; {count(extra, 'byte')} per device",
    )


def _donated(twins: Twins) -> tuple[str, ...]:
    pairs = zip(twins.paths, twins.donated, strict=True)
    return tuple(path for path, donated in pairs if donated)


RULE = Rule(
    code="DT702",
    name="donated-twice",
    gate=None,
    page=__doc__ or "",
    failing=FAILING,
    repaired=REPAIRED,
    runs=True,
)
