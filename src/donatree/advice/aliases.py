"""Other names for the same arrays: `best = state`, `history.append(state)`, `first = params`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from donatree.source.flow import targets
from donatree.source.scopes import walk
from donatree.source.tree import Scope

_FILLS = frozenset(("append", "appendleft", "insert", "add", "put", "setdefault"))
# What is no array of the tree, or a new one.
_OTHER = frozenset(
    ("shape", "dtype", "ndim", "size", "sharding", "nbytes", "apply_fn", "tx", "T", "at")
)


@dataclass(frozen=True, slots=True)
class Alias:
    """Another place that may hold what a path holds.

    Attributes:
        path: the name, attribute or item; of a fill, the container.
        node: where it got it.
        source: whether the path got the arrays from there, and not the other way round.
    """

    path: str
    node: ast.AST
    source: bool = False


def aliases(scope: Scope, path: str) -> list[Alias]:
    r"""The places in a scope that may hold the same arrays as a path, one step or several away.

    Args:
        scope: the function, lambda or module.
        path: a name, attribute or item as `ast.unparse` writes it.

    Returns:
        Where the arrays went, and where they came from; the path itself is not among them.

    Example:
        >>> tree = ast.parse("best = state\nlog.append(best)")
        >>> [each.path for each in aliases(tree, "state")]
        ['best', 'log']
    """
    same = list(_pairs(scope))
    known: dict[str, Alias] = {path: Alias(path, scope)}
    grown = True
    while grown:
        grown = False
        for left, right, node in same:
            if _within(right, known) and left not in known:
                known[left], grown = Alias(left, node), True
            if left in known and right not in known and left != right:
                known[right], grown = Alias(right, node, source=True), True
    return [each for name, each in known.items() if name != path]


def _within(path: str, known: dict[str, Alias]) -> bool:
    """Whether a path is known, or a part of one that is."""
    return any(path == each or path.startswith((f"{each}.", f"{each}[")) for each in known)


def _pairs(scope: Scope) -> Iterator[tuple[str, str, ast.AST]]:
    """What is the same object as what, by the statements of a scope."""
    for node in walk(scope):
        match node:
            case ast.Assign(targets=left, value=value):
                for each in left:
                    yield from _assigned(each, value, node)
                if len(left) > 1 and not list(bare(value)):
                    names = [ast.unparse(t) for each in left for t in targets(each)]
                    yield from ((other, names[0], node) for other in names[1:])
            case ast.AnnAssign(target=left, value=ast.expr() as value):
                yield from _assigned(left, value, node)
            case ast.NamedExpr(target=left, value=value):
                yield from _assigned(left, value, node)
            case ast.AugAssign(target=left, value=ast.List() as value):
                yield from ((ast.unparse(left), right, node) for right in bare(value))
            case ast.Call(func=ast.Attribute(value=owner, attr=attr), args=[*_, last]) if (
                attr in _FILLS
            ):
                yield from ((ast.unparse(owner), right, node) for right in bare(last))


def _assigned(left: ast.expr, value: ast.expr, node: ast.AST) -> Iterator[tuple[str, str, ast.AST]]:
    match left, value:
        case ((ast.Tuple(elts=many) | ast.List(elts=many)), ast.Tuple(elts=values)) if len(
            many
        ) == len(values):
            for one, each in zip(many, values, strict=True):
                yield from _assigned(one, each, node)
        case ast.Starred(value=inner), _:
            yield from _assigned(inner, value, node)
        case ((ast.Tuple() | ast.List()), _):
            return  # the parts of something: what they are is not said
        case _:
            for right in bare(value):
                if right != ast.unparse(left):
                    yield ast.unparse(left), right, node


def bare(value: ast.expr) -> Iterator[str]:
    """The names, attributes and items that an expression passes on as they are."""
    match value:
        case ast.Name(id=name):
            yield name
        case ast.Attribute(attr=attr) if attr in _OTHER:
            return
        case ast.Attribute() | ast.Subscript():
            root: ast.expr = value
            while isinstance(root, ast.Attribute | ast.Subscript):
                root = root.value
            if isinstance(root, ast.Name):
                yield ast.unparse(value)
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts):
            for part in parts:
                yield from bare(part)
        case ast.Dict(values=parts):
            for part in parts:
                yield from bare(part)
        case ast.IfExp(body=one, orelse=two):
            yield from bare(one)
            yield from bare(two)
        case ast.BoolOp(values=parts):
            for part in parts:
                yield from bare(part)
        case ast.Starred(value=inner) | ast.NamedExpr(value=inner):
            yield from bare(inner)
