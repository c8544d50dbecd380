"""The user's source as a syntax tree: the node at an instruction, its statement and its scope.

Columns here are Python's own: they count bytes of UTF-8 from 0.
"""

from __future__ import annotations

import ast
import linecache
import threading
from collections.abc import Iterator
from types import CodeType

from donatree._jax.frames import position, shown
from donatree.ledger import Location

Scope = ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef
SCOPES = (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
Span = tuple[int, int, int, int]

_KEPT = 32
_lock = threading.Lock()


class Source:
    """One parsed file.

    Attributes:
        file: the file's name as code objects have it; a notebook cell has one too.
        module: its syntax tree.
    """

    def __init__(self, file: str, module: ast.Module) -> None:
        self.file = file
        self.module = module
        self._parents = {
            below: node for node in ast.walk(module) for below in ast.iter_child_nodes(node)
        }

    def parent(self, node: ast.AST) -> ast.AST | None:
        """The node that `node` is a part of; None for the module."""
        return self._parents.get(node)

    def outwards(self, node: ast.AST) -> Iterator[ast.AST]:
        """`node`, then what it is a part of, up to the module."""
        here: ast.AST | None = node
        while here is not None:
            yield here
            here = self._parents.get(here)

    def statement(self, node: ast.AST) -> ast.stmt | None:
        """The innermost statement that `node` is or stands in."""
        return next((each for each in self.outwards(node) if isinstance(each, ast.stmt)), None)

    def scope(self, node: ast.AST) -> Scope:
        """The function, lambda, class or module whose names `node` uses.

        Decorators, default values and a class's bases belong to the scope outside.
        """
        below: ast.AST = node
        for each in self.outwards(node):
            if isinstance(each, SCOPES) and each is not node and _is_inside(each, below):
                return each
            below = each
        return self.module

    def loop(self, node: ast.AST) -> ast.For | ast.AsyncFor | ast.While | None:
        """The innermost loop statement of `node`'s own scope whose body `node` stands in."""
        below: ast.AST = node
        scope = self.scope(node)
        for each in self.outwards(node):
            if each is scope:
                return None
            if isinstance(each, ast.For | ast.AsyncFor | ast.While) and (
                below in each.body or (isinstance(each, ast.While) and below is each.test)
            ):
                return each
            below = each
        return None

    def at(self, span: Span) -> ast.expr | ast.stmt | None:
        """The expression that takes up just `span`, else the smallest node around it.

        Args:
            span: line, end line, column, end column.
        """
        first, last, column, end = span
        start, stop = (first, column), (last, end)
        around: ast.expr | ast.stmt | None = None
        for node in ast.walk(self.module):
            if not isinstance(node, ast.expr | ast.stmt):
                continue
            here = begin_of(node), end_of(node)
            if here == (start, stop) and isinstance(node, ast.expr):
                return node
            if here[0] <= start and stop <= here[1] and (around is None or _within(node, around)):
                around = node
        return around

    def location(self, node: ast.AST, function: str | None = None) -> Location:
        """Where `node` stands."""
        line, column = begin_of(node)
        end_line, end_column = end_of(node)
        return Location(shown(self.file), line, column, end_line, end_column, function)

    def segment(self, node: ast.AST) -> str:
        """The text of an expression on one line, as Python would write it."""
        return ast.unparse(node)


def _is_inside(scope: Scope, below: ast.AST) -> bool:
    if isinstance(scope, ast.Lambda):
        return below is scope.body or below is scope.args
    if isinstance(scope, ast.Module):
        return True
    return below in scope.body or below is getattr(scope, "args", None)


def begin_of(node: ast.AST) -> tuple[int, int]:
    """Line and column at which a node begins; (0, 0) for the module."""
    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0)


def end_of(node: ast.AST) -> tuple[int, int]:
    """Line and column at which a node ends; (0, 0) for the module."""
    return getattr(node, "end_lineno", None) or 0, getattr(node, "end_col_offset", None) or 0


def _within(inner: ast.AST, outer: ast.AST) -> bool:
    return begin_of(outer) <= begin_of(inner) and end_of(inner) <= end_of(outer)


_parsed: dict[str, tuple[str, Source | None]] = {}


def source_of(file: str) -> Source | None:
    """The syntax tree of a file that the program was loaded from.

    Args:
        file: a code object's file: a path, or what a notebook calls a cell.

    Returns:
        None where there is no source to read, or it is no Python.

    Example:
        >>> source_of("<frozen importlib._bootstrap>") is None
        True
    """
    try:
        text = "".join(linecache.getlines(file))
    except Exception:  # names that no file can have; a loader that fails
        return None
    if not text.strip():
        return None
    with _lock:
        if file in _parsed and _parsed[file][0] == text:
            return _parsed[file][1]
        try:
            made = Source(file, ast.parse(text))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            made = None
        if len(_parsed) >= _KEPT:
            _parsed.pop(next(iter(_parsed)))
        _parsed[file] = text, made
        return made


def node_at(code: CodeType, lasti: int) -> tuple[Source, ast.expr | ast.stmt] | None:
    """The node of the syntax tree that an instruction was compiled from.

    Args:
        code: a code object.
        lasti: the byte offset of the instruction, as in ``frame.f_lasti`` or ``tb_lasti``.

    Returns:
        The file and the node: the expression that was being computed, for example the call;
        None where the source cannot be read, has no such place, or Python kept no columns.
    """
    if lasti < 0:
        return None
    line, end_line, column, end_column = position(code, lasti)
    if line is None or end_line is None or column is None or end_column is None:
        return None
    source = source_of(code.co_filename)
    node = source.at((line, end_line, column, end_column)) if source else None
    return (source, node) if source and node else None
