"""Abstract values of JAX as `ArraySpec`: types, shapes, bytes per device."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from donatree.ledger import ArraySpec


def bits_of(dtype: Any) -> int:
    """Bits of one element as XLA stores it: int4 takes 4, a PRNG key the bits of its base array.

    XLA packs sub-byte types on the CPU: eight int4 are 4 bytes in `alias_size_in_bytes`
    (measured on JAX 0.7.2 and 0.12).
    """
    if np.dtype(dtype).kind == "c":  # `finfo` speaks of the real part
        return np.dtype(dtype).itemsize * 8
    for info in _number_infos():
        try:
            return int(info(dtype).bits)
        except (ValueError, TypeError):
            continue
    return np.dtype(dtype).itemsize * 8


def _number_infos() -> tuple[Any, ...]:
    import jax.numpy as jnp

    return jnp.iinfo, jnp.finfo


def physical(aval: Any) -> Any:
    """The array that stores `aval`: for a PRNG key its uint32 base, else `aval` itself."""
    from jax._src import core

    return core.physical_aval(aval)


def nbytes(aval: Any, shape: tuple[int, ...]) -> int:
    """Bytes of an array of the type of `aval` and of this logical `shape`."""
    stored = physical(aval)
    trailing = tuple(stored.shape)[len(aval.shape) :]
    elements = math.prod(shape) * math.prod(trailing)
    if np.dtype(bool) == stored.dtype:
        return elements
    return math.ceil(elements * bits_of(stored.dtype) / 8)


def specs_of(
    avals: Sequence[Any],
    shardings: Sequence[Any] | None = None,
    layouts: Sequence[Any] | None = None,
) -> list[ArraySpec]:
    """The specs of abstract values. Equal ones are made once: thousands of leaves have few types.

    Args:
        avals: each a `ShapedArray`, or an abstract reference to one.
        shardings: one for each, if known; one device is assumed otherwise.
        layouts: one device-local layout for each, if known.

    Raises:
        ValueError: there is not one sharding or one layout for each value.
    """
    nothing = (None,) * len(avals)
    made: dict[Any, ArraySpec] = {}
    by_id: dict[int, Any] = {}  # to hash a sharding takes long, and many leaves share one object
    equal: dict[Any, Any] = {}
    answer = []
    for aval, sharding, layout in zip(
        avals,
        nothing if shardings is None else shardings,
        nothing if layouts is None else layouts,
        strict=True,
    ):
        aval = getattr(aval, "inner_aval", aval)
        if not hasattr(aval, "shape") or not hasattr(aval, "dtype"):
            answer.append(ArraySpec(str(aval), (), (), 0, 0))
            continue
        if id(sharding) not in by_id:
            by_id[id(sharding)] = equal.setdefault(sharding, sharding)
        weak_type = bool(getattr(aval, "weak_type", False))
        key = aval.shape, aval.dtype, weak_type, id(by_id[id(sharding)]), _order(layout)
        if key not in made:
            made[key] = _spec_of(aval, sharding, layout)
        answer.append(made[key])
    return answer


def _spec_of(aval: Any, sharding: Any, layout: Any) -> ArraySpec:
    shape = tuple(int(size) for size in aval.shape)
    local = _local_shape(shape, sharding)
    return ArraySpec(
        dtype=str(aval.dtype),
        shape=shape,
        local_shape=local,
        bytes=nbytes(aval, local),
        global_bytes=nbytes(aval, shape),
        weak_type=bool(getattr(aval, "weak_type", False)),
        sharding=_sharding_text(sharding, len(shape)),
        memory_kind=_memory_kind(sharding),
        layout=_layout_text(layout, len(shape)),
    )


def _local_shape(shape: tuple[int, ...], sharding: Any) -> tuple[int, ...]:
    if not hasattr(sharding, "shard_shape"):
        return shape
    return tuple(int(size) for size in sharding.shard_shape(shape))


def _memory_kind(sharding: Any) -> str | None:
    kind = getattr(sharding, "memory_kind", None)
    return str(kind) if kind is not None else None


def _sharding_text(sharding: Any, ndim: int) -> str | None:
    """`P('data', None) on (data: 4, model: 2)`; None on one device."""
    devices = getattr(sharding, "device_set", None)
    if devices is None or len(devices) <= 1:
        return None
    if getattr(sharding, "is_fully_replicated", False):
        return f"replicated on {len(devices)} devices"
    spec = getattr(sharding, "spec", None)
    if spec is not None:
        parts = [*spec, *[None] * (ndim - len(spec))]
        axes = ", ".join(f"{name}: {size}" for name, size in sharding.mesh.shape.items())
        return f"P({', '.join(repr(part) for part in parts)}) on ({axes})"
    return str(sharding)


def _layout_text(layout: Any, ndim: int) -> str | None:
    """Major-to-minor order where it is not the default row-major one, else None."""
    order = _order(layout)
    if order is None or order == tuple(range(ndim)):
        return None
    return f"major_to_minor={order}"


def _order(layout: Any) -> tuple[int, ...] | None:
    order = getattr(layout, "major_to_minor", None)
    return None if order is None else tuple(order)
