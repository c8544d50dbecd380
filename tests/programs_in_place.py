"""Small programs whose donation XLA takes back by copies, or does not.

The modules that are saved under `data/modules` name lines of this file: after a change of the
lines above `PROGRAMS` collect them anew.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

SIDE = 64


def momentum(p, m):
    new = p - 0.1 * m  # reads m
    return new, 0.9 * m  # reads m


def elsewhere(p, m):
    # Only m is donated, and the first result takes its memory.
    return p + 1.0, m * 2.0  # reads m


def exchanged(a, b):
    return b, a


def crossed(s):
    a = s["b"] + 1.0  # reads b
    return {"a": a, "b": s["a"] + 1.0}  # reads a


def squared(x):
    return x @ x  # reads x


def summed(s):
    total = s["a"].sum()  # reads a
    product = s["a"] @ s["b"]  # reads a b
    return {"a": product, "b": s["b"] * 2.0, "n": total}  # reads b


def updated(cache, i):
    return lax.dynamic_update_slice(cache, jnp.ones((1, SIDE)), (i, 0))


def updated_and_read(cache, i):
    new = lax.dynamic_update_slice(cache, jnp.ones((1, SIDE)), (i, 0))  # reads cache
    return new, cache.sum(0)  # reads cache


def trained(p, x):
    def loss(p):
        h = jnp.tanh(x @ p["w1"])
        return jnp.mean((h @ p["w2"]) ** 2)  # reads w2

    g = jax.grad(loss)(p)
    return jax.tree.map(lambda a, b: a - 0.1 * b, p, g)  # reads w2


def scaled(s):
    return jax.tree.map(lambda leaf: leaf * 2.0, s)


def kept(s):
    return {"a": s["a"], "b": s["b"] + s["a"].sum()}


def looped(s):
    return lax.fori_loop(0, 10, lambda _, c: jnp.tanh(c @ c), s)


def looped_and_read(s):
    # The copy keeps what the sum reads; the loop needs as much memory later, donated or not.
    total = s.sum(0)  # reads s
    return lax.fori_loop(0, 5, lambda _, c: jnp.tanh(c @ c), s), total  # reads s


@dataclass(frozen=True)
class Program:
    """A function with its arguments.

    Attributes:
        copied: what each leaf of which a copy is made, or whose slot is copied, is called above, by
            the number of its parameter.
        excused: whether the copies cost nothing.
    """

    function: Callable[..., Any]
    donated: tuple[int, ...]
    arguments: tuple[Any, ...]
    copied: dict[int, str]
    excused: bool = False


MATRIX = jax.ShapeDtypeStruct((SIDE, SIDE), jnp.float32)
NUMBER = jax.ShapeDtypeStruct((), jnp.int32)
PAIR = {"a": MATRIX, "b": MATRIX}
WEIGHTS = {
    "w1": jax.ShapeDtypeStruct((128, 256), jnp.float32),
    "w2": jax.ShapeDtypeStruct((256, 64), jnp.float32),
}
BATCH = jax.ShapeDtypeStruct((512, 128), jnp.float32)

PROGRAMS = {
    "momentum": Program(momentum, (0, 1), (MATRIX, MATRIX), {1: "m"}),
    "elsewhere": Program(elsewhere, (1,), (MATRIX, MATRIX), {1: "m"}),
    "exchanged": Program(exchanged, (0, 1), (MATRIX, MATRIX), {0: "", 1: ""}),
    "crossed": Program(crossed, (0,), (PAIR,), {0: "a", 1: "b"}),
    "squared": Program(squared, (0,), (MATRIX,), {0: "x"}),
    "summed": Program(summed, (0,), (PAIR,), {0: "a", 1: "b"}),
    "updated": Program(updated, (0,), (MATRIX, NUMBER), {}),
    "updated_and_read": Program(updated_and_read, (0,), (MATRIX, NUMBER), {0: "cache"}),
    "trained": Program(trained, (0,), (WEIGHTS, BATCH), {1: "w2"}),
    "scaled": Program(scaled, (0,), (PAIR,), {}),
    "kept": Program(kept, (0,), (PAIR,), {}),
    "looped": Program(looped, (0,), (MATRIX,), {}),
    "looped_and_read": Program(looped_and_read, (0,), (MATRIX,), {0: "s"}, excused=True),
}


@dataclass(frozen=True)
class Compiled:
    """What XLA gives of a compiled program.

    Attributes:
        text: of the module.
        module: `HloModuleProto`.
        assignment: `BufferAssignmentProto`, None where this jaxlib has none.
        alias: bytes of outputs in the memory of arguments.
        temp: bytes of temporaries.
        live: arguments + outputs - alias + temp.
    """

    text: str
    module: bytes
    assignment: bytes | None
    alias: int
    temp: int
    live: int


def compiled(program: Program, donated: tuple[int, ...] | None = None) -> Compiled:
    """Compiles a program, with what it donates unless that is given."""
    donate = program.donated if donated is None else donated
    done = jax.jit(program.function, donate_argnums=donate).lower(*program.arguments).compile()
    found = done.memory_analysis()
    assert found is not None
    (module,) = done.runtime_executable().hlo_modules()
    alias, temp = found.alias_size_in_bytes, found.temp_size_in_bytes
    return Compiled(
        done.as_text(),
        module.as_serialized_hlo_module_proto(),
        getattr(found, "serialized_buffer_assignment_proto", None),
        alias,
        temp,
        found.argument_size_in_bytes + found.output_size_in_bytes - alias + temp,
    )
