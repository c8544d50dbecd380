"""Which bindings of a name reach a place: a small flow analysis over the syntax tree."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from donatree.source.tree import Scope, Source, begin_of

# The bindings that reach a place; None where no run can get there.
State = frozenset[ast.AST] | None


def targets(node: ast.AST) -> Iterator[ast.expr]:
    """The names, attributes and items that a target binds, those of tuples one by one."""
    match node:
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            for part in parts:
                yield from targets(part)
        case ast.Starred(value=value):
            yield from targets(value)
        case ast.expr():
            yield node


def bound_by(node: ast.AST) -> Iterator[ast.expr]:
    """The targets that a node binds by itself, not those of the nodes in it."""
    match node:
        case ast.Assign(targets=many):
            for each in many:
                yield from targets(each)
        case (
            ast.AnnAssign(target=target, value=ast.expr())
            | ast.AugAssign(target=target)
            | ast.NamedExpr(target=target)
            | ast.For(target=target)
            | ast.AsyncFor(target=target)
        ):
            yield from targets(target)
        case ast.withitem(optional_vars=ast.expr() as target):
            yield from targets(target)


class Reaching:
    """The bindings of a path, and of what it goes through, that reach a place of a scope.

    Args:
        source: the file.
        scope: the function, lambda or module whose code is followed.
        wanted: the path and its prefixes as ``ast.unparse`` writes them; a binding of any of
            them makes those before it void.
    """

    def __init__(self, source: Source, scope: Scope, wanted: Sequence[str]) -> None:
        self._source = source
        self._scope = scope
        self._wanted = frozenset(wanted)
        self._root = wanted[-1]
        self._at: ast.AST | None = None
        self._seen: set[ast.AST] = set()
        self._breaks: list[set[ast.AST]] = []
        self._continues: list[set[ast.AST]] = []

    def before(self, at: ast.AST) -> list[ast.AST]:
        """The bindings that can be the last before `at`, in the order of the source.

        Args:
            at: a node of the scope; the scope itself stands for anywhere in it, where every
                binding counts.
        """
        start: State = frozenset(
            each
            for each in ast.walk(getattr(self._scope, "args", ast.Pass()))
            if isinstance(each, ast.arg) and each.arg == self._root
        )
        if isinstance(self._scope, ast.Lambda):
            return [*start]
        if at is self._scope:
            found = {
                target
                for node in ast.walk(self._scope)
                for target in bound_by(node)
                if self._hits(target) and self._owned(target)
            }
            self._seen = {*start, *found}
        else:
            self._at = self._source.statement(at)
            self._block(self._scope.body, start)
        return sorted(self._seen, key=begin_of)

    def _hits(self, target: ast.AST) -> bool:
        return ast.unparse(target) in self._wanted

    def _owned(self, target: ast.AST) -> bool:
        """Whether a target binds the scope's own name: in it, or in a function that says so."""
        inside = self._source.scope(target)
        if inside is self._scope:
            return True
        return any(
            isinstance(node, ast.Global | ast.Nonlocal) and self._root in node.names
            for node in ast.walk(inside)
        )

    def _block(self, body: Sequence[ast.stmt], state: State) -> State:
        for statement in body:
            if statement is self._at and state is not None:
                self._seen |= state
            state = self._statement(statement, state)
        return state

    def _bind(self, state: State, *nodes: ast.AST | None) -> State:
        """The state after the bindings that stand in expressions and targets."""
        if state is None:
            return None
        for outer in nodes:
            for node in _inside(outer):
                hit = [each for each in bound_by(node) if self._hits(each)]
                if hit:
                    state = frozenset(hit)
        return state

    def _statement(self, node: ast.stmt, state: State) -> State:
        match node:
            case ast.If(test=test):
                state = self._bind(state, test)
                return _join(self._block(node.body, state), self._block(node.orelse, state))
            case ast.For() | ast.AsyncFor() | ast.While():
                return self._loop(node, state)
            case ast.With() | ast.AsyncWith():
                return self._block(node.body, self._bind(state, *node.items))
            case ast.Try() | ast.TryStar():
                return self._try(node, state)
            case ast.Match():
                state = self._bind(state, node.subject)
                ends = [self._block(case.body, state) for case in node.cases]
                return _join(state, *ends)
            case ast.Return() | ast.Raise():
                return None
            case ast.Break() | ast.Continue():
                jumps = self._breaks if isinstance(node, ast.Break) else self._continues
                if jumps and state is not None:
                    jumps[-1] |= state
                return None
            case ast.Delete():
                gone = any(self._hits(each) for each in node.targets)
                return frozenset() if gone and state is not None else state
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                return frozenset() if node.name == self._root and state is not None else state
            case ast.Import() | ast.ImportFrom():
                named = {(each.asname or each.name.partition(".")[0]) for each in node.names}
                return frozenset() if self._root in named and state is not None else state
        return self._bind(state, node)

    def _loop(self, node: ast.For | ast.AsyncFor | ast.While, state: State) -> State:
        head = self._bind(state, node.iter) if not isinstance(node, ast.While) else state
        self._breaks.append(set())
        while True:
            self._continues.append(set())
            if node is self._at and head is not None:
                self._seen |= head
            if isinstance(node, ast.While):
                inside = self._bind(head, node.test)
            else:
                hit = [each for each in targets(node.target) if self._hits(each)]
                inside = frozenset(hit) if hit and head is not None else head
            end = _join(self._block(node.body, inside), _some(self._continues.pop()))
            joined = _join(head, end)
            if joined == head:
                break
            head = joined
        endless = isinstance(node, ast.While) and _is_true(node.test)
        out = None if endless else self._block(node.orelse, head)
        return _join(out, _some(self._breaks.pop()))

    def _try(self, node: ast.Try | ast.TryStar, state: State) -> State:
        end = self._block(node.body, state)
        # An exception can leave the body after any of its bindings.
        made = {
            target
            for statement in node.body
            for inner in _inside(statement)
            for target in bound_by(inner)
            if self._hits(target)
        }
        caught = None if state is None else state | made
        ends = [self._block(handler.body, caught) for handler in node.handlers]
        out = _join(self._block(node.orelse, end), *ends)
        return self._block(node.finalbody, _join(out, caught) if node.finalbody else out)


def _inside(node: ast.AST | None) -> Iterator[ast.AST]:
    """A node and those in it, in order; functions and classes are not entered."""
    if node is None:
        return
    yield node
    for below in ast.iter_child_nodes(node):
        if isinstance(below, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            continue
        yield from _inside(below)


def _join(*states: State) -> State:
    reached = [state for state in states if state is not None]
    return frozenset().union(*reached) if reached else None


def _some(jumped: set[ast.AST]) -> State:
    return frozenset(jumped) if jumped else None


def _is_true(test: ast.expr) -> bool:
    return isinstance(test, ast.Constant) and bool(test.value)
