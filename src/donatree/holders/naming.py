"""The name by which the caller calls a tree, and the paths of its leaves."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from types import FrameType
from typing import Any

from donatree._jax import buffers, objects
from donatree._jax.frames import locals_of
from donatree.source.evaluate import MISSING, evaluate
from donatree.source.tree import node_at


def named_leaves(name: str, tree: Any) -> list[tuple[str, Any]]:
    """Path and array of the leaves of a tree, in flatten order.

    Args:
        name: what the paths begin with.
        tree: any pytree; also an object that JAX takes for a leaf and that has arrays inside.
    """
    import jax

    names: dict[int, str] = {}
    found: list[tuple[str, Any]] = []
    for keys, leaf in jax.tree_util.tree_flatten_with_path(tree)[0]:
        if buffers.is_array(leaf):
            found.append((name + jax.tree_util.keystr(keys), leaf))
            continue
        inside = objects.paths_by_identity([(name + jax.tree_util.keystr(keys), leaf)])
        names |= inside
        found += [(path, array) for path, array in _arrays_in(leaf, inside)]
    return found


def _arrays_in(value: Any, inside: dict[int, str]) -> Iterator[tuple[str, Any]]:
    """The arrays that a walk by attributes met; their order is that of the walk."""
    import gc

    stack, seen = [value], {id(value)}
    while stack and inside:
        for each in gc.get_referents(stack.pop()):
            if id(each) in inside and buffers.is_array(each):
                yield inside.pop(id(each)), each
            elif id(each) not in seen and gc.is_tracked(each) and not isinstance(each, type):
                seen.add(id(each))
                if len(seen) < 100_000:
                    stack.append(each)


class Asked:
    """The expression by which a caller names what it asks about.

    Args:
        frame: the caller's frame, at the call.
        value: what it passed.

    Attributes:
        name: the expression as it is written; ``tree`` where it is not known or no plain name.
        excused: the references that the expression itself goes through, see `Judge`.
    """

    def __init__(self, frame: FrameType, value: Any) -> None:
        self.name = "tree"
        self.excused: frozenset[tuple[int, str]] = frozenset()
        names = locals_of(frame)
        where = node_at(frame.f_code, frame.f_lasti)
        call = where[1] if where else None
        if not isinstance(call, ast.Call) or not (call.args or call.keywords):
            own = frozenset((id(frame), name) for name, each in names.items() if each is value)
            self.excused = own
            return
        node = call.args[0] if call.args else call.keywords[0].value
        if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
            self.name = ast.unparse(node)
        excused = set()
        for each in ast.walk(node):
            match each:
                case ast.Name(id=name):
                    local = name in names and frame.f_code.co_name != "<module>"
                    excused.add((id(frame if local else frame.f_globals), name))
                case ast.Attribute(value=owner, attr=attr):
                    excused.add((id(evaluate(owner, {**frame.f_globals, **names})), f".{attr}"))
                case ast.Subscript(value=owner, slice=index):
                    key = evaluate(index, {**frame.f_globals, **names})
                    if key is not MISSING:
                        at = evaluate(owner, {**frame.f_globals, **names})
                        excused.add((id(at), f"[{key!r}]"))
        self.excused = frozenset(excused)
