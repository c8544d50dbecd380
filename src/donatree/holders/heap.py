"""Who refers to an object, asked of Python's garbage collector; few objects at once, or many."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator, Sequence
from itertools import compress, filterfalse
from typing import Any

_FEW = 16  # the collector's own search is linear in the number of objects asked for
_CHUNK = 4096
_MAYBE_UNTRACKED = frozenset({dict, tuple})


def referrers(targets: Sequence[Any]) -> list[Any]:
    """The objects that refer to one of `targets`, the running frames left out.

    Args:
        targets: any objects. The list itself is among the answer if the collector tracks it.

    Returns:
        Objects that the collector tracks; what C keeps to itself is not found.
    """
    if len(targets) <= _FEW:
        near = gc.get_referrers(*targets) if targets else []
        # The tuple of the call's own arguments is held by nothing but this list.
        return [near[i] for i in range(len(near)) if sys.getrefcount(near[i]) > 2]
    wanted = {id(each) for each in targets}
    found = []
    everything = gc.get_objects()
    for start in range(0, len(everything), _CHUNK):
        chunk = everything[start : start + _CHUNK]
        if wanted.isdisjoint(map(id, gc.get_referents(*chunk))):
            continue
        found += [each for each in chunk if not wanted.isdisjoint(map(id, gc.get_referents(each)))]
    return found


def untracked(kinds: frozenset[type]) -> list[Any]:
    """Objects that the collector does not track itself, but that something it tracks refers to.

    Args:
        kinds: their types, none of which the collector tracks.

    Returns:
        Each object once, also those in dicts and tuples that are not tracked either.
    """
    found: dict[int, Any] = {}
    seen: set[int] = set()
    everything = gc.get_objects()
    for start in range(0, len(everything), _CHUNK):
        layer = gc.get_referents(*everything[start : start + _CHUNK])
        while layer:
            if not kinds.isdisjoint(map(type, layer)):
                found.update((id(each), each) for each in layer if type(each) in kinds)
            layer = gc.get_referents(*_inner(layer, seen))
    return list(found.values())


def owners(targets: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    """What refers to objects that may be inside untracked dicts and tuples.

    Args:
        targets: objects that the collector does not track, numpy arrays for example.

    Yields:
        The object that refers, and the target or the untracked container it refers to. A
        container comes before what holds it.
    """
    wanted = {id(each): each for each in targets}
    everything = gc.get_objects()
    inner = _untracked_containers(everything)
    grown = True
    while grown:
        grown = False
        for container in inner:
            if id(container) in wanted:
                continue
            hits = [each for each in gc.get_referents(container) if id(each) in wanted]
            for each in hits:
                yield container, each
            if hits:
                wanted[id(container)] = container
                grown = True
    for start in range(0, len(everything), _CHUNK):
        chunk = everything[start : start + _CHUNK]
        if wanted.keys().isdisjoint(map(id, gc.get_referents(*chunk))):
            continue
        for each in chunk:
            for held in gc.get_referents(each):
                if id(held) in wanted:
                    yield each, held


def _untracked_containers(everything: Sequence[Any]) -> list[Any]:
    seen: set[int] = set()
    found: list[Any] = []
    for start in range(0, len(everything), _CHUNK):
        layer = gc.get_referents(*everything[start : start + _CHUNK])
        while layer:
            inner = _inner(layer, seen)
            found += inner
            layer = gc.get_referents(*inner)
    return found


def _inner(layer: Sequence[Any], seen: set[int]) -> list[Any]:
    """The untracked dicts and tuples in `layer` that were not seen; now they are."""
    # Millions of objects go through here, so the loops are left to C.
    containers = compress(layer, map(_MAYBE_UNTRACKED.__contains__, map(type, layer)))
    untracked_ones = list(filterfalse(gc.is_tracked, containers))
    new = dict(zip(map(id, untracked_ones), untracked_ones, strict=True))
    answer = [each for key, each in new.items() if key not in seen]
    seen.update(new)
    return answer
