"""Whether to cast the value of an expression is to cast what a program returns, and nothing else.

Only then is a program with the cast at its end the program that an edit of the expression would
make.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from donatree._jax import inner, request
from donatree._jax.places import Function, Places, function_of
from donatree._jax.variant import Program
from donatree.ledger import Location

# What hands out the results of its one inner jaxpr as they are.
_CALLS = ("pjit", "jit", "closed_call", "core_call")

_Value = tuple[tuple[int, ...], int]  # the calls around it, and the variable


class Ends:
    """The values that a program returns, and the expressions of the user's that made them.

    Args:
        program: as it is.
    """

    def __init__(self, program: Program) -> None:
        self._jaxpr = request.core_jaxpr(program.lowering.args[0])
        self._places = Places()
        self._of: dict[int, _Readers] = {}
        self._made_at: dict[Location, set[_Value]] | None = None

    def makes(self, where: Location, slots: Collection[int], harmless: Collection[int]) -> bool:
        """Whether an expression makes just the values of these slots, and they are read nowhere.

        Args:
            where: the expression's place.
            slots: indices of the slots.
            harmless: slots that the expression may make as well.
        """
        wanted = [self._made(where, slot) for slot in slots]
        if None in wanted or not wanted:
            return False
        if self._made_at is None:
            self._made_at = defaultdict(set)
            self._walk(self._jaxpr, (), (), True)
        found = self._made_at.get(where, set())
        left = found.difference(wanted)
        allowed = {self._made(where, slot) for slot in harmless} if left else set()
        return found.issuperset(wanted) and left <= allowed

    def _made(self, where: Location, slot: int) -> _Value | None:
        """The value of a slot where the expression makes it; None where something else does."""
        jaxpr, calls, outermost = self._jaxpr, (), True
        around: Location | None = None
        if slot >= len(jaxpr.outvars):
            return None
        var = jaxpr.outvars[slot]
        while True:
            of = self._readers(jaxpr)
            equation = of.maker.get(id(var))
            if equation is None:
                return None
            place = self._place(equation, jaxpr, around, outermost)
            if place == where:
                return calls, id(var)
            bodies = list(inner.bodies(equation.params))
            if equation.primitive.name not in _CALLS or len(bodies) != 1:
                return None
            if id(var) in of.readers:
                return None
            index = next(i for i, each in enumerate(equation.outvars) if each is var)
            calls, jaxpr, around, outermost = (*calls, id(equation)), bodies[0], place, False
            var = jaxpr.outvars[index]

    def _walk(
        self,
        jaxpr: Any,
        calls: tuple[int, ...],
        around: tuple[Location | None, ...],
        outermost: bool,
    ) -> None:
        """Notes for each expression every value of it that something else reads or hands out."""
        assert self._made_at is not None
        returned = {id(var) for var in jaxpr.outvars}
        readers = self._readers(jaxpr).readers
        outer = around[-1] if around else None
        for equation in jaxpr.eqns:
            place = self._place(equation, jaxpr, outer, outermost)
            for body in inner.bodies(equation.params):
                self._walk(body, (*calls, id(equation)), (*around, place), False)
            if place is None or place in around:
                continue  # what a call makes inside is the call's
            for var in equation.outvars:
                reading = readers.get(id(var), ())
                if any(self._place(e, jaxpr, outer, outermost) != place for e in reading):
                    self._made_at[place].add((calls, -id(var)))  # no slot's value
                elif id(var) in returned:
                    self._made_at[place].add((calls, id(var)))

    def _place(
        self, equation: Any, jaxpr: Any, around: Location | None, outermost: bool
    ) -> Location | None:
        place = self._places.of(equation, self._readers(jaxpr).function, outermost)
        return place.user if place is not None and place.user is not None else around

    def _readers(self, jaxpr: Any) -> _Readers:
        known = self._of.get(id(jaxpr))
        if known is None:
            known = self._of[id(jaxpr)] = _Readers(function_of(jaxpr), {}, {})
            for equation in jaxpr.eqns:
                for var in equation.outvars:
                    known.maker[id(var)] = equation
                for var in equation.invars:
                    known.readers.setdefault(id(var), []).append(equation)
        return known


@dataclass(frozen=True, slots=True)
class _Readers:
    """Of one jaxpr: its function, the equation that makes a variable, and those that read it."""

    function: Function | None
    maker: dict[int, Any]
    readers: dict[int, list[Any]]
