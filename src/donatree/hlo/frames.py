"""Where instructions came from: the places in the user's source that a module's text names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

# `op_name="jit(f)/mul"`, `source_line=6`; a string without a name is passed over whole, so that
# nothing inside it is taken for a name.
_PAIR = re.compile(r'(\w+)=("(?:[^"\\]|\\.)*"|[^\s{}",]+)|"(?:[^"\\]|\\.)*"')
_ESCAPE = re.compile(rb"\\(?:([0-7]{1,3})|x([0-9A-Fa-f]{1,2})|(.))", re.S)
_LETTERS = {b"n": b"\n", b"r": b"\r", b"t": b"\t"}
_ROW = re.compile(r"([0-9]{1,18}) (.*)")
_SECTIONS = ("FileNames", "FunctionNames", "FileLocations", "StackFrames")
_NUMBER = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True, slots=True)
class Frame:
    """One place in a stack of calls.

    Attributes:
        file: path of the source file.
        line: from 1.
        function: qualified name of the function, empty where the text names none.
        end_line: last line of the expression, None where the text names no range.
        column: where the expression begins in its line, counted in bytes from 0 as Python counts
            the columns of its code objects; None where the text names no range.
        end_column: where it ends in its last line.
    """

    file: str
    line: int
    function: str = ""
    end_line: int | None = None
    column: int | None = None
    end_column: int | None = None


class Frames:
    """The tables of frames in a module's text, each read when it is first needed.

    XLA writes them between the header and the first computation since 2025 (measured: JAX 0.8.3 to
    0.12); before that each instruction names its one place itself.

    Args:
        text: the module's text.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._rows: dict[str, dict[int, str]] = {}
        self._stacks: dict[int, tuple[Frame, ...]] = {}

    def stack(self, frame: int) -> tuple[Frame, ...]:
        """The frames of a ``stack_frame_id``, innermost first; none where no table has it."""
        if (known := self._stacks.get(frame)) is not None:
            return known
        answer = []
        rows = self._section("StackFrames")
        # The parents were printed one too high when this was written (JAX 0.8.3 to 0.12): the
        # first frame, which can have none, names itself.
        shift = int(_field(rows.get(1, ""), "parent_frame_id") == 1)
        at = frame
        while row := rows.get(at):
            answer.append(self._location(_field(row, "file_location_id")))
            parent = _field(row, "parent_frame_id") - shift
            if parent >= at:
                break
            at = parent
        self._stacks[frame] = tuple(each for each in answer if each is not None)
        return self._stacks[frame]

    def _location(self, number: int) -> Frame | None:
        row = self._section("FileLocations").get(number)
        if row is None:
            return None
        return _frame(
            _unquoted(self._section("FileNames").get(_field(row, "file_name_id"), "")),
            pairs(row),
            _unquoted(self._section("FunctionNames").get(_field(row, "function_name_id"), "")),
        )

    def _section(self, name: str) -> dict[int, str]:
        """The rows of a table by number, as raw text."""
        rows = self._rows.get(name)
        if rows is None:
            rows = self._rows[name] = {}
            start = self._text.find(f"\n{name}\n")
            first_computation = self._text.find(" {\n")
            if start >= 0 and (start < first_computation or first_computation < 0):
                end = self._text.find("\n\n", start + 1)
                table = self._text[start + len(name) + 2 : end if end >= 0 else None]
                for line in table.split("\n"):
                    if row := _ROW.match(line):
                        rows[int(row[1])] = row[2]
        return rows


def read_metadata(raw: str, frames: Frames) -> tuple[str, tuple[Frame, ...]]:
    """Reads ``{op_name="jit(f)/mul" stack_frame_id=3}``.

    Args:
        raw: the value of the attribute ``metadata``.
        frames: the tables of the module.

    Returns:
        The name that JAX gave the operation, empty without one, and its frames, innermost first.
    """
    found = pairs(raw)
    name = found.get("op_name", "")
    if number := _number(found.get("stack_frame_id")):
        return name, frames.stack(number)
    file = found.get("source_file", "")
    prefix = "source_"
    own = {key.removeprefix(prefix): value for key, value in found.items()}
    return name, (_frame(file, own),) if file else ()


def pairs(raw: str) -> dict[str, str]:
    """The ``key=value`` pairs of a text in braces, strings without their quotes."""
    return {key: _unquoted(value) for key, value in _PAIR.findall(raw) if key}


def _frame(file: str, found: Mapping[str, str], function: str = "") -> Frame:
    line, end_line = _number(found.get("line")), _number(found.get("end_line"))
    if not end_line:
        return Frame(file, line, function)
    column, end_column = _number(found.get("column")), _number(found.get("end_column"))
    return Frame(file, line, function, end_line, column, end_column)


def _field(row: str, name: str) -> int:
    return _number(pairs(row).get(name))


def _number(text: str | None) -> int:
    return int(text) if text and _NUMBER.fullmatch(text) else 0


def _unquoted(value: str) -> str:
    """A string of XLA's text without its quotes and escapes; other values as they are."""
    if not value.startswith('"'):
        return value
    inner = value[1:-1]
    if "\\" not in inner:
        return inner
    # Bytes outside ASCII are escaped one by one.
    return _ESCAPE.sub(_escaped, inner.encode("utf-8", "replace")).decode("utf-8", "replace")


def _escaped(match: re.Match[bytes]) -> bytes:
    octal, hexadecimal, letter = match.groups()
    if letter:
        return _LETTERS.get(letter, letter)
    return bytes([int(octal or hexadecimal, 8 if octal else 16) & 0xFF])
