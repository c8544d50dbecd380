"""What the evidence says of each argument, before anything is compiled.

In order of weight: the call statement, then paths and dependence. That some slot has a leaf's type
is never enough.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from donatree.advice.replaced import Replaced
from donatree.advice.statement import CallSite, Passing, together
from donatree.ledger import Location, Slot

Stance = Literal["donate", "keep", "undecided"]

HALF, NEARLY_ALL, SOME = 0.5, 0.9, 0.2


@dataclass(frozen=True, slots=True)
class Opinion:
    """What is thought of one argument.

    Attributes:
        argument: its name.
        stance: whether it ought to be donated.
        reasons: why, the weightiest first.
        replaced: what could replace it.
        sure: whether the call statement, or the call itself, says so.
        read_again: whether it is read after the call.
        at: the place that the first reason speaks of.
        copy: what would have to be copied for it to be donated, as it is written.
    """

    argument: str
    stance: Stance
    reasons: tuple[str, ...]
    replaced: Replaced
    sure: bool = False
    read_again: bool = False
    at: Location | None = None
    copy: str | None = None


def passings(sites: Sequence[CallSite]) -> dict[str, Passing]:
    """What becomes of each argument over all call statements."""
    names = dict.fromkeys(name for site in sites for name in site.passings)
    found = {
        name: together(site.passings[name] for site in sites if name in site.passings)
        for name in names
    }
    return {name: each for name, each in found.items() if each is not None}


def opinions(
    slots: Sequence[Slot],
    replaced: Mapping[str, Replaced],
    passed: Mapping[str, Passing],
) -> list[Opinion]:
    """What is thought of each argument, in the order of the call.

    Args:
        slots: of the result.
        replaced: what could replace each argument, see `replaced.find`.
        passed: what its call statements do, see `passings`; empty where none is known.
    """
    back = {slot.path for slot in slots}
    types = {
        passed[name].written: {(leaf.spec.dtype, leaf.spec.shape) for leaf in each.leaves}
        for name, each in replaced.items()
        if name in passed
    }
    made = []
    for name, each in replaced.items():
        passing = passed.get(name)
        if passing is not None and passing.twin is not None:
            mine = types[passing.written]
            if not mine & types.get(passing.twin, set()):
                passing = dataclasses.replace(passing, twin=None)
        made.append(_opinion(name, each, passing, _is_in_place(each, back)))
    return made


def _is_in_place(replaced: Replaced, back: set[str]) -> bool:
    """Whether most leaves come back under their own paths, not as the result's."""
    count = sum(leaf.path in back for leaf in replaced.leaves)
    return count > 0 and count * 2 >= len(replaced.leaves)


def _opinion(name: str, replaced: Replaced, passing: Passing | None, in_place: bool) -> Opinion:
    why = _what_replaces(replaced)
    if in_place:
        text = "the call writes its arrays back into it"
        return Opinion(name, "donate", (text, *why), replaced, sure=True)
    if passing is not None and passing.fate == "read":
        text = _read(passing)
        return Opinion(
            name, "keep", (text,), replaced, True, True, passing.at, passing.written or name
        )
    if passing is not None and passing.fate == "rebound":
        text = f"rebound by the call statement at `{passing.at}`"
        if passing.twin is not None:
            why = (
                *why,
                f"`{passing.written}` and `{passing.twin}` can be one buffer, which JAX refuses "
                f"to donate twice: copy one before, `jax.tree.map(jnp.copy, {passing.twin})`",
            )
        if replaced.typed:
            return Opinion(name, "donate", (text, *why), replaced, True, at=passing.at)
        other = f"{text}, but no array of the result has the type of any of its leaves"
        return Opinion(name, "keep", (other,), replaced, True, at=passing.at)
    if not _is_replaced(replaced):
        return Opinion(name, "keep", (_nothing(replaced, passing),), replaced)
    if passing is not None and passing.fate == "not read":
        if passing.borrowed is not None:
            text = f"`{passing.borrowed}` may hold it still: that is what the loop takes it from"
            return Opinion(name, "keep", (text,), replaced)
        text = "not read again after the call"
        return Opinion(name, "donate", (text, *why), replaced, True)
    if replaced.rivals:
        others = " and ".join(f"`{each}`" for each in sorted(replaced.rivals))
        text = f"what would replace it could as well replace {others}"
        return Opinion(name, "undecided", (text, "no call statement was found"), replaced)
    if passing is not None:
        why = (*why, f"what its caller does with `{passing.written}` could not be read")
    return Opinion(name, "donate", why, replaced)


def _is_replaced(replaced: Replaced) -> bool:
    """Whether most of an argument lives on in the result, by its own values or by its paths."""
    near, named = replaced.share, replaced.named_share
    return near >= HALF or (named >= NEARLY_ALL and near >= SOME)


def _read(passing: Passing) -> str:
    if passing.through is None:
        return f"read again at `{passing.at}`"
    return f"{passing.through} still has it after the call, see `{passing.at}`"


def _what_replaces(replaced: Replaced) -> tuple[str, ...]:
    """What the result has in its stead."""
    count, found = len(replaced.leaves), len(replaced.near)
    if not found and not replaced.typed:
        return ()
    at = f"`{replaced.at}`" if replaced.at else "the result"
    if not found:
        number = len(replaced.typed)
        return (f"{number:,} of {count:,} leaves have an array of their type in the result",)
    leaves = "its one leaf" if count == 1 else f"{found:,} of {count:,} leaves"
    return (f"replaced by its successor {at}: {leaves}, computed from what it was",)


def _nothing(replaced: Replaced, passing: Passing | None) -> str:
    if passing is not None and passing.fate == "not read":
        text = "dead after the call, but nothing in the result replaces it"
    else:
        text = "nothing in the result replaces it"
    if replaced.typed:
        text += ", though there are arrays of the same type"
    return text
