"""What the program asked: a `Request` from the arguments that met a jitted function."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

from donatree._jax import frames, nnx, promise, specs, wrappers
from donatree._jax.parameters import Parameters, in_flatten_order
from donatree.ledger import Leaf, Location, Slot
from donatree.observation import Request, WhyNotAsked


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
    arguments = list(promise.arguments_of(fun, info, args, kwargs))
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
    flags = params.params["donated_invars"][-count:] if count else ()
    asked = frozenset(index for index, flag in enumerate(flags) if flag)
    made = promise.promise_of(fun, info, arguments, asked)
    in_place = nnx.is_wrapper(fun)
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
    return (
        Request(
            function=function_name(fun),
            leaves=leaves,
            promised=asked.union(made.why_not),
            asked=asked,
            why_not=made.why_not,
            declared=made.declared,
            undelivered=made.undelivered,
            on_one_device=frozenset(
                index
                for index, sharding in enumerate(shardings)
                if sharding is not None and len(sharding.device_set) == 1
            ),
            location=frames.location_of_function(fun),
            call=frames.location_of_frame(user),
            positional=tuple(Parameters(fun).positional),
            in_place=in_place,
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
