"""How the records show themselves in a notebook."""

from __future__ import annotations

import importlib
from typing import Any

_NOTEBOOK = "donatree.reports.notebook"  # by name: reports stand below and import this room


class Shown:
    """Gives a record its picture in Jupyter, made by the same code as the HTML report."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        """The record as a piece of HTML."""
        return importlib.import_module(_NOTEBOOK).html(self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """The record as HTML and as plain text, for a front end to choose from."""
        del include, exclude  # IPython leaves out what was not asked for
        return importlib.import_module(_NOTEBOOK).bundle(self)
