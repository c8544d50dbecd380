"""Softmax regression with momentum, without the switch.

Beside `debug_nans.py` a loss that is no number stops the training where it is printed, in Python,
and `jax_debug_nans` stays off: the state is updated in place.
"""

from __future__ import annotations

import digits
import jax
import jax.numpy as jnp
import optax

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
            if not jnp.isfinite(loss):
                raise FloatingPointError(f"loss is {loss} at step {step}")
            print(f"step {step:4d}  loss {loss:.4f}")


if __name__ == "__main__":
    main()
