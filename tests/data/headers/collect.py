"""Compiles small programs and prints the headers of their modules, one a line, each once.

Run it under each version of JAX and save what it prints beside it, as ``jax-0.12.0.1.txt``; for
the ``-tpu`` file set ``HEADERS_PLATFORM=tpu``, which compiles for a described chip and needs the
``libtpu`` package but no chip. A program that a version cannot compile is named on standard error.
"""

# ruff: noqa: E402  # XLA reads its flags when JAX is imported
from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8")
PLATFORM = os.environ.get("HEADERS_PLATFORM", "cpu")

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec, SingleDeviceSharding

Program = tuple[Any, tuple[Any, ...]]


def target_devices() -> list[Any]:
    """The devices compiled for."""
    if PLATFORM == "cpu":
        return jax.devices()
    from jax.experimental import topologies

    return list(topologies.get_topology_desc(platform="tpu", topology_name="v5e:2x2").devices)


DEVICES = target_devices()
ONE = SingleDeviceSharding(DEVICES[0])


def array(shape: tuple[int, ...], dtype: Any = jnp.float32, sharding: Any = ONE) -> Any:
    """An array that is only described."""
    return jax.ShapeDtypeStruct(shape, dtype, sharding=sharding)


def leaves(count: int) -> dict[str, Any]:
    """A tree of arrays of a few shapes and types."""
    kinds = [((4, 4), jnp.float32), ((), jnp.int32), ((7,), jnp.bfloat16), ((2, 3, 5), jnp.uint8)]
    return {f"leaf{i:04d}": array(*kinds[i % len(kinds)]) for i in range(count)}


def plus_one(tree: Any) -> Any:
    """Adds one to every leaf."""
    return jax.tree.map(lambda leaf: leaf + jnp.ones((), leaf.dtype), tree)


def donated_tree() -> Program:
    return jax.jit(plus_one, donate_argnums=0), (leaves(3),)


def donated_tree_of_many() -> Program:
    return jax.jit(plus_one, donate_argnums=0), (leaves(23),)


def donated_tree_of_very_many() -> Program:
    # JAX hands over more than 2000 leaves to a TPU as one parameter, a tuple.
    return jax.jit(plus_one, donate_argnums=0), (leaves(2001 if PLATFORM == "tpu" else 120),)


def single_result() -> Program:
    return jax.jit(lambda x: x * 2, donate_argnums=0), (array((16,)),)


def no_donation() -> Program:
    return jax.jit(lambda x, y: (x @ y, x.sum())), (array((8, 4)), array((4, 2)))


def no_parameters() -> Program:
    return jax.jit(lambda: jnp.zeros((3,)), out_shardings=ONE), ()


def no_results() -> Program:
    return jax.jit(lambda x: (), donate_argnums=0, keep_unused=True), (array((3,)),)


def one_in_a_tuple() -> Program:
    return jax.jit(lambda x: (x + 1,), donate_argnums=0), (array((3,)),)


def cast_to_bfloat16() -> Program:
    def step(state):
        return {"step": state["step"] + 1, "w": state["w"].astype(jnp.bfloat16)}

    state = {"step": array((), jnp.int32), "w": array((77, 9))}
    return jax.jit(step, donate_argnums=0), (state,)


def shape_changed() -> Program:
    return jax.jit(lambda x, y: (x.reshape(8, 2) + 1, y.T * 2), donate_argnums=(0, 1)), (
        array((4, 4)),
        array((3, 5)),
    )


def swapped_results() -> Program:
    return jax.jit(lambda a, b: (b + 1, a * 2), donate_argnums=(0, 1)), (array((5,)), array((5,)))


def unused_leaf() -> Program:
    return jax.jit(lambda t: {"a": t["a"] + 1}, donate_argnums=0), (
        {"a": array((4,)), "unused": array((9,))},
    )


def random_key() -> Program:
    key = jax.eval_shape(lambda: jax.random.key(0))

    def step(state):
        key, _ = jax.random.split(state["key"])
        return {"key": key, "x": state["x"] + 1}

    state = {"key": array(key.shape, key.dtype), "x": array((4,))}
    return jax.jit(step, donate_argnums=0), (state,)


def zero_size() -> Program:
    tree = {"empty": array((0, 4)), "full": array((2, 2)), "hollow": array((3, 0), jnp.int8)}
    return jax.jit(plus_one, donate_argnums=0), (tree,)


def many_types() -> Program:
    types = ["bool", "int8", "uint16", "float16", "bfloat16", "complex64", "int4", "float8_e4m3fn"]
    tree = [array((2, 8), jnp.dtype(getattr(jnp, name + "_" * (name == "bool")))) for name in types]
    return jax.jit(lambda t: [leaf[::-1] for leaf in t], donate_argnums=0), (tree,)


def mutable_reference() -> Program:
    if PLATFORM != "cpu":
        raise NotImplementedError("a reference cannot be only described")
    ref = jax.new_ref(jnp.zeros((4, 4)))

    def step(ref, x):
        ref[...] = ref[...] + x
        return x * 2

    return jax.jit(step), (ref, jnp.ones((4, 4)))


