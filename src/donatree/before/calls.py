"""The calls of the user's jitted functions, looked at while they run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from types import FrameType
from typing import TYPE_CHECKING, Any

from donatree._jax import buffers, calls, frames
from donatree.before.choice import passed_to
from donatree.before.site import Site
from donatree.before.wish import Wish
from donatree.consumed.calls import Call, Taken
from donatree.ledger import Slot
from donatree.observation import Request

if TYPE_CHECKING:
    from donatree.before.rehearser import Rehearser


@dataclass(slots=True)
class Function:
    """A jitted function of the user's that was called with one signature.

    Attributes:
        request: its leaves, and what it donates already.
        slots: leaves of its result.
        wishes: those that mean it.
        dialect: how it was jitted: ``jax``, ``nnx``, ``equinox``.
        declared: numbers of the arguments that it donates already.
    """

    request: Request
    slots: tuple[Slot, ...]
    wishes: tuple[Wish, ...]
    dialect: str
    declared: tuple[int, ...]


@dataclass(slots=True)
class Watcher:
    """Looks at the calls of one executable; see `donatree._jax.calls.Watcher`.

    Attributes:
        of: the rehearsal.
        function: what is called.
        kept: flat indices of the leaves that the compiled program uses.
        begun: calls that began.
        dispatched: see the protocol.
        stepped_out: see the protocol.
    """

    of: Rehearser
    function: Function
    kept: frozenset[int]
    begun: int = 0
    dispatched: dict[int, bool] = field(default_factory=dict)
    stepped_out: bool = False

    @property
    def is_through(self) -> bool:
        """Whether nothing of the function is rehearsed, as far as its first calls tell."""
        if self.of.is_rehearsed(self.function):
            return False  # the next call site may come late
        return self.begun > self.of.calls

    def fault(self, where: str, error: BaseException) -> None:
        """See `donatree._jax.calls.Watcher`."""
        self.of.fault(where, error)

    def begin(self, arguments: Sequence[Any], frame: FrameType) -> calls.Visit | None:
        """See `donatree._jax.calls.Watcher`."""
        of = self.of
        self.begun += 1
        user = frames.user_frame(frame)
        site = of.site(self.function, self.kept, arguments, frame)
        if site is None or user is None or not site.chosen:
            return None
        with of.lock:
            site.begun += 1
            number = site.begun
        if number <= of.calls + 1:
            site.confirm(user)
        if number > of.calls:
            return None
        passed = passed_to(frame, self.function.request, arguments)
        names = {each.argument for each in site.chosen}
        values = {name: each.value for name, each in passed.items() if name in names}
        passed.clear()
        site.look(values, arguments, user)
        values.clear()
        return _Running(of, site, number, arguments, user, frame)


class _Running:
    """See `donatree._jax.calls.Visit`."""

    def __init__(
        self,
        of: Rehearser,
        site: Site,
        number: int,
        arguments: Sequence[Any],
        user: FrameType,
        frame: FrameType,
    ) -> None:
        self._of = of
        self._site = site
        self._arguments: Sequence[Any] = arguments
        request = site.request
        self._call = Call.begun(request.function, request.location, number, user, frame)

    def done(self, results: Sequence[Any]) -> None:
        flat, self._arguments = self._arguments, ()
        site, of = self._site, self._of
        made = {id(each) for each in results}
        site.remember(flat)
        for leaf in site.leaves:
            array = flat[leaf.flat_index]
            if leaf.flat_index not in site.taken or not buffers.is_array(array):
                continue
            if id(array) in made:
                continue
            self._call.taken.append(Taken.of(leaf, array))
            of.reads.mark(buffers.physical(array))
        of.book.remember(self._call)
        of.learnt_more()

    def failed(self, error: BaseException) -> None:
        self._arguments = ()
