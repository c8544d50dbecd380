"""What a stream takes: colours, how many columns, which signs."""

from __future__ import annotations

import os
from typing import TextIO

from donatree.reports import DEFAULT_WIDTH
from donatree.reports.text import UNICODE


def wants_color(stream: TextIO) -> bool:
    """Whether to write colours: ``NO_COLOR``, ``FORCE_COLOR``, then whether it is a terminal."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return _is_terminal(stream) and os.environ.get("TERM") != "dumb"


def width(stream: TextIO) -> int:
    """Columns: ``COLUMNS`` or those of the terminal; 100 where the stream is none."""
    if not _is_terminal(stream):
        return DEFAULT_WIDTH
    columns = os.environ.get("COLUMNS", "")
    if columns.isascii() and columns.isdigit() and int(columns):
        return int(columns)
    try:
        return os.get_terminal_size(stream.fileno()).columns or DEFAULT_WIDTH
    except (OSError, ValueError):
        return DEFAULT_WIDTH


def encoding(stream: TextIO) -> str:
    """The stream's encoding; UTF-8 where it has none, as one that holds text in memory."""
    return getattr(stream, "encoding", None) or "utf-8"


def put(text: str, stream: TextIO) -> None:
    """Writes a text; what the stream's encoding does not have is written as an escape."""
    known = encoding(stream)
    stream.write(text.encode(known, "backslashreplace").decode(known))
    stream.flush()


def has_marks(stream: TextIO) -> bool:
    """Whether the stream's encoding has the marks outside ASCII."""
    signs = UNICODE.kept + UNICODE.lost + UNICODE.bar + UNICODE.gap + UNICODE.dots
    try:
        return bool(signs.encode(encoding(stream)))
    except (UnicodeEncodeError, LookupError):
        return False


def _is_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty()
    except (AttributeError, ValueError):  # no such method; closed
        return False
