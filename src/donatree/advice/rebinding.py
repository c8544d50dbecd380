"""What the statement of a call binds, and to what."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from donatree.source.binding import prefixes
from donatree.source.flow import bound_by, targets
from donatree.source.tree import Source


def rebound(source: Source, call: ast.Call, path: str) -> ast.AST | None:
    """The target of the call's own statement that gives the path the call's result."""
    for each in source.outwards(call):
        match each:
            case ast.NamedExpr(target=target):
                if _binds(target, path):
                    return target
            case ast.Assign(targets=many, value=value):
                for target in many:
                    for part in _given(target, value, call):
                        if _binds(part, path):
                            return each
            case ast.AnnAssign(target=target):
                if _binds(target, path):
                    return each
        if isinstance(each, ast.stmt):
            return None
    return None


def _given(target: ast.expr, value: ast.expr, call: ast.Call) -> Iterator[ast.expr]:
    """The targets that get something of the call: of `a, b = f(x), y` only `a`."""
    same = (
        isinstance(target, ast.Tuple | ast.List)
        and isinstance(value, ast.Tuple | ast.List)
        and len(target.elts) == len(value.elts)
    )
    if same:
        assert isinstance(target, ast.Tuple | ast.List)
        assert isinstance(value, ast.Tuple | ast.List)
        for one, each in zip(target.elts, value.elts, strict=True):
            yield from _given(one, each, call)
    elif any(node is call for node in ast.walk(value)):
        yield from targets(target)


def _binds(target: ast.expr, path: str) -> bool:
    return ast.unparse(target) in prefixes(path)


def bound_around(source: Source, call: ast.Call) -> Iterator[ast.expr]:
    """All that the call's own statement binds."""
    for each in source.outwards(call):
        yield from bound_by(each)
        if isinstance(each, ast.stmt):
            return
