"""Drift programs in plain JAX: arithmetic, casts, helpers, constants, containers."""

from __future__ import annotations

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from drifting import program

f32, bf16, f16, i32 = jnp.float32, jnp.bfloat16, jnp.float16, jnp.int32


@program()
def int_counter():
    def step(state, g):
        return {
            "w": state["w"] - g,
            "step": state["step"] + 1.0,  # ^ state["step"] + 1.0
        }

    return jax.jit(step, donate_argnums=0), ({"w": jnp.ones(3), "step": jnp.zeros((), i32)}, 1.0)


@program(code="DT402", leaves=2)
def cast_in_a_helper():
    def to_half(tree):
        return jax.tree.map(
            lambda leaf: leaf.astype(bf16),  # ^ leaf.astype(bf16)
            tree,
        )

    def step(params, x):
        def loss(p):
            return jnp.mean((x @ p["w"] + p["b"]) ** 2)

        grads = jax.grad(loss)(params)
        return to_half(jax.tree.map(lambda p, g: p - 0.1 * g, params, grads))

    params = {"w": jnp.ones((4, 4)), "b": jnp.ones(4)}
    return jax.jit(step, donate_argnums=0), (params, jnp.ones((2, 4)))


@program(code="DT402", because="the other operand is float32 because of argument `lr`")
def promoted_by_an_argument():
    def step(params, x, lr):
        def loss(p):
            return jnp.mean((x @ p["w"].astype(f32)) ** 2)

        return jax.tree.map(
            lambda p, g: p - lr * g,  # ^ p - lr * g
            params,
            jax.grad(loss)(params),
        )

    args = ({"w": jnp.ones((4, 4), bf16)}, jnp.ones((2, 4)), f32(0.1))
    return jax.jit(step, donate_argnums=0), args


@program(code="DT402", because="the other operand is float32")
def promoted_by_a_numpy_scalar():
    rate = np.float32(0.1)

    def step(state, g):
        return {"w": state["w"] - rate * g["w"]}  # ^ state["w"] - rate * g["w"]

    half = {"w": jnp.ones(4, bf16)}
    return jax.jit(step, donate_argnums=0), (half, {"w": jnp.ones(4, bf16)})


@program(code="DT402")
def down_up_and_down_again():
    def step(state, g):
        low = state["w"].astype(bf16) * 2
        high = low.astype(f32) + g
        return {"w": high.astype(bf16)}  # ^ high.astype(bf16)

    return jax.jit(step, donate_argnums=0), ({"w": jnp.ones(4)}, jnp.ones(4))


@program(because="not computed from the leaf")
def replaced_by_zeros():
    def step(state, x):
        return {
            "acc": jnp.zeros(4, f16),  # ^ jnp.zeros(4, f16)
            "w": state["w"] - state["acc"] + x,
        }

    return jax.jit(step, donate_argnums=0), ({"acc": jnp.ones(4), "w": jnp.ones(4)}, 1.0)


@program(unknown="a constant is returned in its stead")
def replaced_by_a_python_number():
    def step(state, x):
        return {"acc": 0, "w": state["w"] - state["acc"] + x}

    return jax.jit(step, donate_argnums=0), ({"acc": f32(1), "w": jnp.ones(4)}, 1.0)


@program(unknown="a constant is returned in its stead")
def replaced_by_a_captured_array():
    fresh = np.zeros(4, np.float16)

    def step(state, x):
        return {"acc": fresh, "w": state["w"] - state["acc"] + x}

    return jax.jit(step, donate_argnums=0), ({"acc": jnp.ones(4), "w": jnp.ones(4)}, 1.0)


@program(code="DT403", because="not computed from the leaf")
def weak_and_not_from_the_leaf():
    def step(state, g):
        chosen = jnp.where(g > 0, 0.5, 1.5)  # ^ jnp.where(g > 0, 0.5, 1.5)
        return {"t": chosen, "w": state["w"] + state["t"]}

    return jax.jit(step, donate_argnums=0), ({"t": f32(1), "w": jnp.ones(3)}, 1.0)


@program(code="DT402")
def an_expression_of_several_lines():
    def step(state, g):
        return jax.tree.map(
            lambda p, q: (
                p  # ^[ p
                + q * f32(2)  # ^] q * f32(2)
            ),
            state,
            g,
        )

    return jax.jit(step, donate_argnums=0), ({"w": jnp.ones(4, bf16)}, {"w": jnp.ones(4, bf16)})


