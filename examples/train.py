"""A small transformer that reads a digit row by row and says which one it is.

The weights are bfloat16; Adam's moments, and a running average of the weights that is evaluated,
are float32. The whole state is donated to the step. donatree calls the fault dtype drift (DT402):
`average_weights` dates from when all was float32 and still casts to the type of the weights, so the
average enters the first step as float32 and leaves it as bfloat16. Nothing of that type and size
comes out, so its memory is not reused; since JAX 0.8 nothing is said either.

From the second call on the average is bfloat16 on both sides. That call has another signature and
compiles again; after it every byte is reused, but the average has lost its precision for good.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import digits
import jax
import jax.numpy as jnp
import numpy as np
import optax

WIDTH, HEADS, DEPTH, CLASSES = 32, 4, 2, 10
STEPS, BATCH, DECAY = 201, 64, 0.95

optimizer = optax.adamw(3e-3, weight_decay=1e-4)


class State(NamedTuple):
    """All that a step replaces."""

    params: Any
    opt_state: optax.OptState
    average: Any


def to_float32(tree):
    return jax.tree.map(lambda x: x.astype(jnp.float32), tree)


def init(seed):
    rng = np.random.default_rng(seed)

    def dense(n_in, n_out):
        return jnp.array(rng.normal(size=(n_in, n_out)) / n_in**0.5, jnp.bfloat16)

    params = {
        "embed": dense(8, WIDTH),
        "position": dense(8, WIDTH),
        "blocks": [
            {
                "qkv": dense(WIDTH, 3 * WIDTH),
                "out": dense(WIDTH, WIDTH),
                "up": dense(WIDTH, 4 * WIDTH),
                "down": dense(4 * WIDTH, WIDTH),
            }
            for _ in range(DEPTH)
        ],
        "head": dense(WIDTH, CLASSES),
    }
    # The moments in float32: with b2=0.999 they would stand still in bfloat16.
    return State(params, optimizer.init(to_float32(params)), average=to_float32(params))


def norm(x):
    return x * jax.lax.rsqrt(jnp.mean(jnp.square(x), axis=-1, keepdims=True) + 1e-6)


def predict(params, images):
    x = images.astype(params["embed"].dtype) @ params["embed"] + params["position"]
    for block in params["blocks"]:
        qkv = (norm(x) @ block["qkv"]).reshape(*x.shape[:2], 3 * HEADS, -1)
        mixed = jax.nn.dot_product_attention(*jnp.split(qkv, 3, axis=2))
        x = x + mixed.reshape(x.shape) @ block["out"]
        x = x + jax.nn.gelu(norm(x) @ block["up"]) @ block["down"]
    return norm(x).mean(axis=1) @ params["head"]


@jax.jit
def loss_of(params, images, labels):
    logits = predict(params, images).astype(jnp.float32)
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


def average_weights(average, params):
    return jax.tree.map(lambda a, p: (DECAY * a + (1 - DECAY) * p).astype(p.dtype), average, params)


@partial(jax.jit, donate_argnames="state")
def train_step(state, images, labels):
    loss, grads = jax.value_and_grad(loss_of)(state.params, images, labels)
    updates, opt_state = optimizer.update(
        to_float32(grads), state.opt_state, to_float32(state.params)
    )
    params = optax.apply_updates(state.params, updates)
    return State(params, opt_state, average_weights(state.average, params)), loss


def main():
    train, held_out = digits.load()
    state = init(seed=0)
    for step, (images, labels) in enumerate(digits.batches(*train, BATCH, STEPS)):
        state, loss = train_step(state, images, labels)
        if step % 50 == 0:
            average = loss_of(state.average, *held_out)
            print(f"step {step:4d}  loss {loss:.4f}  held-out loss of the average {average:.4f}")


if __name__ == "__main__":
    main()
