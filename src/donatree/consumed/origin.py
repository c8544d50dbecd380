"""Where the name by which a dead array was read got it, through the frames of a traceback."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from donatree.consumed.steps import Mention, Step, mention
from donatree.ledger import Location
from donatree.source.binding import Binding, bindings
from donatree.source.evaluate import MISSING, evaluate
from donatree.source.tree import Source

_MOST_HOPS = 4
_MOST_BINDINGS = 3


@dataclass(slots=True)
class Origin:
    """How an array came to where it was read.

    Attributes:
        bindings: where the outermost name that is known got it; several where it depends on what
            was run.
        passed: calls that passed it on, the innermost first: the place, and the parameter's name.
        step: the frame that the bindings are of.
        used: the expression in that frame.
    """

    bindings: list[Binding]
    step: Step
    used: Mention
    passed: list[tuple[Location, str]] = field(default_factory=list)


def origin(steps: Sequence[Step], used: Mention, array: Any) -> Origin | None:
    """Follows an array outwards from where it was read.

    Args:
        steps: the user's frames, outermost first; the last one read the array.
        used: the expression that stands for it there.
        array: the array.

    Returns:
        None where the name's binding cannot be found.
    """
    place = len(steps) - 1
    passed: list[tuple[Location, str]] = []
    here = used
    for _ in range(_MOST_HOPS):
        found = _bindings(steps, place, here)
        source = _source(steps[place])
        if source is None:
            return None
        if found and all(each.kind == "parameter" for each in found):
            outer = _mention(steps, place - 1, None, array)
            if outer is None:
                return Origin(found, steps[place], here, passed)
            before = steps[place - 1]
            passed.append((_located(before, outer), found[0].name))
            place, here = place - 1, outer
            continue
        clause = _clause(source, found)
        if clause is not None:
            # On 3.11 a comprehension has a frame of its own, inside that of its function.
            into = place - 1 if steps[place].is_comprehension else place
            outer = _mention(steps, into, clause, array)
            if outer is not None:
                place, here = into, outer
                continue
        return Origin(found[:_MOST_BINDINGS], steps[place], here, passed) if found else None
    return None


def _bindings(steps: Sequence[Step], place: int, used: Mention) -> list[Binding]:
    source = _source(steps[place])
    if source is None:
        return []
    running = [step.place[1] for step in steps[:place] if step.place and step.place[0] is source]
    found = bindings(source, used.node, used.path, running)
    if len(found) == 1 and not _says(found[0], used, steps[place]):
        return []
    return found if len(found) <= _MOST_BINDINGS else []


def _says(binding: Binding, used: Mention, step: Step) -> bool:
    """Whether the binding gave the array: of an object that is no tree it may be older."""
    if binding.name == used.path or binding.kind == "fill" or binding.kind == "parameter":
        return True
    shortened = used.path.removeprefix(binding.name)
    if not shortened.startswith("."):
        return True
    value = evaluate(ast.parse(binding.name, mode="eval").body, step.names)
    from donatree.consumed.leaves import leaves

    return value is not MISSING and bool(leaves(value))


def _clause(source: Source, found: Sequence[Binding]) -> ast.expr | None:
    """What a comprehension runs over, where it is one that bound the name."""
    if len(found) != 1 or found[0].kind != "loop":
        return None
    for each in source.outwards(found[0].node):
        if isinstance(each, ast.comprehension):
            return each.iter
        if isinstance(each, ast.stmt):
            return None
    return None


def _mention(steps: Sequence[Step], place: int, node: ast.AST | None, array: Any) -> Mention | None:
    if place < 0:
        return None
    step = steps[place]
    within = node if node is not None else (step.place[1] if step.place else None)
    return None if within is None else mention(within, step.names, array)


def _source(step: Step) -> Source | None:
    return step.place[0] if step.place else None


def _located(step: Step, used: Mention) -> Location:
    source = _source(step)
    assert source is not None
    return source.location(used.node, step.code.co_qualname)
