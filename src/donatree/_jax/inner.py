"""Jitted functions that donate inside another traced one, where only the outermost counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

from donatree._jax import request, sources, specs
from donatree.ledger import Leaf
from donatree.observation import Observation, Request


def is_being_staged() -> bool:
    """Whether this thread is tracing a function into a jaxpr (and not just transforming one)."""
    context, staging = _tracing()
    trace = context.trace
    while trace is not None:
        if isinstance(trace, staging):
            return True
        trace = getattr(trace, "parent_trace", None)
    return False


@cache
def _tracing() -> tuple[Any, type]:
    from jax._src import core
    from jax._src.interpreters import partial_eval

    return core.trace_ctx, partial_eval.DynamicJaxprTrace


def donating_jits(
    jaxpr: Any,
    computation: Any,
    outer: Request | None,
    known: Callable[[], Mapping[int, Request]],
) -> Iterator[Observation]:
    """One observation for each inner jit that donates an input which the outer one does not.

    An inner donation of an intermediate value loses nothing: XLA reuses intermediates by itself.
    The equations of `jit` carry ``donated_invars`` on every JAX from 0.5.3 to 0.12.

    Args:
        jaxpr: what was lowered.
        computation: JAX's `MeshComputation` of it.
        outer: the outer function's request, None where it donates nothing.
        known: gives the requests that were seen while tracing, by the `id` of their jaxpr; they
            bear the user's own names. It is called only where an inner jit donates.
    """
    core = request.core_jaxpr(jaxpr)
    donated = request.donated_inputs(computation)
    free = {id(var): index for index, var in enumerate(core.invars) if index not in donated}
    if not free:
        return
    name = outer.function if outer is not None else request.name_of(computation)
    seen: set[int] = set()
    for equation, inputs in _inner(core, free, seen):
        lost = frozenset(
            index
            for index, (flag, var) in enumerate(
                zip(equation.params["donated_invars"], equation.invars, strict=True)
            )
            if flag and id(var) in inputs
        )
        if lost:
            yield _observation(equation, lost, name, _seen(equation, known()))


def _inner(
    core: Any, inputs: Mapping[int, int], seen: set[int]
) -> Iterator[tuple[Any, Mapping[int, int]]]:
    """Equations that donate, with the outer inputs that are known by name where they stand."""
    if id(core) in seen:
        return
    seen.add(id(core))
    for equation in core.eqns:
        params = equation.params
        if not params:  # most equations of most programs
            continue
        if any(params.get("donated_invars", ())):
            yield equation, inputs
            continue
        for body in bodies(params):
            # The operands of scan, while, cond, jit and remat end with what the body takes.
            count = len(body.invars)
            operands = equation.invars[-count:] if count else []
            known = {
                id(var): inputs[id(operand)]
                for var, operand in zip(body.invars, operands, strict=False)
                if id(operand) in inputs
            }
            yield from _inner(body, known, seen)


def bodies(params: Mapping[str, Any]) -> Iterator[Any]:
    """The jaxprs in the parameters of an equation; asked of every equation of a program."""
    kinds = _jaxpr_types()
    for value in params.values():
        if isinstance(value, kinds):
            yield request.core_jaxpr(value)
        elif isinstance(value, (tuple, list)):
            yield from (request.core_jaxpr(each) for each in value if isinstance(each, kinds))


@cache
def _jaxpr_types() -> tuple[type, ...]:
    from jax._src import core  # `jax.extend` brings all of pallas with it

    return core.Jaxpr, getattr(core, "ClosedJaxpr", core.Jaxpr)  # one class since JAX 0.11


def _seen(equation: Any, known: Mapping[int, Request]) -> Request | None:
    """The request that was seen while the inner function was traced.

    JAX puts a copy of its jaxpr into the equation up to 0.5, and of a transformed one (`grad`)
    always: then a request of the same name and types is taken, if all such bear the same names.
    """
    found = known.get(id(equation.params["jaxpr"]))
    if found is not None:
        return found
    name = equation.params.get("name")
    avals = [spec.aval for spec in specs.specs_of([var.aval for var in equation.invars])]
    alike = [
        each
        for each in known.values()
        if each.function == name and [leaf.spec.aval for leaf in each.leaves] == avals
    ]
    names = {tuple(leaf.path for leaf in each.leaves) for each in alike}
    return alike[0] if len(names) == 1 else None


def _observation(
    equation: Any, lost: frozenset[int], outer: str, known: Request | None
) -> Observation:
    jaxpr = request.core_jaxpr(equation.params["jaxpr"])
    avals = [var.aval for var in equation.invars]
    if known is not None and len(known.leaves) == len(avals):
        names = [leaf.path for leaf in known.leaves]
    else:
        names = request.leaf_names(jaxpr, len(avals))
    leaves = tuple(
        Leaf(name, request.argument_name(name), index, spec)
        for index, (name, spec) in enumerate(zip(names, specs.specs_of(avals), strict=True))
    )
    return Observation(
        Request(
            function=known.function if known else str(equation.params.get("name")),
            leaves=leaves,
            promised=lost,
            asked=frozenset(),
            why_not=dict.fromkeys(lost, "inner"),
            declared=known.declared if known else "",
            location=known.location if known else request.location_of_jaxpr(jaxpr),
            call=sources.location_of_equation(equation),
            outer=outer,
        )
    )
