"""A decoder's train step at 1, 8, 70 and 405 billion parameters, of which no weight is allocated.

Layers are one `scan` with remat, weights and Adam's moments are float32 and split over all devices
(FSDP), the arithmetic is bfloat16, gradients are clipped. `one_billion` to
`four_hundred_five_billion` return the jitted step and its arguments as `jax.ShapeDtypeStruct`,
which is all that donatree needs: `donatree audit examples/decoder.py::seventy_billion --target
tpu:v5p:8x8x8` compiles the step for 512 chips that are not there. The mesh is made of whatever
`jax.devices()` gives, with one sequence to a device.

There is no fault in it: every leaf of the state is reused. As a script it trains the smallest one,
on sequences in which each token follows from the one before.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

STEPS, LENGTH, ROWS, RATE = 61, 32, 8, 1e-2
SMALL = 2**14  # arrays of fewer elements are not worth splitting


class Size(NamedTuple):
    """The shape of a decoder; several query heads share one head of keys and values."""

    layers: int
    width: int
    heads: int
    kv_heads: int
    hidden: int
    vocabulary: int


TINY = Size(2, 64, 4, 2, 128, 64)
SIZES = {
    "one_billion": Size(16, 2048, 32, 8, 7168, 32768),
    "eight_billion": Size(32, 4096, 32, 8, 14336, 128256),
    "seventy_billion": Size(80, 8192, 64, 8, 28672, 128256),
    "four_hundred_five_billion": Size(126, 16384, 128, 8, 53248, 128256),
}


class State(NamedTuple):
    """All that a step replaces."""

    params: Any
    opt_state: optax.OptState
    step: jax.Array


def shapes(size):
    """The shape of each weight; those of all layers are stacked for `scan`."""
    head = size.width // size.heads
    layer = {
        "norm_attention": (size.width,),
        "query": (size.width, size.heads * head),
        "key": (size.width, size.kv_heads * head),
        "value": (size.width, size.kv_heads * head),
        "out": (size.heads * head, size.width),
        "norm_mlp": (size.width,),
        "gate": (size.width, size.hidden),
        "up": (size.width, size.hidden),
        "down": (size.hidden, size.width),
    }
    return {
        "embed": (size.vocabulary, size.width),
        "layers": {name: (size.layers, *shape) for name, shape in layer.items()},
        "norm": (size.width,),
        "head": (size.width, size.vocabulary),
    }


def count(size):
    """How many parameters a decoder of this size has."""
    return sum(map(math.prod, jax.tree.leaves(shapes(size), is_leaf=is_shape)))


def is_shape(tree):
    return isinstance(tree, tuple)


def init(size, optimizer, key):
    named, treedef = jax.tree_util.tree_flatten_with_path(shapes(size), is_leaf=is_shape)
    keys = jax.random.split(key, len(named))

    def weight(path, shape, key):
        if path[-1].key.startswith("norm"):
            return jnp.ones(shape)
        return jax.random.normal(key, shape) * shape[-2] ** -0.5

    weights = [weight(*each, key) for each, key in zip(named, keys, strict=True)]
    params = treedef.unflatten(weights)
    return State(params, optimizer.init(params), jnp.zeros((), jnp.int32))


def normed(x, scale):
    y = x.astype(jnp.float32)
    y = y * jax.lax.rsqrt(jnp.mean(y * y, axis=-1, keepdims=True) + 1e-6)
    return (y * scale).astype(x.dtype)


def rotated(x):
    """Rotary positions, over the two halves of each head."""
    half = x.shape[-1] // 2
    angles = jnp.arange(x.shape[1])[:, None] / 10_000 ** (jnp.arange(half) / half)
    cos, sin = jnp.cos(angles)[:, None].astype(x.dtype), jnp.sin(angles)[:, None].astype(x.dtype)
    a, b = jnp.split(x, 2, axis=-1)
    return jnp.concatenate([a * cos - b * sin, a * sin + b * cos], axis=-1)


def attention(size, p, x):
    batch, length, _ = x.shape
    head = size.width // size.heads
    q = rotated((x @ p["query"]).reshape(batch, length, size.heads, head))
    k = rotated((x @ p["key"]).reshape(batch, length, size.kv_heads, head))
    v = (x @ p["value"]).reshape(batch, length, size.kv_heads, head)
    q = q.reshape(batch, length, size.kv_heads, -1, head)
    scores = jnp.einsum("bqkgh,bskh->bkgqs", q, k, preferred_element_type=jnp.float32)
    causal = jnp.tril(jnp.ones((length, length), bool))
    weights = jax.nn.softmax(jnp.where(causal, scores * head**-0.5, -1e30), axis=-1)
    mixed = jnp.einsum("bkgqs,bskh->bqkgh", weights.astype(x.dtype), v)
    return mixed.reshape(batch, length, -1) @ p["out"]


def logits_of(size, pin, params, tokens):
    def layer(x, p):
        p = jax.tree.map(lambda w: w.astype(jnp.bfloat16), p)
        x = pin(x + attention(size, p, normed(x, p["norm_attention"])))
        h = normed(x, p["norm_mlp"])
        return pin(x + (jax.nn.silu(h @ p["gate"]) * (h @ p["up"])) @ p["down"]), None

    x = pin(params["embed"].astype(jnp.bfloat16)[tokens])
    x, _ = jax.lax.scan(jax.checkpoint(layer), x, params["layers"])
    return normed(x, params["norm"]) @ params["head"].astype(jnp.bfloat16)


def loss_fn(size, pin, params, tokens):
    logits = logits_of(size, pin, params, tokens[:, :-1]).astype(jnp.float32)
    return optax.softmax_cross_entropy_with_integer_labels(logits, tokens[:, 1:]).mean()


def train_step(size, pin, optimizer, state, tokens):
    loss, grads = jax.value_and_grad(partial(loss_fn, size, pin))(state.params, tokens)
    updates, opt_state = optimizer.update(grads, state.opt_state, state.params)
    return State(optax.apply_updates(state.params, updates), opt_state, state.step + 1), loss


def split(mesh, array):
    """A sharding over the longest axis that the devices divide; `scan` keeps its axis whole."""
    devices = mesh.devices.size
    stacked = array.ndim - 2 if array.ndim > 2 else 0
    axes = [i for i in range(stacked, array.ndim) if array.shape[i] % devices == 0]
    if array.size < SMALL or not axes:
        return NamedSharding(mesh, P())
    longest = max(axes, key=lambda i: array.shape[i])
    return NamedSharding(mesh, P(*[None] * longest, "data"))


def build(size, length, rows=1, rate=3e-4):
    """The jitted step, how to make its state, and the types of its arguments.

    There are `rows` sequences to a device.
    """
    mesh = Mesh(np.array(jax.devices()), ("data",))
    batch = NamedSharding(mesh, P("data"))
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(rate, weight_decay=0.1))

    def pin(x):
        return jax.lax.with_sharding_constraint(x, batch)

    make = partial(init, size, optimizer)
    state = jax.eval_shape(lambda: make(jax.random.key(0)))
    layout = jax.tree.map(partial(split, mesh), state)
    state = jax.tree.map(
        lambda x, sharding: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=sharding), state, layout
    )
    rows *= mesh.devices.size
    tokens = jax.ShapeDtypeStruct((rows, length + 1), jnp.int32, sharding=batch)
    step = jax.jit(
        partial(train_step, size, pin, optimizer),
        donate_argnums=0,
        out_shardings=(layout, NamedSharding(mesh, P())),
    )
    return step, jax.jit(make, out_shardings=layout), (state, tokens)


def of(name, length=2048):
    step, _, args = build(SIZES[name], length)
    return step, args


def one_billion():
    return of("one_billion")


def eight_billion():
    return of("eight_billion")


def seventy_billion():
    return of("seventy_billion")


def four_hundred_five_billion():
    return of("four_hundred_five_billion")


def sequences(rng, like, vocabulary):
    """A batch in which each token follows from the one before it."""
    rows = [rng.integers(vocabulary, size=like.shape[0])]
    while len(rows) < like.shape[1]:
        rows.append((rows[-1] * 5 + 3) % vocabulary)
    return jax.device_put(np.stack(rows, axis=1).astype(np.int32), like.sharding)


def main():
    for name, size in SIZES.items():
        print(f"{name.replace('_', ' ')}: {count(size):,} parameters")
    step_fn, make, (_, tokens) = build(TINY, LENGTH, ROWS, RATE)
    rng, state = np.random.default_rng(0), make(jax.random.key(0))
    for step in range(STEPS):
        state, loss = step_fn(state, sequences(rng, tokens, TINY.vocabulary))
        if step % 20 == 0:
            print(f"step {step:4d}  loss {loss:.4f}")


if __name__ == "__main__":
    main()
