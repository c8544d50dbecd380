"""The rehearsal of a run: an observer that lets nothing be donated and looks what would break."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any

from donatree._jax import calls, frames, hooks, inner, reads, request, wrappers
from donatree.before import verdict
from donatree.before.calls import Function, Watcher
from donatree.before.choice import choose, passed_to, taken
from donatree.before.site import Site
from donatree.before.used import Used
from donatree.before.wish import Wish
from donatree.consumed.calls import Call, Calls
from donatree.ledger import Finding, Rehearsal

Key = tuple[str, str, CodeType, int]


@dataclass(slots=True)
class _Learnt:
    """What is known at the end."""

    rehearsals: tuple[Rehearsal, ...] = ()
    findings: tuple[Finding, ...] = ()


class Rehearser(hooks.Observer):
    """Watches the calls of the user's jitted functions; holds no array of the program.

    Args:
        calls: how many calls of each call site are looked at.
        wishes: what is to be rehearsed; where there are none, the candidates.
        learnt_more: called when more is known.
        fault: told of donatree's own faults.
    """

    def __init__(
        self,
        calls: int,
        wishes: Sequence[Wish],
        learnt_more: Callable[[], None],
        fault: Callable[[str, BaseException], None],
    ) -> None:
        self.calls = calls
        self.wishes = tuple(wishes)
        self.learnt_more = learnt_more
        self._fault = fault
        self.book = Calls()
        self.used = Used(self.book)
        self.reads = reads.Reads(self.used.note, fault)
        self.lock = threading.RLock()
        self.sites: dict[Key, Site] = {}
        self._asked: dict[int, Function] = {}
        self._of_computation: weakref.WeakKeyDictionary[Any, Function]
        self._of_computation = weakref.WeakKeyDictionary()
        self._watched: weakref.WeakSet[Any] = weakref.WeakSet()
        self._arguments: dict[tuple[str, str], dict[str, None]] = {}
        self._names: dict[str, None] = {}
        self._met: dict[Wish, bool] = {}

    def start(self) -> None:
        """Begins to watch."""
        hooks.attach(self)

    def stop(self) -> None:
        """Stops watching; JAX has its own functions back."""
        hooks.detach(self)
        self.reads.remove()
        for site in self.sites.values():
            try:
                site.confirm(None)
            except Exception as error:
                self.fault("rehearsal", error)

    def learnt(self) -> _Learnt:
        """What is known so far."""
        with self.lock:
            sites = [site for site in self.sites.values() if site.chosen]
        used = [
            (call, next((verdict.with_help(s, f) for s in sites if _is_of(call, s)), f))
            for call, f in self.used.findings()
        ]
        found: list[Finding] = []
        codes: verdict.Codes = {}
        for site in sites:
            own = verdict.findings(site)
            found += own
            verdict.add_codes(codes, site, [*own, *(f for c, f in used if _is_of(c, site))])
        made = [each for site in sites for each in verdict.rehearsals(site, codes)]
        names = list(self._names)
        made += [_missed(wish, names) for wish in self.wishes if not self._met.get(wish)]
        if not made:
            made.append(_nothing(names))
        return _Learnt(tuple(made), tuple(dict.fromkeys([*(f for _, f in used), *found])))

    def fault(self, where: str, error: BaseException) -> None:
        """See `hooks.Observer`."""
        self._fault(where, error)

    # What the hooks tell.

    def requested(
        self, fun: Any, info: Any, args: tuple[Any, ...], kwargs: dict[str, Any], params: Any
    ) -> None:
        """See `hooks.Observer`."""
        if _is_jaxs(fun) or inner.is_being_staged():
            return
        jaxpr = params.params["jaxpr"]
        if id(jaxpr) in self._asked:
            return
        found, slots = request.request_of(
            fun, info, args, kwargs, params, frames.current_frame(2), self.fault
        )
        if found.location is None or not frames.is_user_file(found.location.file):
            return
        name, qualified = found.function, found.location.function
        wishes = tuple(wish for wish in self.wishes if wish.means(name, qualified))
        with self.lock:
            self._names[name] = None
        if self.wishes and not wishes:
            return
        dialect = wrappers.dialect_of(fun)
        numbers = tuple(info.donate_argnums) if dialect != "equinox" else ()
        key = id(jaxpr)
        self._asked[key] = Function(found, slots, wishes, dialect, numbers)
        weakref.finalize(jaxpr, self._asked.pop, key, None).atexit = False

    def lowered(self, jaxpr: Any, computation: Any, again: Any) -> None:
        """See `hooks.Observer`."""
        function = self._asked.get(id(jaxpr))
        if function is not None:
            self._of_computation[computation] = function

    def compiled(
        self, computation: Any, executable: Any, error: BaseException | None, seconds: float
    ) -> None:
        """See `hooks.Observer`."""
        function = self._of_computation.get(computation)
        if function is None or executable is None or executable in self._watched:
            return
        self._watched.add(executable)
        constants = calls.constants_before(computation)
        kept = frozenset(i - constants for i in computation.compile_args["kept_var_idx"])
        calls.watch(executable, constants, Watcher(self, function, kept))

    def is_rehearsed(self, function: Function) -> bool:
        """Whether an argument of a function was chosen at one of its calls."""
        return bool(self._arguments.get(_key(function)))

    def site(
        self, function: Function, kept: frozenset[int], flat: Sequence[Any], frame: FrameType
    ) -> Site | None:
        """The call site at which `frame` stands; None where the user's code is not on the stack."""
        user = frames.user_frame(frame)
        if user is None:
            return None
        found = function.request
        key = (*_key(function), user.f_code, user.f_lasti)
        with self.lock:
            known = self.sites.get(key)
            elsewhere = self._arguments.setdefault(key[:2], {})
            settled = known is not None and len(known.chosen) == len(elsewhere)
        if settled and known is not None and known.request is found:
            return known
        passed = passed_to(frame, found, flat)
        count = sum(isinstance(each.place, int) for each in passed.values())
        arguments = calls.callers_arguments(frame)
        count = len(arguments[0]) if arguments is not None else count
        wishes = function.wishes
        chosen = choose(found, function.slots, passed, count, user, wishes, elsewhere)
        leaves = [leaf for each in chosen for leaf in each.leaves]
        leaves.sort(key=lambda leaf: leaf.flat_index)
        free = taken(leaves, function.slots, kept)
        place = frames.location_of_frame(user)
        made = Site(found, place, chosen, function.dialect, function.declared, free, self.fault)
        with self.lock:
            elsewhere.update(dict.fromkeys(each.argument for each in chosen))
            if known is not None:  # another signature at the same place: its leaves may differ
                known.request, known.chosen, known.taken = found, chosen, free
                return known
            self.sites[key] = made
            for wish in function.wishes:
                name = wish.argument_of(found.positional, [each.argument for each in chosen])
                self._met[wish] = self._met.get(wish, False) or wish.is_open or name is not None
        return made


