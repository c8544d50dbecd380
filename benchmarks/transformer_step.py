"""The program that `run_overhead.py` times: a training step of a 12-layer transformer.

It knows nothing of donatree. Its last line is a JSON object of the seconds that it measured:

    JAX_PLATFORMS=cpu python benchmarks/transformer_step.py
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import optax

LAYERS, WIDTH, HEADS, LENGTH, VOCABULARY, BATCH = 12, 64, 4, 32, 256, 4

optimizer = optax.adamw(1e-3, weight_decay=1e-4)


def make_state(key: jax.Array) -> dict[str, Any]:
    """Weights, Adam's moments and a counter: 12 leaves a layer, three times."""
    keys = iter(jax.random.split(key, 2 + 6 * LAYERS))

    def dense(n_in: int, n_out: int) -> dict[str, jax.Array]:
        kernel = jax.random.normal(next(keys), (n_in, n_out)) / n_in**0.5
        return {"kernel": kernel, "bias": jnp.zeros(n_out)}

    params = {
        "embed": jax.random.normal(next(keys), (VOCABULARY, WIDTH)) / WIDTH**0.5,
        "position": jax.random.normal(next(keys), (LENGTH, WIDTH)) / WIDTH**0.5,
        "layers": {
            f"layer_{i}": {
                "norm_1": {"scale": jnp.ones(WIDTH), "bias": jnp.zeros(WIDTH)},
                "qkv": dense(WIDTH, 3 * WIDTH),
                "out": dense(WIDTH, WIDTH),
                "norm_2": {"scale": jnp.ones(WIDTH), "bias": jnp.zeros(WIDTH)},
                "up": dense(WIDTH, 4 * WIDTH),
                "down": dense(4 * WIDTH, WIDTH),
            }
            for i in range(LAYERS)
        },
    }
    return {"params": params, "opt_state": optimizer.init(params), "step": jnp.zeros((), jnp.int32)}


def norm(p: dict[str, jax.Array], x: jax.Array) -> jax.Array:
    centred = x - x.mean(-1, keepdims=True)
    scaled = centred * jax.lax.rsqrt(jnp.mean(jnp.square(centred), -1, keepdims=True) + 1e-6)
    return scaled * p["scale"] + p["bias"]


def dense(p: dict[str, jax.Array], x: jax.Array) -> jax.Array:
    return x @ p["kernel"] + p["bias"]


def logits_of(params: dict[str, Any], tokens: jax.Array) -> jax.Array:
    x = params["embed"][tokens] + params["position"]
    for layer in params["layers"].values():
        qkv = dense(layer["qkv"], norm(layer["norm_1"], x))
        q, k, v = (t.reshape(*x.shape[:2], HEADS, -1) for t in jnp.split(qkv, 3, axis=-1))
        mixed = jax.nn.dot_product_attention(q, k, v, is_causal=True)
        x = x + dense(layer["out"], mixed.reshape(x.shape))
        x = x + dense(layer["down"], jax.nn.gelu(dense(layer["up"], norm(layer["norm_2"], x))))
    return x @ params["embed"].T


def loss_of(params: dict[str, Any], tokens: jax.Array, targets: jax.Array) -> jax.Array:
    logits = logits_of(params, tokens)
    return optax.softmax_cross_entropy_with_integer_labels(logits, targets).mean()


@partial(jax.jit, donate_argnames="state")
def train_step(
    state: dict[str, Any], tokens: jax.Array, targets: jax.Array
) -> tuple[dict[str, Any], jax.Array]:
    loss, grads = jax.value_and_grad(loss_of)(state["params"], tokens, targets)
    updates, opt_state = optimizer.update(grads, state["opt_state"], state["params"])
    params = optax.apply_updates(state["params"], updates)
    return {"params": params, "opt_state": opt_state, "step": state["step"] + 1}, loss


@partial(jax.jit, donate_argnums=0)
def small_step(state: dict[str, jax.Array]) -> dict[str, jax.Array]:
    """Little but dispatch: what one call costs more would show here."""
    return {name: leaf + 1 for name, leaf in state.items()}


def seconds_per_call(
    call: Callable[[Any], Any], state: Any, calls: int, per_sample: int
) -> tuple[float, float]:
    """The median of wall and of CPU seconds over `calls` samples of `per_sample` calls each."""
    walls, cpus = [], []
    for _ in range(calls):
        start, cpu_start = time.perf_counter(), time.process_time()
        for _ in range(per_sample):
            state = call(state)
        jax.block_until_ready(state)
        walls.append((time.perf_counter() - start) / per_sample)
        cpus.append((time.process_time() - cpu_start) / per_sample)
    return statistics.median(walls), statistics.median(cpus)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=60, help="steady calls of the transformer")
    calls = parser.parse_args().calls

    key = jax.random.key(0)
    state = jax.block_until_ready(jax.jit(make_state)(key))
    tokens = jax.random.randint(key, (BATCH, LENGTH), 0, VOCABULARY)
    targets = jnp.roll(tokens, -1, axis=1)
    small = {f"leaf_{i}": jnp.zeros(4) for i in range(4)}
    jax.block_until_ready((tokens, targets, small))

    start, cpu_start = time.perf_counter(), time.process_time()
    state, loss = jax.block_until_ready(train_step(state, tokens, targets))
    first, first_cpu = time.perf_counter() - start, time.process_time() - cpu_start

    small = small_step(small)
    steady = seconds_per_call(lambda s: train_step(s, tokens, targets)[0], state, calls, 1)
    small_steady = seconds_per_call(small_step, small, 200, 100)
    measured = {
        "first": first,
        "first cpu": first_cpu,
        "steady": steady[0],
        "steady cpu": steady[1],
        "small": small_steady[0],
        "small cpu": small_steady[1],
        "loss": float(loss),
        "leaves": len(jax.tree.leaves(state)),
        "jax": jax.__version__,
    }
    print(json.dumps(measured))


if __name__ == "__main__":
    main()
