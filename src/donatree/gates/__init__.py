"""The gates, one file each, and the walk of every donated leaf through them."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Mapping, Sequence

from donatree import findings
from donatree.gates import asked, granted, honoured, kept, matched
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
    )
    return with_totals(ledger, observation, aliases)


def with_totals(
    ledger: Ledger, observation: Observation, aliases: granted.AliasMap | None = None
) -> Ledger:
    """Holds a ledger against XLA's own totals, which may be read later than all else.

    Args:
        ledger: what `judge` made of the observation, perhaps before it had its totals.
        observation: with its totals.
        aliases: the header's alias map where it is at hand.

    Returns:
        The ledger with the totals, and with notes on what the leaves do not account for.
    """
    if aliases is None and observation.header is not None:
        aliases = granted.AliasMap.of(observation.header)
    other, notes = _accounts_for_every_byte(ledger.entries, observation, aliases)
    return dataclasses.replace(
        ledger,
        alias_size_in_bytes=observation.alias_size_in_bytes,
        alias_not_donated_bytes=other,
        argument_bytes=observation.argument_bytes,
        notes=(*notes, *_open_questions(observation)),
    )


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


def _accounts_for_every_byte(
    entries: Sequence[Entry], observation: Observation, aliases: granted.AliasMap | None
) -> tuple[int, list[str]]:
    """Compares the granted leaves with XLA's own total; says what else is aliased."""
    total = observation.alias_size_in_bytes
    if "disable_jit" in observation.request.why_not.values():
        return 0, []  # what was compiled to look at is not what a call runs
    if aliases is None or total is None or observation.parameter_of is None:
        return 0, []
    index_of = {number: index for index, number in observation.parameter_of.items()}
    mine = {entry.leaf.flat_index for entry in entries}
    leaves = {leaf.flat_index: leaf for leaf in observation.request.leaves}
    granted_bytes = sum(entry.bytes for entry in entries if entry.slot is not None)
    other, notes = 0, []
    for number in sorted(aliases.aliases):
        index = index_of.get(number)
        if index in mine:
            continue
        size = leaves[index].bytes if index in leaves else 0
        if number in observation.reference_parameters:
            what = f"the mutable reference `{leaves[index].path}`" if index in leaves else "one"
        elif number in observation.hoisted:
            what = "a constant hoisted out of the function"
        elif index in leaves:
            what = f"`{leaves[index].path}`, which was not donated"
        else:
            what = "an effect token"
        other += size
        notes.append(f"{size:,} bytes of the alias map belong to {what}")
    if granted_bytes + other != total:
        notes.append(
            f"XLA counts {total:,} aliased bytes per device, the leaves add up to "
            f"{granted_bytes + other:,}; donatree cannot account for the difference"
            if total
            else "XLA keeps no alias statistics for this executable "
            "(`alias_size_in_bytes` is 0), so the sum could not be compared"
        )
    return other, notes


def _open_questions(observation: Observation) -> list[str]:
    notes = []
    if observation.compile_error is not None:
        notes.append(f"the compile ended in an error: {observation.compile_error}")
    if observation.header_error is not None:
        notes.append(f"gate granted was not checked: {observation.header_error}")
    if observation.shapes_only:
        notes.append(
            "some arguments came without a sharding, so one device was assumed for them: with "
            "the arrays' own shardings the verdict can differ"
        )
    if observation.jax_warning is not None:
        notes.append(f"JAX itself warned: {observation.jax_warning}")
    return notes


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
