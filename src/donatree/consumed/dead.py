"""From an error to the dead array, and to the user's expression that read it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from donatree._jax import deleted
from donatree.consumed.callee import captured
from donatree.consumed.leaves import leaves
from donatree.consumed.steps import (
    Mention,
    Step,
    by_elimination,
    expressions,
    mention,
    steps,
)
from donatree.source.evaluate import MISSING, evaluate


@dataclass(slots=True)
class Reading:
    """A dead array that was read.

    Attributes:
        error: the error that said so; one of those that the raised one is chained to.
        array: the array.
        steps: the user's frames, outermost first; the last one read it. Where there is none,
            the innermost frame that is not JAX's.
        used: the expression in the last step that stands for it, if one does.
        library: the frame of another library that read it for the user.
        pool: whether it was read in a worker thread of a pool.
    """

    error: BaseException
    array: Any
    steps: list[Step]
    used: Mention | None
    library: Step | None
    pool: bool


def chain(error: BaseException) -> Iterator[BaseException]:
    """An error, what it is chained to, and what its groups hold; each once.

    What handled one error and raised another is followed too, as Python prints it.
    """
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        link = waiting.pop(0)
        if link is None or id(link) in seen:
            continue
        seen.add(id(link))
        yield link
        if isinstance(link, BaseExceptionGroup):
            waiting += link.exceptions
        waiting += [link.__cause__, link.__context__]


def reading(error: BaseException, known: Callable[[Any], bool]) -> Reading | None:
    """The first reading of a dead array among an error and all that it is chained to.

    The array is found by what it is: JAX's own check holds it when it raises. Where C++ raised,
    this JAX's words are compared with what it says of an array that was deleted for the purpose,
    and the array is looked for in the user's expression.

    Args:
        error: what was raised.
        known: whether a call is known that took an array; of several dead ones such one is meant.

    Returns:
        None if the error is about something else.
    """
    for link in chain(error):
        found = steps(link.__traceback__)
        array = next(
            (each for each in map(_receiver, reversed(found[-3:])) if each is not None), None
        )
        own = _own_steps(found)
        if array is None:
            array = _array_in(found, own, known) if found else None
            if array is None or not deleted.is_meant(link):
                continue
        last = own[-1] if own else None
        used = None
        if last is not None and last.place is not None:
            used = mention(last.place[1], last.names, array)
            if used is None and captured(last, array) is None:
                used = by_elimination(last, array)
        after = found[found.index(last) + 1 :] if last is not None else []
        library = next((each for each in reversed(after) if each.is_library), None)
        pool = any(
            each.code.co_name == "run" and each.code.co_filename.endswith("futures/thread.py")
            for each in found
        )
        return Reading(link, array, own, used, library, pool)
    return None


def _receiver(step: Step) -> Any:
    return deleted.receiver(step.frame)


def _own_steps(found: Sequence[Step]) -> list[Step]:
    own = [step for step in found if step.is_user]
    if not own:
        own = [step for step in found if step.is_library][-1:] or list(found[:1])
    return own


def _array_in(
    found: Sequence[Step], own: Sequence[Step], known: Callable[[Any], bool]
) -> Any | None:
    """The dead array that the innermost expressions of a traceback speak of."""
    dead: list[Any] = []
    inner = found[found.index(own[-1]) :] if own else found
    for step in reversed(inner):
        values: list[Any] = []
        if step.place is not None:
            values = [evaluate(each, step.names) for each in expressions(step.place[1])]
        if not step.is_user:
            values += step.frame.f_code.co_varnames and [
                step.names.get(name) for name in step.code.co_varnames
            ]
        for value in values:
            if value is MISSING or value is None:
                continue
            for leaf in leaves(value):
                if leaf.dead:
                    dead.append(leaf.array)
    return next((each for each in dead if known(each)), dead[0] if dead else None)