# Of other shapes, written before the walk met them.


@program(leaves=2)
def two_expressions_in_one_step():
    def step(state, x):
        new = {"n": state["n"] / 2}  # ^<'n'> state["n"] / 2
        new["h"] = jnp.stack([state["h"], x])  # ^<'h'> jnp.stack([state["h"], x])
        return new

    return jax.jit(step, donate_argnums=0), ({"n": i32(4), "h": jnp.ones(3)}, jnp.ones(3))


@program(code="DT402", leaves=60)
def many_leaves_of_one_expression():
    def step(state, x):
        return jax.tree.map(
            lambda s: (s * x).astype(bf16),  # ^ (s * x).astype(bf16)
            state,
        )

    state = {f"l{i}": {"w": jnp.ones((3, 3)), "b": jnp.ones(3)} for i in range(30)}
    return jax.jit(step, donate_argnums=0), (state, 2.0)


@program()
def a_method_of_a_dataclass():
    @jax.tree_util.register_dataclass
    @dataclasses.dataclass
    class Timer:
        ticks: jax.Array
        mean: jax.Array

        def next(self, x):
            mean = 0.9 * self.mean + x
            return dataclasses.replace(self, mean=mean, ticks=self.ticks / 2)  # ^ self.ticks / 2

    step = jax.jit(lambda timer, x: timer.next(x), donate_argnums=0)
    return step, (Timer(i32(8), jnp.ones(2)), 1.0)


@program(code="DT401", because="the other operand is float32[2,4] because of argument `x`")
def broadcast_by_an_argument():
    def step(state, x):
        return {"b": state["b"] + x}  # ^ state["b"] + x

    return jax.jit(step, donate_argnums=0), ({"b": jnp.ones(4)}, jnp.ones((2, 4)))


@program(code="DT401")
def a_cache_that_grows():
    def decode(token, cache):
        k = cache["k"]
        keys = jnp.concatenate([k, token[None]])  # ^ jnp.concatenate([k, token[None]])
        return token.sum() + keys.sum(), {"k": keys * 1.0}

    return jax.jit(decode, donate_argnames="cache"), (jnp.ones(2), {"k": jnp.ones((5, 2))})


@program()
def a_transposed_matrix():
    def step(state):
        turned = state["m"].T  # ^ state["m"].T
        return {"m": turned * 2 + 1}

    return jax.jit(step, donate_argnums=0), ({"m": jnp.ones((2, 3))},)


@program()
def a_flag_that_is_counted():
    def step(done, x):
        état, total = x * 2, done + 1  # ^ done + 1
        return total, état

    return jax.jit(step, donate_argnums=0), (jnp.zeros(5, bool), jnp.ones(3, f16))


@program()
def bits_of_another_type():
    def step(state):
        w = state["w"]
        raw = lax.bitcast_convert_type(w, i32)  # ^ lax.bitcast_convert_type(w, i32)
        return {"w": raw ^ 1}

    return jax.jit(step, donate_argnums=0), ({"w": jnp.ones(4)},)


@program(code="DT401")
def half_a_spectrum():
    def step(state):
        spectrum = jnp.fft.rfft(state["x"])  # ^ jnp.fft.rfft(state["x"])
        return {"x": jnp.real(spectrum)}

    return jax.jit(step, donate_argnums=0), ({"x": jnp.ones(8)},)


@program()
def raw_key_to_typed_key():
    def step(state):
        key = jax.random.wrap_key_data(state["key"])  # ^ jax.random.wrap_key_data(state["key"])
        return {"key": key}

    return jax.jit(step, donate_argnums=0), ({"key": jnp.zeros(2, jnp.uint32)},)


@program(code="DT403")
def weak_that_becomes_strong():
    def step(state, x):
        return {"x": state["x"] * x}  # ^ state["x"] * x

    return jax.jit(step, donate_argnums=0), ({"x": lax.full((4,), 2.0)}, jnp.ones(4))


@program(code="DT401")
def a_partial_with_a_padded_buffer():
    def step(width, state):
        return [jnp.pad(b, (0, width)) for b in state]  # ^ jnp.pad(b, (0, width))

    return jax.jit(functools.partial(step, 2), donate_argnums=0), ([jnp.ones(3)],)
