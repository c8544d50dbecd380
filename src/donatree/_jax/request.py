"""What the program asked: a `Request` from the arguments that met a jitted function."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any

from donatree._jax import facts, frames, specs, wrappers
from donatree._jax.parameters import in_flatten_order
from donatree.ledger import Leaf, Location, Slot
from donatree.observation import Request, WhyNotAsked


@dataclass(frozen=True, slots=True)
class _Argument:
    """One dynamic argument of a call and the leaves it covers."""

    position: int | None
    name: str | None
    passed_by_keyword: bool
    leaves: range


def donates(info: Any) -> bool:
    """Whether a jitted function declares any donation."""
    return bool(info.donate_argnums or info.donate_argnames)


def request_of(
    fun: Any,
    info: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    params: Any,
    frame: FrameType,
    fault: Callable[[str, BaseException], None],
) -> tuple[Request, tuple[Slot, ...]]:
    """The request, and the slots of the result as far as the trace tells them.

    Args:
        fun: the function under the jit.
        info: JAX's `PjitInfo` of it.
        args: the positional arguments, static ones included.
        kwargs: the keyword arguments, static ones included.
        params: JAX's `PjitParams` of the call.
        frame: a frame inside JAX, below the call.
        fault: told where the user's own names could not be found; JAX's names stand then.
    """
    jaxpr = core_jaxpr(params.params["jaxpr"])
    signature = _signature(fun)
    arguments = list(_arguments(signature, info, args, kwargs))
    count = arguments[-1].leaves.stop if arguments else 0
    avals = list(params.in_avals)[-count:] if count else []
    names = in_flatten_order(leaf_names(jaxpr, count), fun, kwargs, info.static_argnames)
    slot_names = list(result_names(jaxpr))
    user = frames.user_frame(frame)
    try:
        wrapped = wrappers.names_of(fun, info, args, kwargs, params, frame, names, slot_names)
    except Exception as error:
        wrapped = None
        fault("names", error)
    if wrapped is not None:
        names, slot_names = wrapped.leaves, wrapped.slots
        fun = wrapped.function
    shardings = _shardings(info, args, kwargs)
    leaves = tuple(
        Leaf(name, argument_name(name), index, spec)
        for index, (name, spec) in enumerate(
            zip(names, specs.specs_of(avals, shardings), strict=True)
        )
    )
    slots = _slots(slot_names, jaxpr)
    flags = params.params["donated_invars"][-count:] if count else ()
    asked = frozenset(index for index, flag in enumerate(flags) if flag)
    why, undelivered = _unasked(signature, info, arguments, asked)
    return (
        Request(
            function=function_name(fun),
            leaves=leaves,
            promised=frozenset(asked | set(why)),
            asked=asked,
            why_not=why,
            declared=_declared(signature, info),
            undelivered=undelivered,
            on_one_device=frozenset(
                index
                for index, sharding in enumerate(shardings)
                if sharding is not None and len(sharding.device_set) == 1
            ),
            location=frames.location_of_function(fun),
            call=frames.location_of_frame(user),
        ),
        slots,
    )


def _shardings(info: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """The arrays' own shardings, for leaves that no compile will speak of: pruned ones."""
    import jax
    import jax.core

    static = {number % len(args) if number < 0 else number for number in info.static_argnums}
    dynamic = [value for position, value in enumerate(args) if position not in static]
    named = {name: value for name, value in kwargs.items() if name not in info.static_argnames}
    return [
        None if isinstance(leaf, jax.core.Tracer) else getattr(leaf, "sharding", None)
        for leaf in jax.tree_util.tree_leaves((dynamic, named))
    ]


def core_jaxpr(jaxpr: Any) -> Any:
    """The jaxpr itself; `ClosedJaxpr` holds one up to JAX 0.10, and is one since 0.11."""
    return getattr(jaxpr, "jaxpr", jaxpr)


def leaf_names(jaxpr: Any, count: int) -> list[str]:
    """JAX's own names of the last `count` inputs (`state.opt_state[0].mu['w']`)."""
    known = list(jaxpr.debug_info.arg_names or ())[-count:] if count else []
    if len(known) != count:
        known = [""] * count
    return [name or f"argument[{index}]" for index, name in enumerate(known)]


def result_names(jaxpr: Any) -> list[str]:
    """JAX's own names of the outputs (`result[0].w`)."""
    known: list[Any] = [*(jaxpr.debug_info.result_paths or ())]
    if len(known) != len(jaxpr.outvars):
        known = [""] * len(jaxpr.outvars)
    return [name or f"result[{index}]" for index, name in enumerate(known)]


