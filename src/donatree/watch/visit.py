"""One call that is looked at: the addresses before it, the addresses after it, and what differs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from donatree._jax import buffers, calls
from donatree.ledger import Entry
from donatree.observation import CallSeen, LeafCall, WhyCopied

Views = Callable[[Any], Sequence[str]]


class Visit:
    """Looks at the granted leaves of one call.

    Args:
        number: which call of this executable, counted from 1.
        entries: the granted entries.
        arguments: the call's flat arguments. Held until `after`, and no longer.
        shardings: in which sharding the executable takes each leaf, by flat index.
        views: what else looks at an array's memory, in words.
    """

    def __init__(
        self,
        number: int,
        entries: Sequence[Entry],
        arguments: Sequence[Any],
        shardings: Mapping[int, Any],
        views: Views,
    ) -> None:
        self._number = number
        self._entries = entries
        self._arguments: Sequence[Any] = arguments
        self._shardings = shardings
        self._views = views
        self._before = {
            entry.leaf.flat_index: _addresses(arguments[entry.leaf.flat_index]) for entry in entries
        }

    def after(self, results: Sequence[Any]) -> CallSeen:
        """What the call did.

        Args:
            results: one array a slot.
        """
        arguments, self._arguments = self._arguments, ()
        seen = {}
        for entry in self._entries:
            index = entry.leaf.flat_index
            slot = entry.slot.flat_index if entry.slot is not None else -1
            if not 0 <= slot < len(results):
                continue  # a mutable reference: JAX hands it to nobody
            seen[index] = self._leaf(index, arguments[index], results[slot])
        return CallSeen(self._number, seen)

    def _leaf(self, index: int, argument: Any, result: Any) -> LeafCall:
        if not buffers.is_array(argument):
            return LeafCall(shards=1, reused=0, why="not_an_array")
        before, after = self._before[index], _addresses(result)
        if not buffers.physical(result).size:
            return LeafCall(shards=0, reused=0)
        if before is None or after is None:
            return LeafCall(shards=0, reused=None)
        reused = len(set(before) & set(after))
        if reused >= len(before):
            return LeafCall(shards=len(before), reused=len(before))
        why, by = self._why(index, argument)
        return LeafCall(shards=len(before), reused=reused, why=why, by=tuple(by))

    def _why(self, index: int, argument: Any) -> tuple[WhyCopied, Sequence[str]]:
        if buffers.is_deleted(argument):
            # Consumed, yet not reused. The CPU's runtime does so with memory that it was lent.
            return ("foreign" if buffers.is_on_cpu(argument) else "unknown"), ()
        sharding = self._shardings.get(index)
        if sharding is not None and calls.is_elsewhere(argument, sharding):
            return "resharded", ()
        found = self._views(argument)
        return ("view" if found else "unknown"), found


def _addresses(value: Any) -> tuple[tuple[int, int], ...] | None:
    return buffers.pointers_by_device(value) if buffers.is_array(value) else None
