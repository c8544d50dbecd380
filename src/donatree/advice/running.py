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
from typing import TYPE_CHECKING, Any

from donatree._jax import frames, hooks, inner, request, variant, wrappers

if TYPE_CHECKING:
    from donatree.advice.advice import AdviceList
    from donatree.advice.recording import Recorded
    from donatree.advice.statement import CallSite
    from donatree.proof.budget import Budget

LEAST_BYTES = 1 << 20

_MOST_FUNCTIONS, _MOST_LEAVES = 100, 2_000


@dataclass(frozen=True, slots=True)
class _Asked:
    """A program that is to be measured when it has been compiled."""

    key: tuple[str, str]
    recorded: Recorded
    sites: list[CallSite]


class Adviser(hooks.Observer):
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
        # Imported by the programs that need it: most donate what is large.
        from donatree.advice.making import advice_from
        from donatree.advice.recording import Recorded
        from donatree.advice.site import site_at

        found, slots = request.request_of(fun, info, args, kwargs, params, frame, self._fault)
        if found.location is None or not frames.is_user_file(found.location.file):
            return
        key = found.function, str(found.location)
        site = site_at(user, frame, found)
        with self._lock:
            sites = self._sites.setdefault(key, [])
            if site is not None and site not in sites:
                sites.append(site)
        recorded = Recorded(found, slots, params.params["jaxpr"], None, wrappers.dialect_of(fun))
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
        from donatree.advice.making import advice_from

        made = advice_from(recorded, asked.sites, self._budget, _MOST_LEAVES)
        with self._lock:
            self._found[asked.key] = made

    def fault(self, where: str, error: BaseException) -> None:
        """See `hooks.Observer`."""
        self._fault(where, error)


def _size(aval: Any) -> int:
    shape = getattr(aval, "shape", ())
    width = getattr(getattr(aval, "dtype", None), "itemsize", 4)
    return math.prod(shape) * width if all(isinstance(n, int) for n in shape) else 0
