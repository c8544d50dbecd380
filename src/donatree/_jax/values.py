"""Numbered values of a jaxpr and of the jaxprs inside it.

A value gets its number, and its type, when the walk first asks for it. Each call of an inner jaxpr
is a scope of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from donatree._jax import costs, places, request
from donatree.origin.drift import Place, Type

Operands = tuple[tuple[int, int], ...]


@dataclass(slots=True)
class Scope:
    """One call of a jaxpr: which of its variables have a number."""

    numbers: tuple[int, ...]
    jaxpr: Any
    producers: Mapping[Any, Any]
    function: places.Function | None
    outer: Scope | None = None
    equation: Any = None
    values: dict[Any, int] = field(default_factory=dict)
    called: dict[int, list[Scope]] = field(default_factory=dict)


class Values:
    """The values of one program; how primitives make them, `graph.Graph` knows.

    Args:
        jaxpr: the whole program's.
        names: of its last inputs, the leaves.
    """

    def __init__(self, jaxpr: Any, names: Sequence[str]) -> None:
        core = request.core_jaxpr(jaxpr)
        self._names = names
        self._made: list[tuple[Any, str, Scope, Any]] = []  # variable, kind, scope, equation
        self._operands: list[Operands | Callable[[], Operands] | None] = []
        self._type: dict[int, Type] = {}
        self._types: dict[Any, Type] = {}
        self._place: dict[int, Place | None] = {}
        self._producers: dict[int, Mapping[Any, Any]] = {}
        self._functions: dict[int, places.Function | None] = {}
        self._places = places.Places()
        self._scopes = 0
        self._top = self._open(core, None, None)
        self._input = {var: index - self.offset for index, var in enumerate(core.invars)}

    @property
    def offset(self) -> int:
        """Inputs before the first leaf: constants hoisted out of the function."""
        return len(self._top.jaxpr.invars) - len(self._names)

    def leaf(self, index: int) -> int:
        """The number of the leaf with this flat index."""
        return self._value(self._top, self._top.jaxpr.invars[index + self.offset])

    def slot(self, index: int) -> int:
        """The number of the result in place `index`."""
        return self._value(self._top, self._top.jaxpr.outvars[index])

    # What the walk asks.

    def operands(self, value: int) -> Operands:
        """See `origin.drift.Graph`."""
        found = self._operands[value]
        if found is None:
            found = self._operands[value] = self._expand(value)
        elif callable(found):
            found = self._operands[value] = found()
        return found

    def everything(self, value: int) -> list[int]:
        """See `origin.drift.Graph`."""
        found = [operand for operand, _ in self.operands(value)]
        _, _, scope, equation = self._made[value]
        if equation is not None and not self.passes_on(value):
            found += [self._value(scope, var) for var in equation.invars if hasattr(var, "val")]
        return found

    def kind(self, value: int) -> str:
        """See `origin.drift.Graph`."""
        return self._made[value][1]

    def type_of(self, value: int) -> Type:
        """See `origin.drift.Graph`."""
        known = self._type.get(value)
        if known is None:
            known = self._type[value] = self._type_of(self._made[value][0].aval)
        return known

    def scopes(self, value: int) -> tuple[int, ...]:
        """See `origin.drift.Graph`."""
        return self._made[value][2].numbers

    def passes_on(self, value: int) -> bool:
        """See `origin.drift.Graph`."""
        _, kind, scope, equation = self._made[value]
        if kind in ("carry", "enter"):
            return True
        if kind in costs.WITHOUT_BODY:
            return False
        self.operands(value)
        return equation is not None and id(equation) in scope.called

    def words(self, value: int) -> str | None:
        """See `origin.drift.Graph`."""
        var, kind, _, _ = self._made[value]
        if kind == "input":
            return f"argument `{self._names[self._input[var]]}`"
        if kind == "literal" and getattr(var.aval, "weak_type", False):
            return f"the Python number {_number(var.val)}"
        return None

    def is_cast(self, value: int) -> bool:
        """See `origin.drift.Graph`."""
        equation = self._made[value][3]
        return equation is not None and self._places.is_cast(equation)

    def place(self, value: int) -> Place | None:
        """See `origin.drift.Graph`."""
        if value not in self._place:
            self._place[value] = self._find_place(value)
        return self._place[value]

    def _find_place(self, value: int) -> Place | None:
        _, kind, scope, equation = self._made[value]
        if kind in ("carry", "enter") and scope.outer is not None:
            scope, equation = scope.outer, scope.equation
        while equation is not None:
            found = self._places.of(equation, scope.function, scope.outer is None)
            if found is not None or scope.outer is None:
                return found
            equation, scope = scope.equation, scope.outer
        return None

    # Scopes and values.

    def _open(self, jaxpr: Any, outer: Scope | None, equation: Any) -> Scope:
        core = request.core_jaxpr(jaxpr)
        key = id(core)
        if key not in self._producers:
            self._producers[key] = {var: each for each in core.eqns for var in each.outvars}
            self._functions[key] = places.function_of(core)
        self._scopes += 1
        numbers = (self._scopes, *(outer.numbers if outer else ()))
        return Scope(numbers, core, self._producers[key], self._functions[key], outer, equation)

    def _new(
        self,
        var: Any,
        kind: str,
        scope: Scope,
        equation: Any,
        operands: Operands | Callable[[], Operands] | None,
    ) -> int:
        self._made.append((var, kind, scope, equation))
        self._operands.append(operands)
        return len(self._made) - 1

    def _type_of(self, aval: Any) -> Type:
        key = (
            getattr(aval, "dtype", None),
            getattr(aval, "shape", ()),
            getattr(aval, "weak_type", False),
        )
        known = self._types.get(key)
        if known is None:
            dtype, shape, weak_type = key
            shape = tuple(size if isinstance(size, int) else str(size) for size in shape)
            known = self._types[key] = Type(str(dtype), shape, bool(weak_type))
        return known

    def _value(self, scope: Scope, var: Any) -> int:
        """The number of a variable or literal of a scope."""
        if hasattr(var, "val"):
            return self._new(var, "literal", scope, None, ())
        known = scope.values.get(var)
        if known is None:
            equation = scope.producers.get(var)
            if equation is not None:
                known = self._new(var, equation.primitive.name, scope, equation, None)
            elif scope is self._top and self._input.get(var, -1) >= 0:
                known = self._new(var, "input", scope, None, ())
            else:
                known = self._new(var, "constant", scope, None, ())
            scope.values[var] = known
        return known

    def _expand(self, value: int) -> Operands:
        """What a value was computed from."""
        raise NotImplementedError


def _number(value: Any) -> str:
    """A literal as a person writes it; JAX has classes of its own for Python's numbers."""
    plain: Any = value.item() if hasattr(value, "item") else value
    kinds: tuple[Any, ...] = (bool, int, float, complex)
    for kind in kinds:
        if isinstance(plain, kind):
            return repr(kind(plain))
    return str(plain)
