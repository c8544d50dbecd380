"""Other arrays of JAX over the same buffers: from `device_put`, addressable shards, and so on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from donatree._jax import buffers

Handle = tuple[Any, int]


def handles_of(leaves: Mapping[int, Any]) -> list[Handle]:
    """The arrays that are another object over a leaf's buffer, and the `id` of that leaf.

    Addresses are asked only of arrays that could be one: shards of the same type and shape.

    Args:
        leaves: the leaves by `id`.
    """
    own = {id(buffers.physical(leaf)) for leaf in leaves.values()} | leaves.keys()
    others = [each for each in buffers.live_arrays() if id(each) not in own]
    shards: dict[Any, set[Any]] = {}
    wanted = {_shard(buffers.physical(leaf), shards) for leaf in leaves.values()} if others else ()
    candidates = [each for each in others if _shard(each, shards) in wanted]
    if not candidates:
        return []
    shapes = {_shard(each, shards) for each in candidates}
    at: dict[int, int] = {}
    for key, leaf in leaves.items():
        if _shard(buffers.physical(leaf), shards) in shapes:
            for address in buffers.pointers(leaf) or ():
                at.setdefault(address, key)
    return [*_same(candidates, at)]


def _same(candidates: Iterable[Any], at: Mapping[int, int]) -> Iterable[Handle]:
    for each in candidates:
        found = next((at[p] for p in buffers.pointers(each) or () if p in at), None)
        if found is not None:
            yield each, found


def _shard(array: Any, known: dict[Any, Any]) -> Any:
    """Type and shape of one shard; the same for all arrays that may share a buffer."""
    key = array.shape, id(array.sharding)
    if key not in known:
        try:
            # The sharding is kept with its `id`, which is good only while it lives.
            known[key] = array.sharding.shard_shape(array.shape), array.sharding
        except Exception:
            known[key] = array.shape, array.sharding
    return known[key][0], array.dtype
