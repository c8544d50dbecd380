"""A jaxpr and all jaxprs inside it as one graph of numbered values.

Nothing is copied ahead: a value gets its number, and its operands theirs, when the walk first asks
for them, so a program of a million equations costs what the walk looks at. No parameter of a
primitive is taken for granted: `scan` has had neither `num_consts` nor `num_carry` since JAX 0.12,
so ranks tell what is carried. A primitive whose inner jaxprs do not fit its operands is one opaque
value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from donatree._jax import costs, inner, request
from donatree._jax.values import Operands, Scope, Values


class Graph(Values):
    """See `origin.drift.Graph`."""

    def _expand(self, value: int) -> Operands:
        result, name, scope, equation = self._made[value]
        if name not in costs.WITHOUT_BODY:
            bodies = list(inner.bodies(equation.params))
            if bodies:
                self._call(scope, equation, name, bodies)
                found = self._operands[value]
                if callable(found):
                    return found()
        operands, results = equation.invars, equation.outvars
        if len(results) > 1 and len(results) == len(operands) and costs.is_one_to_one(name):
            place = next(i for i, var in enumerate(results) if var is result)
            return ((self._value(scope, operands[place]), 1),)
        first, others, otherwise = costs.costs(name)
        shape = getattr(result.aval, "shape", None) if otherwise else None
        values = scope.values
        found = []
        for place, var in enumerate(operands):
            if hasattr(var, "val"):
                continue
            operand = values.get(var)
            if operand is None:
                operand = self._value(scope, var)
            price = others if place else first
            if otherwise and getattr(var.aval, "shape", None) != shape:
                price = otherwise
            found.append((operand, price))
        return tuple(found)

    def _call(self, scope: Scope, equation: Any, name: str, bodies: list[Any]) -> None:
        """Gives the results of an equation with inner jaxprs their operands."""
        if name == "scan":
            self._scan(scope, equation, bodies[0])
        elif name == "while":
            self._while(scope, equation)
        elif name == "cond":
            self._cond(scope, equation, bodies)
        else:
            results, count = len(equation.outvars), len(equation.invars)
            for body in bodies:
                if len(body.outvars) == results and len(body.invars) <= count:
                    self._plain(scope, equation, body)
                    break

    def _result(
        self, scope: Scope, equation: Any, var: Any, operands: Callable[[], Operands]
    ) -> None:
        """Sets what a result of an equation is computed from."""
        value = self._value(scope, var)
        self._operands[value] = operands

    def _inside(self, scope: Scope, equation: Any, body: Any) -> Scope:
        opened = self._open(body, scope, equation)
        scope.called.setdefault(id(equation), []).append(opened)
        return opened

    def _hand_in(self, inside: Scope, var: Any, outer: Scope, operand: Any, cost: int = 0) -> None:
        """An input of an inner jaxpr: the outer value itself, or a slice or shard of it."""
        value = self._value(outer, operand)
        if _type_key(var.aval) != _type_key(operand.aval):
            value = self._new(var, "enter", inside, None, ((value, cost),))
        inside.values[var] = value

    def _carry(self, inside: Scope, var: Any, outer: Scope, start: Any, result: Any) -> int:
        """A carried value: what it was at the start, or what the body made of it."""
        first = self._value(outer, start)
        value = self._new(
            var,
            "carry",
            inside,
            None,
            lambda: ((first, 0), (self._value(inside, result), 0)),
        )
        inside.values[var] = value
        return value

    def _scan(self, scope: Scope, equation: Any, body: Any) -> None:
        arity = len(body.invars), len(body.outvars)
        if arity != (len(equation.invars), len(equation.outvars)):
            return
        inside = self._inside(scope, equation, body)
        carried = sum(
            _rank(result) == _rank(var)
            for result, var in zip(equation.outvars, body.outvars, strict=True)
        )
        sliced = sum(
            _rank(operand) == _rank(var) + 1
            for operand, var in zip(equation.invars, body.invars, strict=True)
        )
        fixed = len(equation.invars) - carried - sliced
        for place, (var, operand) in enumerate(zip(body.invars, equation.invars, strict=True)):
            turn = place - fixed
            if turn < 0:
                self._hand_in(inside, var, scope, operand)
            elif turn < carried:
                value = self._carry(inside, var, scope, operand, body.outvars[turn])
                self._result(scope, equation, equation.outvars[turn], _only(value, 0))
            else:
                self._hand_in(inside, var, scope, operand, costs.SLICE)
        for result, var in zip(equation.outvars[carried:], body.outvars[carried:], strict=True):
            self._result(scope, equation, result, self._later(inside, var, costs.SLICE))

    def _while(self, scope: Scope, equation: Any) -> None:
        body: Any = request.core_jaxpr(equation.params.get("body_jaxpr"))
        carried = len(equation.outvars)
        if body is None or len(body.outvars) != carried:
            return
        inside = self._inside(scope, equation, body)
        fixed = len(body.invars) - carried
        starts = equation.invars[len(equation.invars) - carried :]
        constants = equation.invars[len(equation.invars) - carried - fixed :][:fixed]
        for var, operand in zip(body.invars[:fixed], constants, strict=True):
            self._hand_in(inside, var, scope, operand)
        for var, start, result, returned in zip(
            body.invars[fixed:], starts, equation.outvars, body.outvars, strict=True
        ):
            value = self._carry(inside, var, scope, start, returned)
            self._result(scope, equation, result, _only(value, 0))

    def _cond(self, scope: Scope, equation: Any, bodies: list[Any]) -> None:
        predicate, *operands = equation.invars
        arity = len(operands), len(equation.outvars)
        if any((len(body.invars), len(body.outvars)) != arity for body in bodies):
            return
        opened = []
        for body in bodies:
            inside = self._inside(scope, equation, body)
            for var, operand in zip(body.invars, operands, strict=True):
                self._hand_in(inside, var, scope, operand)
            opened.append(inside)
        chosen = self._value(scope, predicate)
        for place, result in enumerate(equation.outvars):
            self._result(scope, equation, result, self._chosen(opened, place, chosen))

    def _chosen(self, opened: list[Scope], place: int, predicate: int) -> Callable[[], Operands]:
        return lambda: (
            *((self._value(each, each.jaxpr.outvars[place]), 0) for each in opened),
            (predicate, costs.CHOICE),
        )

    def _plain(self, scope: Scope, equation: Any, body: Any) -> None:
        inside = self._inside(scope, equation, body)
        operands = equation.invars[len(equation.invars) - len(body.invars) :]
        for var, operand in zip(body.invars, operands, strict=True):
            self._hand_in(inside, var, scope, operand)
        for result, var in zip(equation.outvars, body.outvars, strict=True):
            self._result(scope, equation, result, self._later(inside, var, 0))

    def _later(self, inside: Scope, var: Any, cost: int) -> Callable[[], Operands]:
        return lambda: ((self._value(inside, var), cost),)


def _only(value: int, cost: int) -> Callable[[], Operands]:
    return lambda: ((value, cost),)


def _rank(var: Any) -> int:
    return len(getattr(var.aval, "shape", ()))


def _type_key(aval: Any) -> tuple[Any, Any]:
    return getattr(aval, "dtype", None), getattr(aval, "shape", None)
