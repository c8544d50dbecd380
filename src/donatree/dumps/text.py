"""Reading the text of a module of any size in bounded memory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from donatree.hlo.error import HeaderError

MEBIBYTE = 1 << 20
WHOLE = 24 * MEBIBYTE  # read as it is up to here
_LONGEST_LINE = 24 * MEBIBYTE
_LONGEST_ENTRY = 24 * MEBIBYTE
_TABLES = 4 * MEBIBYTE
_CHUNK = MEBIBYTE
_PROBE = 1 << 16
_KEYWORD = b"HloModule"
_ENTRY = b"\nENTRY "
_END = b"\n}"


@dataclass(frozen=True, slots=True)
class ModuleText:
    """A module's text, or what matters of a large one.

    Attributes:
        text: the whole text, else its first line, the tables of source lines and the entry
            computation.
        is_whole: which of the two.
        left_out: what was not read and why, in words; None where nothing was left out.
    """

    text: str
    is_whole: bool = True
    left_out: str | None = None


def read_text(path: Path) -> ModuleText:
    """Reads the text of a module.

    Args:
        path: of the file.

    Raises:
        OSError: it cannot be read.
        HeaderError: it does not begin as a module does, or its first line has no end.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        start = file.read(_PROBE)
        _check(start, size)
        file.seek(0)
        if size <= WHOLE:
            return ModuleText(file.read().decode("utf-8", "replace"))
        return _read_large(file, size)


def _check(start: bytes, size: int) -> None:
    """Refuses at once what is no module."""
    if not size:
        raise HeaderError("the file is empty", 0)
    text = start.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not text.startswith(_KEYWORD):
        found = text[:24].decode("utf-8", "replace")
        raise HeaderError.at(found, 0, "expected `HloModule` at the start of the text")


def _read_large(file: BinaryIO, size: int) -> ModuleText:
    head = bytearray()
    while b"\n" not in head.lstrip():
        chunk = file.read(_CHUNK)
        if not chunk or len(head) > _LONGEST_LINE:
            raise HeaderError("the first line has no end within 24 MiB", len(head))
        head += chunk
    line_end = head.index(b"\n", len(head) - len(head.lstrip()))
    tables, at = bytes(head[line_end:]), -1
    while (at := _first_computation(tables)) < 0 and len(tables) < _TABLES:
        chunk = file.read(_CHUNK)
        if not chunk:
            break
        tables += chunk
    entry = _find_entry(file, tables)
    kept = tables[:at] if at >= 0 else b""
    mebibytes = size // MEBIBYTE
    left_out = f"the file has {mebibytes:,} MiB: of all but the entry computation nothing was read"
    if entry is None:
        entry, left_out = b"", f"the file has {mebibytes:,} MiB and its entry computation no end"
    elif len(entry) > _LONGEST_ENTRY:
        entry = b""
        left_out = f"the file has {mebibytes:,} MiB: its entry computation is too large to read"
    text = bytes(head[:line_end]) + kept + entry
    return ModuleText(text.decode("utf-8", "replace"), False, left_out)


def _first_computation(tables: bytes) -> int:
    found = [at for mark in (b"\n%", _ENTRY) if (at := tables.find(mark)) >= 0]
    return min(found, default=-1)


def _find_entry(file: BinaryIO, begin: bytes) -> bytes | None:
    """The entry computation, from the line break before it to the one after it.

    It is longer than may be read where it is too long, and None where it has no end.
    """
    window = begin
    while (at := window.find(_ENTRY)) < 0:
        chunk = file.read(_CHUNK)
        if not chunk:
            return None
        window = window[-len(_ENTRY) :] + chunk
    entry = bytearray(window[at:])
    searched = 0
    while (end := entry.find(_END, searched)) < 0:
        searched = max(len(entry) - len(_END), 0)
        chunk = file.read(_CHUNK)
        if not chunk:
            return None
        entry += chunk
        if len(entry) > _LONGEST_ENTRY + _CHUNK:
            return bytes(entry)
    return bytes(entry[: end + len(_END)]) + b"\n"