def argument_name(path: str) -> str:
    """The argument that a leaf's path starts with: what stands before the first `.` or `[`."""
    return path.partition("[")[0].partition(".")[0]


def _slots(names: Sequence[str], jaxpr: Any) -> tuple[Slot, ...]:
    found = specs.specs_of([var.aval for var in jaxpr.outvars])
    return tuple(
        Slot(name, index, spec) for index, (name, spec) in enumerate(zip(names, found, strict=True))
    )


def function_name(fun: Any) -> str:
    """The name of a function, of what a partial was made of, or of the class of an object."""
    while not hasattr(fun, "__name__") and hasattr(fun, "func") and hasattr(fun, "keywords"):
        fun = fun.func
    return str(getattr(fun, "__name__", None) or type(fun).__name__)


def _signature(fun: Any) -> inspect.Signature | None:
    try:
        return inspect.signature(fun)
    except (ValueError, TypeError):
        return None


def _arguments(
    signature: inspect.Signature | None, info: Any, args: Sequence[Any], kwargs: dict[str, Any]
) -> Iterator[_Argument]:
    """The dynamic arguments in flatten order: positional ones, then keywords sorted by name."""
    import jax

    parameters = list(signature.parameters.values()) if signature else []
    by_position = [
        each.name
        for each in parameters
        if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
    ]
    static = {number % len(args) if number < 0 else number for number in info.static_argnums}
    start = 0
    for position, value in enumerate(args):
        if position in static:
            continue
        stop = start + len(jax.tree_util.tree_leaves(value))
        name = by_position[position] if position < len(by_position) else None
        yield _Argument(position, name, False, range(start, stop))
        start = stop
    for name in sorted(kwargs):
        if name in info.static_argnames:
            continue
        stop = start + len(jax.tree_util.tree_leaves(kwargs[name]))
        position = by_position.index(name) if name in by_position else None
        yield _Argument(position, name, True, range(start, stop))
        start = stop


def _declared_positions(info: Any) -> set[int]:
    """`donate_argnums` counted as the user counts them, static arguments included."""
    numbers = set(info.donate_argnums)
    if facts.donate_argnums_skip_static():
        for static in sorted(info.static_argnums):
            numbers = {number + 1 if number >= static else number for number in numbers}
    return numbers


def _unasked(
    signature: inspect.Signature | None,
    info: Any,
    arguments: Sequence[_Argument],
    asked: frozenset[int],
) -> tuple[dict[int, WhyNotAsked], tuple[str, ...]]:
    """Promised leaves that JAX did not record, and parts of the declaration left unanswered."""
    if not donates(info):
        return {}, ()
    positions, names = _declared_positions(info), set(info.donate_argnames)
    why: dict[int, WhyNotAsked] = {}
    answered_positions: set[int] = set()
    answered_names: set[str] = set()
    for argument in arguments:
        by_position = argument.position in positions
        by_name = argument.name in names
        if by_position and argument.position is not None:
            answered_positions.add(argument.position)
        if by_name and argument.name is not None:
            answered_names.add(argument.name)
        if not (by_position or by_name):
            continue
        reason = _reason(argument, by_position, by_name)
        why.update({index: reason for index in argument.leaves if index not in asked})
    undelivered = _undelivered(signature, positions - answered_positions, names - answered_names)
    return why, undelivered


def _reason(argument: _Argument, by_position: bool, by_name: bool) -> WhyNotAsked:
    """JAX matches positions with positions and names with names, and drops all for one flag."""
    if argument.passed_by_keyword:
        return "debug_nans" if by_name else "passed_by_keyword"
    return "debug_nans" if by_position else "passed_by_position"


def _undelivered(
    signature: inspect.Signature | None, positions: set[int], names: set[str]
) -> tuple[str, ...]:
    """Declared places that only `*args` or `**kwargs` could have taken, and nothing took."""
    parameters = list(signature.parameters.values()) if signature else []
    kinds = {each.kind for each in parameters}
    known = {each.name for each in parameters if each.kind is not each.VAR_KEYWORD}
    named = [each for each in parameters if each.kind in _NAMED_BY_POSITION]
    lost: list[str] = []
    if inspect.Parameter.VAR_POSITIONAL in kinds:
        lost += [f"positional argument {n}" for n in sorted(positions) if n >= len(named)]
    if inspect.Parameter.VAR_KEYWORD in kinds:
        lost += [f"keyword argument `{name}`" for name in sorted(names - known)]
    return tuple(lost)


