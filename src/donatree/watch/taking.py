"""What one call takes: written into the book from which a later use of it is explained."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import FrameType
from typing import Any

from donatree._jax import buffers, frames
from donatree.consumed.calls import Call, Calls, Site, SiteLeaf, Taken
from donatree.ledger import Gate, Ledger


class Taking:
    """A call that runs and will take arrays.

    Args:
        ledger: of the executable.
        number: which of its calls it is, from 1.
        arguments: its flat arguments. Held until `ended`, and no longer.
        frame: a frame below the call.
        book: where it is written.
    """

    def __init__(
        self, ledger: Ledger, number: int, arguments: Sequence[Any], frame: FrameType, book: Calls
    ) -> None:
        self._ledger = ledger
        self._arguments: Sequence[Any] = arguments
        self._book = book
        self._gone = frozenset(self._deleted())  # what an earlier call took, this one did not
        user = frames.user_frame(frame)
        self._call = None
        if user is not None:
            self._call = Call.begun(ledger.function, ledger.location, number, user, frame)

    def ended(self, is_last: bool) -> None:
        """The call has returned or raised.

        Args:
            is_last: whether no further call of the executable is looked at.
        """
        arguments, self._arguments = self._arguments, ()
        call = self._call
        if call is None:
            return
        for entry in self._ledger.entries:
            leaf = entry.leaf
            asked = entry.stopped_at is None or entry.stopped_at.position > Gate.ASKED.position
            if not asked or leaf.flat_index >= len(arguments):
                continue
            array = arguments[leaf.flat_index]
            if leaf.flat_index not in self._gone and _is_deleted(array):
                call.taken.append(Taken.of(leaf, array))
        if call.taken:
            self._book.remember(call)
        if is_last:
            self._book.expect(self._site(call))

    def _deleted(self) -> Iterator[int]:
        """Where among the arguments a deleted array stands."""
        for entry in self._ledger.entries:
            index = entry.leaf.flat_index
            if index < len(self._arguments) and _is_deleted(self._arguments[index]):
                yield index

    def _site(self, call: Call) -> Site:
        leaves = tuple(
            SiteLeaf(entry.path, entry.leaf.argument, entry.leaf.spec.aval, entry.bytes)
            for entry in self._ledger.entries
            if entry.slot is not None
        )
        return Site(call.function, call.defined, call.code, call.lasti, leaves, call.number)


def _is_deleted(array: Any) -> bool:
    return buffers.is_array(array) and buffers.is_deleted(array)