def name_in_another_alphabet() -> Program:
    def étape(x):
        return x + 1

    return jax.jit(étape, donate_argnums=0), (array((4,)),)


def ordered_effect() -> Program:
    def step(x):
        jax.debug.print("{}", x.sum(), ordered=True)
        return x + 1

    return jax.jit(step, donate_argnums=0), (array((4,)),)


def pinned_host() -> Program:
    host = ONE.with_memory_kind("pinned_host")

    def step(x, y):
        return jax.device_put(x, ONE) + y, jax.device_put(y, host)

    return jax.jit(step, donate_argnums=(0, 1), out_shardings=(ONE, host)), (
        array((16, 128), sharding=host),
        array((16, 128)),
    )


def column_major() -> Program:
    from jax.experimental import layout as layout_of_this_version

    layout: Any = layout_of_this_version
    order = (1, 0)
    if hasattr(layout, "Format"):
        columns = layout.Format(layout.Layout(order), ONE)
    else:
        columns = layout.Layout(layout.DeviceLocalLayout(order), ONE)
    return jax.jit(
        lambda x, y: (x + 1, y * 2),
        donate_argnums=(0, 1),
        in_shardings=(columns, ONE),
        out_shardings=(columns, ONE),
    ), (jax.ShapeDtypeStruct((4, 6), jnp.float32), array((4, 6)))


def mesh() -> Mesh:
    return Mesh(np.array(DEVICES).reshape(2, -1), ("data", "model"))


def sharded_tree() -> Program:
    rows = NamedSharding(mesh(), PartitionSpec("data", "model"))
    copies = NamedSharding(mesh(), PartitionSpec())
    tree = {"b": array((8,), sharding=copies), "w": array((16, 8), sharding=rows)}
    return jax.jit(plus_one, donate_argnums=0, out_shardings={"b": copies, "w": rows}), (tree,)


def sharded_results_left_open() -> Program:
    rows = NamedSharding(mesh(), PartitionSpec("data"))
    tree = {"s": array((8,), sharding=rows), "w": array((16, 8), sharding=rows)}

    def step(tree):
        return {"s": tree["s"].astype(jnp.bfloat16), "w": tree["w"] + 1}

    return jax.jit(step, donate_argnums=0), (tree,)


def sharding_changed() -> Program:
    rows = NamedSharding(mesh(), PartitionSpec("data"))
    copies = NamedSharding(mesh(), PartitionSpec())
    return jax.jit(lambda x: x * 2, donate_argnums=0, out_shardings=copies), (
        array((16, 8), sharding=rows),
    )


def mapped_over_devices() -> Program:
    import functools

    try:
        from jax import shard_map
    except ImportError:
        from jax.experimental.shard_map import shard_map
    spec = PartitionSpec("data")
    mapped = functools.partial(shard_map, mesh=mesh(), in_specs=spec, out_specs=spec)
    return jax.jit(mapped(lambda x: x + jax.lax.axis_index("data")), donate_argnums=0), (
        array((16, 8), jnp.int32, NamedSharding(mesh(), spec)),
    )


def replicated() -> Program:
    return jax.pmap(lambda x: x + 1, donate_argnums=0, devices=DEVICES), (
        array((len(DEVICES), 4), sharding=None),
    )


def donors_only() -> Program:
    def step(a, b, c):
        return a.astype(jnp.float16), b.astype(jnp.float16), c.astype(jnp.float16)

    return jax.jit(step, donate_argnums=(0, 1, 2)), tuple(array((n, 2)) for n in (3, 4, 5))


PROGRAMS: tuple[Callable[[], Program], ...] = (
    donated_tree,
    donated_tree_of_many,
    donated_tree_of_very_many,
    single_result,
    no_donation,
    no_parameters,
    no_results,
    one_in_a_tuple,
    cast_to_bfloat16,
    shape_changed,
    swapped_results,
    unused_leaf,
    random_key,
    zero_size,
    many_types,
    mutable_reference,
    name_in_another_alphabet,
    ordered_effect,
    pinned_host,
    column_major,
    sharded_tree,
    sharded_results_left_open,
    sharding_changed,
    mapped_over_devices,
    replicated,
    donors_only,
)


def first_line(text: str) -> str:
    """The header of a module."""
    return text.partition("\n")[0]


def headers() -> Iterator[str]:
    """The headers of the compiled modules, and of one before it is compiled."""
    for program in PROGRAMS:
        try:
            function, arguments = program()
            lowered = function.lower(*arguments)
            if program is sharded_tree:
                yield first_line(lowered.compiler_ir("hlo").as_hlo_text())
            yield first_line(lowered.compile().as_text())
        except Exception as error:
            print(f"{program.__name__}: {str(error).splitlines()[:1]}", file=sys.stderr)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(*dict.fromkeys(headers()), sep="\n")
