"""The user's names of what `flax.nnx.jit` hands to `jax.jit` (flax 0.10 to 0.12).

nnx splits the caller's modules into lists of arrays, so JAX's own names read
``model.states[0][1]``. The arrays are the very ones that the caller's modules hold, so they are
looked for there. What nnx returns begins with the arguments again, updated.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from types import FrameType
from typing import Any

from donatree._jax import frames, objects
from donatree._jax.parameters import Parameters

_MODULE = "flax.nnx.transforms.compilation"

# What nnx puts between a module and its arrays; the user writes none of it.
_INSIDES = re.compile(r"\.__state__|\.value$")


def is_wrapper(fun: Any) -> bool:
    """Whether `fun` is what `nnx.jit` hands to `jax.jit`: a `JitFn` or a `SimpleJitFn`."""
    return type(fun).__module__ == _MODULE and hasattr(fun, "f")


def names(
    fun: Any,
    info: Any,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    params: Any,
    frame: FrameType,
    leaf_names: Sequence[str],
    slot_names: Sequence[str],
) -> tuple[list[str], list[str], Any] | None:
    """Names of the leaves and of the slots, and the user's function.

    None where the caller's arguments cannot be found.

    Args:
        fun: nnx's own function object, with the user's function as `f`.
        info: JAX's `PjitInfo`.
        args: what nnx passed to the jitted function, static arguments included.
        kwargs: likewise.
        params: JAX's `PjitParams`.
        frame: a frame inside JAX, below nnx's own frames.
        leaf_names: JAX's own names of the leaves.
        slot_names: JAX's own names of the result's leaves.
    """
    import jax

    callers = _caller_arguments(frame)
    if callers is None:
        return None
    parameters = Parameters(fun.f)
    found = objects.paths_by_identity(_named(parameters, *callers))
    static = {number % len(args) for number in info.static_argnums if args}
    dynamic = (
        [value for place, value in enumerate(args) if place not in static],
        {name: kwargs[name] for name in kwargs if name not in info.static_argnames},
    )
    leaves = [
        _INSIDES.sub("", found.get(id(leaf), name))
        for leaf, name in zip(jax.tree_util.tree_leaves(dynamic), leaf_names, strict=True)
    ]
    again = dict(zip(leaf_names, leaves, strict=True))
    if type(fun).__name__ == "JitFn":
        places = [_place(name, parameters) for name in slot_names]
    else:
        updates = _updates(params.out_tree)
        places = [_simple_place(name, parameters, updates) for name in slot_names]
    slots = [again.get(place) or _INSIDES.sub("", place) for place in places]
    return leaves, slots, fun.f


def _place(name: str, parameters: Parameters) -> str:
    """`result[0][1].states[0][2]` is argument 1 again; `result[2]` is what the user returns."""
    match = re.match(r"result\[0\]\[(\d+)\](.*)", name)
    if match is not None:
        return parameters.by_position(int(match[1])) + match[2]
    match = re.match(r"result\[1\]\['(\w+)'\](.*)", name)
    if match is not None:
        return parameters.by_keyword(match[1]) + match[2]
    return re.sub(r"^result\[2\]", "result", name)


def _simple_place(name: str, parameters: Parameters, updates: Any) -> str:
    """`result[0]` is the user's, `result[1]` are arguments updated (`SimpleJitFn`, 0.12.6 on).

    Up to 0.12.6 they stand in the shape of the arguments, later beside a list of their paths.
    """
    import jax

    match = re.match(r"result\[1\]\[(\d+)\]\._values\[(\d+)\](.*)", name)
    if match is not None:
        half, which, *rest = updates[int(match[1])]._keys[int(match[2])]
        inside = jax.tree_util.keystr(tuple(rest)) + match[3]
        if "args" in (getattr(half, "key", None), getattr(half, "name", None)):
            return parameters.by_position(which.idx) + inside
        return parameters.by_keyword(which.key) + inside
    if name.startswith("result[1]"):
        return _place(name.removeprefix("result[1]").join(("result", "")), parameters)
    return re.sub(r"^result\[0\]", "result", name)


def _updates(out_tree: Any) -> Any:
    import jax

    return jax.tree_util.tree_unflatten(out_tree, range(out_tree.num_leaves))[1]


def _caller_arguments(frame: FrameType | None) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """`*args, **kwargs` of nnx's outermost frame in one unbroken run of library calls."""
    answer = None
    for each in frames.outwards(frame):
        if each.f_globals.get("__name__") == _MODULE:
            code = each.f_code
            if code.co_flags & inspect.CO_VARARGS and code.co_flags & inspect.CO_VARKEYWORDS:
                star = code.co_argcount + code.co_kwonlyargcount
                values, words = code.co_varnames[star : star + 2]
                held = each.f_locals
                answer = (held[values], held[words])
        elif answer is not None:
            break
    return answer


def _named(
    parameters: Parameters, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Iterator[tuple[str, Any]]:
    for place, value in enumerate(args):
        yield parameters.by_position(place), value
    for name, value in kwargs.items():
        yield parameters.by_keyword(name), value
