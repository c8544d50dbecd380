"""What becomes of an argument of a call once the call has returned."""

from __future__ import annotations

import ast
import os
from types import FrameType
from typing import Any, Literal

from donatree._jax.frames import outwards
from donatree.source.chain import Chain
from donatree.source.evaluate import MISSING, evaluate, variables
from donatree.source.liveness import fate_of
from donatree.source.tree import Source, node_at

Fate = Literal["rebound", "not read", "read", "unknown"]

_OWN_ROOM = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_MOST_FRAMES = 4


def call_of(frame: FrameType) -> tuple[Source, ast.Call] | None:
    """The call in which a frame stands, and its file; None where the source cannot be read."""
    found = node_at(frame.f_code, frame.f_lasti)
    if found is None or not isinstance(found[1], ast.Call):
        return None
    return found[0], found[1]


def expression_of(call: ast.Call, place: int | str, passed: int) -> ast.expr | None:
    """What was written for one argument of a call.

    Args:
        call: the call.
        place: the number of a positional argument as the callee counts it, or a keyword.
        passed: how many positional arguments the callee got, `self` of a method included.

    Returns:
        None where a star hides it.
    """
    if isinstance(place, str):
        return next((each.value for each in call.keywords if each.arg == place), None)
    if any(isinstance(each, ast.Starred) for each in call.args):
        return None
    index = place - (passed - len(call.args))
    return call.args[index] if 0 <= index < len(call.args) else None


def fate(frame: FrameType, node: ast.expr, value: Any, depth: int = 0) -> Fate:
    """What becomes of an argument.

    Args:
        frame: the user's frame that makes the call.
        node: what it passes.
        value: the object that it passes.
        depth: how many callers were gone up already.

    Returns:
        ``rebound`` by the very statement of the call; ``not read`` again before it is bound
        anew, or ever; ``read`` again; ``unknown``.
    """
    place = call_of(frame)
    if place is None:
        return "unknown"
    names = variables(frame)
    if _other(node, names, value):
        return "unknown"
    if _is_rebound(*place, node):
        return "rebound"
    others = [each for each in outwards(frame) if not each.f_code.co_filename.startswith(_OWN_ROOM)]
    chain = Chain(others, variables)
    match node:
        case ast.Name(id=name) if name in _locals(frame):
            found = fate_of(frame, name)
            if found.read_at is not None:
                return "read"
            if found.rebound or not _is_parameter(frame, name):
                return "not read"
            return _of_caller(frame, value, depth)
        case ast.Name(id=name):
            found = chain.of_global(frame.f_globals, name)
        case ast.Attribute(value=owner, attr=attr):
            found = chain.of_attribute(evaluate(owner, names), attr)
        case ast.Subscript(value=owner, slice=index):
            found = chain.of_item(evaluate(owner, names), evaluate(index, names))
        case _:
            return "not read"  # nobody has a name for it
    if found.read_at is not None:
        return "read"
    return "not read" if found.rebound or found.ended else "unknown"


def _other(node: ast.expr, names: Any, value: Any) -> bool:
    """Whether an expression stands for another object: the call is not the one meant."""
    found = evaluate(node, names)
    return found is not MISSING and found is not value


def _is_rebound(source: Source, call: ast.Call, node: ast.expr) -> bool:
    """Whether the statement of a call assigns to what it passes, or to what that is a part of."""
    targets: set[str] = set()
    for each in source.outwards(call):
        match each:
            case ast.Assign(targets=found):
                for target in found:
                    targets |= _texts(target)
            case ast.AnnAssign(target=target) | ast.NamedExpr(target=target):
                targets |= _texts(target)
        if isinstance(each, ast.stmt):
            break
    here: ast.expr = node
    while True:
        if ast.unparse(here) in targets:
            return True
        if not isinstance(here, ast.Attribute | ast.Subscript):
            return False
        here = here.value


def _texts(target: ast.expr) -> set[str]:
    if isinstance(target, ast.Tuple | ast.List):
        return {text for each in target.elts for text in _texts(each)}
    if isinstance(target, ast.Starred):
        return _texts(target.value)
    return {ast.unparse(target)}


def _locals(frame: FrameType) -> tuple[str, ...]:
    code = frame.f_code
    if code.co_name == "<module>":
        return ()
    return (*code.co_varnames, *code.co_cellvars, *code.co_freevars)


def _is_parameter(frame: FrameType, name: str) -> bool:
    code = frame.f_code
    return name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def _of_caller(frame: FrameType, value: Any, depth: int) -> Fate:
    """A parameter that is not read again: the caller may have a name for it still."""
    outer = frame.f_back
    place = call_of(outer) if outer is not None else None
    if outer is None or place is None or depth >= _MOST_FRAMES:
        return "unknown"
    names = variables(outer)
    arguments = [*place[1].args, *(each.value for each in place[1].keywords)]
    for each in arguments:
        if evaluate(each, names) is value:
            return fate(outer, each, value, depth + 1)
    return "unknown"
