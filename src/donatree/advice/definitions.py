"""Functions as a file defines them: the node of one, what it returns, what is a jit."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from donatree.ledger import Location
from donatree.source.tree import Scope, Source

_JITS = frozenset(("jit", "pjit", "pmap", "filter_jit", "filter_pmap", "whole"))


def definition_of(source: Source, function: str, defined: Location | None) -> ast.AST | None:
    """The node of a function, by its name and its first line, which is that of a decorator."""
    lambdas = [each for each in ast.walk(source.module) if isinstance(each, ast.Lambda)]
    found: list[ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda] = []
    for node in ast.walk(source.module):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == function:
            found.append(node)
    if function == "<lambda>":
        found = list(lambdas)
    if defined is None or Path(defined.file).name != Path(source.file).name:
        return None
    for node in found:
        lines = [node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))]
        if defined.line in lines:
            return node
    return None


def is_jit(node: ast.AST) -> bool:
    """Whether an expression is `jit`, or a partial of it, or a call that only configures it."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name in _JITS
        case ast.Call(func=func, args=args):
            return is_jit(func) or any(is_jit(each) for each in args)
    return False


def returned(function: ast.AST) -> Iterator[ast.expr]:
    """What a function returns, expression by expression."""
    for statement in getattr(function, "body", ()):
        for node in statements(statement):
            if isinstance(node, ast.Return) and node.value is not None:
                yield node.value


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """A statement and those in it, without those of functions and classes inside it."""
    yield node
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
        return
    for below in ast.iter_child_nodes(node):
        yield from statements(below)


def defines(scope: Scope, name: str) -> bool:
    """Whether a function of that name is defined in a scope; `binds` looks at variables only."""
    body = getattr(scope, "body", ())
    return isinstance(body, list) and any(
        isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        and inner.name == name
        for each in body
        for inner in statements(each)
    )
