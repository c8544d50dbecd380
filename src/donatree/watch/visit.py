"""One call that is looked at: the addresses before it, the addresses after it, and what differs."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from donatree._jax import buffers, calls
from donatree.holders import Fault, find_views
from donatree.ledger import Entry
from donatree.observation import CallSeen, LeafCall


class Visit:
    """Looks at the granted leaves of one call.

    Args:
        number: which call of this executable, counted from 1.
        entries: the granted entries.
        arguments: the call's flat arguments. Held until `after`, and no longer.
        shardings: in which sharding the executable takes each leaf, by flat index.
        fault: told where a search for views went wrong.
    """

    def __init__(
        self,
        number: int,
        entries: Sequence[Entry],
        arguments: Sequence[Any],
        shardings: Mapping[int, Any],
        fault: Fault,
    ) -> None:
        self.number = number
        self._entries = entries
        self._arguments: Sequence[Any] = arguments
        self._shardings = shardings
        self._fault = fault
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
        unexplained = []
        for entry in self._entries:
            index = entry.leaf.flat_index
            slot = entry.slot.flat_index if entry.slot is not None else -1
            if not 0 <= slot < len(results):
                continue  # a mutable reference: JAX hands it to nobody
            seen[index] = self._leaf(index, arguments[index], results[slot])
            if seen[index].why == "unknown":
                unexplained.append(entry)
        if unexplained:
            seen |= self._looked_at(unexplained, arguments, seen)
        return CallSeen(self.number, seen)

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
        sharding = self._shardings.get(index)
        moved = sharding is not None and calls.is_elsewhere(argument, sharding)
        moved = moved and not buffers.is_deleted(argument)
        return LeafCall(len(before), reused, "resharded" if moved else "unknown")

    def _looked_at(
        self, entries: Sequence[Entry], arguments: Sequence[Any], seen: Mapping[int, LeafCall]
    ) -> dict[int, LeafCall]:
        """Why leaves were copied: one search for views of all of them.

        A leaf without a view that is gone and was not reused: so the CPU's runtime does with memory
        that it was lent.
        """
        rows = [(entry.path, arguments[entry.leaf.flat_index]) for entry in entries]
        spans = {
            place: [
                (address, address + entry.bytes)
                for _, address in self._before[entry.leaf.flat_index] or ()
            ]
            for place, entry in enumerate(entries)
        }
        by_path: dict[str, list[str]] = defaultdict(list)
        for holder in find_views(rows, spans, self._fault):
            for path in holder.leaves:
                by_path[path].append(f"{holder} looks at the memory")
        answer = {}
        for entry in entries:
            index = entry.leaf.flat_index
            leaf, argument = seen[index], arguments[index]
            if entry.path in by_path:
                leaf = dataclasses.replace(leaf, why="view", by=tuple(by_path[entry.path]))
            elif buffers.is_deleted(argument) and buffers.is_on_cpu(argument):
                leaf = dataclasses.replace(leaf, why="foreign")
            answer[index] = leaf
        return answer


def _addresses(value: Any) -> tuple[tuple[int, int], ...] | None:
    return buffers.pointers_by_device(value) if buffers.is_array(value) else None
