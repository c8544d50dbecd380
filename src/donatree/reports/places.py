"""Places in source as text: ``file:line:column``, the line itself, what of it is meant."""

from __future__ import annotations

import linecache

from donatree.ledger import Location
from donatree.reports.text import cells, clean


def place(location: Location) -> str:
    """``file:line:column``, counted from 1 and in characters, as editors do."""
    text = source_line(location)
    if location.column is None or text is None:
        return str(location)
    start, _ = columns(location, text)
    return f"{location}:{start + 1}" if start < len(text) else str(location)


def source_line(location: Location) -> str | None:
    """The line of source; None where it cannot be read."""
    try:
        text = linecache.getline(location.file, location.line).rstrip()
    except Exception:  # a name that no file can have; a loader that fails
        return None
    return text if text.strip() else None


def columns(location: Location, text: str) -> tuple[int, int]:
    """What to underline as places in the text; an empty range where that is not known.

    Columns are those of Python's code objects and syntax trees: they count bytes of UTF-8.
    """
    if location.column is None:
        return len(text), len(text)
    data = text.encode("utf-8", "surrogatepass")
    last = location.end_column
    if last is None or (location.end_line or location.line) > location.line:
        last = len(data)
    if not 0 <= location.column < last <= len(data):
        return len(text), len(text)
    start = len(data[: location.column].decode("utf-8", "ignore"))
    return start, len(data[:last].decode("utf-8", "ignore"))


def shown(text: str) -> str:
    """Text of a source line as it is printed: tabs four columns wide, nothing unsafe."""
    return clean(text.replace("\t", "    "))


def columns_of(text: str, start: int, end: int | None) -> str:
    """The characters that stand in columns of the terminal; a half wide one becomes a space."""
    if text.isascii():
        return text[start:end]
    kept, column = "", 0
    for char in text:
        after = column + cells(char)
        if column >= start and (end is None or after <= end):
            kept += char
        elif after > start and (end is None or column < end):
            kept += " "
        column = after
    return kept
