"""A multilayer perceptron in Equinox.

donatree calls the fault a leaf without a slot (DT301): `donate="all"` gives the batch away together
with the model and the optimiser's state. No output has the size of a batch, so its memory cannot be
reused, and the warning that JAX has for this is one that `donate="all"` switches off.
"""

from __future__ import annotations

import digits
import equinox as eqx
import jax
import jax.numpy as jnp
import optax

STEPS, BATCH = 301, 48

optimizer = optax.adam(1e-3)


def loss_fn(model, images, labels):
    logits = jax.vmap(model)(images)
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


@eqx.filter_jit(donate="all")
def make_step(batch, model, opt_state):
    loss, grads = eqx.filter_value_and_grad(loss_fn)(model, *batch)
    updates, opt_state = optimizer.update(grads, opt_state)
    return loss, eqx.apply_updates(model, updates), opt_state


@eqx.filter_jit
def accuracy(model, images, labels):
    return jnp.mean(jax.vmap(model)(images).argmax(axis=1) == labels)


def main():
    (images, labels), held_out = digits.load()
    images = images.reshape(len(images), -1)
    test_images, test_labels = held_out[0].reshape(-1, 64), held_out[1]

    model = eqx.nn.MLP(in_size=64, out_size=10, width_size=128, depth=2, key=jax.random.key(0))
    opt_state = optimizer.init(eqx.filter(model, eqx.is_inexact_array))
    for step, batch in enumerate(digits.batches(images, labels, BATCH, STEPS)):
        batch = jax.tree.map(jnp.asarray, batch)
        loss, model, opt_state = make_step(batch, model, opt_state)
        if step % 100 == 0:
            right = accuracy(model, test_images, test_labels)
            print(f"step {step:4d}  loss {loss:.4f}  held-out accuracy {right:.3f}")


if __name__ == "__main__":
    main()
