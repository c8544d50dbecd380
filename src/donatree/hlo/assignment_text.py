"""Where XLA puts the values of a program, as its dump says it: ``*buffer-assignment.txt``.

No compiler but the CPU's hands out its buffer assignment, but all write this text where they are
told to dump. The lines of the allocations are the same from JAX 0.5.3 to 0.12 on CPU, TPU and CUDA
(measured), but that XLA names a page since JAX 0.11. Until JAX 0.9.2 the file goes on with all
values and their live ranges; since then those are files of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from donatree.hlo.error import AssignmentError
from donatree.hlo.shape import Index
from donatree.hlo.text_allocation import TextAllocation, TextValue

__all__ = [
    "AssignmentError",
    "TextAllocation",
    "TextAssignment",
    "TextValue",
    "read_assignment_text",
    "read_index",
]

_TITLE = "BufferAssignment:"
_ALLOCATION = re.compile(r"allocation ([0-9]{1,18}): size ([0-9]{1,18})((?:, .*)?):")
_VALUE = re.compile(
    r" value: <([0-9]{1,18}) ([^\s{}<>]+)(\{[0-9,]*\})?( \(phi\))?(?: @([0-9]{1,18}))?> "
    r"\(size=([0-9]{1,18}),offset=([0-9]{1,18})\): (.*)"
)
_COLOR = re.compile(r", color ([0-9]{1,9})")
_PARAMETER = re.compile(r", parameter ([0-9]{1,9}),")
_PLACE = re.compile(r" at ShapeIndex (\{[0-9,]{0,100}\})")
_TOTAL = re.compile(r"Total bytes used: ([0-9]{1,18})")


@dataclass(frozen=True)
class TextAssignment:
    """A buffer assignment; made by `read_assignment_text`.

    In every memory space ``arguments + outputs - alias + temp == total``. All are bytes per device,
    in the target's own padded layout.

    Attributes:
        allocations: in the order of the text.
        total_used: what the text itself gives as its total over all memory spaces, None where it
            does not (since JAX 0.10.2).
    """

    allocations: tuple[TextAllocation, ...]
    total_used: int | None = None

    def total(self, space: int = 0) -> int:
        """All bytes: "Total bytes" of the memory usage report, ``total_allocation_bytes`` on a TPU.

        On a CPU the latter is without what is `TextAllocation.is_thread_local` (measured: JAX
        0.12).
        """
        return sum(each.size for each in self._of(space))

    def arguments(self, space: int = 0) -> int:
        """Bytes of the parameters: ``argument_size_in_bytes``."""
        return sum(each.size for each in self._of(space) if each.parameter is not None)

    def outputs(self, space: int = 0) -> int:
        """Bytes of the result, with the table that holds several of them."""
        return sum(each.size for each in self._of(space) if each.is_output)

    def alias(self, space: int = 0) -> int:
        """Bytes of the parameters whose memory a part of the result takes."""
        found = (each for each in self._of(space) if each.parameter is not None)
        return sum(each.size for each in found if each.is_output)

    def temp(self, space: int = 0) -> int:
        """Bytes of all else: temporaries, constants, and what is local to a thread."""
        found = (each for each in self._of(space) if each.parameter is None)
        return sum(each.size for each in found if not each.is_output)

    def preallocated_temp(self, space: int = 0) -> int:
        """Bytes of the temporaries alone: ``temp_size_in_bytes`` on a CPU."""
        return sum(each.size for each in self._of(space) if each.is_temp)

    def size_of_parameter(self, number: int, index: Index = ()) -> int | None:
        """Bytes of a parameter, None where the text has it not.

        Args:
            number: of the parameter of the module.
            index: place in it. Where the module has one parameter, a tuple of more than 2,000
                leaves, the number of a leaf as `Alias.input` counts them is ``(0, (leaf,))``.
        """
        return self._parameters.get((number, index))

    @cached_property
    def _parameters(self) -> Mapping[tuple[int, Index], int]:
        return {
            (each.parameter, each.parameter_index): each.size
            for each in self.allocations
            if each.parameter is not None
        }

    def _of(self, space: int) -> Iterable[TextAllocation]:
        return (each for each in self.allocations if each.memory_space == space)


def read_assignment_text(lines: Iterable[str]) -> TextAssignment:
    r"""Reads the text of a buffer assignment.

    What stands behind the allocations is not looked at.

    Args:
        lines: of the file, with or without their ends.

    Raises:
        AssignmentError: a line is none of a buffer assignment, an allocation is missing, or a value
            is larger than what it is in.

    Example:
        >>> text = '''BufferAssignment:
        ... allocation 0: size 8, parameter 0, shape |f32[2]| at ShapeIndex {}, maybe-live-out:
        ...  value: <1 x @0> (size=8,offset=0): f32[2]{0}
        ... allocation 1: size 64, preallocated-temp:
        ...  value: <2 y @0> (size=8,offset=0): f32[2]{0}
        ... '''
        >>> read = read_assignment_text(text.split("\n"))
        >>> read.total(), read.arguments(), read.alias(), read.temp(), read.size_of_parameter(0)
        (72, 8, 8, 64, 8)
    """
    reader = _Reader()
    for number, line in enumerate(lines, 1):
        if not reader.take(line.rstrip("\r\n"), number):
            break
    return reader.done()


def read_index(text: str | None) -> Index:
    """The place in a value that ``{0,1}`` says, ``()`` for ``{}`` and for no text.

    Example:
        >>> read_index("{0,1}"), read_index("{}"), read_index(None)
        ((0, 1), (), ())
    """
    inside = (text or "").strip("{}")
    return tuple(int(each) for each in inside.split(",") if each) if inside else ()


class _Reader:
    """Takes the lines one after the other."""

    def __init__(self) -> None:
        self._allocations: list[TextAllocation] = []
        self._open: re.Match[str] | None = None
        self._values: list[TextValue] = []
        self._line = 0
        self._total: int | None = None
        self._began = self._ended = False

    def take(self, line: str, number: int) -> bool:
        """Takes a line; False where the rest need not be read."""
        self._line = number
        if not self._began:
            if line.strip() and line.strip() != _TITLE:
                raise self._error(line, f"expected `{_TITLE}`")
            self._began = bool(line.strip())
        elif not line.strip():
            self._ended = True
        elif self._ended:
            found = _TOTAL.match(line)
            self._total = int(found[1]) if found else None
            return False
        elif value := _VALUE.fullmatch(line):
            self._add(value, line)
        elif allocation := _ALLOCATION.fullmatch(line):
            self._close()
            if int(allocation[1]) != len(self._allocations):
                raise self._error(line, f"expected `allocation {len(self._allocations)}`")
            self._open = allocation
        else:
            raise self._error(line, "expected an allocation or a value")
        return True

    def done(self) -> TextAssignment:
        if not self._began:
            raise AssignmentError(f"expected `{_TITLE}`, found no text", 0)
        self._close()
        return TextAssignment(tuple(self._allocations), self._total)

    def _add(self, match: re.Match[str], line: str) -> None:
        size, offset = int(match[6]), int(match[7])
        if self._open is None:
            raise self._error(line, "expected an allocation before its values")
        if offset + size > int(self._open[2]):
            raise self._error(line, "the value is larger than its allocation")
        index = read_index(match[3])
        value = TextValue(int(match[1]), match[2], index, size, offset, match[8], bool(match[4]))
        self._values.append(value)

    def _close(self) -> None:
        """Notes the allocation whose values have all been taken."""
        if self._open is None:
            return
        # The shapes stand between bars and may have a megabyte; nothing in them is looked at.
        parts = self._open[3].split("|")
        outside = "".join(parts[::2])
        color, parameter = _COLOR.search(outside), _PARAMETER.search(outside)
        place = _PLACE.search(outside)
        self._allocations.append(
            TextAllocation(
                int(self._open[1]),
                int(self._open[2]),
                int(color[1]) if color else 0,
                int(parameter[1]) if parameter else None,
                read_index(place[1]) if place else (),
                ", maybe-live-out" in outside,
                ", preallocated-temp" in outside,
                ", constant" in outside,
                ", thread-local" in outside,
                tuple(self._values),
            )
        )
        self._open, self._values = None, []

    def _error(self, line: str, problem: str) -> AssignmentError:
        found = f"{problem}, found `{line.strip()[:40]}`"
        return AssignmentError.at("", 0, found, self._line)
