"""Drift programs with optax, flax linen, flax nnx and equinox."""

from __future__ import annotations

import equinox as eqx
import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
from flax import nnx
from flax.training import train_state

from drifting import program

f32, bf16, f16, i32 = jnp.float32, jnp.bfloat16, jnp.float16, jnp.int32


def loss(params, x):
    return jnp.mean((x @ params["w"] + params["b"]) ** 2)


def parameters(dtype=f32):
    return {"w": jnp.ones((4, 4), dtype), "b": jnp.ones(4, dtype)}


@program(library="optax/", leaves=2)
def optax_with_another_mu_dtype():
    before, now = optax.adamw(1e-3), optax.adamw(1e-3, mu_dtype=bf16)

    def step(params, opt, x):
        grads = jax.grad(loss)(params, x)
        updates, opt = now.update(grads, opt, params)  # ^ now.update(grads, opt, params)
        return optax.apply_updates(params, updates), opt

    args = (parameters(), before.init(parameters()), jnp.ones((2, 4)))
    return jax.jit(step, donate_argnums=(0, 1)), args


@program(library="optax/", leaves=2)
def optax_moments_fed_wide_gradients():
    tx = optax.adamw(1e-3)

    def step(params, opt, x):
        wide = jax.tree.map(lambda a: a.astype(f32), params)
        grads = jax.grad(loss)(wide, x)
        updates, opt = tx.update(grads, opt, params)  # ^ tx.update(grads, opt, params)
        return optax.apply_updates(params, updates), opt

    args = (parameters(bf16), tx.init(parameters(bf16)), jnp.ones((2, 4)))
    return jax.jit(step, donate_argnums=(0, 1)), args


@program(leaves=3)
def linen_train_state_with_statistics():
    class State(train_state.TrainState):
        batch_stats: dict | None = None

    class Net(nn.Module):
        @nn.compact
        def __call__(self, x, train=True):
            x = nn.Dense(4, dtype=bf16)(x)
            x = nn.BatchNorm(use_running_average=not train)(x)
            return nn.Dense(1)(x)

    net = Net()
    variables = net.init(jax.random.key(0), jnp.ones((2, 4)))

    def step(state, x):
        def inner(p):
            held = {"params": p, "batch_stats": state.batch_stats}
            y, updated = net.apply(held, x, mutable=["batch_stats"])
            return jnp.mean(y.astype(f32) ** 2), updated

        grads, updated = jax.grad(inner, has_aux=True)(state.params)
        state = state.apply_gradients(grads=grads)
        return state.replace(
            step=state.step * 1.0,  # ^<step> state.step * 1.0
            batch_stats=jax.tree.map(
                lambda s: s.astype(f16),  # ^<batch_stats> s.astype(f16)
                updated["batch_stats"],
            ),
        )

    state = State.create(
        apply_fn=net.apply,
        params=variables["params"],
        tx=optax.adam(1e-3),
        batch_stats=variables["batch_stats"],
    )
    return jax.jit(step, donate_argnums=0), (state, jnp.ones((2, 4)))


@program(code="DT402")
def linen_cache_in_a_module():
    class Cached(nn.Module):
        @nn.compact
        def __call__(self, x):
            c = self.variable("cache", "k", lambda: jnp.zeros((4,), bf16))
            c.value = c.value * 0.9 + x.mean(0)  # ^ c.value * 0.9 + x.mean(0)
            return x + c.value

    net = Cached()
    made = jax.eval_shape(net.init, jax.random.key(0), jnp.ones((2, 4)))
    variables = jax.tree.map(lambda a: jnp.zeros(a.shape, bf16), made)

    def step(state, x):
        y, updated = net.apply(state, x, mutable=["cache"])
        return updated, y

    return jax.jit(step, donate_argnums=0), (variables, jnp.ones((2, 4)))


@program()
def nnx_split_and_merge():
    class Counting(nnx.Module):
        def __init__(self, rngs):
            self.linear = nnx.Linear(4, 4, rngs=rngs)
            self.n = nnx.Variable(jnp.zeros((), i32))

        def __call__(self, x):
            self.n.value = self.n.value + 1.5  # ^ self.n.value + 1.5
            return self.linear(x)

    graph, state = nnx.split(Counting(nnx.Rngs(0)))

    def step(state, x):
        model = nnx.merge(graph, state)
        y = model(x)
        return nnx.split(model)[1], y.sum()

    return jax.jit(step, donate_argnums=0), (state, jnp.ones((2, 4)))


