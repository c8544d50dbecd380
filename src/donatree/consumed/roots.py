"""Where the two leaves of a call that are one buffer came from, in the caller's own words."""

from __future__ import annotations

import ast
import inspect
from types import FrameType

from donatree import paths
from donatree.consumed.callee import call_of, function_of, plain_function
from donatree.consumed.steps import Step
from donatree.ledger import Label, Location
from donatree.source.binding import bindings
from donatree.source.tree import Source


def got_here(frame: FrameType, lasti: int, argument: str, inside: str) -> Label | None:
    """Says where a leaf of a call got its buffer.

    Args:
        frame: the caller's frame.
        lasti: the byte offset in its code of the call; ``frame.f_lasti`` while it runs.
        argument: the name of the called function's parameter.
        inside: the leaf's path below it: ``['mu']``; empty if it is the argument.

    Returns:
        The place where the leaf was bound, or put into the tree that was bound; None where the
        caller's source does not say.
    """
    step = Step(frame, lasti)
    passed = argument_expression(step, argument)
    if passed is None or step.place is None:
        return None
    source = step.place[0]
    written = ast.unparse(passed) + inside
    leaf = _descend(passed, inside)
    if not isinstance(leaf, ast.Name | ast.Attribute | ast.Subscript):
        return Label(source.location(leaf, frame.f_code.co_qualname), f"`{written}` is this")
    rest = inside if leaf is passed else ""
    found = bindings(source, leaf, ast.unparse(leaf) + rest)
    if len(found) != 1:
        return None
    below = (ast.unparse(leaf) + rest).removeprefix(found[0].name)
    node: ast.AST = found[0].node
    if found[0].value is not None and below:
        value = _descend(found[0].value, below)
        node = found[0].node if value is found[0].value else value
    return Label(_located(source, node, frame), f"`{written}` got this buffer here")


def argument_expression(step: Step, argument: str) -> ast.expr | None:
    """What a call passes for a parameter; None where the call does not say so itself."""
    call, function = call_of(step), plain_function(function_of(step))
    if call is None:
        return None
    for keyword in call.keywords:
        if keyword.arg == argument:
            return keyword.value
    if function is None or any(isinstance(each, ast.Starred) for each in call.args):
        return None
    try:
        names = list(inspect.signature(function, follow_wrapped=False).parameters)
    except (TypeError, ValueError):
        return None
    place = names.index(argument) if argument in names else len(call.args)
    return call.args[place] if place < len(call.args) else None


def _descend(value: ast.expr, path: str) -> ast.expr:
    """Follows a path into displays and constructor calls, as far as they are written out."""
    for part in paths.split("_" + path)[1:]:
        below = _part(value, part)
        if below is None:
            return value
        value = below
    return value


def _part(value: ast.expr, part: str) -> ast.expr | None:
    match value:
        case ast.Dict(keys=keys, values=values):
            for key, each in zip(keys, values, strict=True):
                if isinstance(key, ast.Constant) and f"[{key.value!r}]" == part:
                    return each
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            number = part.strip("[]")
            if number.isdigit() and int(number) < len(elements):
                found = elements[int(number)]
                return None if isinstance(found, ast.Starred) else found
        case ast.Call(keywords=keywords):
            name = part.lstrip(".").strip("[]'\"")
            return next((each.value for each in keywords if each.arg == name), None)
    return None


def _located(source: Source, node: ast.AST, frame: FrameType) -> Location:
    return source.location(node, frame.f_code.co_qualname)
