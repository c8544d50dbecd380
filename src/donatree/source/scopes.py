"""Scopes: whose a name is, and the code that is a scope's own."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from donatree.source.flow import bound_by
from donatree.source.tree import Scope, Source


def binds(scope: Scope, name: str) -> bool:
    """Whether a name is the scope's own."""
    if isinstance(scope, ast.Module):
        return True
    if isinstance(scope, ast.ClassDef):
        return False
    if any(each.arg == name for each in parameters(scope)):
        return True
    if isinstance(scope, ast.Lambda):
        return False
    outer = {
        each
        for node in walk(scope)
        if isinstance(node, ast.Global | ast.Nonlocal)
        for each in node.names
    }
    return name not in outer and any(
        name in map(ast.unparse, bound_by(node)) for node in walk(scope)
    )


def enclosing(source: Source, scope: Scope) -> Scope:
    """The scope around a scope in which its free names are looked for: no class."""
    outer = source.scope(scope)
    while isinstance(outer, ast.ClassDef):
        outer = source.scope(outer)
    return outer


def walk(scope: Scope) -> Iterator[ast.AST]:
    """The nodes of a scope's own code: not those of the functions and classes inside it."""
    body = [scope.body] if isinstance(scope, ast.Lambda) else scope.body
    waiting: list[ast.AST] = list(body)
    while waiting:
        node = waiting.pop(0)
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            waiting += ast.iter_child_nodes(node)


def parameters(scope: Scope) -> list[ast.arg]:
    """The parameters of a function or lambda."""
    arguments = getattr(scope, "args", None)
    if not isinstance(arguments, ast.arguments):
        return []
    rest = [each for each in (arguments.vararg, arguments.kwarg) if each]
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *rest]
