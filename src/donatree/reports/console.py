"""Lines on a stream through rich, which colours them and changes nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TextIO

from rich.console import Console, ConsoleOptions, RenderResult
from rich.segment import Segment

from donatree.reports import streams
from donatree.reports.text import Line


@dataclass(frozen=True, slots=True)
class Document:
    """Lines as something that a rich ``Console`` prints; nothing in them is read as markup."""

    lines: tuple[Line, ...]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yields the lines as segments; rich wraps and changes nothing."""
        del options
        for line in self.lines:
            for text, style in line:
                yield Segment(text, console.get_style(style) if style else None)
            yield Segment.line()


def put(document: Document, stream: TextIO, width: int, color: bool) -> None:
    """Writes a document; what the stream's encoding does not have is written as an escape.

    Args:
        document: the lines.
        stream: an open text stream.
        width: columns.
        color: whether to colour them.
    """
    console = Console(
        file=stream,
        width=width,
        force_terminal=color,
        force_jupyter=False,
        color_system="standard" if color else None,  # what auto finds depends on the machine
        no_color=not color,
        markup=False,
        emoji=False,
        highlight=False,
    )
    with console.capture() as captured:
        console.print(document, soft_wrap=True, end="")
    streams.put(captured.get(), stream)
