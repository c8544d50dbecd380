"""Where else the arrays of an argument are, and what becomes of them there after the call."""

from __future__ import annotations

import ast

from donatree.advice.after import After, Follower
from donatree.advice.aliases import aliases
from donatree.advice.reads import Reads
from donatree.advice.rebinding import bound_around
from donatree.ledger import Location
from donatree.source.binding import bindings, prefixes
from donatree.source.scopes import binds, parameters, walk
from donatree.source.tree import Scope, Source


def held(source: Source, call: ast.Call, scope: Scope, path: str) -> tuple[Location, str] | None:
    """Another name by which the arrays are read after the call."""
    here = source.scope(call)
    if scope is not here:
        return None
    bound = {ast.unparse(each) for each in bound_around(source, call)}
    for each in aliases(here, path):
        if bound.intersection(prefixes(each.path)) or not _reaches(source, call, each.node):
            continue
        found = after(source, here, call, each.path)
        if found.read is None:
            from_global = each.source and not binds(here, prefixes(each.path)[-1])
            if from_global or not found.ends or not is_outside(here, each.path):
                continue  # what a module keeps is read again by nobody that is known
        at = source.location(found.read) if found.read is not None else source.location(each.node)
        return (at, f"`{each.path}`")
    return None


def twin(source: Source, call: ast.Call, scope: Scope, path: str) -> str | None:
    """Another argument of the call that may be the same arrays when it is made."""
    others = {ast.unparse(each) for each in (*call.args, *(k.value for k in call.keywords))}
    here = source.scope(call)
    for each in aliases(here, path) if scope is here else ():
        if each.path in others and each.path != path and _reaches(source, call, each.node):
            return each.path
    return None


def _reaches(source: Source, call: ast.Call, node: ast.AST) -> bool:
    """Whether what a statement binds can be there when the call is made."""
    if (node.lineno, node.col_offset) < (call.lineno, call.col_offset):  # type: ignore[attr-defined]
        return True
    loops = {each for each in source.outwards(call) if isinstance(each, ast.For | ast.While)}
    return any(each in loops for each in source.outwards(node))


def borrowed(source: Source, call: ast.Call, path: str) -> str | None:
    """What a loop variable was taken from, where that may hold it still."""
    for each in bindings(source, call, path):
        if each.kind == "loop" and each.value is not None:
            return ast.unparse(each.value)
        if isinstance(each.value, ast.Call) and ast.unparse(each.value.func) == "next":
            return ast.unparse(each.value.args[0]) if each.value.args else None
    return None


def _readers(source: Source, scope: Scope, path: str, call: ast.AST) -> list[str]:
    """Names of functions, defined in a scope, that read a variable of it."""
    root = prefixes(path)[-1]
    around = set(source.outwards(call))
    found = []
    for node in walk(scope):
        function = node
        name = getattr(node, "name", None)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda):
            function, name = node.value, ast.unparse(node.targets[0])
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if name is None or function in around or binds(function, root):
            continue
        reads = (n for n in ast.walk(function) if isinstance(n, ast.Name) and n.id == root)
        if any(isinstance(n.ctx, ast.Load) for n in reads):
            found.append(name)
    return found


def after(source: Source, scope: Scope, call: ast.AST, path: str) -> After:
    """What becomes of a path after a call, calls of functions that read it included."""
    readers = _readers(source, scope, path, call)
    return Follower(Reads(source, scope, path, readers)).after(call)


def is_outside(scope: Scope, path: str) -> bool:
    """Whether a path lives on when its scope has ended: of a module, of a parameter, of `self`."""
    root = prefixes(path)[-1]
    if isinstance(scope, ast.Module):
        return False
    if not binds(scope, root):
        return True
    return root != path and any(each.arg == root for each in parameters(scope))
