"""Cases of types and shapes: what comes back otherwise than it went in, and odd kinds of leaves."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from cases_table import Call, Truth, case, kept, lost, unusable

f32, i32 = jnp.float32, jnp.int32


@case(
    Truth(
        (
            lost("net['kernel']", "float32[16,24]", 1536, "matched", "DT402"),
            kept("net['trace']", "float16[16,24]", 768, "result['trace']"),
        ),
        (2304, 2304, 2304, 768, 768),
        768,
        unusable("float32[16,24]"),
    ),
    Truth(
        (
            lost("net['kernel']", "float32[16,24]", 1536, "granted", "DT402"),
            kept("net['trace']", "float16[16,24]", 768, "result['trace']"),
        ),
        (2304, 2304, 2304, 2304, 768),
        768,
    ),
)
def returned_in_half_the_bytes() -> Call:
    def apply(net: Any, gradient: Any) -> Any:
        kernel = net["kernel"] * 0.99 - gradient.sum()
        return {"kernel": kernel.astype(jnp.bfloat16), "trace": net["trace"] * 2}

    net = {"kernel": jnp.ones((16, 24)), "trace": jnp.ones((16, 24), jnp.float16)}
    return Call(jax.jit(apply, donate_argnums=0), (net, jnp.ones(3)))


@case(
    Truth(
        (
            kept("meter['mean']", "float32[5]", 20, "result['mean']"),
            lost("meter['seen']", "int32[60]", 240, "matched", "DT402"),
        ),
        (260, 260, 260, 20, 20),
        20,
        unusable("int32[60]"),
    ),
    Truth(
        (
            kept("meter['mean']", "float32[5]", 20, "result['mean']"),
            kept("meter['seen']", "int32[60]", 240, "result['seen']", "DT403"),
        ),
        (260, 260, 260, 260, 260),
        260,
    ),
)
def counter_comes_back_as_float() -> Call:
    def count(meter: Any) -> Any:
        return {"mean": meter["mean"] / 2, "seen": meter["seen"] + 1.5}

    meter = {"mean": jnp.ones(5), "seen": jnp.arange(60, dtype=i32)}
    return Call(jax.jit(count, donate_argnums=0), (meter,))


@case(
    Truth(
        (lost("grid", "float32[6,4]", 96, "matched", "DT401"),),
        (96, 96, 96, 0, 0),
        0,
        unusable("float32[6,4]"),
    ),
    Truth((kept("grid", "float32[6,4]", 96, "result", "DT403"),), (96, 96, 96, 96, 96), 96),
)
def flattened_on_the_way() -> Call:
    def flatten(grid: Any) -> Any:
        return grid.reshape(-1) * 3

    return Call(jax.jit(flatten, donate_argnums=0), (jnp.ones((6, 4)),))


@case(
    Truth(
        (
            kept("cache['length']", "int32[]", 4, "result['length']"),
            lost("cache['values']", "float32[4,8]", 128, "matched", "DT401"),
        ),
        (132, 132, 132, 4, 4),
        4,
        unusable("float32[4,8]"),
    )
)
def cache_grows_by_a_row() -> Call:
    def append(cache: Any, row: Any) -> Any:
        return {
            "length": cache["length"] + 1,
            "values": jnp.concatenate([cache["values"], row[None]]),
        }

    cache = {"length": i32(4), "values": jnp.zeros((4, 8))}
    return Call(jax.jit(append, donate_argnums=0), (cache, jnp.ones(8)))


@case(
    Truth(
        (
            kept("net['out']", "float32[12,3]", 144, "result[0]['out']"),
            lost("pictures", "float32[6,2,2,3]", 288, "matched", "DT301"),
            lost("labels", "int32[6]", 24, "matched", "DT301"),
        ),
        (456, 456, 456, 144, 144),
        144,
        unusable("float32[6,2,2,3]", "int32[6]"),
    )
)
def batch_is_donated_by_mistake() -> Call:
    def fit(net: Any, pictures: Any, labels: Any) -> Any:
        scores = pictures.reshape(pictures.shape[0], -1) @ net["out"]
        error = jnp.mean((scores.max(-1) - labels) ** 2)
        return {"out": net["out"] - 0.1 * error}, error

    pictures, labels = jnp.ones((6, 2, 2, 3)), jnp.ones(6, i32)
    step = jax.jit(fit, donate_argnums=(0, 1, 2))
    return Call(step, ({"out": jnp.ones((12, 3))}, pictures, labels))


@case(
    Truth(
        (
            lost("opt['second']", "float32[9,5]", 180, "matched", "DT301"),
            kept("opt['weight']", "float32[7]", 28, "result['weight']"),
        ),
        (208, 208, 208, 28, 28),
        28,
        unusable("float32[9,5]"),
    )
)
def leaf_is_missing_from_the_result() -> Call:
    def update(opt: Any) -> Any:
        return {"weight": opt["weight"] - opt["second"].mean()}

    opt = {"second": jnp.ones((9, 5)), "weight": jnp.ones(7)}
    return Call(jax.jit(update, donate_argnums=0), (opt,))


@case(
    Truth(
        (
            kept("left", "float32[10]", 40, "result"),
            lost("right", "float32[10]", 40, "matched", "DT302"),
        ),
        (80, 80, 80, 40, 40),
        40,
        unusable("float32[10]"),
    )
)
def two_donors_for_one_slot() -> Call:
    def add(left: Any, right: Any) -> Any:
        return left + right

    return Call(jax.jit(add, donate_argnums=(0, 1)), (jnp.ones(10), jnp.ones(10)))


@case(
    Truth(
        (
            kept("state['history']", "float32[6]", 24, "result['history']"),
            kept("state['rate']", "float32[]", 4, "result['rate']", "DT403"),
            kept("state['turn']", "int32[]", 4, "result['turn']"),
            kept("state['weight']", "float32[6]", 24, "result['weight']"),
        ),
        (56, 56, 56, 56, 56),
        56,
    )
)
def python_scalars_and_numpy_in_the_state() -> Call:
    # `rate` goes in weakly typed and comes back strongly typed: the second call compiles again.
    def turn(state: Any) -> Any:
        return {
            "history": state["history"] + 1,
            "rate": state["rate"] * f32(0.9),
            "turn": state["turn"] + 1,
            "weight": state["weight"] * state["rate"],
        }

    state = {"history": np.ones(6, np.float32), "rate": 0.5, "turn": 0, "weight": jnp.ones(6)}
    return Call(jax.jit(turn, donate_argnums=0), (state,))


@case(
    Truth(
        (
            kept("bag['bfloat16']", "bfloat16[6]", 12, "result['bfloat16']"),
            kept("bag['bool']", "bool[6]", 6, "result['bool']"),
            kept("bag['float8']", "float8_e5m2[6]", 6, "result['float8']"),
            kept("bag['int4']", "int4[6]", 3, "result['int4']"),
            kept("bag['odd int4']", "int4[5]", 3, "result['odd int4']"),
            kept("bag['scalar']", "float32[]", 4, "result['scalar']"),
            kept("bag['uint8']", "uint8[6]", 6, "result['uint8']"),
            kept("bag['zero']", "float32[3,0]", 0, "result['zero']"),
        ),
        (40, 40, 40, 40, 40),
        40,
    )
)
def every_kind_of_leaf() -> Call:
    def double(bag: Any) -> Any:
        bools = {"bool": ~bag["bool"], "nothing": None}
        return {k: v + v for k, v in bag.items() if k not in bools} | bools

    bag = {
        "bfloat16": jnp.ones(6, jnp.bfloat16),
        "bool": jnp.ones(6, bool),
        "float8": jnp.ones(6, jnp.float8_e5m2),
        "int4": jnp.ones(6, jnp.int4),
        "nothing": None,
        "odd int4": jnp.ones(5, jnp.int4),
        "scalar": f32(1),
        "uint8": jnp.ones(6, jnp.uint8),
        "zero": jnp.zeros((3, 0)),
    }
    return Call(jax.jit(double, donate_argnums=0), (bag,))


@case(
    Truth(
        (
            kept("wave['phase']", "float32[4]", 16, "result['phase']"),
            kept("wave['psi']", "complex64[4,3]", 96, "result['psi']"),
        ),
        (112, 112, 112, 112, 112),
        112,
    )
)
def complex_leaves() -> Call:
    def turn(wave: Any) -> Any:
        return {"phase": wave["phase"] + 1, "psi": wave["psi"] * 1j}

    wave = {"phase": jnp.ones(4), "psi": jnp.ones((4, 3), jnp.complex64)}
    return Call(jax.jit(turn, donate_argnums=0), (wave,))


@case(
    Truth(
        (
            kept("walk['at']", "float32[2]", 8, "result['at']"),
            kept("walk['key']", "key<fry>[]", 8, "result['key']"),
            kept("walk['keys']", "key<fry>[3]", 24, "result['keys']"),
        ),
        (40, 40, 40, 40, 40),
        40,
    )
)
def random_keys_are_threaded() -> Call:
    def wander(walk: Any) -> Any:
        key, now = jax.random.split(walk["key"])
        at = walk["at"] + jax.random.normal(now, (2,))
        return {"at": at, "key": key, "keys": walk["keys"][::-1]}

    walk = {
        "at": jnp.zeros(2),
        "key": jax.random.key(7),
        "keys": jax.random.split(jax.random.key(8), 3),
    }
    return Call(jax.jit(wander, donate_argnums=0), (walk,))
