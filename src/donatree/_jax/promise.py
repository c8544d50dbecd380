"""What a declaration promises of one call, and why JAX did not record some of it."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from donatree._jax import facts
from donatree.observation import WhyNotAsked

_NAMED_BY_POSITION = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
)


@dataclass(frozen=True, slots=True)
class Argument:
    """One dynamic argument of a call and the leaves it covers."""

    position: int | None
    name: str | None
    passed_by_keyword: bool
    leaves: range


@dataclass(frozen=True, slots=True)
class Promise:
    """What was declared, as `Request` tells it."""

    why_not: Mapping[int, WhyNotAsked]
    undelivered: tuple[str, ...]
    declared: str


def donates(info: Any) -> bool:
    """Whether a jitted function declares any donation."""
    return bool(info.donate_argnums or info.donate_argnames)


def promise_of(
    fun: Any, info: Any, arguments: Sequence[Argument], asked: frozenset[int]
) -> Promise:
    """Holds the declaration against the arguments of a call and what JAX recorded.

    Args:
        fun: the function under the jit.
        info: JAX's `PjitInfo` of it.
        arguments: the call's dynamic arguments.
        asked: flat indices of the leaves that JAX recorded as donated.
    """
    signature = _signature(fun)
    if not donates(info):
        return Promise({}, (), "")
    numbers = _declared_numbers(info)
    positions = {_counted_from_the_start(signature, number) for number in numbers}
    names = set(info.donate_argnames)
    why: dict[int, WhyNotAsked] = {}
    for argument in arguments:
        if argument.position in positions or argument.name in names:
            reason = _reason(argument, numbers, names)
            why.update({index: reason for index in argument.leaves if index not in asked})
    positions -= {argument.position for argument in arguments}
    names -= {argument.name for argument in arguments}
    return Promise(
        why, _undelivered(signature, positions, names), _declared(signature, numbers, info)
    )


def arguments_of(
    fun: Any, info: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Iterator[Argument]:
    """The dynamic arguments in flatten order: positional ones, then keywords sorted by name.

    Args:
        fun: the function under the jit.
        info: JAX's `PjitInfo` of it.
        args: the positional arguments, static ones included.
        kwargs: the keyword arguments, static ones included.
    """
    import jax

    by_position = [each.name for each in _parameters(_signature(fun), *_NAMED_BY_POSITION)]
    static = {number % len(args) if number < 0 else number for number in info.static_argnums}
    start = 0
    for position, value in enumerate(args):
        if position in static:
            continue
        stop = start + len(jax.tree_util.tree_leaves(value))
        name = by_position[position] if position < len(by_position) else None
        yield Argument(position, name, False, range(start, stop))
        start = stop
    for name in sorted(kwargs):
        if name in info.static_argnames:
            continue
        stop = start + len(jax.tree_util.tree_leaves(kwargs[name]))
        position = by_position.index(name) if name in by_position else None
        yield Argument(position, name, True, range(start, stop))
        start = stop


def _signature(fun: Any) -> inspect.Signature | None:
    try:
        return inspect.signature(fun)
    except (ValueError, TypeError):
        return None


def _parameters(signature: inspect.Signature | None, *kinds: Any) -> list[inspect.Parameter]:
    found = signature.parameters.values() if signature is not None else ()
    return [each for each in found if each.kind in kinds]


def _declared_numbers(info: Any) -> set[int]:
    """`donate_argnums` counted as the user counts them, static arguments included."""
    numbers = set(info.donate_argnums)
    if facts.donate_argnums_skip_static():
        for static in sorted(info.static_argnums):
            numbers = {number + 1 if 0 <= static <= number else number for number in numbers}
    return numbers


def _counted_from_the_start(signature: inspect.Signature | None, number: int) -> int:
    """-1 is the last positional parameter; JAX itself counts so since 0.12 only (measured)."""
    count = len(_parameters(signature, *_NAMED_BY_POSITION))
    return number % count if number < 0 and count else number


def _reason(argument: Argument, numbers: set[int], names: set[str]) -> WhyNotAsked:
    """JAX matches positions with positions and names with names, and drops all for one flag."""
    if argument.passed_by_keyword:
        return "debug_nans" if argument.name in names else "passed_by_keyword"
    if argument.position in numbers:
        return "debug_nans"
    return "negative_number" if any(number < 0 for number in numbers) else "passed_by_position"


def _undelivered(
    signature: inspect.Signature | None, positions: set[int], names: set[str]
) -> tuple[str, ...]:
    """Declared places that only `*args` or `**kwargs` could have taken, and nothing took."""
    known = {each.name for each in _parameters(signature, *_NAMED_BY_POSITION)}
    known |= {each.name for each in _parameters(signature, inspect.Parameter.KEYWORD_ONLY)}
    named = len(_parameters(signature, *_NAMED_BY_POSITION))
    lost: list[str] = []
    if _parameters(signature, inspect.Parameter.VAR_POSITIONAL):
        lost += [f"positional argument {number}" for number in sorted(positions) if number >= named]
    if _parameters(signature, inspect.Parameter.VAR_KEYWORD):
        lost += [f"keyword argument `{name}`" for name in sorted(names - known)]
    return tuple(lost)


def _declared(signature: inspect.Signature | None, numbers: set[int], info: Any) -> str:
    """The declaration as the user wrote it; the form that JAX inferred from it is left out."""
    names = sorted(info.donate_argnames)
    parameters = list(signature.parameters) if signature is not None else []
    inferred = {parameters[number] for number in numbers if number < len(parameters)}
    parts = [f"donate_argnums={one_or_tuple(sorted(numbers))}"] if numbers else []
    if names and (not numbers or not set(names) <= inferred):
        parts.append(f"donate_argnames={one_or_tuple(names)}")
    return ", ".join(parts)


def one_or_tuple(values: Sequence[object]) -> str:
    """As a declaration is written: `0`, `(0, 1)`."""
    return repr(values[0]) if len(values) == 1 else repr(tuple(values))
