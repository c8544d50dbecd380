"""Where an array's memory is, shard by shard, read so that nothing of it stays behind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def physical(array: Any) -> Any:
    """The array that has the buffers: of a typed PRNG key the ``uint32`` array under it."""
    return getattr(array, "_base_array", array)


def is_array(value: Any) -> bool:
    """Whether `value` is an array with buffers of its own: no tracer, no numpy array."""
    import jax
    import jax.core

    return isinstance(value, jax.Array) and not isinstance(value, jax.core.Tracer)


def pointers_by_device(array: Any) -> tuple[tuple[int, int], ...] | None:
    """The device's id and the address of each addressable shard, in the sharding's order.

    `unsafe_buffer_pointer` makes one hidden array a shard, which stays with the array and which
    `jax.live_arrays` lists (JAX 0.5.3 to 0.12). So the addresses are asked of a clone: another
    handle on the same buffers, gone when this returns. It takes 3 us a leaf, and waits until the
    array is computed.

    Args:
        array: a `jax.Array`; typed PRNG keys as well.

    Returns:
        None where it cannot be read: deleted, no bytes, or a backend without addresses.
    """
    real = physical(array)
    try:
        if real.is_deleted() or not real.size:
            return None
        shards = _clone(real)._arrays
        return tuple(
            (next(iter(each.devices())).id, each.unsafe_buffer_pointer()) for each in shards
        )
    except Exception:
        return None  # not every backend has addresses to give


def _clone(array: Any) -> Any:
    """Another handle on the same buffers.

    `clone` raises where the first device of the array is another process's (JAX 0.12);
    `reorder_shards`, the function under `device_put`, does not.
    """
    try:
        return array.clone()
    except Exception:
        from jaxlib import xla_client

        reuse = xla_client.ArrayCopySemantics.REUSE_INPUT
        return xla_client.reorder_shards(array, array.sharding, reuse)


def pointers(array: Any) -> tuple[int, ...] | None:
    """The addresses alone; see `pointers_by_device`."""
    found = pointers_by_device(array)
    return None if found is None else tuple(address for _, address in found)


def is_on_cpu(array: Any) -> bool:
    """Whether the array's devices are CPUs; a deleted array still tells its sharding."""
    return all(device.platform == "cpu" for device in physical(array).sharding.device_set)


def is_deleted(array: Any) -> bool:
    """Whether the array's buffers are gone: it was donated, or deleted by hand."""
    return bool(physical(array).is_deleted())


def live_arrays() -> Iterator[Any]:
    """Every array that JAX knows to be alive, hidden ones included."""
    import jax

    yield from jax.live_arrays()
