"""A module on disk taken through the gates that its files allow."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from donatree import findings
from donatree._jax import placement
from donatree.dumps.arrays import leaves_of, slots_of
from donatree.dumps.folder import Group
from donatree.dumps.joined import Joined, join, said
from donatree.gates import granted
from donatree.gates.totals import with_totals
from donatree.hlo.copies import Peaks
from donatree.hlo.error import HloError
from donatree.hlo.instructions import EntryComputation
from donatree.hlo.live_text import TimedAssignment
from donatree.ledger import Entry, Gate, Ledger, Live, MadeCopy, Slot
from donatree.observation import Observation, Placement, Request
from donatree.why import causes, successor

_HOST = 5  # the memory space of the host
_MOST = (1 << 63) - 1  # bytes, as XLA counts them
_ENOUGH = 1 << 62  # bytes of temporaries, where how many there are is not known
_UNSAID = ("DT409",)  # that no cause is known goes without saying where only a dump is read
_PROVE = "`--prove` compiles the program without donation and measures it"
_ON_PROGRAM = "`donatree audit --prove` of the program itself measures it"


@dataclass(frozen=True, slots=True)
class Reading:
    """What became of a module's files.

    Attributes:
        name: of the module, as the user would name it.
        ledger: None where it promises nothing or cannot be read.
        unread: why it cannot be read, in one line; None where it can.
    """

    name: str
    ledger: Ledger | None = None
    unread: str | None = None


def read(group: Group) -> Reading:
    """Reads the files of a module; no error leaves it."""
    try:
        joined = join(group)
        ledger = judge(joined) if joined.promised else None
    except (HloError, OSError) as error:
        return Reading(group.name, unread=said(error))
    return Reading(group.name, ledger)


def judge(joined: Joined) -> Ledger:
    """Takes what was promised through the gates that could be checked.

    What JAX was asked for and what it pruned is in no file, so those two gates are left out.
    """
    observation = observe(joined)
    checked = [Gate.MATCHED] if joined.promises_known else []
    checked += [Gate.GRANTED] if observation.header is not None else []
    aliases = granted.AliasMap.of(observation.header) if observation.header is not None else None
    promised = [each for each in observation.request.leaves if each.flat_index in joined.promised]
    pairs = successor.pair(promised, observation.slots) if any(joined.results) else {}
    entries = []
    for leaf in promised:
        number = leaf.flat_index
        said_before = joined.promised[number]
        evidence = {Gate.MATCHED.value: said_before} if said_before else {}
        passed = True
        if aliases is not None:
            passed, evidence[Gate.GRANTED.value] = granted.check(observation, aliases, number)
        slot = _slot(observation, aliases, number) if passed else None
        stopped = None if passed else Gate.GRANTED
        entries.append(Entry(leaf, slot, pairs.get(number), stopped, None, evidence))
    told, groups = (tuple(entries), ())
    if observation.header is not None:
        told, groups = causes.explain(entries, observation)
        groups = [each for each in groups if each.code not in _UNSAID]
        told = [
            dataclasses.replace(each, finding=None) if each.finding in _UNSAID else each
            for each in told
        ]
    ledger = Ledger(
        function=joined.name,
        signature=joined.file,
        donated_arguments=tuple(dict.fromkeys(leaf.argument for leaf in promised)),
        entries=tuple(told),
        findings=findings.of_groups(groups, observation),
        checked=tuple(checked),
        platform=joined.platform,
        devices=observation.devices,
    )
    if observation.header is None:
        return dataclasses.replace(ledger, notes=observation.remarks)
    ledger = with_totals(ledger, observation, aliases)
    notes = [each.replace(_PROVE, _ON_PROGRAM) for each in ledger.notes]
    if observation.live is None:
        notes += map(_of_copy, ledger.copies)
    return dataclasses.replace(ledger, notes=tuple(notes))


def observe(joined: Joined) -> Observation:
    """What was read of a module, as the gates want it."""
    leaves = leaves_of(joined.parameters, joined.names)
    missing = [each for each in joined.promised if each >= len(leaves)]
    if missing:
        raise HloError(f"parameter {missing[0]} is donated, and its shape is not given", 0)
    if any(each.bytes > _MOST for each in leaves):
        raise HloError("a parameter has more bytes than there can be", 0)
    promised = frozenset(joined.promised)
    header = joined.after.header if joined.after is not None else None
    observation = Observation(
        request=Request(joined.name, leaves, promised=promised, asked=promised),
        slots=slots_of(joined.shapes, joined.results),
        parameter_of={leaf.flat_index: leaf.flat_index for leaf in leaves},
        header=header,
        platform=joined.platform,
        devices=header.num_partitions if header is not None else 1,
        live=_live(joined),
        host_alias=joined.buffers.assignment.alias(_HOST) if joined.buffers is not None else 0,
        remarks=(*joined.remarks, *_not_known(joined)),
    )
    if header is None or joined.after is None or joined.after.entry is None:
        return observation
    found = _placement(observation, joined)
    if isinstance(found, str):
        return dataclasses.replace(observation, placement_error=found)
    return dataclasses.replace(observation, placement=found)


def _live(joined: Joined) -> Live | None:
    if joined.buffers is None:
        return joined.after.live if joined.after is not None else None
    found = joined.buffers.assignment
    return Live(found.arguments(), found.outputs(), found.alias(), found.temp())


def _not_known(joined: Joined) -> list[str]:
    if joined.after is None:
        which = "the module is not compiled, or its compiled text is not here"
        return [f"{which}: what XLA grants is not known, and bytes are of whole arrays"]
    notes = []
    if not joined.promises_known:
        notes.append(
            "the module before optimisation is not here: what is told is what the compiled module "
            "says, its alias map and the donors that are left over"
        )
    if joined.after.entry is not None and joined.buffers is None:
        notes.append("no buffer assignment is here: gate in place was not checked")
    return notes


def _of_copy(copy: MadeCopy) -> str:
    """A copy of which it is not known what it costs."""
    read = f", still read by {', '.join(copy.readers[:3])}" if copy.readers else ""
    leaves = ", ".join(f"`{each}`" for each in copy.leaves[:3])
    return (
        f"`{copy.instruction}` copies {copy.bytes:,} bytes for {leaves}: {copy.protects}{read}; "
        "whether that costs memory the module's text does not tell"
    )


def _slot(observation: Observation, aliases: granted.AliasMap | None, number: int) -> Slot | None:
    if aliases is None:
        return None
    place = aliases.aliases[number].output
    return observation.slots[place] if place < len(observation.slots) else None


def _placement(observation: Observation, joined: Joined) -> Placement | str | None:
    """The copies by the granted leaves, whether or not the totals are there."""
    assert joined.after is not None
    if observation.live is None:
        observation = dataclasses.replace(observation, live=Live(0, 0, 0, _ENOUGH))
    return placement.read(observation, _Module(joined), None)


class _Module:
    """Stands for JAX's executable, of which the module's text and its buffers are asked."""

    def __init__(self, joined: Joined) -> None:
        self._joined = joined

    def hlo_modules(self) -> list[_Module]:
        return [self]

    def to_string(self) -> str:
        after = self._joined.after
        return after.text or "" if after is not None else ""

    def assignment(self, entry: EntryComputation) -> Peaks | None:
        buffers, after = self._joined.buffers, self._joined.after
        if buffers is None or buffers.ranges is None or after is None or not after.is_whole:
            return None
        return TimedAssignment(buffers.assignment, buffers.ranges, entry)
