"""JAX's own warning about donation, caught where it would be printed."""

from __future__ import annotations

import threading
import warnings
from typing import Any

_BEGINNING = "Some donated buffers were not usable"

_lock = threading.Lock()
_catchers: tuple[Catcher, ...] = ()
_original: Any = None
_mine: Any = None


class Catcher:
    """Takes JAX's donation warning at the last step, after the user's own filters.

    `warnings.showwarning` is the documented place to decide what a shown warning does. A filter
    that ignores the warning, raises it or records it has acted before and is not disturbed.
    """

    def __init__(self) -> None:
        self._caught: dict[int, str] = {}

    def install(self) -> None:
        """Begin to catch."""
        global _catchers
        with _lock:
            _catchers = (*_catchers, self)
            if warnings.showwarning is not _mine:
                _hook()

    def remove(self) -> None:
        """Stop. The last one puts the former `showwarning` back, unless it was replaced since."""
        global _catchers
        with _lock:
            _catchers = tuple(each for each in _catchers if each is not self)
            if not _catchers and warnings.showwarning is _mine:
                warnings.showwarning = _original

    def catch(self, text: str) -> None:
        """Keep a warning of this thread."""
        self._caught[threading.get_ident()] = text

    def take(self) -> str | None:
        """The warning of this thread since the last call, None where none came."""
        return self._caught.pop(threading.get_ident(), None)


def _hook() -> None:
    global _original, _mine
    original = warnings.showwarning

    def showwarning(
        message: Any, category: Any, filename: str, lineno: int, file: Any = None,
        line: str | None = None,
    ) -> None:  # fmt: skip
        if file is None and _catchers and str(message).startswith(_BEGINNING):
            for each in _catchers:
                each.catch(str(message).splitlines()[0])
            return
        original(message, category, filename, lineno, file, line)

    _original, _mine = original, showwarning
    warnings.showwarning = showwarning
