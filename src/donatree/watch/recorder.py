"""The recorder: turns what the hooks see into ledgers."""

from __future__ import annotations

import dataclasses
import functools
import threading
import traceback
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from donatree import gates
from donatree._jax import facts, frames, hooks, inner, origins, promise, read, request, warning
from donatree.consumed import active
from donatree.consumed.threads import ThreadHook
from donatree.fixes import twins
from donatree.ledger import Account, Fault, Ledger, Slot
from donatree.observation import Observation, Request
from donatree.origin.drift import Drift, Origin
from donatree.watch.calls import Calls
from donatree.watch.declared import Declared
from donatree.watch.level import Level
from donatree.watch.notebook import CellErrors
from donatree.watch.totals import Totals

if TYPE_CHECKING:
    from donatree.proof.budget import Budget
    from donatree.watch.abroad import Targets
    from donatree.watch.proving import Proving


@dataclass(slots=True)
class _Asked:
    """A request that waits for its compile."""

    request: Request
    slots: tuple[Slot, ...]
    info: Any
    jaxpr: weakref.ref[Any]  # JAX lets it go when it is done with it
    shapes_only: bool = False
    staged: bool = False


class Recorder:
    """Watches jitted functions and keeps a ledger of each compile that donates.

    Keeps no array and no argument of the program: names, types and bytes only.

    Args:
        everything: record functions that donate nothing as well (for `audit`).
        thread: the only thread to listen to; None for all.
        told: called with the place of a ledger among the ledgers and the ledger itself, when it is
            new and when more is known of it; on the thread that compiled or called.
        catch_warning: take JAX's own donation warning into the ledger instead of the terminal.
        totals_later: read XLA's totals when the account is asked for, not at the compile; `told`
            gets the ledgers without them.
        level: how much of the calls is looked at; None for the compile alone.
        prove: seconds of further compiles; None for none. Totals are read at the compile then.
        twin: whether one of them is the program without its donation.
        targets: keeps what is compiled for other hardware as well; None for none.
    """

    follows_transforms = True
    places = True  # whether gate in place is looked at

    def __init__(
        self,
        *,
        everything: bool = False,
        thread: int | None = None,
        told: Callable[[int, Ledger], None] | None = None,
        catch_warning: bool = True,
        totals_later: bool = False,
        level: Level | None = None,
        prove: Budget | None = None,
        twin: bool = True,
        targets: Targets | None = None,
    ) -> None:
        self._everything = everything
        self._thread = thread
        self._told = told
        self._lock = threading.RLock()
        self._asked: dict[int, _Asked] = {}
        self._of_computation: weakref.WeakKeyDictionary[Any, _Asked]
        self._of_computation = weakref.WeakKeyDictionary()
        self._lowerings: weakref.WeakKeyDictionary[Any, read.Lowering]
        self._lowerings = weakref.WeakKeyDictionary()
        self._judged: weakref.WeakKeyDictionary[Any, Ledger] = weakref.WeakKeyDictionary()
        self._newest: dict[int, _Asked] = {}
        self._declared = Declared()
        self._warned = warning.Catcher() if catch_warning else None
        self._totals = Totals() if totals_later and prove is None else None
        self.targets = targets
        self.proving: Proving | None = None
        if prove is not None:
            from donatree.watch.proving import Proving  # and all that changes programs

            self.proving = Proving(prove, twin, self.fault)
        self._learnt: dict[tuple[str, str], list[int]] = {}
        self._stale: set[int] = set()
        self._compiles: list[Ledger] = []  # the ledgers as the compiles left them
        self._plain: list[Ledger] = []  # and as gate granted left them
        self._calls = Calls(level or Level("compile"), self._more_of, self.fault)
        looks = self._calls.level.check != "compile"
        self._errors = (ThreadHook(), CellErrors()) if looks else ()
        self.ledgers: list[Ledger] = []
        self.faults: list[Fault] = []

    def start(self) -> None:
        """Begin to watch."""
        if self._warned is not None:
            self._warned.install()
        active.enter(self._calls.book)
        for each in self._errors:
            each.start()
        hooks.attach(self)

    def stop(self) -> None:
        """Stop watching; JAX's own functions are put back by the last one to stop."""
        hooks.detach(self)
        self._calls.close()
        for each in self._errors:
            each.stop()
        active.leave(self._calls.book)
        if self._warned is not None:
            self._warned.remove()

    def account(self, *, totals: bool = True, **more: Any) -> Account:
        """All that was learnt so far.

        Args:
            totals: read what XLA's totals are still to be read.
            **more: fields of the account that the recorder does not know.
        """
        if totals and self._totals is not None:
            self._totals.read_all()
        self._judge_anew()
        with self._lock:
            return Account(
                ledgers=tuple(self.ledgers),
                findings=(*self._calls.book.found, *self._declared.findings(self.ledgers)),
                faults=tuple(self.faults),
                versions=facts.versions(),
                **more,
            )

    def forget(self) -> None:
        """Drops the ledgers."""
        with self._lock:
            for each in (self.ledgers, self._compiles, self._plain, self._learnt, self._stale):
                each.clear()

    # What the hooks tell.

    def declared(self, fun: Any, info: Any) -> None:
        """See `hooks.Observer`."""
        self._declared.add(fun, info)

    def disabled(self) -> None:
        """See `hooks.Observer`."""
        user = frames.user_frame(frames.current_frame(2))
        self._declared.disable(frames.location_of_frame(user))

    def requested(
        self, fun: Any, info: Any, args: tuple[Any, ...], kwargs: dict[str, Any], params: Any
    ) -> None:
        """See `hooks.Observer`."""
        if not self._listens():
            return
        if not self.wants(fun, info):
            thread = threading.get_ident()
            if thread in self._newest and not inner.is_being_staged():
                del self._newest[thread]  # what is compiled next on this thread is not its own
            return
        jaxpr = params.params["jaxpr"]
        known = self._asked.get(id(jaxpr))
        staged = inner.is_being_staged()
        if staged and (known is not None or not promise.donates(info)):
            return
        if known is None:
            found, slots = request.request_of(
                fun, info, args, kwargs, params, frames.current_frame(2), self.fault
            )
            if self._everything and facts.jit_is_disabled():
                found = request.while_jit_is_disabled(found)
            shapes_only = request.has_shapes_without_sharding(args, kwargs)
            known = _Asked(found, slots, info, weakref.ref(jaxpr), shapes_only, staged)
            self._remember(jaxpr, known)
        if not staged:
            self._newest[threading.get_ident()] = known

    def _remember(self, jaxpr: Any, asked: _Asked) -> None:
        key = id(jaxpr)
        with self._lock:
            self._asked[key] = asked
        weakref.finalize(jaxpr, self._asked.pop, key, None).atexit = False

    def lowered(self, jaxpr: Any, computation: Any, again: Any) -> None:
        """See `hooks.Observer`."""
        if not self._listens():
            return
        asked = self._asked.get(id(jaxpr))
        if asked is None and self.follows_transforms and read.donates_anything(computation):
            asked = self._derived(jaxpr, computation)
        if asked is not None:
            self._of_computation[computation] = asked
            lowering = read.read_lowering(computation)
            lowering.warning = self._warned.take() if self._warned is not None else None
            self._lowerings[computation] = lowering
            for each in filter(None, (self.proving, self.targets)):
                each.lowered(computation, again)
        if not self.follows_transforms:
            return
        outer = asked.request if asked is not None else None
        for observation in inner.donating_jits(jaxpr, computation, outer, self._requests):
            ledger = gates.judge(observation)
            self._learn(ledger, ledger)

    def _requests(self) -> dict[int, Request]:
        return {key: asked.request for key, asked in self._asked.items()}

    def _derived(self, jaxpr: Any, computation: Any) -> _Asked:
        """A transform of a donating jit (`vmap`, `grad`): known by what was lowered."""
        newest = self._newest.get(threading.get_ident())
        if newest is not None and not request.may_be_of(computation, newest.request):
            newest = None
        found, slots = request.request_of_lowering(
            jaxpr,
            computation,
            frames.user_frame(frames.current_frame(2)),
            newest.request if newest else None,
            newest.slots if newest else (),
        )
        return _Asked(found, slots, newest.info if newest else None, weakref.ref(jaxpr))

    def saw_lowered(self, computation: Any) -> bool:
        """Whether a computation was lowered while this recorder listened."""
        return computation in self._of_computation

    def associate(self, computation: Any) -> None:
        """Join a computation whose lowering JAX had cached to this thread's newest request."""
        newest = self._newest.get(threading.get_ident())
        if (
            computation not in self._of_computation
            and newest is not None
            and len(newest.request.leaves) == request.leaf_count(computation)
        ):
            self._of_computation[computation] = newest
            self._lowerings[computation] = read.read_lowering(computation)

    def compiled(
        self, computation: Any, executable: Any, error: BaseException | None, seconds: float
    ) -> None:
        """See `hooks.Observer`."""
        if not self._listens():
            return
        if computation not in self._of_computation and read.donates_anything(computation):
            self.associate(computation)
        asked = self._of_computation.get(computation)
        if asked is None:
            return
        if computation in self._judged:  # asked for again: a program with effects does at each call
            self.refuse(asked.info, self._judged[computation])
            return
        observation = read.observe(
            computation,
            executable,
            error,
            self._lowerings.get(computation),
            asked.request,
            asked.slots,
            asked.shapes_only,
        )
        origins: dict[int, Origin] = {}
        judged = gates.judge(observation, functools.partial(self._locate, asked, origins))
        ledger = judged
        if executable is not None:
            if self.proving is not None:
                ledger = self.proving.prove(judged, observation, computation, executable, seconds)
            elif self._totals is None:
                observation = read.with_totals(observation, executable.xla_executable, self.places)
                ledger = gates.with_totals(judged, observation)
            self._judged[computation] = ledger
        place, is_new = self._learn(ledger, judged)
        if place is not None and executable is not None:
            if is_new and self._totals is not None:
                add = functools.partial(self._add_totals, place, ledger, observation)
                self._totals.expect(executable, add)
            if is_new and self.targets is not None:
                self.targets.compiled(place, computation, asked.request, asked.slots, origins)
            self._calls.watch(place, computation, executable, judged, asked.request)
        self.refuse(asked.info, ledger)

    def _locate(
        self, asked: _Asked, found: dict[int, Origin], drifts: Sequence[Drift]
    ) -> Mapping[int, Origin]:
        """Where leaves drifted, kept in `found`; that it fails does not hide the compile."""
        jaxpr = asked.jaxpr()
        if jaxpr is None:
            return {}
        try:
            names = [leaf.path for leaf in asked.request.leaves]
            found.update(origins.locate(jaxpr, drifts, names, asked.request.call))
            return found
        except Exception as error:
            self.fault("origins", error)
            return {}

    def _add_totals(
        self, place: int, ledger: Ledger, observation: Observation, loaded: Any
    ) -> None:
        try:
            whole = gates.with_totals(ledger, read.with_totals(observation, loaded))
            self._compiles[place] = whole
            self.ledgers[place] = whole
            self._stale.add(place)
        except Exception as error:
            self.fault("totals", error)

    def _more_of(self, place: int, tell: bool) -> None:
        """A call showed more of a ledger; it is judged anew when somebody asks or is to be told."""
        self._stale.add(place)
        if tell and self._told is not None:
            self._judge_anew()
            self._told(place, self.ledgers[place])

    def _judge_anew(self) -> None:
        with self._lock:
            while self._stale:
                place = self._stale.pop()
                judged = self._calls.judged(place, self._compiles[place])
                self.ledgers[place] = dataclasses.replace(
                    judged, fixes=(*judged.fixes, *twins.of(judged))
                )

    def wants(self, fun: Any, info: Any) -> bool:
        """Whether a function's requests are to be recorded."""
        return self._everything or promise.donates(info)

    def refuse(self, info: Any, ledger: Ledger) -> None:
        """Raise `DonationError` where a broken promise must not run; here nothing is refused."""

    def fault(self, where: str, error: BaseException) -> None:
        """See `hooks.Observer`."""
        text = "".join(traceback.format_exception(error))
        fault = Fault(where, f"{type(error).__name__}: {error}", text)
        with self._lock:
            if len(self.faults) < 20 and fault not in self.faults:
                self.faults.append(fault)

    def _listens(self) -> bool:
        return self._thread is None or self._thread == threading.get_ident()

    def _learn(self, ledger: Ledger, judged: Ledger) -> tuple[int | None, bool]:
        """Keeps a ledger that is new; returns its place among the ledgers, and whether it is new.

        One that is not was compiled once more, for another call or ahead of time.

        Args:
            ledger: with all that is known of it.
            judged: as it was after gate granted, by which two are told apart.
        """
        if not (ledger.entries or ledger.findings or self._everything):
            return None, False  # it declares donation of nothing: `filter_jit(donate="none")` does
        with self._lock:
            alike = self._learnt.setdefault((ledger.function, ledger.signature), [])
            for place in alike:
                known = self._plain[place]
                if ledger.location == known.location and judged.entries == known.entries:
                    return place, False
            place = len(self.ledgers)
            alike.append(place)
            self._plain.append(judged)
            self._compiles.append(ledger)
            self.ledgers.append(ledger)
        if self._told is not None:
            self._told(place, ledger)
        return place, True
