"""What becomes of a name, an attribute or an item after a statement: read from the source alone.

The bytecode of a running frame says it exactly (`source.liveness`); this is for code that does not
run: the control flow of one scope, backwards over its syntax tree.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from donatree.advice.reads import Reads, is_own
from donatree.source.flow import bound_by
from donatree.source.tree import begin_of, end_of

# What comes first on a way from a place: a node that reads, a write, or the end of the scope.
Event = ast.AST | Literal["write", "end"]
Ways = frozenset[Event]

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, slots=True)
class After:
    """What comes first, over all ways on.

    Attributes:
        read: the first place in the source that may read it before it is bound anew.
        ends: whether some way leaves the scope with neither.
    """

    read: ast.AST | None
    ends: bool


class Follower:
    """Follows one path through one scope.

    Args:
        reads: knows the path and the scope.
    """

    def __init__(self, reads: Reads) -> None:
        self._source = reads.source
        self._scope = reads.scope
        self._path = reads.path
        self._reads = reads
        self._at: ast.AST | None = None
        self._found: set[Event] = set()
        self._breaks: list[Ways] = []
        self._continues: list[Ways] = []

    def after(self, call: ast.AST) -> After:
        """What becomes of the path once the statement around `call` has bound its targets."""
        statement = self._source.statement(call)
        if isinstance(self._scope, ast.Lambda) or statement is None:
            return After(self._later_in(call, self._scope), True)
        later = self.in_statement(call)
        if later is not None:
            return After(later, False)
        self._at = statement
        self._block(self._scope.body, frozenset({"end"}))
        reads = [each for each in self._found if isinstance(each, ast.AST)]
        # Nearest is what comes next in the source; a loop comes round to what lies before.
        here = end_of(statement)
        first = min(reads, key=lambda n: (begin_of(n) < here, begin_of(n)), default=None)
        return After(first, "end" in self._found)

    def in_statement(self, call: ast.AST) -> ast.AST | None:
        """What reads the path in the call's own statement once the call has returned."""
        statement = self._source.statement(call)
        return None if statement is None else self._later_in(call, statement)

    def _later_in(self, call: ast.AST, whole: ast.AST) -> ast.AST | None:
        """What reads the path after the call in its own statement's expressions."""
        inside = set(ast.walk(call))
        for each in self._source.outwards(call):
            if isinstance(each, ast.IfExp):  # of the two only one is computed
                for branch, other in ((each.body, each.orelse), (each.orelse, each.body)):
                    inside.update(ast.walk(other) if call in ast.walk(branch) else ())
        parts = [whole.body] if isinstance(whole, ast.Lambda) else list(_own_expressions(whole))
        for part in parts:
            for node in ast.walk(part):
                if node in inside or begin_of(node) < end_of(call):
                    continue
                if self._reads.is_read(node):
                    return node
        return None

    def _block(self, body: Sequence[ast.stmt], after: Ways) -> Ways:
        for statement in reversed(body):
            if statement is self._at and not _is_compound(statement):
                self._found |= after
            after = self._before(statement, after)
        return after

    def _before(self, node: ast.stmt, after: Ways) -> Ways:
        match node:
            case ast.If():
                ways = self._block(node.body, after) | self._block(node.orelse, after)
                return self._compound(node, node.test, ways)
            case ast.While() | ast.For() | ast.AsyncFor():
                return self._loop(node, after)
            case ast.With() | ast.AsyncWith():
                ways = self._block(node.body, after)
                if node is self._at:
                    self._found |= ways
                for item in reversed(node.items):
                    ways = self._simple(item, ways)
                return ways
            case ast.Try() | ast.TryStar():
                after = self._block(node.finalbody, after)
                caught = frozenset[Event]().union(
                    *(self._block(handler.body, after) for handler in node.handlers)
                )
                ways = self._block(node.body, self._block(node.orelse, after))
                return ways | caught
            case ast.Match():
                ways = after.union(*(self._block(case.body, after) for case in node.cases))
                return self._compound(node, node.subject, ways)
            case ast.Return() | ast.Raise():
                return self._simple(node, frozenset({"end"}))
            case ast.Break():
                return self._breaks[-1] if self._breaks else after
            case ast.Continue():
                return self._continues[-1] if self._continues else after
        return self._simple(node, after)

    def _compound(self, node: ast.stmt, head: ast.AST, ways: Ways) -> Ways:
        if node is self._at:
            self._found |= ways
        return self._simple(head, ways)

    def _loop(self, node: ast.While | ast.For | ast.AsyncFor, after: Ways) -> Ways:
        out = self._block(node.orelse, after)
        endless = isinstance(node, ast.While) and _is_true(node.test)
        head: Ways = frozenset() if endless else out
        while True:
            self._breaks.append(after)
            self._continues.append(head)
            inside = self._block(node.body, head)
            self._breaks.pop()
            self._continues.pop()
            if isinstance(node, ast.While):
                if node is self._at:
                    self._found |= inside | (frozenset() if endless else out)
                new = self._simple(node.test, inside | (frozenset() if endless else out))
            else:
                bound = any(self._reads.hits(each) for each in bound_by(node))
                new = (frozenset[Event]({"write"}) if bound else inside) | out
            if new == head:
                break
            head = new | head
        if isinstance(node, ast.While):
            return head
        if node is self._at:
            self._found |= head
        return self._simple(node.iter, head)

    def _simple(self, node: ast.AST, after: Ways) -> Ways:
        """A part without control flow: what it reads comes before what it binds."""
        if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            if node.name == self._path:
                return frozenset({"write"})
            read = next((n for n in ast.walk(node) if self._reads.is_read(n)), None)
            return frozenset({read}) if read is not None and not is_own(node, self._path) else after
        writes = False
        for each in ast.walk(node):
            if self._reads.is_read(each) and not self._reads.is_shadowed(each, node):
                return frozenset({each})
            writes = writes or any(self._reads.hits(target) for target in bound_by(each))
            if isinstance(each, ast.Delete):
                writes = writes or any(self._reads.hits(target) for target in each.targets)
        return frozenset({"write"}) if writes else after


def _own_expressions(statement: ast.AST) -> Iterator[ast.AST]:
    """The expressions of a statement; of a compound one without its body."""
    for each in ast.iter_child_nodes(statement):
        if isinstance(each, ast.expr | ast.withitem | ast.keyword):
            yield each


def _is_compound(node: ast.stmt) -> bool:
    return isinstance(
        node, ast.If | ast.While | ast.For | ast.AsyncFor | ast.With | ast.AsyncWith | ast.Match
    )


def _is_true(test: ast.expr) -> bool:
    return isinstance(test, ast.Constant) and bool(test.value)
