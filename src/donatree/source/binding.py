"""Where a name got its value last before a place: every binding that can have been the last one."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from donatree import paths
from donatree.ledger import Location
from donatree.source.cells import other_cells
from donatree.source.flow import Reaching, bound_by, targets
from donatree.source.scopes import binds, enclosing, parameters, walk
from donatree.source.tree import Scope, Source

Kind = Literal["assignment", "parameter", "loop", "fill"]

_FILLS = ("append", "appendleft", "insert", "extend", "add", "update", "setdefault", "put")
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(frozen=True, slots=True)
class Binding:
    """One place where a name, an attribute or an item was given a value.

    Attributes:
        name: what was bound, as it is written: ``old``, ``self.best``, ``state['w']``.
        kind: ``parameter`` of the function, target of a ``loop`` or a comprehension, ``fill``
            where a container that began empty was given something, else ``assignment``.
        location: the target; for a fill, what was put in.
        node: its node.
        value: what was bound, where an expression of its own says so.
    """

    name: str
    kind: Kind
    location: Location
    node: ast.AST
    value: ast.expr | None = None


def prefixes(path: str) -> tuple[str, ...]:
    """A path and all that it goes through, the longest first.

    Example:
        >>> prefixes("self.state['w']")
        ("self.state['w']", 'self.state', 'self')
    """
    parts = paths.split(path)
    return tuple("".join(parts[:end]) for end in range(len(parts), 0, -1))


def bindings(
    source: Source, at: ast.AST, path: str, running: Sequence[ast.AST] = ()
) -> list[Binding]:
    r"""The bindings of a path, or of what it goes through, that can be the last before a place.

    What holds no array is left out: constants and empty containers. For a container that began
    empty, what was put in counts.

    Args:
        source: the file.
        at: the place, an expression or a statement.
        path: a name, with attributes and items as ``ast.unparse`` writes them.
        running: where the functions around it stand, for names that are theirs. Where none of
            these is in the name's own scope every binding in that scope counts. What a cell of
            a notebook does not bind is looked for in the other cells.

    Returns:
        Nothing where it is bound nowhere that can be read. Several where the last one depends on
        what was run.

    Example:
        >>> tree = Source("<x>", ast.parse("old = make()\nfor i in r:\n    old = f(old)"))
        >>> [found.location.line for found in bindings(tree, tree.module.body[1].body[0], "old")]
        [1, 3]
    """
    wanted = prefixes(path)
    inner = _of_comprehension(source, at, wanted[-1])
    if inner is not None:
        return [inner]
    scope = here = source.scope(at)
    while not binds(here, wanted[-1]):
        here = enclosing(source, here)
    inside = [node for node in running if source.scope(node) is here]
    place = at if here is scope else next(reversed(inside), here)
    found = [*Reaching(source, here, wanted).before(place)]
    made = [_binding(source, here, node) for node in found]
    kept = [each for each in made if each is not None and not _holds_nothing(each.value)]
    if not kept:
        kept = list(_fills(source, here, wanted))
    if not kept and isinstance(here, ast.Module):
        kept = list(_in_other_cells(source, wanted))
    if kept and all(each.kind == "parameter" for each in kept) and len(wanted) > 1:
        stored = list(_stored_in_class(source, here, wanted))
        return stored or kept
    return kept


def _binding(source: Source, scope: Scope, node: ast.AST) -> Binding | None:
    function = getattr(scope, "name", None)
    place = source.location(node, function)
    if isinstance(node, ast.arg):
        return Binding(node.arg, "parameter", place, node)
    if not isinstance(node, ast.expr):
        return None  # an import, a function, a class, `except ... as`: no array
    name = ast.unparse(node)
    for each in source.outwards(node):
        match each:
            case ast.For() | ast.AsyncFor() | ast.comprehension():
                return Binding(name, "loop", place, node, each.iter)
            case ast.Assign():
                value = each.value if node in each.targets else None
                return Binding(name, "assignment", place, node, value)
            case ast.AnnAssign() | ast.NamedExpr():
                return Binding(name, "assignment", place, node, each.value)
            case ast.stmt():
                return Binding(name, "assignment", place, node)
    return None


def _of_comprehension(source: Source, at: ast.AST, name: str) -> Binding | None:
    """The clause of a comprehension around `at` that binds the name."""
    for each in source.outwards(at):
        if isinstance(each, ast.stmt):
            return None
        if isinstance(each, _COMPREHENSIONS):
            for clause in each.generators:
                for target in targets(clause.target):
                    if ast.unparse(target) == name and at is not clause.iter:
                        return _binding(source, source.scope(at), target)
    return None


def _holds_nothing(value: ast.expr | None) -> bool:
    match value:
        case ast.Constant() | ast.Dict(keys=[]) | ast.List(elts=[]) | ast.Tuple(elts=[]):
            return True
        case ast.Call(func=ast.Name() | ast.Attribute() as function, args=args, keywords=[]):
            name = ast.unparse(function).rpartition(".")[2]
            if name in ("list", "dict", "set", "OrderedDict", "deque"):
                return not args
            return name == "defaultdict"
    return False


def _fills(source: Source, scope: Scope, wanted: Sequence[str]) -> Iterator[Binding]:
    """Where something was put into a container that the path goes through."""
    function = getattr(scope, "name", None)
    for node in walk(scope):
        put: ast.expr | None = None
        match node:
            case ast.Call(func=ast.Attribute(value=owner, attr=attr), args=[*_, last]) if (
                attr in _FILLS
            ):
                put = last
            case ast.Assign(targets=[ast.Subscript(value=owner)], value=value):
                put = value
            case _:
                continue
        name = ast.unparse(owner)
        if name in wanted:
            yield Binding(name, "fill", source.location(put, function), put, put)


def _in_other_cells(source: Source, wanted: Sequence[str]) -> Iterator[Binding]:
    """What the other cells of a notebook bind at their outermost level."""
    for cell in other_cells(source):
        found = [
            _binding(cell, cell.module, node)
            for node in Reaching(cell, cell.module, wanted).before(cell.module)
        ]
        kept = [each for each in found if each is not None and not _holds_nothing(each.value)]
        yield from kept or _fills(cell, cell.module, wanted)


def _stored_in_class(source: Source, method: Scope, wanted: Sequence[str]) -> Iterator[Binding]:
    """Where the methods of a class set what one of them reads through its first parameter."""
    holder = source.parent(method)
    first = next(iter(parameters(method)), None)
    if not isinstance(holder, ast.ClassDef) or first is None or first.arg != wanted[-1]:
        return
    methods = [
        each for each in holder.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    for path in wanted[:-1]:
        found: list[Binding] = []
        for each in methods:
            for node in walk(each):
                for target in bound_by(node):
                    if ast.unparse(target) == path:
                        made = _binding(source, each, target)
                        if made is not None and not _holds_nothing(made.value):
                            found.append(made)
            found += _fills(source, each, [path])
        if found:
            yield from found
            return
