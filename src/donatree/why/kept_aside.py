"""Granted leaves whose bytes were not saved, grouped by what took them back."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Sequence

from donatree.ledger import Entry, Gate, Location, by_bytes
from donatree.observation import Observation
from donatree.why.causes import Group

SAID_BEFORE = frozenset(("DT403", "DT406"))  # these name the cause of the copy already


def explain(
    entries: Sequence[Entry], observation: Observation
) -> tuple[tuple[Entry, ...], tuple[Group, ...]]:
    """Gives each leaf that stopped at gate *in place* its code, and groups them by cause.

    Leaves that come back as another type or in another layout keep the code that says so.

    Args:
        entries: after the gate.
        observation: the evidence.

    Returns:
        The entries with their codes, and the groups with the most bytes first.
    """
    grouped: dict[tuple[str, Location | None], list[Entry]] = defaultdict(list)
    answer = []
    for entry in entries:
        if entry.stopped_at is Gate.IN_PLACE and entry.finding not in SAID_BEFORE:
            code, where = _cause(entry, observation)
            entry = dataclasses.replace(entry, finding=code)
            grouped[code, where].append(entry)
        answer.append(entry)
    groups = [
        Group(code, "", tuple(by_bytes(members)), lost=True)
        for (code, _), members in grouped.items()
    ]
    groups.sort(key=lambda each: (-each.bytes, each.code, each.entries[0].leaf.flat_index))
    return tuple(answer), tuple(groups)


def _cause(entry: Entry, observation: Observation) -> tuple[str, Location | None]:
    copies = observation.costly_copies(entry.leaf.flat_index)
    if not copies:
        return "DT503", None
    elsewhere = entry.successor is not None and entry.slot != entry.successor
    return ("DT502" if elsewhere else "DT501"), copies[0].location
