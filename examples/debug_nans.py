"""Softmax regression with momentum, and a switch that was left on.

donatree calls the fault donation switched off by `jax_debug_nans` (DT101): while the switch is on,
JAX keeps the arguments of every call, so that it can run a step again to find the first NaN. The
request stays in the source, the state is held twice, and nothing is said.
"""

from __future__ import annotations

import digits
import jax
import jax.numpy as jnp
import optax

# There was a NaN in the first epoch once.
jax.config.update("jax_debug_nans", True)

STEPS, BATCH = 201, 64

optimizer = optax.sgd(0.1, momentum=0.9)


def loss_fn(params, images, labels):
    logits = images.reshape(len(images), -1) @ params["w"] + params["b"]
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


def train_step(params, opt_state, images, labels):
    loss, grads = jax.value_and_grad(loss_fn)(params, images, labels)
    updates, opt_state = optimizer.update(grads, opt_state)
    return optax.apply_updates(params, updates), opt_state, loss


def main():
    train, _ = digits.load()
    step_fn = jax.jit(train_step, donate_argnums=(0, 1))
    params = {"w": jnp.zeros((64, 10)), "b": jnp.zeros(10)}
    opt_state = optimizer.init(params)
    for step, (images, labels) in enumerate(digits.batches(*train, BATCH, STEPS)):
        params, opt_state, loss = step_fn(params, opt_state, images, labels)
        if step % 50 == 0:
            print(f"step {step:4d}  loss {loss:.4f}")


if __name__ == "__main__":
    main()