_NAMED_BY_POSITION = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
)


def _declared(signature: inspect.Signature | None, info: Any) -> str:
    """The declaration as the user wrote it; the form that JAX inferred from it is left out."""
    numbers, names = sorted(_declared_positions(info)), sorted(info.donate_argnames)
    parameters = list(signature.parameters) if signature else []
    inferred = {parameters[number] for number in numbers if number < len(parameters)}
    parts = [f"donate_argnums={_one_or_tuple(numbers)}"] if numbers else []
    if names and (not numbers or not set(names) <= inferred):
        parts.append(f"donate_argnames={_one_or_tuple(names)}")
    return ", ".join(parts)


def _one_or_tuple(values: list[Any]) -> str:
    return repr(values[0]) if len(values) == 1 else repr(tuple(values))


def while_jit_is_disabled(request: Request) -> Request:
    """The request as a call would make it under `jax_disable_jit`: nothing is asked."""
    why: dict[int, WhyNotAsked] = {**request.why_not, **dict.fromkeys(request.asked, "disable_jit")}
    return dataclasses.replace(request, asked=frozenset(), why_not=why)


def has_shapes_without_sharding(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether some leaf is a `jax.ShapeDtypeStruct` that says nothing of its sharding."""
    import jax

    return any(
        isinstance(leaf, jax.ShapeDtypeStruct) and leaf.sharding is None
        for leaf in jax.tree_util.tree_leaves((args, kwargs))
    )


def name_of(computation: Any) -> str:
    """The function's name in a computation, `jit(step)` without the jit."""
    return re.sub(r"^\w+\((.*)\)$|^jit_(.*)$", r"\1\2", str(computation._name))


def may_be_of(computation: Any, request: Request) -> bool:
    """Whether a computation can be a transform of the function of `request`, by its name.

    JAX has a stand-in for the name of a callable object, up to 0.5 for that of a partial too.
    """
    name = name_of(computation)
    return name == request.function or name.startswith("<unnamed ")


def donated_inputs(computation: Any) -> frozenset[int]:
    """Flat indices of the inputs that a computation donates."""
    kept = sorted(computation.compile_args["kept_var_idx"])
    constants = len(getattr(computation, "const_args", None) or ())
    flags = computation._donated_invars
    return frozenset(index - constants for index, flag in zip(kept, flags, strict=True) if flag)


def leaf_count(computation: Any) -> int:
    """How many leaves the dynamic arguments of a computation have, pruned ones included."""
    constants = len(getattr(computation, "const_args", None) or ())
    return len(computation.compile_args["all_args_info"].in_avals) - constants


def location_of_jaxpr(jaxpr: Any) -> Location | None:
    """`func_src_info` of a jaxpr: ``step at /home/me/train.py:12``."""
    match = re.fullmatch(r"(.*) at (.*):(\d+)", str(jaxpr.debug_info.func_src_info or ""))
    if match is None:
        return None
    return Location(frames.shown(match[2]), int(match[3]), function=match[1])


def request_of_lowering(
    jaxpr: Any,
    computation: Any,
    user: FrameType | None,
    known: Request | None,
    known_slots: Sequence[Slot],
) -> tuple[Request, tuple[Slot, ...]]:
    """A request from what was lowered, for a transform of a jitted function.

    Args:
        jaxpr: what was lowered.
        computation: JAX's `MeshComputation`.
        user: the user's frame.
        known: the request of the function that was transformed, if one was seen; its names are
            taken where it has as many leaves.
        known_slots: its slots; likewise.
    """
    core = core_jaxpr(jaxpr)
    names = leaf_names(core, len(core.invars))
    if known is not None and len(known.leaves) == len(names):
        names = [leaf.path for leaf in known.leaves]
    slot_names = result_names(core)
    if len(known_slots) == len(slot_names):
        slot_names = [slot.path for slot in known_slots]
    leaves = tuple(
        Leaf(name, argument_name(name), index, spec)
        for index, (name, spec) in enumerate(
            zip(names, specs.specs_of([var.aval for var in core.invars]), strict=True)
        )
    )
    slots = _slots(slot_names, core)
    donated = donated_inputs(computation)
    return (
        Request(
            function=known.function if known else name_of(computation),
            leaves=leaves,
            promised=donated,
            asked=donated,
            declared=known.declared if known else "",
            location=known.location if known else location_of_jaxpr(core),
            call=frames.location_of_frame(user),
        ),
        slots,
    )
