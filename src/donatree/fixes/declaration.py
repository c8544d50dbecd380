"""The place where a function is jitted, and edits of what it declares."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from donatree.fixes import code, naming
from donatree.fixes.code import Text
from donatree.ledger import Edit, Grade, Location
from donatree.source.tree import Source, source_of

_JITS = ("jit", "pjit")


@dataclass(frozen=True, slots=True)
class Declaration:
    """A call that jits a function, or `@jax.jit` without one.

    Attributes:
        source: the file.
        node: ``jax.jit(step, donate_argnums=0)``, ``partial(jax.jit, donate_argnums=0)``, or the
            bare decorator.
        sure: whether it is the function's only declaration beyond doubt: its decorator, or a call
            with the lambda itself.
    """

    source: Source
    node: ast.expr
    sure: bool

    @property
    def grade(self) -> Grade:
        """How far an edit of it is certain."""
        return "sure" if self.sure else "maybe"

    def keyword(self, name: str) -> ast.keyword | None:
        """The keyword of that name, if it is given."""
        keywords = self.node.keywords if isinstance(self.node, ast.Call) else []
        return next((each for each in keywords if each.arg == name), None)

    def with_keyword(self, name: str, value: str) -> Edit | None:
        """The edit that gives the keyword this value, whether it is given already or not.

        Returns:
            None for a bare decorator where the file has no `partial` to write it with.
        """
        text = Text(self.source.file)
        if not isinstance(self.node, ast.Call):
            partial = naming.module_name(self.source, "functools.partial")
            if partial is None:
                return None
            start, end = text.span(self.node)
            made = f"{partial}({text.of(self.node)}, {name}={value})"
            return text.edit(self._file, start, end, made)
        given = self.keyword(name)
        if given is not None:
            return self._edited(text, *text.span(given.value), value)
        if not (self.node.args or self.node.keywords):
            start, end = text.span(self.node)
            made = f"{text.of(self.node.func)}({name}={value})"
            return text.edit(self._file, start, end, made)
        last = max([*self.node.args, *(each.value for each in self.node.keywords)], key=_end)
        _, end = text.with_parentheses(last, code.own_layers(self.source, last))
        return self._edited(text, end, end, f",{self._gap(text, last)}{name}={value}")

    def without(self, argument: str, positional: Collection[str]) -> Edit | None:
        """The edit that takes an argument out of the donated ones.

        Args:
            argument: its name.
            positional: names of the function's positional parameters.

        Returns:
            None where the declaration is not written with literals.
        """
        text = Text(self.source.file)
        names = list(positional)
        for name, wanted in (
            ("donate_argnums", names.index(argument) if argument in names else None),
            ("donate_argnames", argument),
        ):
            given = self.keyword(name)
            if given is None or wanted is None:
                continue
            values = _literals(given.value)
            if values is None:
                return None
            kept = [each for each in values if not _is(each, wanted, len(names))]
            if len(kept) == len(values):
                continue
            if kept:
                made = _written(kept, given.value, text)
                return self._edited(text, *text.span(given.value), made)
            return self._removed(text, given)
        return None

    def _removed(self, text: Text, given: ast.keyword) -> Edit | None:
        """The call without a keyword and the comma before it."""
        assert isinstance(self.node, ast.Call)
        before = [
            each
            for each in (*self.node.args, *(key.value for key in self.node.keywords))
            if _end(each) < (given.lineno, given.col_offset)
        ]
        if not before:
            return None
        last = max(before, key=_end)
        _, start = text.with_parentheses(last, code.own_layers(self.source, last))
        _, end = text.with_parentheses(given.value, 0)
        return self._edited(text, start, end, "")

    def _edited(self, text: Text, start: int, end: int, made: str) -> Edit:
        """An edit of the whole call, so that what is written is an expression again."""
        first, last = text.span(self.node)
        whole = text.slice(first, start) + made + text.slice(end, last)
        return text.edit(self._file, first, last, whole)

    def _gap(self, text: Text, last: ast.expr) -> str:
        """What stands before an argument: a line of its own where the last one has one."""
        holder = self.source.parent(last)
        begins = holder if isinstance(holder, ast.keyword) else last
        line = text.lines[begins.lineno - 1]
        indent = line[: begins.col_offset]
        return f"\n{indent.decode()}" if indent and not indent.strip() else " "

    @property
    def _file(self) -> str:
        return self.source.file


def find(where: Location | None) -> Declaration | None:
    """The declaration of the function that `where` defines.

    Returns:
        None where it is in another file, or not one call.
    """
    source = source_of(where.file) if where else None
    if source is None or where is None:
        return None
    defined = [
        node
        for node in ast.walk(source.module)
        if isinstance(node, code.FUNCTIONS)
        and code.first_line(node) == where.line
        and code.function_around(source, node, where) is node
    ]
    if len(defined) != 1:
        return None
    (function,) = defined
    decorators = [each for each in getattr(function, "decorator_list", []) if _jits(each)]
    if decorators:
        return Declaration(source, decorators[0], True) if len(decorators) == 1 else None
    calls = [*_calls_with(source, function)]
    if len(calls) != 1:
        return None
    return Declaration(source, calls[0], isinstance(function, ast.Lambda))


def _calls_with(source: Source, function: code.Function) -> Iterator[ast.Call]:
    """Calls of `jit` with the function, by its name unless it is a lambda."""
    for node in ast.walk(source.module):
        if isinstance(node, ast.Call) and node.args and code.last_name(node.func) in _JITS:
            first = node.args[0]
            named = getattr(function, "name", None)
            if first is function or (named and code.last_name(first) == named):
                yield node


def _jits(decorator: ast.expr) -> bool:
    """`@jax.jit`, `@jax.jit(...)` or `@partial(jax.jit, ...)`."""
    if isinstance(decorator, ast.Call):
        if code.last_name(decorator.func) == "partial":
            return bool(decorator.args) and code.last_name(decorator.args[0]) in _JITS
        return code.last_name(decorator.func) in _JITS
    return code.last_name(decorator) in _JITS


def _literals(value: ast.expr) -> list[int | str] | None:
    try:
        found = ast.literal_eval(value)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
    values = list(found) if isinstance(found, tuple | list) else [found]
    return values if all(isinstance(each, int | str) for each in values) else None


def _is(value: int | str, wanted: int | str, count: int) -> bool:
    if isinstance(value, int) and isinstance(wanted, int) and value < 0:
        value += count
    return value == wanted


def _written(kept: list[int | str], value: ast.expr, text: Text) -> str:
    """The literals that are kept, as the user wrote them."""
    elements = value.elts if isinstance(value, ast.Tuple | ast.List) else []
    texts = [text.of(each) for each in elements if ast.literal_eval(each) in kept]
    if len(texts) == 1:
        return texts[0]
    inside = ", ".join(texts)
    return f"[{inside}]" if isinstance(value, ast.List) else f"({inside})"


def _end(node: ast.AST) -> tuple[int, int]:
    return getattr(node, "end_lineno", 0), getattr(node, "end_col_offset", 0)
