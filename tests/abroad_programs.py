"""Programs that are compiled for other hardware; each gives a jitted function and its arguments.

Those of `SIX`, of `SHARDED` and of `MEMORY` were measured with the compile-only devices themselves,
without donatree, before it could do this: what it says is held against those measurements.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import Mesh, NamedSharding, SingleDeviceSharding
from jax.sharding import PartitionSpec as P

F32, BF16, I32 = jnp.float32, jnp.bfloat16, jnp.int32


def shaped(shape, dtype=F32, sharding=None):
    return jax.ShapeDtypeStruct(shape, dtype, sharding=sharding)


def donated(function, *args, **keywords):
    return jax.jit(function, donate_argnums=0, **keywords), args


def mesh(count=8):
    return Mesh(np.array(jax.devices()[:count]), ("x",))


def on(*spec):
    return NamedSharding(mesh(), P(*spec))


def mlp(params, x):
    for i in range(3):
        x = x @ params[f"w{i}"] + params[f"b{i}"]
        x = jnp.tanh(x) if i < 2 else x
    return x


def adamw():
    tx = optax.adamw(1e-3)

    def step(state, x, y):
        def loss_of(params):
            return jnp.mean((mlp(params, x) - y) ** 2)

        loss, grads = jax.value_and_grad(loss_of)(state["p"])
        updates, opt = tx.update(grads, state["o"], state["p"])
        return {"p": optax.apply_updates(state["p"], updates), "o": opt}, loss

    params = {f"w{i}": shaped((512, 512)) for i in range(3)}
    params |= {f"b{i}": shaped((512,)) for i in range(3)}
    state = jax.eval_shape(lambda p: {"p": p, "o": tx.init(p)}, params)
    return donated(step, state, shaped((64, 512)), shaped((64, 512)))


SIX = {
    "int to float": lambda: donated(lambda s: s + 1.0, shaped((4096,), I32)),
    "float to bfloat16": lambda: donated(lambda s: s.astype(BF16), shaped((1024, 512))),
    "reversed": lambda: donated(lambda s: s[::-1], shaped((1024, 512))),
    "transposed": lambda: donated(lambda s: s.T, shaped((1024, 512))),
    "swapped": lambda: donated(
        lambda s: (s[1] * 2, s[0] * 2), (shaped((512, 512)), shaped((512, 512)))
    ),
    "adamw": adamw,
}


def pinned(x, *spec):
    return jax.lax.with_sharding_constraint(x, on(*spec))


def split():
    return shaped((1024, 1024), F32, on("x"))


SHARDED = {
    "none given": lambda: donated(lambda x: x * 2, split()),
    "replicated inside": lambda: donated(lambda x: pinned(x * 2), split()),
    "replicated by out_shardings": lambda: donated(lambda x: x * 2, split(), out_shardings=on()),
    "one of two": lambda: donated(
        lambda s: {"a": s["a"] * 2, "b": pinned(s["b"] * 2)}, {"a": split(), "b": split()}
    ),
    "half": lambda: donated(lambda x: x[:512], split()),
    "unused": lambda: donated(lambda x: jnp.zeros_like(x), split()),
}


def shard_mapped():
    function = jax.shard_map(lambda x: x * 2, mesh=mesh(), in_specs=P("x"), out_specs=P("x"))
    return donated(function, split())


def closed_over():
    scale = jax.device_put(jnp.ones((1024, 1024)), on("x"))
    return donated(lambda x: x * scale, split())


def called_back(x):
    return jax.pure_callback(lambda a: a, jax.ShapeDtypeStruct(x.shape, x.dtype), x)


def printed(x):
    jax.debug.print("{}", x.sum())
    return x * 2


def eager_inside(x):
    with jax.ensure_compile_time_eval():
        scale = jnp.sum(jnp.arange(4.0)).item()  # run here, while it is traced
    return x * scale


def by_platform(x):
    return jax.lax.platform_dependent(x, cpu=lambda x: x[::-1] * 2, default=lambda x: x * 2)


def pallas():
    from jax.experimental import pallas as pl

    def kernel(x, out):
        out[...] = x[...] * 2

    block = pl.BlockSpec((128, 512), lambda i: (i, 0))
    call = pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct((512, 512), F32),
        grid=(4,),
        in_specs=[block],
        out_specs=block,
        input_output_aliases={0: 0},
    )
    return donated(lambda x: call(x), shaped((512, 512)))


CODE = {
    "in_shardings of its own mesh": lambda: donated(
        lambda x: x * 2, shaped((512, 512)), in_shardings=on("x")
    ),
    "constraint on its own mesh": lambda: donated(lambda x: pinned(x * 2, "x"), split()),
    "shard_map": shard_mapped,
    "array of the mesh closed over": closed_over,
    "eager code inside": lambda: donated(eager_inside, shaped((512, 512))),
    "platform_dependent": lambda: donated(by_platform, shaped((512, 512))),
    "typed key": lambda: donated(
        lambda s: (s[0] + jax.random.normal(s[1], (512, 512)), jax.random.split(s[1])[0]),
        (shaped((512, 512)), shaped((), jax.random.key(0).dtype)),
    ),
    "pure_callback": lambda: donated(called_back, shaped((512, 512))),
    "debug.print": lambda: donated(printed, shaped((512, 512))),
    "pallas": pallas,
}


def device():
    return SingleDeviceSharding(jax.devices()[0])


def host():
    return SingleDeviceSharding(jax.devices()[0], memory_kind="pinned_host")


def matrix(sharding):
    return shaped((1024, 1024), F32, sharding)


def kept_apart(s):
    moved = jax.device_put(s["m"], device())
    return {"p": s["p"] - moved, "m": jax.device_put(moved * 0.9 + s["p"], host())}


MEMORY = {
    "host to host": lambda: donated(
        lambda s: jax.device_put(jax.device_put(s, device()) * 2, host()),
        matrix(host()),
        out_shardings=host(),
    ),
    "host to device, none given": lambda: donated(
        lambda s: jax.device_put(s, device()) * 2, matrix(host())
    ),
    "host to device, given": lambda: donated(
        lambda s: jax.device_put(s, device()) * 2, matrix(host()), out_shardings=device()
    ),
    "device to host, none given": lambda: donated(
        lambda s: jax.device_put(s * 2, host()), matrix(device())
    ),
    "each in its own": lambda: donated(
        kept_apart,
        {"p": matrix(device()), "m": matrix(host())},
        out_shardings={"p": device(), "m": host()},
    ),
}

PROGRAMS = {**SIX, **SHARDED, **CODE, **MEMORY}
