"""Adding the diagnosis to the program's own exception, so that it is shown below its traceback."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from donatree.consumed.calls import Calls, Render
from donatree.consumed.case import look
from donatree.consumed.dead import chain
from donatree.consumed.explain import describe
from donatree.consumed.twice import explain_twins
from donatree.ledger import Finding

_BEGINS = ("error[DT702]", "error[DT703]", "error[DT704]", "error[DT705]")


def annotate(
    error: BaseException,
    calls: Calls,
    render: Render | None = None,
    thread: str | None = None,
) -> Finding | None:
    """Adds to an error why its array is dead. It never raises, and adds nothing twice.

    The traceback stays as it is. Of chained errors the one that is about the array gets the note:
    Python prints it with that one.

    Args:
        error: what the program raised.
        calls: what donating calls took.
        render: makes the text of a finding; ``reports.diagnostic.text`` if None.
        thread: the name of the thread that raised it; the current one if None.

    Returns:
        The finding that was added; None where there was nothing to say, or it is said already.
    """
    return annotate_from(error, [calls], thread, render)


def annotate_from(
    error: BaseException,
    books: Sequence[Calls],
    thread: str | None = None,
    render: Render | None = None,
) -> Finding | None:
    """As `annotate`, with the books of several watches, the innermost first."""
    with contextlib.suppress(Exception):
        if not books or any(map(is_annotated, chain(error))):
            return None
        case = look(error, books, thread)
        if case is None:
            finding = explain_twins(error, books)
            if finding is not None:
                add(error, finding, render)
                books[0].found.append(finding)
            return finding
        finding = describe(case)
        add(_shown(error, case.reading.error), finding, render)
        case.calls.found.append(finding)
        return finding
    return None


def add(error: BaseException, finding: Finding, render: Render | None = None) -> None:
    """Adds a finding to an error as a note.

    Args:
        error: what the program raised.
        finding: what is to be said of it.
        render: as for `annotate`.
    """
    if render is None:
        from donatree.reports.diagnostic import text as render
    error.add_note(render(finding))


def is_annotated(error: BaseException) -> bool:
    """Whether an error has the diagnosis already."""
    notes = getattr(error, "__notes__", None)
    if not isinstance(notes, list):
        return False
    return any(isinstance(note, str) and note.startswith(_BEGINS) for note in notes)


def _shown(error: BaseException, link: BaseException) -> BaseException:
    """The error to which the note goes: `link`, if Python prints it, else the one raised."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        here = waiting.pop()
        if here is None or id(here) in seen:
            continue
        if here is link:
            return link
        seen.add(id(here))
        if isinstance(here, BaseExceptionGroup):
            waiting += here.exceptions
        waiting.append(here.__cause__)
        if here.__cause__ is None and not here.__suppress_context__:
            waiting.append(here.__context__)
    return error
