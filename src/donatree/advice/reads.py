"""Whether a part of the source reads a path, or binds it."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from donatree.source.binding import prefixes
from donatree.source.flow import bound_by
from donatree.source.tree import Scope, Source

_LOOKS = frozenset(("advise", "audit", "lower", "trace", "eval_shape"))
_RENEWS = frozenset(("replace", "_replace", "update", "_asdict"))
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Reads:
    """Knows one path of one scope.

    Args:
        source: the file.
        scope: the function, lambda or module.
        path: a name, attribute or item as `ast.unparse` writes it.
        readers: names of functions whose call reads the path.
    """

    def __init__(
        self, source: Source, scope: Scope, path: str, readers: Sequence[str] = ()
    ) -> None:
        self.source = source
        self.scope = scope
        self.path = path
        self._prefixes = frozenset(prefixes(path))
        self._readers = frozenset(readers)

    def hits(self, target: ast.AST) -> bool:
        """Whether a target binds the path, or what it goes through."""
        return ast.unparse(target) in self._prefixes

    def is_read(self, node: ast.AST) -> bool:
        """Whether a node, for itself, reads the path."""
        if isinstance(node, ast.AugAssign):
            return ast.unparse(node.target) == self.path
        if not isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
            return False
        if not isinstance(node.ctx, ast.Load) or self._is_looked_at(node):
            return False
        if isinstance(node, ast.Name) and node.id in self._readers:
            return True
        text = ast.unparse(node)
        if text == self.path:
            return True
        if text not in self._prefixes:
            return False
        above = self.source.parent(node)
        if isinstance(above, ast.Subscript) and above.value is node:
            return False
        if isinstance(above, ast.Attribute) and above.value is node:
            return self._is_read_by_method(above, self.path[len(text) :])
        return True  # the whole of what holds it is passed on

    def _is_looked_at(self, node: ast.AST) -> bool:
        """Whether what is passed is only looked at: by donatree, or for its shapes."""
        for each in self.source.outwards(node):
            if isinstance(each, ast.stmt):
                return False
            if isinstance(each, ast.Call):
                name = getattr(each.func, "attr", None) or getattr(each.func, "id", None)
                if name in _LOOKS:
                    return True
        return False

    def _is_read_by_method(self, function: ast.Attribute, rest: str) -> bool:
        """Whether a method of what holds the path is called that may read it.

        Args:
            function: what stands at the place of the method.
            rest: the path from the method's object on, `.state`.
        """
        call = self.source.parent(function)
        if not isinstance(call, ast.Call) or call.func is not function:
            return False
        if function.attr in _RENEWS:
            return f".{call.keywords[0].arg}" != rest if call.keywords else True
        holder = self.source.parent(self.scope)
        methods = holder.body if isinstance(holder, ast.ClassDef) else []
        for each in methods:
            if isinstance(each, _FUNCTIONS) and each.name == function.attr:
                name = rest.strip(".").partition(".")[0].partition("[")[0]
                found = (n for n in ast.walk(each) if isinstance(n, ast.Attribute))
                return any(n.attr == name and isinstance(n.ctx, ast.Load) for n in found)
        return True

    def is_shadowed(self, node: ast.AST, whole: ast.AST) -> bool:
        """Whether a name is the variable of a lambda or a comprehension around it."""
        root = prefixes(self.path)[-1]
        for each in self.source.outwards(node):
            if each is whole:
                return False
            match each:
                case ast.Lambda(args=args):
                    if any(arg.arg == root for arg in ast.walk(args) if isinstance(arg, ast.arg)):
                        return True
                case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                    names = (n for clause in each.generators for n in ast.walk(clause.target))
                    if any(isinstance(n, ast.Name) and n.id == root for n in names):
                        return True
        return False


def is_own(function: ast.AST, path: str) -> bool:
    """Whether the root of a path is a function's own parameter or variable."""
    root = prefixes(path)[-1]
    for each in ast.walk(function):
        if isinstance(each, ast.arg) and each.arg == root:
            return True
        if any(isinstance(t, ast.Name) and t.id == root for t in bound_by(each)):
            return True
    return False
