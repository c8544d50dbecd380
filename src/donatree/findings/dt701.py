"""Something else still holds a leaf that is given away

## What it means

When a donating call returns, the leaf's buffer is gone for everybody who holds the array: reading
it raises, whether it is read by its old name, from a list, by another thread or inside a function.
The finding names who else holds the leaf, a container of it, or another array over its buffer, and
may still read it after the call.
A view of the memory (numpy, dlpack, torch) does not break: it stops the reuse, and the run copies.

## Why it happens

Assigning, appending, closing over and most conversions copy nothing.
`best = state`, `history.append(state.params)`, `jax.device_put(x)` on the same device and
`x.addressable_shards[0].data` all stand for the one buffer.

## What to do

Read the value that the call returns instead.
Where the old value is needed, keep a copy made before the call, which costs its bytes.
Of a view make a copy with `np.array(x)`, or let it go before the call.

## Since when

The same on every JAX measured, 0.5.3 to 0.12.0.1.

## Limits

A local variable or a global counts only if the code may read it again before it is rebound.
Of attributes, caches and containers that is not always known: they count.
What only C code holds is not seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from donatree import paths
from donatree.findings.rule import Rule, count
from donatree.ledger import Finding, Label, Location

if TYPE_CHECKING:
    from donatree.holders.holder import Holder

FAILING = """\
import jax
import jax.numpy as jnp


def train_step(state):
    return {"w": state["w"] - 0.1}


step = jax.jit(train_step, donate_argnums=0)


def main():
    state = {"w": jnp.ones((64, 32))}
    best = state
    for _ in range(3):
        state = step(state)
    try:
        print(best["w"].sum())
    except RuntimeError:
        print("gone")


main()
"""

REPAIRED = FAILING.replace("best = state", "best = jax.tree.map(jnp.copy, state)")

_SHOWN = 4


def about(holders: Sequence[Holder], function: str, call: Location | None = None) -> Finding | None:
    """The finding about all that holds leaves of one call.

    Args:
        holders: who holds them; see `donatree.holders.find`.
        function: the donating function.
        call: where it is called.

    Returns:
        None where nobody holds anything.
    """
    if not holders:
        return None
    ordered = sorted(holders, key=lambda each: -each.bytes)
    first = ordered[0]
    size = _bytes(ordered)
    leaves = tuple(dict.fromkeys(leaf for each in ordered for leaf in each.leaves))
    if len(ordered) == 1:
        headline = (
            f"`{first.held}` is given away to `{function}` and {_verb(first)} {_place(first)}: "
            f"{count(size, 'byte')}"
        )
    else:
        headline = (
            f"{count(len(leaves), 'leaf')} given away to `{function}` "
            f"{'is' if len(leaves) == 1 else 'are'} held in {len(ordered)} other places: "
            f"{count(size, 'byte')}"
        )
    told = [_told(each) for each in ordered[:_SHOWN]] if len(ordered) > 1 else []
    more = len(ordered) - _SHOWN
    return Finding(
        code=RULE.code,
        headline=headline,
        leaves=leaves,
        bytes=size,
        level="warning",
        location=call,
        folded=paths.fold(leaves),
        notes=(*told, *([f"and {more} more"] if more > 0 else ()), *_what(ordered)),
        help=_help(ordered, size),
        labels=tuple(_labels(ordered[:_SHOWN], function, call)),
    )


def _verb(holder: Holder) -> str:
    return "is still looked at by" if holder.kind == "view" else "still held by"


def _place(holder: Holder) -> str:
    steps = "".join(holder.steps)
    thread = f" in thread `{holder.thread}`" if holder.thread else ""
    return f"{holder.root}{thread}" + (f" at `{steps}`" if steps else "")


def _told(holder: Holder) -> str:
    read = f", read again at {holder.read_at}" if holder.read_at else ""
    return f"`{holder.held}` is held by {holder}{read}"


def _what(holders: Sequence[Holder]) -> list[str]:
    notes = []
    if any(each.kind == "view" for each in holders):
        notes.append("a view of the memory stops the reuse: the run copies the leaf")
    if any(each.kind == "handle" for each in holders):
        notes.append("another array over the same buffer is deleted together with the leaf")
    return notes


def _help(holders: Sequence[Holder], size: int) -> str:
    views = [each for each in holders if each.kind == "view"]
    if len(views) == len(holders):
        return "keep a copy instead of the view (`np.array(x)`), or let the view go before the call"
    held = next(each for each in holders if each.kind != "view").held
    return (
        f"read what the call returns instead, or keep a copy made before the call: "
        f"`jax.tree.map(jnp.copy, {held})` costs {count(size, 'byte')} per device"
    )


def _labels(holders: Sequence[Holder], function: str, call: Location | None) -> list[Label]:
    labels = []
    for each in holders:
        if each.location is not None:
            labels.append(Label(each.location, f"`{each.held}` is held from here on"))
    if call is not None:
        labels.append(Label(call, f"given away to `{function}` here", primary=True))
    for each in holders:
        if each.read_at is not None:
            labels.append(Label(each.read_at, f"`{each.held}` is read again here"))
    return list(dict.fromkeys(labels))


def _bytes(holders: Sequence[Holder]) -> int:
    """Bytes of the leaves together; where two holders share some, those of the larger one."""
    seen: set[str] = set()
    total = 0
    for each in holders:
        if seen.isdisjoint(each.leaves):
            total += each.bytes
        seen.update(each.leaves)
    return total


RULE = Rule(
    code="DT701",
    name="still-held",
    gate=None,
    page=__doc__ or "",
    failing=FAILING,
    repaired=REPAIRED,
    runs=True,
)
