"""XLA's own totals of a compile, read when nobody waits for them.

To read them takes a hundredth of the time of the compile or more (see `read.with_totals`). A
program that is only watched need not wait for that: it is done when the account is asked for, or
when the executable is about to go.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any


class Totals:
    """Readings that are still to be done.

    Example:
        >>> totals = Totals()
        >>> totals.expect(executable, lambda loaded: print(loaded.get_compiled_memory_stats()))
        >>> totals.read_all()
    """

    def __init__(self) -> None:
        self._waiting: list[weakref.finalize[[Any], Any]] = []

    def expect(self, executable: Any, read: Callable[[Any], None]) -> None:
        """Call `read` with JAX's loaded executable: at `read_all`, or earlier where it must be.

        Args:
            executable: JAX's `MeshExecutable`. Its loaded executable is held as long as the
                program holds this one, and no longer.
            read: must not raise; called once, on any thread.
        """
        finalizer = weakref.finalize(executable, read, executable.xla_executable)
        finalizer.atexit = False
        self._waiting.append(finalizer)

    def read_all(self) -> None:
        """Do every reading that is still to be done."""
        waiting, self._waiting = self._waiting, []
        for finalizer in waiting:
            finalizer()
