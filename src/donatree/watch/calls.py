"""The first calls of every donating executable, looked at while they run.

Nothing of the program is held between two calls: numbers, names and weak references only. Once
enough calls were seen JAX has its own function back, and a steady call costs nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

from donatree import gates
from donatree._jax import calls, frames
from donatree.consumed import notes
from donatree.consumed.calls import Calls as Book
from donatree.ledger import Entry, Finding, Ledger
from donatree.observation import CallSeen, Request
from donatree.watch import names
from donatree.watch.level import Level
from donatree.watch.taking import Taking
from donatree.watch.visit import Visit

Site = tuple[CodeType, int]


@dataclass(slots=True)
class _Donating:
    """A ledger's executables and what their calls showed."""

    ledger: Ledger
    granted: tuple[Entry, ...]
    shardings: Mapping[int, Any]
    request: Request
    begun: int = 0
    seen: list[CallSeen] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    dispatched: dict[int, bool] = field(default_factory=dict)
    stepped_out: bool = False


class Calls:
    """Looks at calls, and adds to a ledger what they showed.

    Args:
        level: how much is looked at.
        learnt: called with the place of a ledger of which more is known now, and with whether it
            is the moment to tell of it.
        fault: told of donatree's own faults.
    """

    def __init__(
        self,
        level: Level,
        learnt: Callable[[int, bool], None],
        fault: Callable[[str, BaseException], None],
    ) -> None:
        self.level = level
        self.learnt = learnt
        self.fault = fault
        self.book = Book()
        self.closed = False
        self.lock = threading.Lock()
        self.sites: set[Site] = set()
        self._of_place: dict[int, _Donating] = {}

    def watch(
        self, place: int, computation: Any, executable: Any, ledger: Ledger, request: Request
    ) -> None:
        """Looks at the next calls of an executable.

        Args:
            place: of its ledger among the ledgers.
            computation: JAX's `MeshComputation`.
            executable: its `MeshExecutable`.
            ledger: as the compile left it.
            request: what was asked.
        """
        if self.level.check == "compile" or not ledger.entries:
            return
        granted = tuple(
            entry for entry in ledger.entries if entry.slot is not None and not entry.stopped_at
        )
        with self.lock:
            donating = self._of_place.get(place)
            if donating is None:
                donating = self._of_place[place] = _Donating(
                    ledger,
                    granted,
                    calls.shardings_by_leaf(computation, executable),
                    request,
                )
        watcher = _Watcher(self, place, donating)
        # JAX 0.5 makes a new executable at every call that it is asked.
        if not (watcher.is_through and watcher.stepped_out):
            calls.watch(executable, calls.constants_before(computation), watcher)

    def close(self) -> None:
        """Looks at no further call; what stands in JAX's place steps out at the next one."""
        self.closed = True

    def judged(self, place: int, ledger: Ledger) -> Ledger:
        """A ledger with what the calls of its executables showed.

        Args:
            place: of the ledger among the ledgers.
            ledger: as the compile left it.
        """
        donating = self._of_place.get(place)
        if donating is None:
            return ledger
        with self.lock:
            seen = sorted(donating.seen, key=lambda call: call.number)
            more = tuple(donating.findings)
        return gates.with_calls(ledger, seen, more)


class _Watcher:
    """See `donatree._jax.calls.Watcher`."""

    def __init__(self, of: Calls, place: int, donating: _Donating) -> None:
        self._of = of
        self._place = place
        self._donating = donating

    @property
    def is_through(self) -> bool:
        if self._of.closed:
            return True
        return self._of.level.check != "names" and self._donating.begun >= self._of.level.calls

    @property
    def stepped_out(self) -> bool:
        return self._donating.stepped_out

    @stepped_out.setter
    def stepped_out(self, value: bool) -> None:
        self._donating.stepped_out = value

    @property
    def dispatched(self) -> dict[int, bool]:
        return self._donating.dispatched

    def fault(self, where: str, error: BaseException) -> None:
        self._of.fault(where, error)

    def begin(self, arguments: Sequence[Any], frame: FrameType) -> calls.Visit | None:
        donating, of = self._donating, self._of
        with of.lock:
            donating.begun += 1
            number = donating.begun
        named = self._names(number, arguments, frame)
        taking = Taking(donating.ledger, number, arguments, frame, of.book)
        visit = None
        if number <= of.level.calls:
            visit = Visit(number, donating.granted, arguments, donating.shardings, of.fault)
        return _Running(of, self._place, donating, visit, taking, self.is_through, named)

    def _names(
        self, number: int, arguments: Sequence[Any], frame: FrameType
    ) -> tuple[Finding, ...]:
        """Who shares and who holds what is taken; returns what will make JAX refuse the call."""
        donating, of = self._donating, self._of
        ledger = donating.ledger
        if number > of.level.calls and of.level.check != "names":
            return ()
        taken = frozenset(entry.leaf.flat_index for entry in donating.granted)
        kept = frozenset(donating.shardings)
        twins = names.shared(
            ledger.function,
            donating.request.leaves,
            taken,
            kept,
            arguments,
            frame,
            is_first=number == 1,
        )
        held: list[Finding] = []
        user = frames.user_frame(frame)
        if user is not None and (user.f_code, user.f_lasti) not in of.sites:
            of.sites.add((user.f_code, user.f_lasti))
            asked = donating.request
            named = names.arguments_by_name(asked.positional, ledger.donated_arguments, frame)
            held = names.held(
                ledger.function, donating.granted, named, arguments, frame, asked.in_place, of.fault
            )
        with of.lock:
            donating.findings += [each for each in (*twins, *held) if each not in donating.findings]
        if twins or held:
            of.learnt(self._place, True)
        return tuple(twins)


class _Running:
    """See `donatree._jax.calls.Visit`."""

    def __init__(
        self,
        of: Calls,
        place: int,
        donating: _Donating,
        visit: Visit | None,
        taking: Taking,
        is_last: bool,
        twins: tuple[Finding, ...],
    ) -> None:
        self._of = of
        self._place = place
        self._donating = donating
        self._visit = visit
        self._taking = taking
        self._is_last = is_last
        self._twins = twins

    def done(self, results: Sequence[Any]) -> None:
        visit, self._visit = self._visit, None
        self._taking.ended(self._is_last)
        if visit is not None:
            seen = visit.after(results)
            with self._of.lock:
                self._donating.seen.append(seen)
            self._of.learnt(self._place, visit.number == 1 or self._is_last)

    def failed(self, error: BaseException) -> None:
        self._visit = None
        self._taking.ended(self._is_last)
        for each in self._twins:
            notes.add(error, each)
