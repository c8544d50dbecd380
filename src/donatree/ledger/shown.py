"""How the records show themselves: as the report for people, and as its picture in a notebook."""

from __future__ import annotations

import importlib
from collections.abc import Collection
from typing import Any

_NOTEBOOK = "donatree.reports.notebook"  # by name: reports stand below and import this room


class Shown:
    """Gives a record its text and its picture in Jupyter; ``repr`` stays Python's own.

    Both are made by the code of the reports, when they are asked for.
    """

    __slots__ = ()

    def _told(self) -> Any:
        """What the reports are given: a record of this room, or plain data with its ``kind``."""
        return self

    def __str__(self) -> str:
        return importlib.import_module(_NOTEBOOK).text(self._told())

    def _repr_html_(self) -> str:
        """The record as a piece of HTML."""
        return importlib.import_module(_NOTEBOOK).html(self._told())

    def _repr_mimebundle_(
        self, include: Collection[str] | None = None, exclude: Collection[str] | None = None
    ) -> dict[str, str]:
        """The record as HTML and as plain text, for a front end to choose from."""
        made = importlib.import_module(_NOTEBOOK)
        return made.bundle(self._told(), include, exclude)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """The text, which IPython would not ask a list for; inside other objects the ``repr``."""
        if cycle or len(printer.stack) > 1:
            printer.text(repr(self))
        else:
            printer.text(str(self))
