"""What to change after a use of a dead array, and what it costs in bytes."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from donatree.consumed.callee import TRANSFORMS
from donatree.consumed.calls import Call
from donatree.consumed.case import Case, in_loop, unbound_in_loop
from donatree.consumed.leaves import Leaf, leaves
from donatree.findings.rule import count
from donatree.source.binding import Binding
from donatree.source.evaluate import MISSING, evaluate
from donatree.source.tree import node_at

_LONGEST = 50


def help_for(case: Case, again: bool) -> str | None:
    """The change that keeps the array, or does without it; None where nothing is known."""
    if case.taker is None:
        by = case.taken_by
        return f"read the result of `{by}` instead" if by else None
    call = case.taker[0]
    transform = transform_of(call)
    copy = _copy(case)
    if transform is not None:
        return (
            f"take donation off `{call.function}` and donate at an outer `jax.jit` around "
            f"`{transform}` and what follows it, or {copy}"
        )
    if case.captured is not None:
        path, function = case.captured.path, case.captured.function
        return f"pass `{path}` to `{function}` as an argument instead of capturing it, or {copy}"
    name = unbound_in_loop(case) if in_loop(case) else None
    if name is None and again and case.reading.used is not None and not _is_rebound(call):
        name = case.reading.used.text
    if name is not None and name.isidentifier():
        return f"assign the result of `{call.function}` to `{name}`, or {copy}"
    return f"use the result of `{call.function}` instead, or {copy}"


def transform_of(call: Call) -> str | None:
    """The transform of JAX inside which an eager call of the user's took its arguments."""
    if call.within:
        return call.within
    place = node_at(call.code, call.lasti)
    if place is None or not isinstance(place[1], ast.Call):
        return None
    function = place[1].func
    if not isinstance(function, ast.Call):
        return None
    name = ast.unparse(function.func).rpartition(".")[2]
    return name if name in TRANSFORMS else None


def _is_rebound(call: Call) -> bool:
    """Whether the statement of the call assigns its result."""
    place = node_at(call.code, call.lasti)
    if place is None:
        return False
    statement = place[0].statement(place[1])
    return isinstance(statement, ast.Assign | ast.AnnAssign | ast.Return)


def _copy(case: Case) -> str:
    """How to keep a copy, and what it costs per device."""
    assert case.taker is not None
    call, taken = case.taker
    found = case.origin
    binding = found.bindings[0] if found is not None and len(found.bindings) == 1 else None
    text = _source_of(binding) if binding is not None else None
    if found is None or binding is None:
        return _donated_copy(taken.argument, _all_bytes(call, taken.argument))
    if binding.kind == "fill":
        inside = list(found.used.leaves)
    else:
        value = evaluate(ast.parse(binding.name, mode="eval").body, found.step.names)
        inside = [] if value is MISSING else leaves(value)
    cost = _taken_bytes(call, inside) or taken.bytes
    alone = len(inside) == 1 and not inside[0].path
    if text is not None:
        made = _copied(text, alone)
        if binding.kind == "assignment":
            return f"keep a copy: `{binding.name} = {made}`, which costs {_price(cost)}"
        return f"put in `{made}`, which costs {_price(cost)}"
    if binding.name in _arguments(call):
        return f"donate a copy, `{_copied(binding.name, alone)}`, which costs {_price(cost)}"
    return _donated_copy(taken.argument, cost)


def _donated_copy(argument: str, cost: int) -> str:
    return f"donate a copy of `{argument}`, which costs {_price(cost)}"


def _copied(text: str, alone: bool) -> str:
    return f"jnp.copy({text})" if alone else f"jax.tree.map(jnp.copy, {text})"


def _price(bytes_: int) -> str:
    return f"{count(bytes_, 'byte')} per device"


def _arguments(call: Call) -> list[str]:
    """What the call passes, as it is written."""
    place = node_at(call.code, call.lasti)
    if place is None or not isinstance(place[1], ast.Call):
        return []
    node = place[1]
    return [ast.unparse(each) for each in (*node.args, *(kw.value for kw in node.keywords))]


def _source_of(binding: Binding) -> str | None:
    """What was bound, where it is another name for the array."""
    value = binding.value
    if not isinstance(value, ast.Name | ast.Attribute | ast.Subscript):
        return None
    if binding.kind not in ("assignment", "fill"):
        return None
    text = ast.unparse(value)
    return text if len(text) <= _LONGEST else None


def _taken_bytes(call: Call, inside: Sequence[Leaf]) -> int:
    arrays = {id(leaf.array) for leaf in inside}
    return sum(each.bytes for each in call.taken if id(each.array()) in arrays)


def _all_bytes(call: Call, argument: str) -> int:
    return sum(each.bytes for each in call.taken if each.argument == argument)
