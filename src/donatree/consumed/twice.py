"""A call that JAX refused because it was given one buffer twice, long after its first calls."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Sequence
from typing import Any

from donatree._jax.frames import location_of_function
from donatree.consumed.callee import call_of, function_of, plain_function
from donatree.consumed.calls import Calls
from donatree.consumed.roots import argument_expression, got_here
from donatree.consumed.steps import Step, steps
from donatree.findings import dt702, dt703
from donatree.holders.naming import named_leaves
from donatree.holders.twins import find_twins
from donatree.ledger import Finding, Label
from donatree.source.evaluate import MISSING, evaluate


def explain_twins(error: BaseException, books: Sequence[Calls]) -> Finding | None:
    """Names the leaves of a refused call that are one buffer.

    Only for an error of XLA's runtime that came straight out of a call whose donation is known:
    the call's own arguments, looked up in the caller's frame, say the rest.

    Args:
        error: what was raised.
        books: what donating calls took.

    Returns:
        None where the error is about something else, or nobody can say.
    """
    import jax

    if not isinstance(error, (jax.errors.JaxRuntimeError, ValueError)):
        return None
    found = [each for each in steps(error.__traceback__) if each.is_user]
    if not found:
        return None
    step = found[-1]
    function = plain_function(function_of(step))
    if function is None or call_of(step) is None:
        return None
    defined = location_of_function(function)
    donated = {
        name for book in books for name in (book.donated_arguments(defined) if defined else ())
    }
    if not donated:
        return None
    rows = []
    for name in inspect.signature(function).parameters:
        for path, leaf in named_leaves(name, _passed(step, name)):
            rows.append((path, leaf, name in donated))
    twins = find_twins(rows)
    file = dt702 if any(sum(each.donated) > 1 for each in twins) else dt703
    finding = file.about(twins, function.__name__, step.location) if twins else None
    if finding is None:
        return None
    labels = [_got_here(step, path) for path in twins[0].paths[:3]]
    known = dict.fromkeys(label for label in labels if label is not None)
    call = Label(step.location, f"both are passed to `{function.__name__}` here", primary=True)
    return dataclasses.replace(finding, labels=(*known, call))


def _passed(step: Step, name: str) -> Any:
    expression = argument_expression(step, name)
    value = MISSING if expression is None else evaluate(expression, step.names)
    return () if value is MISSING else value


def _got_here(step: Step, path: str) -> Label | None:
    argument = path.partition("[")[0].partition(".")[0]
    return got_here(step.frame, step.lasti, argument, path.removeprefix(argument))
