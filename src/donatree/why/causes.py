"""The cause that the evidence shows for each lost leaf, and what a reused one still costs."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from donatree.ledger import ArraySpec, Entry, Gate, Location, Slot, by_bytes
from donatree.observation import Observation
from donatree.origin.drift import Drift, Origin, What

_NOT_ASKED = {
    "debug_nans": "DT101",
    "disable_jit": "DT102",
    "inner": "DT103",
    "passed_by_keyword": "DT105",
    "passed_by_position": "DT105",
    "negative_number": "DT106",
}


_DRIFTED = ("DT401", "DT402", "DT403")

_LocalType = tuple[str, tuple[int, ...], str | None]
_Expression = tuple[Location | None, str | None]


@dataclass(frozen=True, slots=True)
class Group:
    """Leaves of one cause: the code, what tells groups of one code apart, and the entries.

    Leaves that drifted are of one cause where they drifted in one expression.

    Attributes:
        code: the finding's code.
        detail: for example ``float32 -> bfloat16``; empty where the code says all.
        entries: most bytes first.
        lost: whether the leaves were lost; False where they were reused at a price.
        origins: where they drifted, each in the place of its entry; empty where that was not
            looked for.
    """

    code: str
    detail: str
    entries: tuple[Entry, ...]
    lost: bool
    origins: tuple[Origin, ...] = ()

    @property
    def bytes(self) -> int:
        """Bytes per device of the leaves together."""
        return sum(entry.bytes for entry in self.entries)


def explain(
    entries: Sequence[Entry], observation: Observation
) -> tuple[tuple[Entry, ...], tuple[Group, ...]]:
    """Gives each entry the code that speaks of it, and groups the entries by cause.

    Args:
        entries: after the gates, without codes.
        observation: the evidence.

    Returns:
        The entries with their codes, and the groups with the most lost bytes first.
    """
    taken = {entry.slot.flat_index: entry.leaf.path for entry in entries if entry.slot}
    slots = observation.slots
    types = {_local_type(slot.spec) for slot in slots}
    free = {_local_type(slot.spec) for slot in slots if slot.flat_index not in taken}
    grouped: dict[tuple[str, str, bool, _Expression | None], list[Entry]] = defaultdict(list)
    answer = []
    for entry in entries:
        lost = entry.stopped_at is not None
        if lost:
            code, detail = _lost(entry, observation, free, types, taken)
        else:
            code, detail = _price(entry, observation)
        answer.append(dataclasses.replace(entry, finding=code) if code else entry)
        if code:
            origin = _origin(entry, code, observation)
            expression = origin and (origin.location, origin.unknown)
            grouped[code, detail, lost, expression].append(answer[-1])
    groups = [
        _group(code, detail, by_bytes(members), lost, observation)
        for (code, detail, lost, _), members in grouped.items()
    ]
    return tuple(answer), tuple(sorted(groups, key=_order))


def drifts(entries: Sequence[Entry]) -> list[Drift]:
    """The leaves whose successor has another dtype, shape or weak type.

    Args:
        entries: after the gates.
    """
    found = []
    for entry in entries:
        if entry.successor is None or entry.stopped_at in (Gate.ASKED, Gate.KEPT):
            continue
        leaf, slot = entry.leaf.spec, entry.successor.spec
        if leaf is slot:
            continue
        what: What
        if leaf.dtype != slot.dtype:
            what = "dtype"
        elif leaf.shape != slot.shape:
            what = "shape"
        elif leaf.weak_type != slot.weak_type and entry.slot is not None:
            what = "weak_type"
        else:
            continue
        found.append(Drift(entry.leaf.flat_index, entry.successor.flat_index, what))
    return found


def _origin(entry: Entry, code: str, observation: Observation) -> Origin | None:
    if code not in _DRIFTED or entry.successor is None:
        return None
    return observation.origins.get(entry.successor.flat_index)


def _group(
    code: str, detail: str, entries: list[Entry], lost: bool, observation: Observation
) -> Group:
    origins = [_origin(entry, code, observation) for entry in entries]
    return Group(code, detail, tuple(entries), lost, tuple(filter(None, origins)))


def _order(group: Group) -> tuple[bool, int, str, str, str, int, int]:
    where = group.origins[0].location if group.origins else None
    return (
        not group.lost,
        -group.bytes,
        group.code,
        group.detail,
        where.file if where else "",
        where.line if where else 0,
        (where.column or 0) if where else 0,
    )


def _local_type(spec: ArraySpec) -> _LocalType:
    return spec.dtype, spec.local_shape, spec.memory_kind


def _lost(
    entry: Entry,
    observation: Observation,
    free: set[_LocalType],
    types: set[_LocalType],
    taken: dict[int, str],
) -> tuple[str, str]:
    if entry.stopped_at is Gate.ASKED:
        reason = observation.request.why_not.get(entry.leaf.flat_index, "inner")
        return _NOT_ASKED[reason], ""
    if entry.stopped_at is Gate.KEPT:
        return "DT201", ""
    if not observation.platform_donates:
        return "DT303", ""
    leaf, successor = entry.leaf.spec, entry.successor
    if successor is None:
        if _local_type(leaf) not in types:
            return "DT301", ""
        return ("DT409" if _local_type(leaf) in free else "DT302"), ""
    drift = _drift(leaf, successor, observation)
    if drift is not None:
        return drift
    thief = taken.get(successor.flat_index)
    return ("DT302", thief) if thief is not None else ("DT409", "")


def _drift(leaf: ArraySpec, successor: Slot, observation: Observation) -> tuple[str, str] | None:
    """How the successor differs from the leaf; None where it does not."""
    slot = successor.spec
    if slot.dtype != leaf.dtype:
        return "DT402", f"{leaf.dtype} -> {slot.dtype}"
    if slot.shape != leaf.shape:
        return "DT401", ""
    if slot.memory_kind != leaf.memory_kind:
        return "DT304", f"{leaf.memory_kind} -> {slot.memory_kind}"
    given = _is_given(successor, observation)
    # Of what was compiled for other hardware the shards are known, and not what they are called.
    unknown = slot.sharding is None and observation.target is not None and not given
    if slot.local_shape != leaf.local_shape or (slot.sharding != leaf.sharding and not unknown):
        other = f"shards of {list(slot.local_shape)}" if unknown else slot.sharding
        return ("DT404" if given else "DT405"), f"{leaf.sharding} -> {other}"
    if slot.layout != leaf.layout:
        return "DT406", f"{leaf.layout or 'row-major'} -> {slot.layout or 'row-major'}"
    return None


def _is_given(slot: Slot, observation: Observation) -> bool:
    given = observation.outputs_given
    return slot.flat_index < len(given) and given[slot.flat_index]


def _price(entry: Entry, observation: Observation) -> tuple[str | None, str]:
    """What a leaf that passed every gate still costs at the next call."""
    successor = entry.successor
    if entry.slot is None:
        return None, ""
    if successor is not None:
        drift = _drift(entry.leaf.spec, successor, observation)
        if drift is not None:
            code, detail = drift
            if code in ("DT401", "DT402"):
                mine, its = entry.leaf.spec.aval, successor.spec.aval
                return "DT403", detail or f"{mine} -> {its}"
            return code, detail
        if (
            entry.leaf.flat_index in observation.request.on_one_device
            and successor.spec.sharding is not None
        ):
            code = "DT404" if _is_given(successor, observation) else "DT405"
            return code, f"one device -> {successor.spec.sharding}"
        if entry.leaf.spec.weak_type != successor.spec.weak_type:
            weak = "weak" if entry.leaf.spec.weak_type else "strong"
            strong = "strong" if entry.leaf.spec.weak_type else "weak"
            return "DT403", f"{weak} {entry.leaf.spec.dtype} -> {strong} {successor.spec.dtype}"
        if entry.slot != successor:
            return "DT408", ""
    elif entry.leaf.spec.aval != entry.slot.spec.aval:
        return "DT408", ""
    return None, ""
