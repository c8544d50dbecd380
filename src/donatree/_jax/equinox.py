"""The user's names of what `equinox.filter_jit` hands to `jax.jit` (equinox 0.11 to 0.13).

The jitted function is ``fun_wrapped(dynamic_donate, dynamic_nodonate, static)``. `dynamic_*` are
dictionaries with the keys fun, first and rest, each a tuple of leaves; `static` is three pairs
(static leaves, treedef) in that order. The result is (a marker, the user's leaves, a static part).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import Any

from donatree._jax.parameters import Parameters

MARKER = "equinox's marker"


def is_wrapper(fun: Any) -> bool:
    """Whether `fun` is what `filter_jit` hands to `jax.jit`."""
    code = getattr(fun, "__code__", None)
    return code is not None and code.co_qualname.startswith("_filter_jit_cache.")


def names(
    args: Sequence[Any], leaf_names: Sequence[str], slot_names: Sequence[str]
) -> tuple[list[str], list[str], Any] | None:
    """Names of the leaves and of the slots, and the user's function; None where they do not fit.

    Args:
        args: the three arguments of `fun_wrapped`.
        leaf_names: JAX's own names of the leaves.
        slot_names: JAX's own names of the result's leaves.
    """
    import jax

    donated, kept, static = args
    halves = dict(zip(("fun", "first", "rest"), static, strict=True))
    fun_leaves, fun_tree = halves["fun"]
    dynamic_fun = {**donated, **kept}["fun"]
    function = jax.tree_util.tree_unflatten(
        fun_tree, [d if s is None else s for d, s in zip(dynamic_fun, fun_leaves, strict=True)]
    )
    parameters = Parameters(_open(function))
    known: dict[str, list[str]] = {}
    for key, (leaves, tree) in halves.items():
        numbered = jax.tree_util.tree_unflatten(tree, range(len(leaves)))
        pathed, _ = jax.tree_util.tree_flatten_with_path(numbered)
        known[key] = [_name(key, path, parameters, function) for path, _ in pathed]
    found = []
    for name in leaf_names:
        match = re.fullmatch(r"dynamic_(?:no)?donate\['(\w+)'\]\[(\d+)\]", name)
        if match is None:
            return None
        found.append(known[match[1]][int(match[2])])
    slots = [
        MARKER if name == "result[0]" else re.sub(r"^result\[1\]", "result", name)
        for name in slot_names
    ]
    return found, slots, function


def _name(key: str, path: Sequence[Any], parameters: Parameters, function: Any) -> str:
    if key == "fun":
        return _name_inside(function, path)
    if key == "first":
        return parameters.by_position(0) + _text(path)
    half, which, *rest = path  # (rest_args, kwargs)
    if half.idx == 1:
        return parameters.by_keyword(which.key) + _text(rest)
    return parameters.by_position(which.idx + 1) + _text(rest)


def _name_inside(function: Any, path: Sequence[Any]) -> str:
    """An array of the function itself: of a module, of the module of a method, bound before."""
    if _is_partial(function) and len(path) > 1:
        kind, which, *rest = path
        parameters = Parameters(function.func)
        if _text([kind]) == ".args":
            return parameters.by_position(which.idx) + _text(rest)
        if _text([kind]) == ".keywords":
            return parameters.by_keyword(which.key) + _text(rest)
    return "self" + _text(path).removeprefix(".__self__")


def _is_partial(function: Any) -> bool:
    """Whether it is `equinox.Partial`, whose own signature tells nothing."""
    return (
        hasattr(function, "func")
        and hasattr(function, "keywords")
        and not isinstance(function, functools.partial)
    )


def _open(function: Any) -> Any:
    """The function with a signature that tells what is still open."""
    if _is_partial(function):
        return functools.partial(function.func, *function.args, **function.keywords)
    return function


def _text(path: Sequence[Any]) -> str:
    import jax

    return jax.tree_util.keystr(tuple(path))
