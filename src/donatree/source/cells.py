"""The other cells of a notebook, where a cell's names come from."""

from __future__ import annotations

import linecache
from collections.abc import Iterator

from donatree.source.tree import Source, source_of


def is_cell(file: str) -> bool:
    """Whether a code object's file is a cell, as IPython and its kernel name them."""
    return file.startswith("<ipython-input-") or "/ipykernel_" in file.replace("\\", "/")


def other_cells(source: Source) -> Iterator[Source]:
    """The cells that were run beside this one, in the order in which they were."""
    if not is_cell(source.file):
        return
    for file in list(linecache.cache):
        if file != source.file and is_cell(file):
            found = source_of(file)
            if found is not None:
                yield found
