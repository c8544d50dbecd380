"""Cells of a notebook by the numbers that their reader sees.

IPython gives each cell a file name that says nothing, ``/tmp/ipykernel_71/2519.py``. It knows which
cell that is, and is asked where it runs; it is not imported.
"""

from __future__ import annotations

import html
import linecache
import re
import sys
from collections.abc import Iterator
from typing import Any

_COUNT = re.compile(r"In\[(\d+)\]")


def named(text: str) -> str:
    """The text with ``cell [3]`` in place of the file name of a cell.

    Args:
        text: of a report, plain or HTML.

    Returns:
        The text as it is, outside IPython and where a cell is not known.

    Example:
        >>> named("step (train.py:41)")
        'step (train.py:41)'
    """
    shell = _shell()
    if shell is None:
        return text
    for file, name in _cells(shell):
        text = text.replace(file, name).replace(html.escape(file), name)
    return text


def _cells(shell: Any) -> Iterator[tuple[str, str]]:
    """The cells that ran, each by its file name; their source lies in `linecache`."""
    for file in list(linecache.cache):
        try:
            _, label = shell.compile.format_code_name(file)
        except Exception:  # no cell; a compiler that cannot say
            continue
        found = _COUNT.fullmatch(label)
        if found:
            yield file, f"cell [{found[1]}]"


def _shell() -> Any:
    ipython = sys.modules.get("IPython")
    found = getattr(ipython, "get_ipython", None)
    return found() if found is not None else None
