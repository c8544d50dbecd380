"""Programs in which a leaf drifts, each marked where its value stops being the leaf's type.

The mark is the expression itself, in a comment at the end of its line:

    return {"step": state["step"] + 1.0}  # ^ state["step"] + 1.0

An expression of several lines has its first line's part after ``# ^[`` and its last line's after
``# ^]``. ``# ^<mu> ...`` marks it for the leaves with `mu` in their path; a mark without one is
for all others. `UNKNOWN` instead of a text says that there is no place to point at.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from donatree.ledger import Location

_MARK = re.compile(r"# \^(?P<kind>[\[\]]?)(?:<(?P<leaf>[^>]*)>)? (?P<text>.*?)\s*$")


@dataclass(frozen=True)
class Program:
    """One program: what makes its step and arguments, and what is known of it beforehand.

    Attributes:
        make: returns the jitted step and its arguments.
        code: what a finding must be, where one code is certain on every JAX.
        because: words that the notes must have.
        library: how the note's library line begins.
        unknown: words that the notes must have where no place can be known.
        leaves: how many leaves drift.
    """

    make: Callable[[], tuple[Any, tuple[Any, ...]]]
    code: str | None = None
    because: str | None = None
    library: str | None = None
    unknown: str | None = None
    leaves: int = 1

    @property
    def name(self) -> str:
        return self.make.__name__


PROGRAMS: dict[str, Program] = {}


def program(**known: Any) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    """Lists a program."""

    def listed(make: Callable[[], Any]) -> Callable[[], Any]:
        assert make.__name__ not in PROGRAMS
        PROGRAMS[make.__name__] = Program(make, **known)
        return make

    return listed


@dataclass(frozen=True)
class Mark:
    """A marked place; `leaf` is the part of a path that it is for, empty for all."""

    leaf: str
    place: tuple[int, int, int, int]


def marks_of(make: Callable[[], Any]) -> list[Mark]:
    """The marks in the source of a program."""
    lines, first = inspect.getsourcelines(make)
    return list(read(lines, first))


def read(lines: list[str], first: int) -> Iterator[Mark]:
    """The marks in lines of source; columns count bytes, as Python's own do."""
    begun: dict[str, tuple[int, int]] = {}
    for number, line in enumerate(lines, first):
        found = _MARK.search(line)
        if found is None:
            continue
        code, leaf, text = line[: found.start()], found["leaf"] or "", found["text"]
        assert code.count(text) == 1, f"line {number}: `{text}` does not stand there once"
        start = len(code[: code.index(text)].encode())
        end = start + len(text.encode())
        if found["kind"] == "[":
            begun[leaf] = number, start
        elif found["kind"] == "]":
            yield Mark(leaf, (begun[leaf][0], begun[leaf][1], number, end))
        else:
            yield Mark(leaf, (number, start, number, end))


def wanted(marks: list[Mark], leaf: str) -> Mark | None:
    """The mark that is for a leaf: the one with the longest part of its path."""
    possible = [mark for mark in marks if mark.leaf in leaf]
    return max(possible, key=lambda mark: len(mark.leaf), default=None)


def place(location: Location | None) -> tuple[int | None, ...] | None:
    """A location as a mark has it."""
    if location is None:
        return None
    return location.line, location.column, location.end_line, location.end_column