def _key(function: Function) -> tuple[str, str]:
    return function.request.function, str(function.request.location)


def _is_of(call: Call, site: Site) -> bool:
    request = site.request
    return call.function == request.function and call.defined == request.location


def _is_jaxs(fun: Any) -> bool:
    """Whether a function is JAX's own; nnx's wrapper is told by its file."""
    module = getattr(fun, "__module__", None) or type(fun).__module__
    return isinstance(module, str) and module.partition(".")[0] in ("jax", "jaxlib")


def _nothing(names: Sequence[str]) -> Rehearsal:
    if not names:
        return Rehearsal("", "", "no jitted function of the program's own was called")
    known = ", ".join(f"`{name}`" for name in names)
    why = "donates nothing yet and is replaced by the call's own result"
    return Rehearsal("", "", f"no argument of {known} {why}")


def _missed(wish: Wish, names: Sequence[str]) -> Rehearsal:
    known = ", ".join(f"`{name}`" for name in names)
    why = (
        f"the jitted functions that were called are {known}"
        if known
        else ("no jitted function of the program's own was called")
    )
    if any(wish.means(name, None) for name in names):
        why = f"`{wish.function}` was called, and has no such argument that donates nothing yet"
    return Rehearsal(function=wish.function, argument=str(wish), why=why)
