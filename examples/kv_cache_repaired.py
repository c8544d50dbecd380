"""A transformer that completes digits row by row, with a cache of keys and values, repaired.

Beside `kv_cache.py` the cache has its full length from the start and each step writes its row into
it: what comes out has the size of what went in, and one compiled step serves every row.
"""

from __future__ import annotations

from functools import partial

import digits
import jax
import jax.numpy as jnp
import numpy as np
import optax

ROWS, TOP, WIDTH, HEADS, DEPTH = 8, 3, 32, 4, 2
ROUNDS, STEPS, BATCH = 4, 60, 64

optimizer = optax.adam(3e-3)


def init(seed):
    rng = np.random.default_rng(seed)

    def dense(n_in, n_out):
        return jnp.array(rng.normal(size=(n_in, n_out)) * 0.3 / n_in**0.5, jnp.float32)

    blocks = [
        {
            "qkv": dense(WIDTH, 3 * WIDTH),
            "out": dense(WIDTH, WIDTH),
            "up": dense(WIDTH, 2 * WIDTH),
            "down": dense(2 * WIDTH, WIDTH),
        }
        for _ in range(DEPTH)
    ]
    return {
        "embed": dense(8, WIDTH),
        "position": dense(ROWS, WIDTH),
        "blocks": blocks,
        "pixels": dense(WIDTH, 8),
    }


def project(block, x):
    qkv = (x @ block["qkv"]).reshape(*x.shape[:2], 3 * HEADS, -1)
    return jnp.split(qkv, 3, axis=2)


def finish(block, x, mixed):
    x = x + mixed.reshape(x.shape) @ block["out"]
    return x + jax.nn.relu(x @ block["up"]) @ block["down"]


def read(params, rows):
    """Predicts the row below each row; returns the keys and values on the way."""
    x = rows @ params["embed"] + params["position"][: rows.shape[1]]
    cache = []
    for block in params["blocks"]:
        q, k, v = project(block, x)
        cache.append({"k": k, "v": v})
        x = finish(block, x, jax.nn.dot_product_attention(q, k, v, is_causal=True))
    return x @ params["pixels"], cache


@jax.jit
def prefill(params, rows):
    predicted, cache = read(params, rows)
    below = ((0, 0), (0, ROWS - rows.shape[1]), (0, 0), (0, 0))
    return predicted[:, -1:], jax.tree.map(lambda x: jnp.pad(x, below), cache)


@partial(jax.jit, donate_argnames="cache")
def decode_step(params, row, cache, seen):
    x = row @ params["embed"] + params["position"][seen]
    visible = (jnp.arange(ROWS) <= seen)[None, None, None, :]
    updated = []
    for block, past in zip(params["blocks"], cache, strict=True):
        q, k, v = project(block, x)
        k = jax.lax.dynamic_update_slice_in_dim(past["k"], k, seen, axis=1)
        v = jax.lax.dynamic_update_slice_in_dim(past["v"], v, seen, axis=1)
        updated.append({"k": k, "v": v})
        x = finish(block, x, jax.nn.dot_product_attention(q, k, v, mask=visible))
    return x @ params["pixels"], updated


def complete(params, images):
    """Decodes the rows below the top ones, each from its own predictions."""
    row, cache = prefill(params, images[:, :TOP])
    rows = [row]
    for seen in range(TOP, ROWS - 1):
        row, cache = decode_step(params, row, cache, seen)
        rows.append(row)
    return jnp.concatenate(rows, axis=1)


@partial(jax.jit, donate_argnames=("params", "opt_state"))
def train_step(params, opt_state, images):
    def loss_fn(params):
        predicted, _ = read(params, images)
        return jnp.mean(jnp.square(predicted[:, :-1] - images[:, 1:]))

    updates, opt_state = optimizer.update(jax.grad(loss_fn)(params), opt_state)
    return optax.apply_updates(params, updates), opt_state


def main():
    train, (held_out, _) = digits.load()
    params = init(seed=0)
    opt_state = optimizer.init(params)
    for step, (images, _) in enumerate(digits.batches(*train, BATCH, ROUNDS * STEPS + 1)):
        if step % STEPS == 0:
            loss = jnp.mean(jnp.square(complete(params, held_out) - held_out[:, TOP:]))
            print(f"step {step:4d}  loss {loss:.4f}")
        params, opt_state = train_step(params, opt_state, images)


if __name__ == "__main__":
    main()
