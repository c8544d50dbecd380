"""When the values of a program live, as a dump says it.

The ranges are in ``*live-range.txt``, until JAX 0.9.2 at the end of ``*buffer-assignment.txt``
(measured on CPU, TPU and CUDA from JAX 0.5.3 on). They count the instructions of all computations
in one order, so what goes on inside of a loop is known too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from donatree.hlo.assignment_text import read_index
from donatree.hlo.error import AssignmentError
from donatree.hlo.sharing import Place

_TITLE = re.compile(r"HloLiveRange \(max ([0-9]{1,18})\):")
_SECTION = re.compile(r" {2}(InstructionSequence|BufferLiveRange|Live ranges at [0-9]+ \(peak\)):")
_RANGE = re.compile(r" {4}([^\s{}]+)(\{[0-9,]*\}):([0-9]{1,18})-([0-9]{1,18})")

Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class LiveRanges:
    """When each value lives; made by `read_live_ranges`.

    Attributes:
        last: when the program ends.
        ranges: by the name of the instruction that defines a value and the place in its value:
            from which instruction to which, both included.
    """

    last: int
    ranges: Mapping[Place, Range]


def read_live_ranges(lines: Iterable[str]) -> LiveRanges | None:
    r"""Reads the live ranges in a dump.

    Args:
        lines: of a ``*live-range.txt``, or of a ``*buffer-assignment.txt`` that has them at its
            end; with or without their ends.

    Returns:
        None where the file has none.

    Raises:
        AssignmentError: the ranges are malformed or break off.

    Example:
        >>> text = '''HloLiveRange (max 2):
        ...   BufferLiveRange:
        ...     x{}:0-2
        ...   Live ranges at 1 (peak):'''
        >>> read_live_ranges(text.split("\n")).ranges
        {('x', ()): (0, 2)}
    """
    last: int | None = None
    section = ""
    ranges: dict[Place, Range] = {}
    number = 0
    for number, line in enumerate(lines, 1):
        if last is None:
            title = _TITLE.match(line)
            last = int(title[1]) if title else None
        elif header := _SECTION.match(line):
            section = header[1]
            if section.startswith("Live"):
                return LiveRanges(last, ranges)
        elif section == "BufferLiveRange":
            found = _RANGE.fullmatch(line.rstrip("\r\n"))
            if found is None:
                problem = f"expected a live range, found `{line.strip()[:40]}`"
                raise AssignmentError.at("", 0, problem, number)
            ranges[found[1], read_index(found[2])] = int(found[3]), int(found[4])
    if last is None:
        return None
    raise AssignmentError.at("", 0, "the live ranges break off", number)
