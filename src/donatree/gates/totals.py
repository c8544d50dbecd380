"""A ledger held against XLA's own totals, and the gate that needs them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from donatree import findings
from donatree.gates import in_place
from donatree.gates.granted import AliasMap
from donatree.ledger import GATES, Entry, Finding, Gate, Ledger, MadeCopy
from donatree.observation import Observation
from donatree.why import kept_aside


def with_totals(
    ledger: Ledger, observation: Observation, aliases: AliasMap | None = None
) -> Ledger:
    """Holds a ledger against XLA's own totals, which may be read later than all else.

    Args:
        ledger: what `judge` made of the observation, perhaps before it had its totals.
        observation: with its totals, and with where XLA put the leaves.
        aliases: the header's alias map where it is at hand.

    Returns:
        The ledger with the totals, gate *in place*, and notes on what the leaves do not account
        for.
    """
    if aliases is None and observation.header is not None:
        aliases = AliasMap.of(observation.header)
    other, notes = _accounts_for_every_byte(ledger.entries, observation, aliases)
    notes += _open_questions(observation)
    if Gate.GRANTED in ledger.checked and not _runs_otherwise(observation):
        entries, open_ = in_place.judge(ledger.entries, observation)
        ledger = _in_place(ledger, entries, observation, is_open=bool(open_))
        notes += _not_known(open_, observation)
    return dataclasses.replace(
        ledger,
        live=observation.live,
        undonated=observation.proof and observation.proof.undonated,
        alias_not_donated_bytes=other,
        copies=_copies(observation),
        largest=observation.largest,
        notes=tuple(notes),
    )


def _copies(observation: Observation) -> tuple[MadeCopy, ...]:
    """The copies by the granted leaves, each once, in the order in which they were found."""
    if observation.placement is None:
        return ()
    paths = {leaf.flat_index: leaf.path for leaf in observation.request.leaves}
    of: dict[str, list[str]] = {}
    made: dict[str, MadeCopy] = {}
    for leaf, protections in observation.placement.protections.items():
        for each in protections:
            of.setdefault(each.instruction, []).append(paths[leaf])
            made[each.instruction] = MadeCopy(
                each.instruction,
                each.bytes,
                tuple(of[each.instruction]),
                each.protects,
                each.readers,
                each.at_peak,
                each.location,
            )
    return tuple(made.values())


def _in_place(
    ledger: Ledger, entries: Sequence[Entry], observation: Observation, is_open: bool
) -> Ledger:
    """The ledger with the gate's entries and findings."""
    checked = {*ledger.checked, *(() if is_open else (Gate.IN_PLACE,))}
    entries, groups = kept_aside.explain(entries, observation)
    found = findings.of_groups(groups, observation)
    before = [each for each in ledger.findings if _still_true(each, entries)]
    return dataclasses.replace(
        ledger,
        entries=entries,
        findings=(*found, *(_with_copies(e, entries, observation) for e in before)),
        checked=tuple(gate for gate in GATES if gate in checked),
    )


def _with_copies(finding: Finding, entries: Sequence[Entry], observation: Observation) -> Finding:
    """A finding that named the cause of a copy before the copy was seen."""
    if finding.code not in kept_aside.SAID_BEFORE:
        return finding
    mine = frozenset(finding.leaves)
    lost = [each for each in entries if each.stopped_at is Gate.IN_PLACE and each.path in mine]
    if not lost:
        return finding
    size = sum(entry.bytes for entry in lost)
    notes = (f"a copy takes {size:,} bytes back", *findings.of_copies(lost, observation))
    return dataclasses.replace(finding, notes=(*finding.notes, *notes))


def _still_true(finding: Finding, entries: Sequence[Entry]) -> bool:
    """Whether it is more than DT408, "where this costs a copy", of leaves where that is known."""
    told = {entry.path for entry in entries if entry.stopped_at is Gate.IN_PLACE}
    return finding.code != "DT408" or not told >= {*finding.leaves}


def _not_known(open_: Sequence[Entry], observation: Observation) -> list[str]:
    if not open_ or observation.live is None or observation.placement is None:
        return []
    size = sum(entry.bytes for entry in open_)
    how = "`--prove` compiles the program without donation and measures it"
    if observation.proof is not None:
        how = observation.proof.left or "the further compiles did not tell"
        found = (observation.proof.of(each.leaf.flat_index) for each in open_)
        saved = sum({id(each): each.saved for each in found if each is not None}.values())
        how = f"together they save {saved:,} bytes, and {how}"
    leaves = "1 leaf" if len(open_) == 1 else f"{len(open_):,} leaves"
    return [
        f"gate in place is open for {leaves}, {size:,} bytes: the temporaries, "
        f"{observation.live.temp:,} bytes, may be more than without donation; {how}"
    ]


def _runs_otherwise(observation: Observation) -> bool:
    """What was compiled to look at is not what a call runs."""
    return "disable_jit" in observation.request.why_not.values()


def _accounts_for_every_byte(
    entries: Sequence[Entry], observation: Observation, aliases: AliasMap | None
) -> tuple[int, list[str]]:
    """Compares the granted leaves with XLA's own total; says what else is aliased."""
    live = observation.live
    if _runs_otherwise(observation):
        return 0, []
    if aliases is None or live is None or observation.parameter_of is None:
        return 0, []
    total = live.alias + observation.host_alias
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
    if observation.placement_error is not None:
        notes.append(f"gate in place was not checked: {observation.placement_error}")
    if observation.jax_warning is not None:
        notes.append(f"JAX itself warned: {observation.jax_warning}")
    return [*notes, *observation.remarks]
