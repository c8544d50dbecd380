"""What an edit needs to know of the code around an expression: its text, its parentheses, its use.

Columns are Python's own, bytes of UTF-8 from 0, here as in `source`.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator

from donatree.ledger import Edit, Location
from donatree.source.tree import Scope, Source, begin_of, end_of

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)

_ATOMS = (ast.Name, ast.Call, ast.Attribute, ast.Subscript, ast.List, ast.Dict, ast.Set)
_COPIES = ("replace", "_replace", "evolve", "dict")


class Text:
    """The lines of one file in bytes, as Python's columns count them.

    Args:
        file: as a `Location` names it.
    """

    def __init__(self, file: str) -> None:
        self.lines = [line.encode("utf-8", "surrogatepass") for line in linecache.getlines(file)]
        self._starts = [0]
        for line in self.lines:
            self._starts.append(self._starts[-1] + len(line))
        self.data = b"".join(self.lines)

    def offset(self, line: int, column: int) -> int:
        """The byte at which a place begins."""
        return self._starts[line - 1] + column

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column of a byte."""
        line = next(n for n in range(len(self.lines), 0, -1) if self._starts[n - 1] <= offset)
        return line, offset - self._starts[line - 1]

    def span(self, node: ast.AST) -> tuple[int, int]:
        """The bytes of a node, without parentheses around it."""
        return self.offset(*begin_of(node)), self.offset(*end_of(node))

    def of(self, node: ast.AST) -> str:
        """The text of a node as it stands in the file."""
        start, end = self.span(node)
        return self.slice(start, end)

    def slice(self, start: int, end: int) -> str:
        """The text between two bytes."""
        return self.data[start:end].decode("utf-8", "surrogatepass")

    def with_parentheses(self, node: ast.AST, layers: int) -> tuple[int, int]:
        """The bytes of a node and of as many pairs of parentheses around it as there are.

        Args:
            node: an expression.
            layers: how many pairs next to it are not its own: those of a call whose only
                argument it is.
        """
        start, end = self.span(node)
        spans = [(start, end)]
        while True:
            before = _last_code(self.data[:start])
            after = _first_code(self.data, end)
            if before is None or after is None:
                break
            if self.data[before : before + 1] != b"(" or self.data[after : after + 1] != b")":
                break
            start, end = before, after + 1
            spans.append((start, end))
        own = max(len(spans) - 1 - layers, 0)
        return spans[own]

    def edit(self, file: str, start: int, end: int, replacement: str) -> Edit:
        """The edit that puts other text between two bytes."""
        line, column = self.place(start)
        end_line, end_column = self.place(end)
        location = Location(file, line, column, end_line, end_column)
        return Edit(location, self.slice(start, end), replacement)


def _last_code(data: bytes) -> int | None:
    """The last byte that is neither white space nor a comment; None where nobody can say."""
    while data:
        data = data.rstrip()
        begin = data.rfind(b"\n") + 1
        sign = data.find(b"#", begin)
        if sign < 0:
            break
        if any(data[begin:sign].count(quote) % 2 for quote in (b'"', b"'")):
            return None  # the sign stands in a string
        data = data[:sign]
    return len(data) - 1 if data else None


def _first_code(data: bytes, start: int) -> int | None:
    """The first byte from `start` on that is neither white space nor a comment."""
    while True:
        rest = data[start:]
        start += len(rest) - len(rest.lstrip())
        if data[start : start + 1] != b"#":
            return start if start < len(data) else None
        start = data.find(b"\n", start)
        if start < 0:
            return None


def own_layers(source: Source, node: ast.AST) -> int:
    """Pairs of parentheses next to a node that belong to what it is a part of."""
    match source.parent(node):
        case ast.Call(args=[only], keywords=[]) if only is node:
            return 1
        case ast.ClassDef(bases=[only], keywords=[]) if only is node:
            return 1
    return 0


def needs_parentheses(node: ast.AST) -> bool:
    """Whether `.astype` behind the node would belong to a part of it only."""
    return not isinstance(node, _ATOMS)


def function_around(source: Source, node: ast.AST, where: Location | None) -> Function | None:
    """The function that `where` defines, if `node` stands inside it."""
    if where is None:
        return None
    name = (where.function or "").rpartition(".")[2]
    for each in source.outwards(node):
        if isinstance(each, FUNCTIONS) and first_line(each) == where.line:
            called = "<lambda>" if isinstance(each, ast.Lambda) else each.name
            if not name or called == name:
                return each
    return None


def first_line(function: Function) -> int:
    """The line that Python gives a function's code: that of its first decorator."""
    decorators = getattr(function, "decorator_list", [])
    return min([function.lineno, *(each.lineno for each in decorators)])


def last_name(node: ast.AST) -> str:
    """`map` of `jax.tree.map`; empty where it has no name."""
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def makes(func: ast.AST) -> bool:
    """Whether a call of it makes an object of its keywords: a class, `replace`, `dict`."""
    name = last_name(func)
    return name in _COPIES or name[:1].isupper()


def read_once(scope: Scope, name: str) -> bool:
    """Whether a name is bound at one place and read at one."""
    used = [each for each in ast.walk(scope) if isinstance(each, ast.Name) and each.id == name]
    return len(used) == 2 and sum(isinstance(each.ctx, ast.Load) for each in used) == 1


def chains(node: ast.AST) -> Iterator[ast.expr]:
    """The names with attributes and items in an expression, the longest first."""
    for each in ast.walk(node):
        if isinstance(each, ast.Name | ast.Attribute | ast.Subscript):
            inner: ast.expr = each
            while isinstance(inner, ast.Attribute | ast.Subscript):
                inner = inner.value
            if isinstance(inner, ast.Name):
                yield each
