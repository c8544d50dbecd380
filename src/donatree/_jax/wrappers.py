"""Names in the user's own words where a library flattens the arguments before `jax.jit`.

Equinox and flax nnx hand `jax.jit` lists of leaves, so JAX's own names read
``dynamic_donate['first'][0]`` or ``m.states[0][1]``. Both carry enough to find the user's words
again: equinox's static half holds the tree structures, nnx's leaves are the very arrays that the
caller's modules hold. What is read of either library is named in one function each; where a
library has changed, the answer is None and JAX's own names stand.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any

from donatree._jax import objects


@dataclass(frozen=True, slots=True)
class Names:
    """Names of the dynamic leaves and of the result's leaves, and the user's own function."""

    leaves: list[str]
    slots: list[str]
    function: Any


def names_of(
    fun: Any,
    frame: FrameType,
    args: Sequence[Any],
    kwargs: dict[str, Any],
    leaf_names: list[str],
    slot_names: list[str],
) -> Names | None:
    """The user's names, or None where `fun` is no wrapper that is known.

    Args:
        fun: the function under the jit.
        frame: a frame inside JAX, below the wrapper's own frames.
        args: what the wrapper passed to the jitted function.
        kwargs: likewise.
        leaf_names: JAX's own names of the leaves.
        slot_names: JAX's own names of the result's leaves.
    """
    module = getattr(type(fun), "__module__", "")
    code = getattr(fun, "__code__", None)
    if code is not None and code.co_qualname.startswith("_filter_jit_cache."):
        return _equinox(args, leaf_names, slot_names)
    if module == "flax.nnx.transforms.compilation" and hasattr(fun, "f"):
        return _nnx(fun.f, frame, args, kwargs, leaf_names, slot_names)
    return None


def _equinox(args: Sequence[Any], leaf_names: list[str], slot_names: list[str]) -> Names | None:
    """`fun_wrapped(dynamic_donate, dynamic_nodonate, static)` of equinox/_jit.py (0.11 to 0.13).

    `dynamic_*` are dictionaries with the keys fun, first and rest, each a tuple of leaves;
    `static` is three pairs (static leaves, treedef) in that order.
    """
    import jax

    donated, kept, static = args
    halves = dict(zip(("fun", "first", "rest"), static, strict=True))
    known: dict[str, list[str]] = {}
    fun_leaves, fun_tree = halves["fun"]
    dynamic_fun = {**donated, **kept}["fun"]
    function = jax.tree_util.tree_unflatten(
        fun_tree, [d if s is None else s for d, s in zip(dynamic_fun, fun_leaves, strict=True)]
    )
    parameters = _positional_names(function)
    for key, (leaves, tree) in halves.items():
        numbered = jax.tree_util.tree_unflatten(tree, range(len(leaves)))
        pathed, _ = jax.tree_util.tree_flatten_with_path(numbered)
        known[key] = [_equinox_path(key, path, parameters) for path, _ in pathed]
    names = []
    for name in leaf_names:
        match = re.fullmatch(r"dynamic_(?:no)?donate\['(\w+)'\]\[(\d+)\]", name)
        if match is None:
            return None
        names.append(known[match[1]][int(match[2])])
    slots = [
        "equinox's marker" if name == "result[0]" else re.sub(r"^result\[1\]", "result", name)
        for name in slot_names
    ]
    return Names(names, slots, function)


def _equinox_path(key: str, path: Sequence[Any], parameters: Sequence[str]) -> str:
    import jax

    if key == "fun":
        return "self" + jax.tree_util.keystr(tuple(path))
    if key == "first":
        first = parameters[0] if parameters else "args[0]"
        return first + jax.tree_util.keystr(tuple(path))
    where, which, *rest = path  # (rest_args, kwargs)
    if where.idx == 1:
        return str(which.key) + jax.tree_util.keystr(tuple(rest))
    position = int(which.idx) + 1
    known = position < len(parameters)
    name: str = parameters[position] if known else f"args[{position}]"
    return name + jax.tree_util.keystr(tuple(rest))


def _positional_names(function: Any) -> list[str]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (ValueError, TypeError):
        return []
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [each.name for each in parameters if each.kind in kinds]


def _nnx(
    function: Any,
    frame: FrameType,
    args: Sequence[Any],
    kwargs: dict[str, Any],
    leaf_names: list[str],
    slot_names: list[str],
) -> Names | None:
    """`JitFn` of flax/nnx/transforms/compilation.py (0.10 to 0.12).

    Its leaves are the arrays that the caller's modules hold, and its result begins with the same
    arguments again, updated.
    """
    import jax

    callers = _caller_arguments(frame, "flax.nnx.transforms.compilation")
    if callers is None:
        return None
    found = objects.paths_by_identity(_bound(function, *callers))
    leaves = jax.tree_util.tree_leaves((tuple(args), kwargs))
    names = [
        found.get(id(leaf), re.sub(r"\.__state__|\.value$", "", name))
        for leaf, name in zip(leaves, leaf_names, strict=True)
    ]
    arguments = [*_positional_names(function)[: len(args)], *sorted(kwargs)]
    by_old_name = dict(zip(leaf_names, names, strict=True))
    return Names(names, [_nnx_slot(n, arguments, by_old_name) for n in slot_names], function)


def _nnx_slot(name: str, arguments: Sequence[str], by_old_name: dict[str, str]) -> str:
    """`result[0][1].states[0][2]` is argument 1 again; `result[2]` is what the user returns."""
    match = re.match(r"result\[0\]\[(\d+)\](.*)|result\[1\]\['(\w+)'\](.*)", name)
    if match is not None:
        argument = arguments[int(match[1])] if match[1] is not None else match[3]
        rest = str(match[2] if match[1] is not None else match[4])
        return by_old_name.get(argument + rest, argument + rest)
    return re.sub(r"^result\[2\]", "result", name)


def _caller_arguments(
    frame: FrameType | None, module: str
) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """`*args, **kwargs` of the outermost frame of `module` in one unbroken run of library calls."""
    answer = None
    for each in _outwards(frame):
        if each.f_globals.get("__name__") == module:
            code = each.f_code
            if code.co_flags & inspect.CO_VARARGS and code.co_flags & inspect.CO_VARKEYWORDS:
                star = code.co_argcount + code.co_kwonlyargcount
                values, words = code.co_varnames[star : star + 2]
                held = each.f_locals
                answer = (held[values], held[words])
        elif answer is not None:
            break
    return answer


def _outwards(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _bound(function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Iterable[tuple[str, Any]]:
    names = _positional_names(function)
    for position, value in enumerate(args):
        yield names[position] if position < len(names) else f"args[{position}]", value
    yield from kwargs.items()
