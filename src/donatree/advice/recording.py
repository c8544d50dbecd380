"""A jitted function and arguments as a program that can be compiled again with other donations."""

from __future__ import annotations

import threading
import warnings
from dataclasses import dataclass
from typing import Any

from donatree._jax import frames, hooks, inner, request, stages, variant, wrappers
from donatree._jax.graph import Graph
from donatree.errors import TargetError
from donatree.ledger import Slot
from donatree.observation import Request

UNSEEN = "JAX had lowered it before and did not show it again: nothing was measured"


@dataclass(frozen=True, slots=True)
class Recorded:
    """What JAX made of one signature of a function.

    Attributes:
        request: what was asked.
        slots: leaves of the result.
        jaxpr: the program.
        program: what can be compiled again; None where JAX did not show its lowering.
        dialect: how it was jitted: ``jax``, ``nnx``, ``equinox``.
    """

    request: Request
    slots: tuple[Slot, ...]
    jaxpr: Any
    program: variant.Program | None
    dialect: str

    def graph(self) -> tuple[Graph, list[int], list[int]]:
        """The program as a graph, and its numbers of all leaves and slots."""
        made = Graph(self.jaxpr, [leaf.path for leaf in self.request.leaves])
        leaves = [made.leaf(leaf.flat_index) for leaf in self.request.leaves]
        return made, leaves, [made.slot(slot.flat_index) for slot in self.slots]


class _Listener(hooks.Observer):
    """An observer that keeps the newest request of this thread and its lowering."""

    def __init__(self) -> None:
        self._thread = threading.get_ident()
        self.asked: dict[int, tuple[Request, tuple[Slot, ...], Any, str]] = {}
        self.last: int | None = None
        self.lowerings: dict[int, tuple[Any, hooks.Lowering]] = {}
        self.faults: list[BaseException] = []

    @property
    def lowering(self) -> tuple[Any, hooks.Lowering] | None:
        """The computation of the newest request and the call that lowered it."""
        if self.last is None:
            return None
        if self.last in self.lowerings:
            return self.lowerings[self.last]
        # JAX lowers another jaxpr than it traced where it has moved constants out of it.
        count = len(self.asked[self.last][0].leaves)
        alike = [each for each in self.lowerings.values() if request.leaf_count(each[0]) == count]
        return alike[-1] if alike else None

    def requested(
        self, fun: Any, info: Any, args: tuple[Any, ...], kwargs: dict[str, Any], params: Any
    ) -> None:
        """See `hooks.Observer`."""
        if threading.get_ident() != self._thread or inner.is_being_staged():
            return
        found, slots = request.request_of(
            fun, info, args, kwargs, params, frames.current_frame(2), self.fault
        )
        jaxpr = params.params["jaxpr"]
        self.asked[id(jaxpr)] = (found, slots, jaxpr, wrappers.dialect_of(fun))
        self.last = id(jaxpr)

    def lowered(self, jaxpr: Any, computation: Any, again: hooks.Lowering) -> None:
        """See `hooks.Observer`."""
        if threading.get_ident() == self._thread:
            self.lowerings[id(jaxpr)] = (computation, again)

    def fault(self, where: str, error: BaseException) -> None:
        """See `hooks.Observer`."""
        self.faults.append(error)


def record(step: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Recorded:
    """Lowers a jitted function for arguments; compiles and runs nothing.

    Raises:
        TargetError: it is not jitted, or JAX refuses the arguments.
    """
    name = stages.name_of(step)
    if not callable(getattr(step, "lower", None)):
        raise TargetError(
            f"`{name}` is not jitted: advise needs what `jax.jit` returns, with a `lower` method"
        )
    listener = _Listener()
    hooks.attach(listener)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Some donated buffers were not usable")
        try:
            stages.lower(step, args, kwargs)
            if listener.lowering is None:
                stages.lower(step, args, kwargs, afresh=True)
        finally:
            hooks.detach(listener)
    if listener.last is None:
        raise TargetError(f"`{name}` gave no lowering of JAX's")
    found, slots, jaxpr, dialect = listener.asked[listener.last]
    program = None
    if listener.lowering is not None:
        computation, again = listener.lowering
        program = variant.Program(again, computation, found, slots)
    return Recorded(found, slots, jaxpr, program, dialect)
