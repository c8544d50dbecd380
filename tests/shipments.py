"""Small programs lowered for a target on the CPU, as a stand-in process would ship them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax._src import compiler
from jax._src.interpreters import mlir

from donatree.shipment import Shipment


def ship(
    function: Callable[..., Any],
    *args: Any,
    platform: str = "tpu",
    devices: tuple[int, ...] = (0,),
    **more: Any,
) -> Shipment:
    """Lowers a function whose first argument is donated; `platform` is `tpu` or `gpu`."""
    traced = jax.jit(function, donate_argnums=0).trace(*args)
    lowered = traced.lower(lowering_platforms=("cuda" if platform == "gpu" else platform,))
    options = compiler.get_compile_options(
        num_replicas=1, num_partitions=len(devices), device_assignment=np.array([devices])
    )
    return Shipment(
        name=getattr(function, "__name__", "main"),
        module=mlir.module_to_bytecode(lowered._lowering.stablehlo()),
        options=options.SerializeAsString(),
        devices=devices,
        **more,
    )


def array(*shape: int, dtype: Any = jnp.float32, sharding: Any = None) -> Any:
    return jax.ShapeDtypeStruct(shape, dtype, sharding=sharding)


def momentum(state: Any, x: Any, y: Any) -> Any:
    """A training step of two layers with momentum."""

    def loss(w: Any) -> Any:
        return jnp.mean((jnp.tanh(x @ w["a"]) @ w["b"] - y) ** 2)

    value, grads = jax.value_and_grad(loss)(state["w"])
    m = jax.tree.map(lambda old, new: 0.9 * old + new, state["m"], grads)
    return {"w": jax.tree.map(lambda w, m: w - 0.1 * m, state["w"], m), "m": m}, value


def weights() -> Any:
    return {"a": array(512, 512), "b": array(512, 512)}


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "momentum": (momentum, ({"w": weights(), "m": weights()}, array(64, 512), array(64, 512))),
    "swap": (lambda s: (s[1] * 2, s[0] * 2), ((array(512, 512), array(512, 512)),)),
    "reversed": (lambda s: s[::-1], (array(1024, 512),)),
    "halved": (lambda s: s.astype(jnp.bfloat16), (array(1024, 512),)),
}
"""The first and the second are aliased, the third is with a copy, the last is lost."""
