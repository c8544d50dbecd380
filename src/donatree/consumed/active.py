"""The books of the watches that run now. Light: nothing is imported before an error comes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from donatree.consumed.calls import Calls
    from donatree.ledger import Finding

_books: list[Calls] = []


def enter(book: Calls) -> None:
    """A watch has begun: errors are explained from its book, too."""
    _books.append(book)


def leave(book: Calls) -> None:
    """A watch has ended; leaving twice does nothing."""
    for place in reversed(range(len(_books))):
        if _books[place] is book:
            del _books[place]
            return


def books() -> tuple[Calls, ...]:
    """The books of the running watches, the innermost first."""
    return tuple(reversed(_books))


def annotate(error: BaseException | None, thread: str | None = None) -> Finding | None:
    """Adds to an error why its array is dead, where a running watch knows; it never raises.

    Args:
        error: what was raised.
        thread: the name of the thread that raised it; the current one if None.

    Returns:
        The finding that was added, None if there was nothing to say.
    """
    if error is None or not _books:
        return None
    try:
        from donatree.consumed import notes

        return notes.annotate_from(error, books(), thread)
    except Exception:
        return None
