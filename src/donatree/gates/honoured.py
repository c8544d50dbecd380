"""Gate *honoured*: did the run write the slot into the leaf's memory?

The evidence is the address of the leaf's shards before a call and of the slot's after it; that a
leaf `is_deleted()` proves nothing in either direction.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from donatree.ledger import GATES, Entry, Gate, Ledger
from donatree.observation import CallSeen, LeafCall
from donatree.why.copies import numbers

_DELETED = {
    "view": "a view of the leaf's memory was alive",
    "foreign": "the leaf is deleted, and the slot is at another address",
    "not_an_array": "what was passed is no `jax.Array`, so the slot has other memory",
    "resharded": "the leaf is alive after the call, in another sharding than the call's",
    "unknown": "the slot is at another address",
}


def judge(ledger: Ledger, seen: Sequence[CallSeen]) -> Ledger:
    """Takes the granted leaves of a ledger through the gate.

    The newest call decides: a first call is often another program, on a state that was restored
    or placed elsewhere. What an earlier call copied stays in the evidence.

    Args:
        ledger: as the compile left it.
        seen: the calls that were looked at, in their order.

    Returns:
        The ledger with the gate checked, or as it was where nothing could be read.
    """
    if not any(call.leaves for call in seen):
        return ledger
    entries = tuple(_walk(entry, seen) for entry in ledger.entries)
    known = all(
        entry.stopped_at is not None or Gate.HONOURED.value in entry.evidence for entry in entries
    )
    if not known:
        note = "gate honoured was not checked: this backend tells no addresses of its buffers"
        return dataclasses.replace(ledger, notes=(*ledger.notes, note))
    checked = tuple(gate for gate in GATES if gate in {*ledger.checked, Gate.HONOURED})
    return dataclasses.replace(ledger, entries=entries, checked=checked)


def _walk(entry: Entry, seen: Sequence[CallSeen]) -> Entry:
    if entry.stopped_at not in (None, Gate.IN_PLACE) or entry.slot is None:
        return entry
    calls = [
        (call.number, call.leaves[entry.leaf.flat_index])
        for call in seen
        if entry.leaf.flat_index in call.leaves
    ]
    calls = [(number, leaf) for number, leaf in calls if leaf.reused is not None]
    if not calls:
        return entry
    evidence = {**entry.evidence, Gate.HONOURED.value: _in_words(calls)}
    stopped = entry.stopped_at or (Gate.HONOURED if calls[-1][1].copied else None)
    return dataclasses.replace(entry, evidence=evidence, stopped_at=stopped)


def _in_words(calls: Sequence[tuple[int, LeafCall]]) -> str:
    """`call 1: copied, the leaf is deleted ...; calls 2 and 3: reused, same address`."""
    runs: list[tuple[str, list[int]]] = []
    for number, leaf in calls:
        text = _verdict(leaf)
        if not runs or runs[-1][0] != text:
            runs.append((text, []))
        runs[-1][1].append(number)
    return "; ".join(f"{numbers(run)}: {text}" for text, run in runs)


def _verdict(leaf: LeafCall) -> str:
    if not leaf.shards:
        return "no bytes to reuse"
    if not leaf.copied:
        return "reused, the slot is at the leaf's address" + (
            f" on all {leaf.shards:,} shards" if leaf.shards > 1 else ""
        )
    part = f" on {leaf.shards - (leaf.reused or 0):,} of {leaf.shards:,} shards"
    return f"copied{part if leaf.shards > 1 else ''}, {_DELETED[leaf.why or 'unknown']}"
