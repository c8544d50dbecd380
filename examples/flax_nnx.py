"""A small residual net in flax.nnx, five steps to a call.

donatree calls the fault a donating jit inside a jit (DT103): `train_step` donates the model and the
optimiser, but it is called from `train_chunk`, which is jitted too. Only the outermost jit owns
buffers, so the inner request counts for nothing: during a chunk two copies of every leaf are alive.
JAX says nothing.
"""

from __future__ import annotations

import digits
import optax
from flax import nnx

WIDTH, CHUNKS, CHUNK, BATCH = 64, 49, 5, 64

# flax 0.11 took the model out of nnx.Optimizer; what 0.10 calls so has this name there.
Optimizer = getattr(nnx, "ModelAndOptimizer", nnx.Optimizer)


class Block(nnx.Module):
    """A residual layer."""

    def __init__(self, rngs: nnx.Rngs):
        self.norm = nnx.LayerNorm(WIDTH, rngs=rngs)
        self.dense = nnx.Linear(WIDTH, WIDTH, rngs=rngs)

    def __call__(self, x):
        """Adds what the layer has to say to float32[n, WIDTH]."""
        return x + nnx.relu(self.dense(self.norm(x)))


class Net(nnx.Module):
    """Pixels in, logits out."""

    def __init__(self, rngs: nnx.Rngs):
        self.embed = nnx.Linear(64, WIDTH, rngs=rngs)
        self.first = Block(rngs)
        self.second = Block(rngs)
        self.head = nnx.Linear(WIDTH, 10, rngs=rngs)

    def __call__(self, images):
        """Returns the logits, float32[n, 10]."""
        x = self.embed(images.reshape(len(images), -1))
        return self.head(self.second(self.first(x)))


def loss_fn(model, images, labels):
    logits = model(images)
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


@nnx.jit(donate_argnums=(0, 1))
def train_step(model, optimizer, images, labels):
    loss, grads = nnx.value_and_grad(loss_fn)(model, images, labels)
    optimizer.update(grads)
    return loss


# Dispatching one step costs more than computing it: send five at a time.
@nnx.jit
def train_chunk(model, optimizer, images, labels):
    losses = [train_step(model, optimizer, images[i], labels[i]) for i in range(CHUNK)]
    return sum(losses) / CHUNK


def main():
    train, _ = digits.load()
    model = Net(nnx.Rngs(0))
    optimizer = Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)
    chunks = digits.batches(*train, CHUNK * BATCH, CHUNKS)
    for chunk, (images, labels) in enumerate(chunks):
        loss = train_chunk(
            model,
            optimizer,
            images.reshape(CHUNK, BATCH, 8, 8),
            labels.reshape(CHUNK, BATCH),
        )
        if chunk % 12 == 0:
            print(f"step {CHUNK * (chunk + 1):4d}  loss {loss:.4f}")


if __name__ == "__main__":
    main()
