"""The calls of a jitted function in a file, found without running it.

The function may be reached by its own name under a decorator, by the name that `jax.jit(f)` was
bound to, by an attribute, through a factory that returns it, or by another name for any of these.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path

from donatree.advice.definitions import defines, definition_of, is_jit, returned, statements
from donatree.ledger import Location
from donatree.source.flow import targets
from donatree.source.scopes import binds, enclosing, parameters
from donatree.source.tree import Scope, Source

_AHEAD = frozenset(("lower", "trace", "compile"))
_ROUNDS = 6


@dataclass(frozen=True, slots=True)
class CallFound:
    """A call in the source.

    Attributes:
        source: its file.
        call: its node.
        shift: 1 where the object before the dot is the function's first argument.
    """

    source: Source
    call: ast.Call
    shift: int = 0


class Callers:
    """Finds the calls of one function in one file.

    Attributes:
        attributes: what stands before the dot, a class where that is known, and after it.
        classes: classes of which an attribute is the jitted function.
        decorated: whether it is jitted where it is defined.

    Args:
        source: the file.
        function: the name of the function under the jit.
        defined: where that is defined; None where nobody can say.
        home: the search in the file that defines the function, where that is another one.
    """

    def __init__(
        self,
        source: Source,
        function: str,
        defined: Location | None,
        home: Callers | None = None,
    ) -> None:
        self._source = source
        self._definition = definition_of(source, function, defined)
        self._names: set[tuple[Scope, str]] = set()
        self.attributes: set[tuple[str, str]] = set()
        self.classes: set[str] = set()
        self.decorated = False
        self._factories: set[ast.AST] = set()
        self._scopes: dict[tuple[ast.AST, str], Scope] = {}
        if self._definition is not None:
            self._learn()
        elif home is not None:
            self._import(home)
            self._spread_all()

    @property
    def file(self) -> str:
        """The file that is searched."""
        return self._source.file

    @property
    def exported(self) -> set[str]:
        """Names of the module that stand for the jitted function."""
        return {name for scope, name in self._names if isinstance(scope, ast.Module)}

    def find(self) -> list[CallFound]:
        """The calls, in the order of the source; those inside the function itself are left out."""
        inside = set(ast.walk(self._definition)) if self._definition is not None else set()
        return [
            CallFound(self._source, node, self._shift(node))
            for node in ast.walk(self._source.module)
            if isinstance(node, ast.Call) and node not in inside and self._is_it(node.func)
        ]

    def _learn(self) -> None:
        definition = self._definition
        if isinstance(definition, ast.FunctionDef | ast.AsyncFunctionDef):
            self.decorated = any(is_jit(each) for each in definition.decorator_list)
            if self.decorated:
                self._knowdefinition_of(definition)
        self._spread_all()

    def _import(self, home: Callers) -> None:
        """Knows the names under which another file has the function."""
        self.decorated = home.decorated
        for node in ast.walk(self._source.module):
            if isinstance(node, ast.ImportFrom):
                for each in node.names:
                    if each.name in home.exported:
                        self._names.add((self._source.module, each.asname or each.name))
            elif isinstance(node, ast.Import):
                for each in node.names:
                    if each.name.rpartition(".")[2] == Path(home.file).stem:
                        owner = each.asname or each.name
                        self.attributes |= {(owner, name) for name in home.exported}
        self.classes |= home.classes
        self.attributes |= {pair for pair in home.attributes if pair[0] in home.classes}

    def _spread_all(self) -> None:
        every = list(ast.walk(self._source.module))
        for _ in range(_ROUNDS):
            before = len(self._names), len(self.attributes), len(self._factories)
            for node in every:
                self._spread(node)
            if (len(self._names), len(self.attributes), len(self._factories)) == before:
                break

    def _knowdefinition_of(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        holder = self._source.parent(node)
        if isinstance(holder, ast.ClassDef):
            self._attribute_of(holder, node.name)
        else:
            self._names.add((self._source.scope(node), node.name))

    def _attribute_of(self, holder: ast.ClassDef, name: str) -> None:
        self.classes.add(holder.name)
        self.attributes.add((holder.name, name))

    def _spread(self, node: ast.AST) -> None:
        match node:
            case ast.Assign(targets=left, value=value):
                for each in left:
                    self._bind(each, value)
            case ast.AnnAssign(target=left, value=ast.expr() as value):
                self._bind(left, value)
            case ast.NamedExpr(target=left, value=value):
                self._bind(left, value)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                if any(self._is_it(each) for each in returned(node)):
                    self._factories.add(node)

    def _bind(self, left: ast.expr, value: ast.expr) -> None:
        match left, value:
            case ast.Tuple(elts=many), ast.Tuple(elts=values) if len(many) == len(values):
                for one, each in zip(many, values, strict=True):
                    self._bind(one, each)
                return
        if not self._is_it(value):
            return
        for target in targets(left):
            if isinstance(target, ast.Name):
                self._names.add((self._source.scope(target), target.id))
            elif isinstance(target, ast.Attribute):
                holder = self._class_around(target)
                if isinstance(target.value, ast.Name) and holder is not None:
                    self._attribute_of(holder, target.attr)
                else:
                    self.attributes.add((ast.unparse(target.value), target.attr))

    def _class_around(self, node: ast.AST) -> ast.ClassDef | None:
        """The class whose method `node` stands in."""
        method = self._source.scope(node)
        holder = self._source.parent(method)
        return holder if isinstance(holder, ast.ClassDef) else None

    def _owner(self, node: ast.expr) -> str:
        """The class of what stands before a dot, as far as the file says it; else its text."""
        text = ast.unparse(node)
        if not isinstance(node, ast.Name):
            return text
        holder = self._class_around(node)
        method = self._source.scope(node)
        first = next(iter(parameters(method)), None)
        if holder is not None and first is not None and first.arg == node.id:
            return holder.name
        scope = self._scope_of(node, node.id)
        for each in ast.walk(scope):
            if isinstance(each, ast.Assign) and isinstance(each.value, ast.Call):
                made = ast.unparse(each.value.func).rpartition(".")[2]
                names = [ast.unparse(target) for target in each.targets]
                if made in self.classes and text in names:
                    return made
        return text

    def _is_it(self, node: ast.expr) -> bool:
        """Whether an expression is the jitted function."""
        match node:
            case ast.Name(id=name):
                return (self._scope_of(node, name), name) in self._names
            case ast.Attribute(value=owner, attr=attr):
                if not any(attr == each for _, each in self.attributes):
                    return False
                return (self._owner(owner), attr) in self.attributes
            case ast.Call(func=func):
                if is_jit(func):
                    parts = [*node.args, *(each.value for each in node.keywords)]
                    return any(self._mentions(part) for part in parts)
                if isinstance(func, ast.Attribute) and func.attr in _AHEAD:
                    return self._is_it(func.value)
                made = self._function_named(func)
                return made is not None and made in self._factories
        return False

    def _mentions(self, node: ast.expr) -> bool:
        """Whether the function itself, not what it was jitted to, stands in an expression."""
        definition = self._definition
        if isinstance(definition, ast.Lambda):
            return any(each is definition for each in ast.walk(node))
        for each in ast.walk(node):
            match each:
                case ast.Name(id=name):
                    found = self._function_named(each)
                    if found is definition or self._stands_for(each, name):
                        return True
                case ast.Attribute(attr=attr):
                    if definition is not None and attr == getattr(definition, "name", None):
                        return True
        return False

    def _stands_for(self, node: ast.expr, name: str) -> bool:
        """Whether a name was bound to an expression that mentions the function: a partial of it."""
        scope = self._scope_of(node, name)
        for each in ast.walk(scope):
            if isinstance(each, ast.Assign) and self._source.scope(each) is scope:
                bound = any(isinstance(t, ast.Name) and t.id == name for t in each.targets)
                if bound and isinstance(each.value, ast.Call) and node not in ast.walk(each.value):
                    return any(
                        self._function_named(part) is self._definition
                        for part in ast.walk(each.value)
                        if isinstance(part, ast.Name)
                    )
        return False

    def _function_named(self, node: ast.AST) -> ast.AST | None:
        """The function that a name stands for in its own scope, where the file defines it."""
        if not isinstance(node, ast.Name):
            return None
        scope = self._scope_of(node, node.id)
        body = getattr(scope, "body", ())
        for each in body if isinstance(body, list) else ():
            for inner in statements(each):
                if isinstance(inner, ast.FunctionDef) and inner.name == node.id:
                    return inner
        return None

    def _scope_of(self, node: ast.AST, name: str) -> Scope:
        key = self._source.scope(node), name
        known = self._scopes.get(key)
        if known is None:
            here: Scope = key[0]
            while not binds(here, name) and not defines(here, name):
                here = enclosing(self._source, here)
            known = self._scopes[key] = here
        return known

    def _shift(self, call: ast.Call) -> int:
        """Whether the object before the dot is passed as the first argument."""
        definition = self._definition
        if not isinstance(call.func, ast.Attribute) or not self.decorated or definition is None:
            return 0
        holder = self._source.parent(definition)
        if not isinstance(holder, ast.ClassDef):
            return 0
        named = isinstance(call.func.value, ast.Name) and call.func.value.id == holder.name
        return 0 if named else 1
