"""Notebooks: an error of a cell is explained before IPython shows it."""

from __future__ import annotations

import sys
from typing import Any

from donatree.consumed import active

__donatree__ = True


class CellErrors:
    """Takes IPython's handler of exceptions from `start` to `stop`; nothing outside IPython."""

    def __init__(self) -> None:
        self._shell: Any = None
        self._before: tuple[Any, Any] = ((), None)
        self._ours: Any = None

    def start(self) -> None:
        """Begins, if this runs in an IPython shell."""
        shell = _shell()
        if shell is None:
            return
        handled, handler = shell.custom_exceptions, shell.CustomTB

        def show(shell: Any, kind: Any, error: Any, trace: Any, tb_offset: Any = None) -> Any:
            active.annotate(error)
            if handled and issubclass(kind, handled):
                return handler(kind, error, trace, tb_offset)
            return shell.showtraceback((kind, error, trace), tb_offset=tb_offset)

        self._shell, self._before = shell, (handled, handler)
        shell.set_custom_exc((Exception,), show)
        self._ours = shell.CustomTB

    def stop(self) -> None:
        """Puts the handler back that was there, if it is still ours that is set."""
        shell = self._shell
        if shell is not None and shell.CustomTB is self._ours:
            shell.custom_exceptions, shell.CustomTB = self._before
        self._shell = self._ours = None


def _shell() -> Any:
    ipython = sys.modules.get("IPython")
    found = getattr(ipython, "get_ipython", None)
    return found() if found is not None else None
