"""Errors that nothing catches in a thread: explained before the program's own hook shows them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from donatree.consumed import active

__donatree__ = True

_Hook = Callable[[Any], Any]


class ThreadHook:
    """Wraps ``threading.excepthook`` from `start` to `stop`.

    A hook that the program sets later replaces it, and is called as ever; then it is left alone.
    """

    def __init__(self) -> None:
        self._before: _Hook | None = None
        self._ours: _Hook | None = None

    def start(self) -> None:
        """Wraps the hook that is set now."""
        before = threading.excepthook

        def excepthook(args: Any, /) -> None:
            thread = getattr(args, "thread", None)
            active.annotate(args.exc_value, getattr(thread, "name", None))
            before(args)

        self._before, self._ours = before, excepthook
        threading.excepthook = excepthook

    def stop(self) -> None:
        """Puts back the hook that was set, if it is still ours that is."""
        if self._before is not None and threading.excepthook is self._ours:
            threading.excepthook = self._before
        self._before = self._ours = None