@program(code="DT401")
def equinox_method():
    class Cell(eqx.Module):
        w: jax.Array
        h: jax.Array

        def next(self, x):
            h = jnp.tanh(self.w @ x + self.h)
            return Cell(self.w, jnp.stack([h, h]))  # ^ jnp.stack([h, h])

    step = jax.jit(lambda cell, x: cell.next(x), donate_argnums=0)
    return step, (Cell(jnp.ones((4, 4)), jnp.ones(4)), jnp.ones(4))


# Of other shapes, written before the walk met them.


@program(code="DT402", leaves=1)
def equinox_filter_jit_and_tree_at():
    class Layer(eqx.Module):
        weight: jax.Array
        bias: jax.Array

    @eqx.filter_jit(donate="all")
    def step(layer, x):
        y = layer.weight @ x + layer.bias
        low = (layer.bias + y).astype(f16)  # ^ (layer.bias + y).astype(f16)
        return eqx.tree_at(lambda each: each.bias, layer, low)

    return step, (Layer(jnp.ones((4, 4)), jnp.ones(4)), jnp.ones(4))


@program(leaves=1)
def nnx_jit_and_a_submodule():
    class Part(nnx.Module):
        def __init__(self):
            self.calls = nnx.Variable(jnp.zeros((), i32))

        def __call__(self, x):
            self.calls.value = self.calls.value + x.sum()  # ^ self.calls.value + x.sum()
            return x

    class Whole(nnx.Module):
        def __init__(self, rngs):
            self.part = Part()
            self.linear = nnx.Linear(4, 4, rngs=rngs)

        def __call__(self, x):
            return self.part(self.linear(x))

    @nnx.jit(donate_argnums=0)
    def step(model, x):
        return model(x).sum()

    return step, (Whole(nnx.Rngs(0)), jnp.ones((2, 4)))


@program(code="DT402", library="optax/", leaves=2)
def optax_incremental_update():
    def step(target, params, tau):
        new, old = params, target
        return optax.incremental_update(new, old, tau)  # ^ optax.incremental_update(new, old, tau)

    args = (parameters(bf16), parameters(bf16), f32(0.1))
    return jax.jit(step, donate_argnums=0), args


@program(code="DT402")
def linen_cache_under_remat():
    class Inner(nn.Module):
        @nn.compact
        def __call__(self, x):
            seen = self.variable("cache", "seen", lambda: jnp.zeros((4,), f16))
            seen.value = seen.value + x.sum(0)  # ^ seen.value + x.sum(0)
            return x * 2

    class Outer(nn.Module):
        @nn.compact
        def __call__(self, x):
            return nn.remat(Inner)(name="inner")(x) + 1

    net = Outer()
    made = jax.eval_shape(net.init, jax.random.key(0), jnp.ones((2, 4)))
    variables = jax.tree.map(lambda a: jnp.zeros(a.shape, f16), made)

    def step(state, x):
        y, updated = net.apply(state, x, mutable=["cache"])
        return updated, y

    return jax.jit(step, donate_argnums=0), (variables, jnp.ones((2, 4)))


@program(code="DT402", library="optax/", leaves=2)
def optax_in_a_scan():
    tx, low = optax.trace(0.9), optax.trace(0.9, accumulator_dtype=bf16)

    def step(params, opt, xs):
        def body(carry, x):
            grads = jax.grad(loss)(params, x)
            _, new = tx.update(grads, carry)
            return new, jax.tree.map(lambda t: t.sum(), new)

        last, _ = jax.lax.scan(body, opt, xs[1:])
        grads = jax.grad(loss)(params, xs[0])
        return low.update(grads, last)[1]  # ^ low.update(grads, last)

    args = (parameters(), tx.init(parameters()), jnp.ones((3, 2, 4)))
    return jax.jit(step, donate_argnums=1), args
