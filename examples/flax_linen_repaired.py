"""A convolutional net with batch normalisation, in flax.linen, repaired.

Beside `flax_linen.py` the step hands the running statistics to `apply_fn`: they are read, so they
stay in the compiled step, and the new ones take their memory.
"""

from __future__ import annotations

from functools import partial

import digits
import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
from flax.training import train_state

STEPS, BATCH = 201, 64


class TrainState(train_state.TrainState):
    """The usual state with the running statistics beside it."""

    batch_stats: dict


class Net(nn.Module):
    """Two convolutions and a dense layer."""

    @nn.compact
    def __call__(self, images, train):
        """Returns the logits, float32[n, 10]."""
        x = images[..., None] - 0.3
        for features in (16, 32):
            x = nn.Conv(features, (3, 3), use_bias=False)(x)
            x = nn.BatchNorm(use_running_average=not train, momentum=0.9)(x)
            x = nn.max_pool(nn.relu(x), (2, 2), strides=(2, 2))
        return nn.Dense(10)(x.reshape(len(x), -1))


def create(key):
    net = Net()
    variables = jax.jit(partial(net.init, train=False))(key, jnp.zeros((1, 8, 8)))
    state = TrainState.create(
        apply_fn=net.apply,
        params=variables["params"],
        tx=optax.sgd(0.01, momentum=0.9),
        batch_stats=variables["batch_stats"],
    )
    # create() counts from Python's 0: an array from the start keeps one signature.
    return state.replace(step=jnp.array(0))


def cross_entropy(logits, labels):
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


def train_step(state, images, labels):
    def loss_fn(params):
        variables = {"params": params, "batch_stats": state.batch_stats}
        logits, updates = state.apply_fn(variables, images, train=True, mutable=["batch_stats"])
        return cross_entropy(logits, labels), updates

    (loss, updates), grads = jax.value_and_grad(loss_fn, has_aux=True)(state.params)
    return state.apply_gradients(grads=grads, batch_stats=updates["batch_stats"]), loss


train_step = jax.jit(train_step, donate_argnums=(0,))


@jax.jit
def evaluate(state, images, labels):
    variables = {"params": state.params, "batch_stats": state.batch_stats}
    return cross_entropy(state.apply_fn(variables, images, train=False), labels)


def main():
    train, held_out = digits.load()
    state = create(jax.random.key(0))
    for step, (images, labels) in enumerate(digits.batches(*train, BATCH, STEPS)):
        state, loss = train_step(state, images, labels)
        if step % 50 == 0:
            test_loss = evaluate(state, *held_out)
            print(f"step {step:4d}  loss {loss:.4f}  held-out loss {test_loss:.4f}")


if __name__ == "__main__":
    main()
