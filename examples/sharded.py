"""A perceptron on eight devices: the batch split over `data`, the weights over `model`.

donatree calls the fault a sharding changed by the compiler (DT405): the last layer's weights enter
the step split over `model`, and a constraint has them leave it whole on every device. The shard
that was given is half the size of what replaces it, so its memory is not reused; as the output
shardings are left open, JAX does not warn.

The second call gets the gathered weights, which is another signature: it compiles again, and from
there on every byte is reused, but each device holds twice as much of that layer.
"""

from __future__ import annotations

import os

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8")
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import digits
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

WIDTH, STEPS, BATCH, RATE, MOMENTUM = 256, 201, 64, 0.02, 0.9

mesh = Mesh(np.array(jax.devices()[:8]).reshape(4, 2), ("data", "model"))
LAYOUT = {"embed": P(None, "model"), "hidden": P("model", None), "head": P("model", None)}


def init(key):
    shapes = {"embed": (64, WIDTH), "hidden": (WIDTH, WIDTH), "head": (WIDTH, 10)}
    keys = dict(zip(shapes, jax.random.split(key, len(shapes)), strict=True))
    params = {
        name: jax.device_put(
            jax.random.normal(keys[name], shape) * (2 / shape[0]) ** 0.5,
            NamedSharding(mesh, LAYOUT[name]),
        )
        for name, shape in shapes.items()
    }
    return {"momentum": jax.tree.map(jnp.zeros_like, params), "params": params}


def pin(weights, layout):
    """Holds the weights to a layout, so that the compiler does not choose one of its own."""
    return {
        name: jax.lax.with_sharding_constraint(x, NamedSharding(mesh, layout[name]))
        for name, x in weights.items()
    }


def loss_fn(params, images, labels):
    x = jax.nn.relu(images.reshape(len(images), -1) @ params["embed"])
    x = jax.nn.relu(x @ params["hidden"])
    logits = x @ params["head"]
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


def train_step(state, images, labels):
    loss, grads = jax.value_and_grad(loss_fn)(state["params"], images, labels)
    momentum = jax.tree.map(lambda m, g: MOMENTUM * m + g, state["momentum"], grads)
    params = jax.tree.map(lambda p, m: p - RATE * m, state["params"], momentum)
    # The head is small: gather it once here and not in every forward pass.
    params = pin(params, LAYOUT | {"head": P()})
    return {"momentum": pin(momentum, LAYOUT), "params": params}, loss


def main():
    train, _ = digits.load()
    state = init(jax.random.key(0))
    step_fn = jax.jit(train_step, donate_argnums=0)
    for step, batch in enumerate(digits.batches(*train, BATCH, STEPS)):
        images, labels = jax.device_put(batch, NamedSharding(mesh, P("data")))
        state, loss = step_fn(state, images, labels)
        if step % 50 == 0:
            print(f"step {step:4d}  loss {loss:.4f}")


if __name__ == "__main__":
    main()
