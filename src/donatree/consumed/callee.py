"""The function that a call of the user's calls, and what it reads besides its arguments."""

from __future__ import annotations

import ast
import dis
import functools
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any

from donatree._jax.frames import is_user_file, location_at, location_of_function
from donatree.consumed.leaves import path_in
from donatree.consumed.steps import Mention, Step
from donatree.ledger import Location
from donatree.source.binding import Binding, bindings
from donatree.source.evaluate import MISSING, evaluate
from donatree.source.tree import node_at

TRANSFORMS = (
    "grad",
    "value_and_grad",
    "jvp",
    "vjp",
    "linearize",
    "hessian",
    "jacobian",
    "jacfwd",
    "jacrev",
)


def call_of(step: Step) -> ast.Call | None:
    """The call in which a frame stood; None where it stood elsewhere."""
    place = step.place
    return place[1] if place is not None and isinstance(place[1], ast.Call) else None


def function_of(step: Step) -> Any:
    """What the frame was calling, where it can be looked up; else None."""
    call = call_of(step)
    value = evaluate(call.func, step.names) if call is not None else MISSING
    return None if value is MISSING else value


def plain_function(value: Any) -> FunctionType | None:
    """The Python function under a jitted one, a partial, a method; None where there is none."""
    for _ in range(32):
        if isinstance(value, functools.partial):
            value = value.func
            continue
        below = getattr(value, "__wrapped__", None) or getattr(value, "__func__", None)
        if below is None:
            break
        value = below
    return value if isinstance(value, FunctionType) else None


def argument_of(step: Step, used: Mention) -> str | None:
    """The name of the parameter under which the call passes an expression on.

    Returns:
        None where the expression is no argument of the call, or nobody can say of which
        parameter.
    """
    call, function = call_of(step), plain_function(function_of(step))
    if call is None or function is None:
        return None
    for keyword in call.keywords:
        if keyword.arg and _holds(keyword.value, used.node):
            return keyword.arg
    if any(isinstance(each, ast.Starred) for each in call.args):
        return None
    try:
        parameters = list(inspect.signature(function, follow_wrapped=False).parameters.values())
    except (TypeError, ValueError):
        return None
    for place, each in enumerate(call.args):
        if _holds(each, used.node):
            taken = parameters[place : place + 1]
            named = taken and taken[0].kind is not inspect.Parameter.VAR_POSITIONAL
            return taken[0].name if named else None
    return None


def defined_at(step: Step) -> Location | None:
    """Where the function is defined that the frame was calling."""
    function = function_of(step)
    return None if function is None else location_of_function(function)


def _holds(outer: ast.AST, node: ast.AST) -> bool:
    return any(each is node for each in ast.walk(outer))


@dataclass(frozen=True, slots=True)
class Captured:
    """A dead array that a function reads from outside: a constant of its trace.

    Attributes:
        function: the function's name.
        path: the array as the function reads it.
        code: the code that reads the name, the function's or of one inside it.
        lasti: the byte offset in it of the read.
    """

    function: str
    path: str
    code: CodeType
    lasti: int

    @property
    def location(self) -> Location:
        """Where it reads the name."""
        return location_at(self.code, self.lasti)

    def bindings(self) -> list[Binding]:
        """Where the name got the array."""
        place = node_at(self.code, self.lasti)
        return bindings(*place, self.path) if place is not None else []


def captured(step: Step, array: Any) -> Captured | None:
    """Where the function that a frame was calling reads an array that is no argument of it."""
    function = plain_function(function_of(step))
    if function is None or not is_user_file(function.__code__.co_filename):
        return None
    waiting, seen = [function], set[int]()
    while waiting and len(seen) < 64:
        each = waiting.pop(0)
        if id(each) in seen:
            continue
        seen.add(id(each))
        for name, value in _outside(each):
            inside = path_in(value, array)
            if inside is not None:
                place = _read_at(each.__code__, name)
                if place is not None:
                    return Captured(each.__name__, name + inside, *place)
            below = plain_function(value)
            if below is not None and is_user_file(below.__code__.co_filename):
                waiting.append(below)
    return None


def _outside(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """The names that a function reads from outside, with their values."""
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
        try:
            yield name, cell.cell_contents
        except ValueError:  # not bound yet
            continue
    for code in _codes(function.__code__):
        for name in code.co_names:
            if name in function.__globals__:
                yield name, function.__globals__[name]


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _codes(each)


def _read_at(code: CodeType, name: str) -> tuple[CodeType, int] | None:
    """The first place where a function's code loads a name from outside."""
    for each in _codes(code):
        for instruction in dis.get_instructions(each):
            loads = instruction.opname.startswith(("LOAD_DEREF", "LOAD_GLOBAL", "LOAD_NAME"))
            if loads and instruction.argval == name:
                return each, instruction.offset
    return None
