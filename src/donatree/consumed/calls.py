"""What donating calls took, remembered without keeping any of it alive."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

from donatree.ledger import Finding, Leaf, Location

ROOM = 256


@dataclass(frozen=True, slots=True)
class Taken:
    """One array that a call took.

    Attributes:
        array: weakly, the array that the caller passed.
        path: of the leaf, as the called function names it: ``state.opt[0].mu['w']``.
        argument: the name of the argument: ``state``.
        inside: the path below the argument: ``.opt[0].mu['w']``.
        aval: type and shape in short: ``float32[4,4]``.
        bytes: bytes per device.
    """

    array: weakref.ref[Any]
    path: str
    argument: str
    inside: str
    aval: str
    bytes: int

    @classmethod
    def of(cls, leaf: Leaf, array: Any) -> Taken:
        """An array as the leaf that it was passed for."""
        inside = leaf.path.removeprefix(leaf.argument)
        return cls(weakref.ref(array), leaf.path, leaf.argument, inside, leaf.spec.aval, leaf.bytes)


@dataclass(slots=True)
class Call:
    """One call that took arrays.

    Attributes:
        function: the name of the donating function.
        defined: where it is defined.
        number: which of its calls this was, from 1.
        code: the code object of the user's frame that called.
        lasti: the byte offset in it of the call.
        thread: the name of the thread.
        taken: what it took.
        activation: ``id`` of the user's frame: equal for two calls, they may be of one activation
            of the function; different, they are not. 0 where it is not known.
        within: the transform that the call ran in, for example ``value_and_grad``; None if it
            was called as it is, or nobody looked.
    """

    function: str
    defined: Location | None
    number: int
    code: CodeType
    lasti: int
    thread: str
    taken: list[Taken]
    activation: int = 0
    within: str | None = None

    @classmethod
    def begun(
        cls,
        function: str,
        defined: Location | None,
        number: int,
        user: FrameType,
        frame: FrameType,
    ) -> Call:
        """A call that runs now on this thread and has taken nothing yet.

        Args:
            function: as the attribute.
            defined: as the attribute.
            number: as the attribute.
            user: the user's frame that makes the call.
            frame: a frame below it.
        """
        from donatree._jax.calls import transform_around

        return cls(
            function=function,
            defined=defined,
            number=number,
            code=user.f_code,
            lasti=user.f_lasti,
            thread=threading.current_thread().name,
            taken=[],
            activation=id(user),
            within=transform_around(frame),
        )


@dataclass(frozen=True, slots=True)
class SiteLeaf:
    """One donated leaf of a call site: as in `Taken`, without an array."""

    path: str
    argument: str
    aval: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Site:
    """A place that goes on calling a donating function after its calls were watched.

    Attributes:
        function: the name of the donating function.
        defined: where it is defined.
        code: the code object of the user's frame that called when it was last watched.
        lasti: the byte offset in it of the call.
        leaves: what each call takes.
        watched_calls: how many calls were watched.
    """

    function: str
    defined: Location | None
    code: CodeType
    lasti: int
    leaves: tuple[SiteLeaf, ...]
    watched_calls: int


@dataclass(slots=True)
class Calls:
    """The calls that are remembered: the last `room`, and of a site what is still referred to.

    It holds arrays weakly only. What no one refers to any more is dropped when the same site
    calls again.

    Attributes:
        room: how many calls are kept.
        found: the findings that were made from it, in the order of the errors.
    """

    room: int = ROOM
    found: list[Finding] = field(default_factory=list)
    _calls: list[Call] = field(default_factory=list, repr=False)
    _sites: dict[tuple[str, CodeType, int, tuple[SiteLeaf, ...]], Site] = field(
        default_factory=dict, repr=False
    )
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def remember(self, call: Call) -> None:
        """Keeps a call; of the one before at its site only the arrays that someone still has."""
        with self._lock:
            for place in reversed(range(len(self._calls))):
                last = self._calls[place]
                if last.code is call.code and last.lasti == call.lasti:
                    last.taken = [taken for taken in last.taken if taken.array() is not None]
                    if not last.taken:
                        del self._calls[place]
                    break
            self._calls.append(call)
            del self._calls[: -self.room]

    def expect(self, site: Site) -> None:
        """Says that calls at a site are watched no longer, and what each of them takes."""
        with self._lock:
            self._sites[site.function, site.code, site.lasti, site.leaves] = site

    def taker_of(self, array: Any) -> tuple[Call, Taken] | None:
        """The call that took an array, and as which leaf; None where no remembered one did."""
        from donatree._jax.deleted import is_same

        for call in reversed(self._snapshot()):
            for taken in call.taken:
                kept = taken.array()
                if kept is not None and is_same(kept, array):
                    return call, taken
        return None

    def sites_for(self, aval: str) -> list[tuple[Site, list[SiteLeaf]]]:
        """The sites whose later calls take arrays of a type and shape, and as which leaves."""
        with self._lock:
            sites = list(self._sites.values())
        found = [(site, [leaf for leaf in site.leaves if leaf.aval == aval]) for site in sites]
        return [(site, leaves) for site, leaves in found if leaves]

    def donated_arguments(self, defined: Location) -> set[str]:
        """The arguments that a function, known by where it is defined, was seen to donate."""
        with self._lock:
            known: Iterable[Call | Site] = [*self._calls, *self._sites.values()]
        names: set[str] = set()
        for each in known:
            if each.defined == defined:
                leaves = each.taken if isinstance(each, Call) else each.leaves
                names.update(leaf.argument for leaf in leaves)
        return names

    def calls(self) -> tuple[Call, ...]:
        """The calls that are remembered, the oldest first."""
        return tuple(self._snapshot())

    def _snapshot(self) -> list[Call]:
        with self._lock:
            return list(self._calls)


Render = Callable[[Finding], str]
