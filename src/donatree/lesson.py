"""The programs of the lesson that donatree grew from, for `donatree demo` and the tests.

The lesson is about donating a state tree: one leaf takes one slot. Its two steps differ in a
single character; its third program keeps a leaf under a second name. A twin whose weight comes
back as bfloat16 is added, because that is what gets lost in silence since JAX 0.8.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp


@jax.tree_util.register_dataclass
@dataclass
class State:
    """A weight, a bias and a step counter: 84 bytes."""

    w: Any
    b: Any
    step: Any


def kept(state: State, g: Any) -> State:
    """Every leaf comes back as it went in."""
    return State(w=state.w - 0.1 * g, b=state.b + 1.0, step=state.step + 1)


def drifted(state: State, g: Any) -> State:
    """One character more: the counter comes back as float32."""
    return State(w=state.w - 0.1 * g, b=state.b + 1.0, step=state.step + 1.0)


def halved(state: State, g: Any) -> State:
    """The weight comes back as bfloat16, half its size."""
    return State(w=(state.w - 0.1 * g).astype(jnp.bfloat16), b=state.b + 1.0, step=state.step + 1)


def arguments() -> tuple[State, Any]:
    """A fresh state and a gradient."""
    state = State(w=jnp.ones((4, 4)), b=jnp.zeros(4), step=jnp.zeros((), jnp.int32))
    return state, jnp.ones((4, 4))


@dataclass(frozen=True, slots=True)
class Program:
    """One program of the lesson: the step, and what the lesson says of it."""

    step: Callable[..., State]
    says: str | None


PROGRAMS: tuple[Program, ...] = (
    Program(kept, "the map has one entry a leaf: 84 of 84 bytes"),
    Program(drifted, "the counter drops out of the map: 80 of 84 bytes, with a warning"),
    Program(halved, None),
)


def held_elsewhere() -> tuple[bool, bool]:
    """The third program: whether a leaf kept under a second name, and the batch, are deleted."""
    fast = jax.jit(kept, donate_argnums=0)
    state, batch = arguments()
    second_name = state.w
    state = fast(state, batch)
    return second_name.is_deleted(), batch.is_deleted()
