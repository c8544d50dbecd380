"""JAX's own warning about donation, caught where it would be printed."""

from __future__ import annotations

import threading
import warnings
from typing import Any

_BEGINNING = "Some donated buffers were not usable"


class Catcher:
    """Takes JAX's donation warning at the last step, after the user's own filters.

    `warnings.showwarning` is the documented place to decide what a shown warning does. A filter
    that ignores the warning, raises it or records it has acted before and is not disturbed.
    """

    def __init__(self) -> None:
        self._caught: dict[int, str] = {}
        self._original: Any = None
        self._mine: Any = None

    def install(self) -> None:
        """Begin to catch."""
        original = warnings.showwarning

        def showwarning(
            message: Any, category: Any, filename: str, lineno: int, file: Any = None,
            line: str | None = None,
        ) -> None:  # fmt: skip
            if file is None and str(message).startswith(_BEGINNING):
                self._caught[threading.get_ident()] = str(message).splitlines()[0]
                return
            original(message, category, filename, lineno, file, line)

        self._original, self._mine = original, showwarning
        warnings.showwarning = showwarning

    def remove(self) -> None:
        """Put the former `showwarning` back, unless somebody else has taken its place since."""
        if warnings.showwarning is self._mine:
            warnings.showwarning = self._original

    def take(self) -> str | None:
        """The warning of this thread since the last call, None where none came."""
        return self._caught.pop(threading.get_ident(), None)
