"""Granted leaves that a run copied all the same, grouped by what stood in the way."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from donatree.ledger import Entry, Gate, Ledger, by_bytes
from donatree.observation import CallSeen
from donatree.why.causes import Group

_CODES = {
    "view": "DT601",
    "foreign": "DT602",
    "not_an_array": "DT603",
    "resharded": "DT604",
    "unknown": "DT605",
}


@dataclass(frozen=True, slots=True)
class Copies:
    """Leaves that the same calls copied for the same reason.

    Attributes:
        group: the code and the entries; lost where the newest call looked at copied them too.
        calls: numbers of the calls that copied.
        looked_at: numbers of all calls that were looked at.
        by: what stood in the way, in words, each once.
        shards: shards that the newest of these calls copied, of all leaves together.
        of_shards: how many shards the leaves have together.
    """

    group: Group
    calls: tuple[int, ...]
    looked_at: tuple[int, ...]
    by: tuple[str, ...]
    shards: int
    of_shards: int


def find(ledger: Ledger, seen: Sequence[CallSeen]) -> tuple[Ledger, tuple[Copies, ...]]:
    """Gives each copied leaf its code, and groups the leaves by cause.

    Args:
        ledger: after gate honoured.
        seen: the calls that were looked at.

    Returns:
        The ledger with the codes of its entries, and the groups, most bytes first.
    """
    grouped: dict[tuple[str, tuple[int, ...], bool], list[Entry]] = defaultdict(list)
    entries = []
    for entry in ledger.entries:
        index = entry.leaf.flat_index
        copied = [call for call in seen if index in call.leaves and call.leaves[index].copied]
        if entry.stopped_at is Gate.IN_PLACE or not copied:
            entries.append(entry)
            continue
        if Gate.HONOURED.value not in entry.evidence:
            entries.append(entry)
            continue
        code = _CODES[copied[-1].leaves[index].why or "unknown"]
        entry = dataclasses.replace(entry, finding=code)
        entries.append(entry)
        lost = entry.stopped_at is Gate.HONOURED
        grouped[code, tuple(call.number for call in copied), lost].append(entry)
    looked_at = tuple(call.number for call in seen)
    copies = [
        _copies(code, calls, lost, members, looked_at, seen)
        for (code, calls, lost), members in grouped.items()
    ]
    copies.sort(key=lambda each: (not each.group.lost, -each.group.bytes, each.group.code))
    return dataclasses.replace(ledger, entries=tuple(entries)), tuple(copies)


def _copies(
    code: str,
    calls: tuple[int, ...],
    lost: bool,
    members: Sequence[Entry],
    looked_at: tuple[int, ...],
    seen: Sequence[CallSeen],
) -> Copies:
    newest = next(call for call in reversed(seen) if call.number == calls[-1])
    leaves = [newest.leaves[entry.leaf.flat_index] for entry in members]
    by = dict.fromkeys(
        words
        for call in seen
        for entry in members
        if entry.leaf.flat_index in call.leaves
        for words in call.leaves[entry.leaf.flat_index].by
    )
    return Copies(
        group=Group(code, "", tuple(by_bytes(members)), lost),
        calls=calls,
        looked_at=looked_at,
        by=tuple(by),
        shards=sum(leaf.shards - (leaf.reused or 0) for leaf in leaves),
        of_shards=sum(leaf.shards for leaf in leaves),
    )


def numbers(calls: Sequence[int]) -> str:
    """`call 1`, `calls 2 and 3`, `calls 1, 2 and 3`."""
    if len(calls) == 1:
        return f"call {calls[0]:,}"
    return f"calls {', '.join(f'{each:,}' for each in calls[:-1])} and {calls[-1]:,}"
