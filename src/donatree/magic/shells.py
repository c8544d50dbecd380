"""What the magic needs of IPython's shell: the number of a cell, and an error shown only once."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any


def number(shell: Any) -> int:
    """The number of the cell that runs; IPython may have counted on already."""
    running = shell.displayhook.exec_result
    return getattr(running, "execution_count", None) or shell.execution_count


@contextlib.contextmanager
def numbered(shell: Any, number: int) -> Iterator[None]:
    """Inside, code that is compiled has the number of the cell that its reader sees."""
    cache = shell.compile.cache
    shell.compile.cache = lambda code, _=0, **more: cache(code, number, **more)
    try:
        yield
    finally:
        del shell.compile.cache


def awaits(shell: Any, cell: str) -> bool:
    """Whether a cell awaits at its top level, so that it needs an event loop of its own."""
    try:
        transformed = shell.transform_cell(cell)
    except Exception:  # which is told when it is run
        return False
    return shell.should_run_async(cell, transformed_cell=transformed)


def say_no_more(shell: Any, error: BaseException) -> None:
    """The traceback of an error was shown; it is raised again only to fail the outer cell.

    Args:
        shell: the shell that is about to show it; any other error it shows as always.
        error: the error.
    """

    def show(exc_tuple: Any = None, *args: Any, **kwargs: Any) -> None:
        del shell.showtraceback
        if (exc_tuple or sys.exc_info())[1] is not error:
            shell.showtraceback(exc_tuple, *args, **kwargs)

    shell.showtraceback = show
