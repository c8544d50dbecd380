"""A bar for what takes long, on a terminal and nowhere else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TextIO, TypeVar

T = TypeVar("T")


def tracked(items: Iterable[T], total: int, what: str, stream: TextIO) -> Iterator[T]:
    """Hands items on, with a bar while the stream is a terminal; the bar is gone afterwards.

    Args:
        items: what is worked on.
        total: how many there are.
        what: what they are, in the plural.
        stream: where the bar goes; nothing is written to it where it is no terminal.
    """
    if not stream.isatty():
        yield from items
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(file=stream), transient=True) as progress:
        task = progress.add_task(what, total=total)
        for item in items:
            yield item
            progress.advance(task)
