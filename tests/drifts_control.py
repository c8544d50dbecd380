"""Drift programs with control flow, transformations and functions within functions."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, PartitionSpec

from drifting import program

f32, bf16, f16, i32 = jnp.float32, jnp.bfloat16, jnp.float16, jnp.int32


def shard_map():
    if hasattr(jax, "shard_map"):
        return jax.shard_map
    from jax.experimental.shard_map import shard_map

    return shard_map


def one_device():
    return Mesh(np.array(jax.devices()[:1]), ("x",))


@program()
def scan_and_the_last_of_its_outputs():
    def step(state, xs):
        def body(carry, x):
            new = {"w": carry["w"] * 0.9 + x, "h": jnp.tanh(carry["h"]) + x}
            return new, {"w": new["w"], "h": new["h"].astype(bf16)}  # ^ new["h"].astype(bf16)

        _, ys = lax.scan(body, state, xs)
        return jax.tree.map(lambda y: y[-1], ys)

    return jax.jit(step, donate_argnums=0), ({"w": jnp.ones(4), "h": jnp.ones(4)}, jnp.ones((7, 4)))


@program()
def weak_carry_that_scan_promotes():
    def step(state, xs):
        def body(carry, x):
            return {"n": carry["n"] + x.sum()}, None

        end, _ = lax.scan(body, state, xs)  # ^ lax.scan(body, state, xs)
        return end

    return jax.jit(step, donate_argnums=0), ({"n": 0}, jnp.ones((7, 4)))


@program(code="DT402")
def cast_before_a_scan():
    def step(state, xs):
        def body(carry, x):
            return jax.tree.map(lambda a: a * 0.5, carry), None

        wide = jax.tree.map(lambda a: a.astype(f32), state)  # ^ a.astype(f32)
        return lax.scan(body, wide, xs)[0]

    return jax.jit(step, donate_argnums=0), ({"c": jnp.ones(4, bf16)}, jnp.ones((7, 4)))


@program(code="DT401")
def jit_in_remat_around_a_custom_vjp():
    @jax.custom_vjp
    def sine(x):
        return jnp.sin(x)

    sine.defvjp(lambda x: (jnp.sin(x), x), lambda r, g: (g * jnp.cos(r),))

    @jax.jit
    def longer(x):
        y = sine(x)
        return jnp.concatenate([y, jnp.zeros(1)])  # ^ jnp.concatenate([y, jnp.zeros(1)])

    def step(state, scale):
        inner = jax.checkpoint(lambda s: longer(s * 2))
        return {"x": inner(state["x"]) * scale}

    return jax.jit(step, donate_argnums=0), ({"x": jnp.ones(4)}, 1.0)


@program()
def both_branches_after_a_loop():
    def step(state, b):
        x = lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * 2), (0, state["x"]))[1]
        y = lax.cond(
            b > 0,
            lambda v: v.reshape(1, 4) * 1.0,  # ^ v.reshape(1, 4)
            lambda v: v.reshape(1, 4) + 2.0,
            x,
        )
        return {"x": y}

    return jax.jit(step, donate_argnums=0), ({"x": jnp.ones(4)}, 1.0)


@program(code="DT402")
def inside_a_shard_map():
    def step(state, g):
        def local(w, g):
            return (w - g).astype(f16)  # ^ (w - g).astype(f16)

        x = PartitionSpec("x")
        mapped = shard_map()(local, mesh=one_device(), in_specs=(x, x), out_specs=x)
        return {"w": mapped(state["w"], g)}

    return jax.jit(step, donate_argnums=0), ({"w": jnp.ones(4)}, jnp.ones(4))


# Of other shapes, written before the walk met them.


@program(code="DT402")
def cast_after_a_fori_loop():
    def step(state, x):
        end = lax.fori_loop(0, 4, lambda i, s: s * x + i, state["s"])
        return {"s": lax.convert_element_type(end, bf16)}  # ^ lax.convert_element_type(end, bf16)

    return jax.jit(step, donate_argnums=0), ({"s": jnp.ones(4)}, 2.0)


@program(because="the other operand is the Python number 0.5")
def where_that_others_called_before():
    mask = jnp.array([True, False])
    jax.jit(lambda a: jnp.where(mask, a, 0.5))(jnp.array([3, 4]))

    def step(state, mask):
        return {"m": jnp.where(mask, state["m"], 0.5)}  # ^ jnp.where(mask, state["m"], 0.5)

    return jax.jit(step, donate_argnums=0), ({"m": jnp.array([1, 2])}, mask)


@program(because="the other operand is float32 because of argument `x`")
def a_sum_that_others_called_before():
    def elsewhere(a, b):
        return jnp.add(a, b), jnp.true_divide(a, 3), jnp.clip(a, 0, 5)

    jax.jit(elsewhere)(jnp.array([3, 4]), jnp.ones(2))

    def step(state, x):
        return {"m": jnp.add(state["m"], x)}  # ^ jnp.add(state["m"], x)

    return jax.jit(step, donate_argnums=0), ({"m": jnp.array([1, 2])}, jnp.ones(2))


@program()
def a_division_that_others_called_before():
    jax.jit(lambda a: (jnp.true_divide(a, 3), jnp.mod(a, 3)))(jnp.array([3, 4]))

    def step(state):
        m = jnp.mod(state["m"], 3)
        return {"m": jnp.true_divide(m, 3)}  # ^ jnp.true_divide(m, 3)

    return jax.jit(step, donate_argnums=0), ({"m": jnp.array([1, 2])},)


@program(code="DT401")
def median_that_others_called_before():
    def elsewhere(a):
        return jnp.median(a, axis=0)

    jax.jit(elsewhere)(jnp.ones((4, 3)))

    def step(state):
        return {"m": jnp.median(state["m"], axis=0)}  # ^ jnp.median(state["m"], axis=0)

    return jax.jit(step, donate_argnums=0), ({"m": jnp.ones((4, 3))},)


@program(code="DT402")
def variance_in_a_wider_type():
    jax.jit(lambda a: jnp.var(a, dtype=f32))(jnp.ones((4, 3), bf16))

    def step(state):
        v = state["v"] * 2
        return {"v": jnp.var(v, 1, f32, keepdims=True)}  # ^ jnp.var(v, 1, f32, keepdims=True)

    return jax.jit(step, donate_argnums=0), ({"v": jnp.ones((4, 1), bf16)},)


@program(code="DT402")
def inside_a_vmap():
    def one(w, x):
        scaled = w * x
        return jnp.asarray(scaled, dtype=f16)  # ^ jnp.asarray(scaled, dtype=f16)

    def step(state, xs):
        return {"w": jax.vmap(one)(state["w"], xs)}

    return jax.jit(step, donate_argnums=0), ({"w": jnp.ones((3, 4))}, jnp.ones(3))


@program(code="DT402")
def one_branch_of_a_switch():
    def step(state, which):
        branches = [
            lambda s: s * f32(2),  # ^ s * f32(2)
            lambda s: s.astype(f32) + 1,
            lambda s: jnp.zeros(4, f32),
        ]
        return {"s": lax.switch(which, branches, state["s"])}

    return jax.jit(step, donate_argnums=0), ({"s": jnp.ones(4, bf16)}, 0)


@program(code="DT402")
def inside_a_custom_jvp():
    @jax.custom_jvp
    def soft(x):
        return jnp.log1p(jnp.exp(x.astype(f32)))  # ^ x.astype(f32)

    @soft.defjvp
    def soft_jvp(primals, tangents):
        return soft(primals[0]), jax.nn.sigmoid(primals[0]) * tangents[0]

    def step(state):
        return {"x": soft(state["x"])}

    return jax.jit(step, donate_argnums=0), ({"x": jnp.ones(4, bf16)},)


@program(code="DT402", leaves=2)
def gradients_summed_by_a_scan():
    def step(sums, params, batches):
        def loss(p, batch):
            return jnp.sum((batch @ p["w"] + p["b"]) ** 2)

        def body(total, batch):
            grads = jax.grad(loss)(params, batch)
            return jax.tree.map(jnp.add, total, grads), None

        total, _ = lax.scan(body, sums, batches)
        count = batches.shape[0]
        return jax.tree.map(lambda t: (t / count).astype(f16), total)  # ^ (t / count).astype(f16)

    params = {"w": jnp.ones((4, 4)), "b": jnp.ones(4)}
    sums = jax.tree.map(jnp.zeros_like, params)
    return jax.jit(step, donate_argnums=0), (sums, params, jnp.ones((3, 2, 4)))


@program(code="DT402", leaves=2)
def an_inner_jit_called_from_two_places():
    @jax.jit
    def shrink(x):
        y = x * 0.5
        return y.astype(bf16)  # ^ y.astype(bf16)

    def step(state):
        first = shrink(state["a"])
        return {"a": first, "b": shrink(state["b"])}

    return jax.jit(step, donate_argnums=0), ({"a": jnp.ones(4), "b": jnp.ones(4)},)


@program(code="DT401")
def layers_that_grow_within_a_scan():
    def step(layers, x):
        def body(h, layer):
            wider = jnp.append(layer, h.sum())  # ^ jnp.append(layer, h.sum())
            return h * 0.5, wider * 2

        return lax.scan(body, x, layers)[1]

    return jax.jit(step, donate_argnums=0), (jnp.ones((5, 3)), jnp.ones(2))


@program(code="DT401")
def a_local_shape_within_a_shard_map():
    def step(state):
        def local(w):
            return jnp.repeat(w, 2, axis=1) + 1  # ^ jnp.repeat(w, 2, axis=1)

        x = PartitionSpec("x")
        mapped = shard_map()(local, mesh=one_device(), in_specs=(x,), out_specs=x)
        return {"w": mapped(state["w"] * 3)}

    return jax.jit(step, donate_argnums=0), ({"w": jnp.ones((4, 2))},)


@program(code="DT402")
def deep_within_jits_and_loops():
    @jax.jit
    def outer(s, x):
        @jax.jit
        def inner(c):
            def body(i, v):
                return jnp.sin(v) * x

            v = lax.fori_loop(0, 3, body, c)
            return lax.cond(x > 0, lambda u: u, lambda u: -u, v)

        return inner(s.astype(f32)) + 1  # ^ s.astype(f32)

    def step(state, x):
        return {"s": jax.checkpoint(outer)(state["s"], x)}

    return jax.jit(step, donate_argnums=0), ({"s": jnp.ones(4, f16)}, 2.0)


@program()
def the_whole_step_under_vmap():
    def step(state, x):
        return {"n": state["n"] + x * 0.5}  # ^ state["n"] + x * 0.5

    return jax.jit(jax.vmap(step), donate_argnums=0), ({"n": jnp.arange(4)}, jnp.arange(4))


@program(code="DT402")
def effects_and_hoisted_constants():
    table = jnp.arange(5000.0)

    def step(state, x):
        jax.debug.print("{}", x, ordered=True)
        moved = state["s"] * x + table
        return {"s": moved.astype(f16)}  # ^ moved.astype(f16)

    return jax.jit(step, donate_argnums=0), ({"s": jnp.ones(5000)}, 2.0)


@program(code="DT402")
def behind_a_linear_solve():
    def step(state, matrix):
        wide = state["x"].astype(f32)  # ^ state["x"].astype(f32)
        return {"x": jnp.linalg.solve(matrix, wide) * 2}

    return jax.jit(step, donate_argnums=0), ({"x": jnp.ones(3, bf16)}, jnp.eye(3))


@program(code="DT402", leaves=2)
def gradients_of_a_custom_rule_in_a_remat_scan():
    @jax.custom_vjp
    def clipped(x):
        return x

    def backward(_, g):
        return (jnp.clip(g, -1, 1),)

    clipped.defvjp(lambda x: (x, None), backward)

    def step(state, xs):
        def loss(params):
            def body(h, x):
                return jnp.tanh(clipped(h @ params["w"]) + x), None

            return lax.scan(jax.checkpoint(body), params["h"], xs)[0].sum()

        grads = jax.grad(loss)(state)
        return jax.tree.map(
            lambda p, g: (p - 0.1 * g).astype(f16),  # ^ (p - 0.1 * g).astype(f16)
            state,
            grads,
        )

    state = {"w": jnp.ones((3, 3)), "h": jnp.ones(3)}
    return jax.jit(step, donate_argnums=0), (state, jnp.ones((4, 3)))


@program(because="not computed from the leaf")
def summed_anew_by_a_loop():
    def step(state, xs):
        def body(i, total):
            return total + xs[i]  # ^ total + xs[i]

        mean = lax.fori_loop(0, 3, body, f16(0))
        return {"mean": mean, "w": state["w"] * state["mean"]}

    args = ({"mean": f32(0), "w": jnp.ones(4)}, jnp.ones(3, f16))
    return jax.jit(step, donate_argnums=0), args


@program(unknown="argument `fresh` is returned in its stead")
def replaced_by_an_argument():
    def step(state, fresh):
        return {"m": fresh, "w": state["w"] * state["m"]}

    return jax.jit(step, donate_argnums=0), ({"m": f32(0), "w": jnp.ones(4)}, f16(1))


@program(code="DT402", leaves=4)
def many_leaves_through_a_branch():
    def step(state, skip):
        def update(old):
            return jax.tree.map(lambda a: (a * 0.5).astype(f16), old)  # ^ (a * 0.5).astype(f16)

        def keep(old):
            return jax.tree.map(lambda a: jnp.zeros(a.shape, f16), old)

        return lax.cond(skip, keep, update, state)

    state = {name: jnp.ones((3, 3)) for name in "abcd"}
    return jax.jit(step, donate_argnums=0), (state, True)
