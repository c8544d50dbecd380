"""The gates, one file each, and the walk of every donated leaf through them."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Mapping, Sequence

from donatree import findings
from donatree.gates import asked, granted, honoured, kept, matched
from donatree.gates.totals import with_totals
from donatree.ledger import Entry, Finding, Gate, Leaf, Ledger, Slot
from donatree.observation import CallSeen, Observation
from donatree.origin.drift import Drift, Origin
from donatree.why import causes, copies, successor

Locate = Callable[[Sequence[Drift]], Mapping[int, Origin]]


def judge(observation: Observation, locate: Locate | None = None) -> Ledger:
    """Takes every promised leaf through the gates that could be checked.

    Args:
        observation: what was read of one compile.
        locate: finds the origins of drifts, by the index of the slot; asked only where there are
            any.

    Returns:
        The ledger with its findings.
    """
    request = observation.request
    promised = [leaf for leaf in request.leaves if leaf.flat_index in request.promised]
    successors = successor.pair(promised, observation.slots)
    aliases = None if observation.header is None else granted.AliasMap.of(observation.header)
    checked = _checked(observation)
    entries = tuple(
        _walk(observation, aliases, checked, leaf, successors.get(leaf.flat_index))
        for leaf in promised
    )
    drifts = causes.drifts(entries) if locate is not None else []
    if locate is not None and drifts:
        observation = dataclasses.replace(observation, origins=locate(drifts))
    entries, groups = causes.explain(entries, observation)
    ledger = Ledger(
        function=request.function,
        signature=_signature(request.leaves),
        donated_arguments=tuple(dict.fromkeys(leaf.argument for leaf in promised)),
        entries=entries,
        findings=findings.describe(groups, observation),
        checked=checked,
        platform=observation.platform,
        devices=observation.devices,
        location=request.location,
        call=request.call,
        target=observation.target,
    )
    return with_totals(ledger, observation, aliases)


def with_calls(ledger: Ledger, seen: Sequence[CallSeen], more: Sequence[Finding] = ()) -> Ledger:
    """Adds what the calls showed: gate honoured, its findings, and those about names.

    Args:
        ledger: what `judge` made of the compile.
        seen: the calls that were looked at, in their order.
        more: findings about who holds a leaf or shares its buffer.
    """
    ledger, copied = copies.find(honoured.judge(ledger, seen), seen)
    found = findings.of_calls(copied)
    return dataclasses.replace(ledger, findings=(*found, *more, *ledger.findings))


def _checked(observation: Observation) -> tuple[Gate, ...]:
    """A gate counts as checked once every leaf either stopped before it or was seen at it."""
    asks = bool(observation.request.asked)
    gates = [Gate.ASKED]
    if observation.parameter_of is not None or not asks:
        gates.append(Gate.KEPT)
    if observation.attributes is not None or not asks:
        gates.append(Gate.MATCHED)
    if observation.header is not None or not asks:
        gates.append(Gate.GRANTED)
    return tuple(gates)


def _walk(
    observation: Observation,
    aliases: granted.AliasMap | None,
    checked: Sequence[Gate],
    leaf: Leaf,
    next_slot: Slot | None,
) -> Entry:
    evidence: dict[str, str] = {}
    stopped: Gate | None = None
    slot: Slot | None = None
    for gate in checked:
        if gate is Gate.ASKED:
            passed, evidence[gate.value] = asked.check(observation, leaf.flat_index)
        elif gate is Gate.KEPT:
            passed, evidence[gate.value] = kept.check(observation, leaf.flat_index)
        elif gate is Gate.MATCHED:
            passed, evidence[gate.value] = matched.check(observation, leaf.flat_index)
        else:
            assert aliases is not None
            passed, evidence[gate.value] = granted.check(observation, aliases, leaf.flat_index)
            slot = _slot_of(observation, aliases, leaf) if passed else None
        if not passed:
            stopped = gate
            break
    return Entry(leaf, slot, next_slot, stopped, None, evidence)


def _slot_of(observation: Observation, aliases: granted.AliasMap, leaf: Leaf) -> Slot | None:
    assert observation.parameter_of is not None
    alias = aliases.aliases[observation.parameter_of[leaf.flat_index]]
    place = alias.output - observation.output_offset
    return observation.slots[place] if 0 <= place < len(observation.slots) else None


def _signature(leaves: Sequence[Leaf]) -> str:
    """Arguments in short and a digest of every leaf, the same in every run."""
    by_argument: dict[str, list[Leaf]] = {}
    for leaf in leaves:
        by_argument.setdefault(leaf.argument, []).append(leaf)
    parts = []
    for name, group in by_argument.items():
        if len(group) == 1:
            parts.append(f"{group[0].path}: {group[0].spec.aval}")
        else:
            parts.append(f"{name}: {len(group):,} leaves")
    text = ";".join(
        f"{leaf.path}:{leaf.spec.aval}{'~' if leaf.spec.weak_type else ''}{leaf.spec.sharding}"
        for leaf in leaves
    )
    digest = hashlib.sha256(text.encode()).hexdigest()[:6]
    return f"({', '.join(parts)}) #{digest}"
