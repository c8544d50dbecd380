"""Where each drifted leaf of a program stopped being of its type: see `origin`."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from donatree._jax.graph import Graph
from donatree.ledger import Location
from donatree.origin.drift import NO_FRAME, Drift, Origin
from donatree.origin.walk import Finder


def locate(
    jaxpr: Any, drifts: Sequence[Drift], names: Sequence[str], call: Location | None = None
) -> dict[int, Origin]:
    """The origin of each drift, by the index of its slot.

    Builds no text and runs nothing.

    Args:
        jaxpr: of the whole program, as it was lowered.
        drifts: what to look for.
        names: of all leaves, in JAX's flatten order; inputs before them are hoisted constants.
        call: where the program was called; stands for the expression where the program is a
            library's function and no line of it is the user's.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> def step(state):
        ...     return {"n": state["n"] + 0.5}
        >>> traced = jax.jit(step).trace({"n": jnp.int32(0)})
        >>> locate(traced.jaxpr, [Drift(0, 0, "dtype")], ["state['n']"])[0].because
        'the other operand is the Python number 0.5'
    """
    graph = Graph(jaxpr, names)
    finder = Finder(graph)
    return {
        slot: _placed(finder.find(graph.slot(slot), graph.leaf(leaf), what), call)
        for leaf, slot, what in drifts
    }


def _placed(origin: Origin, call: Location | None) -> Origin:
    if call is None or origin.unknown != NO_FRAME:
        return origin
    return dataclasses.replace(origin, location=call, unknown=None)
