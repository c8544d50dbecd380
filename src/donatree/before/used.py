"""Arrays that a donation would have taken, and the places that read them all the same."""

from __future__ import annotations

import dataclasses
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

from donatree import paths
from donatree._jax import frames
from donatree._jax.frames import location_at
from donatree.consumed.calls import Call, Calls, Taken
from donatree.consumed.case import Case, in_loop, is_donated_again, unbound_in_loop
from donatree.consumed.dead import Reading
from donatree.consumed.explain import came, merged
from donatree.consumed.origin import origin
from donatree.consumed.steps import Step, by_elimination, mention
from donatree.findings.rule import count
from donatree.ledger import Finding, Label

MOST_PLACES = 32
_OWN_ROOM = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_BELOW_THE_PROGRAM = os.path.join(_OWN_ROOM, "_jax") + os.sep


@dataclass(slots=True)
class Place:
    """One place of the program that reads what would be gone.

    Attributes:
        finding: about the first read.
        whole: the expression as it is written, where it stands for a tree.
        leaves: bytes of the leaves read here, by path.
        reads: how many reads were seen.
    """

    finding: Finding
    whole: str | None
    call: Call
    leaves: dict[str, int] = field(default_factory=dict)
    reads: int = 0


class Used:
    """Notes where arrays are used that a donation would have taken.

    Args:
        book: the calls that would have taken arrays.
    """

    def __init__(self, book: Calls) -> None:
        self._book = book
        self._places: dict[tuple[CodeType, int], Place] = {}
        self._lock = threading.Lock()

    def note(self, array: Any, frame: FrameType) -> None:
        """An array is read.

        Args:
            array: the array.
            frame: a frame below the read. Not kept.
        """
        user = _reader(frame)
        if user is None:
            return
        key = user.f_code, user.f_lasti
        taker = self._book.taker_of(array)
        with self._lock:
            place = self._places.get(key)
            if taker is None or (place is None and len(self._places) >= MOST_PLACES):
                return
            if place is not None:
                place.reads += 1
                place.leaves.setdefault(taker[1].path, taker[1].bytes)
                return
        case = _case(array, frame, user, self._book, taker)
        used = case.reading.used
        whole = used.text if used is not None and used.inside else None
        made = Place(_finding(case), whole, taker[0], {taker[1].path: taker[1].bytes}, 1)
        with self._lock:
            self._places.setdefault(key, made)

    def findings(self) -> Iterator[tuple[Call, Finding]]:
        """One finding a place, in the order of the first reads; `help` says half of it."""
        with self._lock:
            places = list(self._places.values())
        for place in places:
            yield place.call, _summed(place)


def _reader(frame: FrameType | None) -> FrameType | None:
    """The user's frame that reads; None where donatree itself does."""
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith(_OWN_ROOM) and not file.startswith(_BELOW_THE_PROGRAM):
            return None
        if frames.is_user_file(file) and "__donatree__" not in frame.f_globals:
            return frame
        frame = frame.f_back
    return None


def _case(
    array: Any, frame: FrameType, user: FrameType, book: Calls, taker: tuple[Call, Taken]
) -> Case:
    own: list[Step] = []
    library: Step | None = None
    here: FrameType | None = frame
    met = False
    while here is not None:
        step = Step(here, here.f_lasti)
        met = met or here is user
        if met and step.is_user:
            own.append(step)
        elif not met and step.is_library:
            library = step
        here = here.f_back
    own.reverse()
    last = own[-1]
    used = None
    if last.place is not None:
        used = mention(last.place[1], last.names, array) or by_elimination(last, array)
    reading = Reading(RuntimeError(), array, own, used, library, _is_pool(own))
    came = origin(own, used, array) if used is not None else None
    return Case(reading, book, taker, [], came, threading.current_thread().name)


def _is_pool(own: list[Step]) -> bool:
    here = own[0].frame.f_back
    while here is not None:
        if here.f_code.co_filename.endswith("futures/thread.py"):
            return True
        here = here.f_back
    return False


def _finding(case: Case) -> Finding:
    assert case.taker is not None
    assert case.step is not None
    call, taken = case.taker
    again = is_donated_again(case)
    used = case.reading.used
    where = case.step.location
    if used is not None and case.step.place is not None:
        where = case.step.place[0].location(used.node, case.step.code.co_qualname)
    turn = " in an earlier turn of the loop" if in_loop(case) else ""
    labels = [
        *(came(case.origin.bindings, case.origin.passed) if case.origin else ()),
        Label(
            location_at(call.code, call.lasti),
            f"would be donated here{turn}: `{taken.path}` {taken.aval}, to `{call.function}` "
            f"(call {call.number})",
        ),
        Label(where, "donated again here" if again else "used here, after that", primary=True),
    ]
    return Finding(
        code="DT706",
        headline=_headline(case.written, call.function, again),
        level="error",
        location=where,
        notes=tuple(_notes(case)),
        help=_first_help(case, again),
        labels=tuple(merged(labels)),
    )


def _first_help(case: Case, again: bool) -> str:
    assert case.taker is not None
    function = case.taker[0].function
    name = unbound_in_loop(case) if in_loop(case) else None
    if name is None and again and case.reading.used is not None:
        name = case.reading.used.text
    if name is not None and name.isidentifier():
        return f"assign the result of `{function}` to `{name}`"
    return f"use the result of `{function}` instead"


def _headline(written: str, function: str, again: bool) -> str:
    if again:
        return f"{written} would be donated to `{function}` a second time"
    return f"{written} would be used after it was donated to `{function}`"


def _notes(case: Case) -> Iterator[str]:
    assert case.taker is not None
    call = case.taker[0]
    library = case.reading.library
    if library is not None:
        line = library.location.line
        yield f"read by `{library.code.co_name}` at {library.package}:{line}"
    if call.thread != case.thread:
        yield f"donated in thread `{call.thread}`, used in thread `{case.thread}`"
    if in_loop(case):
        name = unbound_in_loop(case)
        if name is not None:
            yield f"`{name}` is not rebound in the loop"


def _summed(place: Place) -> Finding:
    """The finding of a place with all that was read there."""
    leaves = sorted(place.leaves, key=lambda path: (-place.leaves[path], path))
    finding = place.finding
    headline, notes = finding.headline, list(finding.notes)
    if len(leaves) > 1 and place.whole is not None:
        start, _, rest = headline.partition(" would be ")
        headline = f"`{place.whole}` would be {rest}" if start.startswith("`") else headline
    if place.reads > len(leaves):
        notes.insert(0, f"read {count(place.reads, 'time')} here while the run was rehearsed")
    return dataclasses.replace(
        finding,
        headline=headline,
        leaves=tuple(leaves),
        bytes=sum(place.leaves.values()),
        folded=paths.fold(leaves) if len(leaves) > 1 else None,
        notes=tuple(notes),
    )
