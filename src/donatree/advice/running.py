"""Advice on the functions of a running program: from what JAX shows at their first call.

The program is looked at once, when a jitted function of the user's meets a signature whose
arguments are large and not donated. Nothing is compiled besides and nothing is held, unless a
budget is given for that: then what each argument saves is measured when the program has been
compiled, and its jaxpr is held until then.
"""

from __future__ import annotations

import dataclasses
import math
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType
from typing import Any

from donatree._jax import calls, equinox, frames, hooks, inner, nnx, request, variant
from donatree.advice.advice import AdviceList
from donatree.advice.callers import CallFound
from donatree.advice.making import advice_from
from donatree.advice.recording import Recorded
from donatree.advice.statement import CallSite, site_of
from donatree.before.fate import call_of
from donatree.observation import Request
from donatree.proof.budget import Budget

LEAST_BYTES = 1 << 20

_MOST_FUNCTIONS, _MOST_LEAVES = 100, 2_000


@dataclass(frozen=True, slots=True)
class _Asked:
    """A program that is to be measured when it has been compiled."""

    key: tuple[str, str]
    recorded: Recorded
    sites: list[CallSite]


class Adviser:
    """An observer that forms an opinion of each jitted function of the user's own.

    Args:
        least: functions with fewer bytes that are not donated are passed over.
        fault: told of donatree's own faults.
        budget: of compiles; None to compile nothing.
    """

    def __init__(
        self,
        fault: Callable[[str, BaseException], None],
        least: int = LEAST_BYTES,
        budget: Budget | None = None,
    ) -> None:
        self._least = least
        self._budget = budget
        self._asked: dict[int, _Asked] = {}  # the newest of each thread
        self._of_computation: weakref.WeakKeyDictionary[Any, tuple[_Asked, hooks.Lowering]]
        self._of_computation = weakref.WeakKeyDictionary()
        self._fault = fault
        self._lock = threading.Lock()
        self._found: dict[tuple[str, str], AdviceList] = {}
        self._sites: dict[tuple[str, str], list[CallSite]] = {}

    def start(self) -> None:
        """Begins to watch."""
        hooks.attach(self)

    def stop(self) -> None:
        """Stops watching."""
        hooks.detach(self)

    def learnt(self) -> list[AdviceList]:
        """The advice on each function that has something to change, most saved first."""
        with self._lock:
            found = [each for each in self._found.values() if each.to_do]
        return sorted(found, key=lambda each: -sum(a.saved or 0 for a in each if a.to_do))

    def declared(self, fun: Any, info: Any) -> None:
        """See `hooks.Observer`."""

    def disabled(self) -> None:
        """See `hooks.Observer`."""

    def requested(
        self, fun: Any, info: Any, args: tuple[Any, ...], kwargs: dict[str, Any], params: Any
    ) -> None:
        """See `hooks.Observer`."""
        if inner.is_being_staged() or len(self._found) >= _MOST_FUNCTIONS:
            return
        flags = params.params["donated_invars"]
        avals = params.in_avals
        free = sum(_size(a) for a, flag in zip(avals, flags, strict=False) if not flag)
        frame = frames.current_frame(2)
        user = frames.user_frame(frame)
        if free < self._least or user is None:
            return
        found, slots = request.request_of(fun, info, args, kwargs, params, frame, self._fault)
        if found.location is None or not frames.is_user_file(found.location.file):
            return
        key = found.function, str(found.location)
        dialect = "equinox" if equinox.is_wrapper(fun) else "nnx" if nnx.is_wrapper(fun) else "jax"
        site = site_at(user, frame, found)
        with self._lock:
            sites = self._sites.setdefault(key, [])
            if site is not None and site not in sites:
                sites.append(site)
        recorded = Recorded(found, slots, params.params["jaxpr"], None, dialect)
        made = advice_from(recorded, sites, None, _MOST_LEAVES)
        with self._lock:
            self._found[key] = made
        if self._budget is not None and made.to_do:
            self._asked[threading.get_ident()] = _Asked(key, recorded, sites)

    def lowered(self, jaxpr: Any, computation: Any, again: hooks.Lowering) -> None:
        """See `hooks.Observer`."""
        asked = self._asked.get(threading.get_ident())
        if asked is None:
            return
        # JAX lowers another jaxpr than it traced where it has moved constants out of it.
        leaves = len(asked.recorded.request.leaves)
        if jaxpr is asked.recorded.jaxpr or request.leaf_count(computation) == leaves:
            del self._asked[threading.get_ident()]
            self._of_computation[computation] = (asked, again)

    def compiled(
        self, computation: Any, executable: Any, error: BaseException | None, seconds: float
    ) -> None:
        """See `hooks.Observer`."""
        asked, again = self._of_computation.pop(computation, (None, None))
        if asked is None or again is None or executable is None or self._budget is None:
            return
        found = asked.recorded
        program = variant.Program(
            again, computation, found.request, found.slots, executable, seconds
        )
        recorded = dataclasses.replace(found, program=program)
        made = advice_from(recorded, asked.sites, self._budget, _MOST_LEAVES)
        with self._lock:
            self._found[asked.key] = made

    def fault(self, where: str, error: BaseException) -> None:
        """See `hooks.Observer`."""
        self._fault(where, error)


def site_at(user: FrameType, frame: FrameType, found: Request) -> CallSite | None:
    """The call statement in which a frame of the user's stands.

    Args:
        user: the frame.
        frame: a frame inside JAX, below it.
        found: tells the function's parameters.

    Returns:
        None where the source cannot be read.
    """
    place = call_of(user)
    if place is None:
        return None
    source, call = place
    arguments = calls.callers_arguments(frame)
    shift = max(len(arguments[0]) - len(call.args), 0) if arguments is not None else 0
    return site_of(CallFound(source, call, shift), found.positional, [source])


def _size(aval: Any) -> int:
    shape = getattr(aval, "shape", ())
    width = getattr(getattr(aval, "dtype", None), "itemsize", 4)
    return math.prod(shape) * width if all(isinstance(n, int) for n in shape) else 0
