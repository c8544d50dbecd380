"""The words of donatree as data: leaves, slots, gates, entries, findings, ledgers.

Every room reads or writes these records. This module imports no JAX, so a ledger can be saved,
read back, compared and reported on a machine without it.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

SCHEMA_VERSION = 1

Level = Literal["error", "warning", "note"]


class Gate(enum.StrEnum):
    """One of the six checks that a donated leaf passes in order."""

    ASKED = "asked"
    KEPT = "kept"
    MATCHED = "matched"
    GRANTED = "granted"
    IN_PLACE = "in_place"
    HONOURED = "honoured"

    @property
    def position(self) -> int:
        """Place in the order of the gates, 0 to 5."""
        return GATES.index(self)

    @property
    def label(self) -> str:
        """The gate's name as it is written for people."""
        return self.value.replace("_", " ")


GATES: tuple[Gate, ...] = tuple(Gate)


@dataclass(frozen=True, slots=True)
class Location:
    """A place in source code. Lines count from 1, columns from 0; None where not known."""

    file: str
    line: int
    column: int | None = None
    end_line: int | None = None
    end_column: int | None = None
    function: str | None = None

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"

    def to_dict(self) -> dict[str, Any]:
        """The location as plain data."""
        return {
            "file": self.file,
            "line": self.line,
            "column": self.column,
            "end_line": self.end_line,
            "end_column": self.end_column,
            "function": self.function,
        }


@dataclass(frozen=True, slots=True)
class ArraySpec:
    """What is known of one array without holding it.

    Attributes:
        dtype: JAX's name of the type, for example ``float32`` or ``key<fry>``.
        shape: the global shape.
        local_shape: the shape of one device's shard; equal to ``shape`` on one device.
        bytes: bytes per device (of the local shard).
        global_bytes: bytes of the whole array.
        weak_type: whether JAX treats the type as weak.
        sharding: the sharding as text, or None on one device or where it is not known.
        memory_kind: ``device``, ``pinned_host``, ...; None where not known.
        layout: the layout as text where it is not the default one, else None.
    """

    dtype: str
    shape: tuple[int, ...]
    local_shape: tuple[int, ...]
    bytes: int
    global_bytes: int
    weak_type: bool = False
    sharding: str | None = None
    memory_kind: str | None = None
    layout: str | None = None

    @property
    def aval(self) -> str:
        """Type and global shape in JAX's short form, for example ``float32[4,4]``."""
        return f"{self.dtype}[{','.join(map(str, self.shape))}]"

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain data."""
        return {
            "dtype": self.dtype,
            "shape": list(self.shape),
            "local_shape": list(self.local_shape),
            "bytes": self.bytes,
            "global_bytes": self.global_bytes,
            "weak_type": self.weak_type,
            "sharding": self.sharding,
            "memory_kind": self.memory_kind,
            "layout": self.layout,
        }


@dataclass(frozen=True, slots=True)
class Leaf:
    """One array of an argument.

    Attributes:
        path: as the user writes it, ``state.opt_state[0].mu['dense']['kernel']``.
        argument: the name of the argument that the path starts with.
        flat_index: place among the leaves of all dynamic arguments in JAX's flatten order.
        spec: type, shape, bytes.
    """

    path: str
    argument: str
    flat_index: int
    spec: ArraySpec

    @property
    def bytes(self) -> int:
        """Bytes per device."""
        return self.spec.bytes


@dataclass(frozen=True, slots=True)
class Slot:
    """One array of the result; ``flat_index`` counts the result's leaves in flatten order."""

    path: str
    flat_index: int
    spec: ArraySpec

    @property
    def bytes(self) -> int:
        """Bytes per device."""
        return self.spec.bytes

    def to_dict(self) -> dict[str, Any]:
        """Everything but the path as plain data."""
        return {"flat_index": self.flat_index, **self.spec.to_dict()}


@dataclass(frozen=True, slots=True)
class Live:
    """XLA's totals of one compiled program, bytes per device.

    Attributes:
        arguments: of all arguments.
        outputs: of all outputs, with the table that holds several of them.
        alias: of the outputs that take the memory of arguments.
        temp: of everything in between.
    """

    arguments: int
    outputs: int
    alias: int
    temp: int

    @property
    def total(self) -> int:
        """Bytes that the program needs while it runs: arguments + outputs - alias + temp."""
        return self.arguments + self.outputs - self.alias + self.temp

    def to_dict(self) -> dict[str, int]:
        """The totals as plain data."""
        return {
            "arguments": self.arguments,
            "outputs": self.outputs,
            "alias": self.alias,
            "temp": self.temp,
            "total": self.total,
        }


@dataclass(frozen=True, slots=True)
class Entry:
    """What became of one donated leaf.

    Attributes:
        leaf: the leaf.
        slot: the slot that took its memory, None where none did.
        successor: the slot at the same path inside the tree that replaces the donated one.
        stopped_at: the first gate that the leaf failed; None if it passed every gate checked.
        finding: the code of the finding that speaks of it.
        evidence: per gate, what was read and where.
    """

    leaf: Leaf
    slot: Slot | None = None
    successor: Slot | None = None
    stopped_at: Gate | None = None
    finding: str | None = None
    evidence: Mapping[str, str] = field(default_factory=dict)

    @property
    def path(self) -> str:
        """The leaf's path."""
        return self.leaf.path

    @property
    def bytes(self) -> int:
        """The leaf's bytes per device."""
        return self.leaf.spec.bytes

    def passed(self, gate: Gate) -> bool:
        """Whether the leaf passed ``gate`` and every gate before it."""
        return self.stopped_at is None or self.stopped_at.position > gate.position

    def to_dict(self) -> dict[str, Any]:
        """One element of ``entries`` in the JSON report."""
        return {
            "path": self.leaf.path,
            "argument": self.leaf.argument,
            "flat_index": self.leaf.flat_index,
            **self.leaf.spec.to_dict(),
            "stopped_at": self.stopped_at and self.stopped_at.value,
            "slot": self.slot and self.slot.path,
            "slot_array": self.slot and self.slot.to_dict(),
            "successor": self.successor and self.successor.path,
            "successor_array": self.successor and self.successor.to_dict(),
            "successor_aval": self.successor and self.successor.spec.aval,
            "finding": self.finding,
            "evidence": dict(self.evidence),
        }


@dataclass(frozen=True, slots=True)
class Label:
    """A place in source that a finding points at, and what it says there.

    Attributes:
        location: the place; with columns it is underlined.
        text: what is said of it, lower case, no full stop.
        primary: whether the finding is about this place; the others explain it.
    """

    location: Location
    text: str
    primary: bool = False

    def to_dict(self) -> dict[str, Any]:
        """The label as plain data."""
        return {
            "location": self.location.to_dict(),
            "text": self.text,
            "primary": self.primary,
        }


@dataclass(frozen=True, slots=True)
class Finding:
    """A coded statement about leaves, an argument or a place in the program.

    Attributes:
        code: ``DT402``.
        headline: one line that stands alone; lower case, no full stop.
        leaves: paths of the leaves concerned, largest bytes first.
        bytes: their bytes per device.
        level: ``error`` where the promise was refused or the run broke it, ``warning`` where XLA
            kept it and takes the bytes back, where something is paid for or about to break,
            ``note`` where nothing is lost.
        location: where in the user's code.
        folded: the leaves' paths folded by their common path, for people.
        notes: facts.
        help: what to change.
        labels: places in source, in the order in which they are told.
    """

    code: str
    headline: str
    leaves: tuple[str, ...] = ()
    bytes: int = 0
    level: Level = "error"
    location: Location | None = None
    folded: str | None = None
    notes: tuple[str, ...] = ()
    help: str | None = None
    labels: tuple[Label, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """One element of ``findings`` in the JSON report."""
        return {
            "code": self.code,
            "level": self.level,
            "headline": self.headline,
            "leaves": list(self.leaves),
            "bytes": self.bytes,
            "location": self.location and self.location.to_dict(),
            "folded": self.folded,
            "notes": list(self.notes),
            "help": self.help,
            "labels": [label.to_dict() for label in self.labels],
        }


Grade = Literal["sure", "maybe", "sketch"]
FixKind = Literal[
    "cast", "out_shardings", "order", "drop_argument", "keep_unused", "copy_twins", "together"
]
FixStatus = Literal["held", "failed", "untried"]


@dataclass(frozen=True, slots=True)
class Edit:
    """A place in a file of the user's, and what to write there.

    Attributes:
        location: what is replaced, with its columns.
        original: the text that stands there.
        replacement: the text to put in its place.
    """

    location: Location
    original: str
    replacement: str

    def to_dict(self) -> dict[str, Any]:
        """The edit as plain data."""
        return {
            "location": self.location.to_dict(),
            "original": self.original,
            "replacement": self.replacement,
        }


@dataclass(frozen=True, slots=True)
class Tally:
    """What one compiled program keeps and needs, bytes per device.

    Attributes:
        promised: of the donated leaves.
        in_place: those of them that passed every gate checked.
        live: what the program needs while it runs; where a fix keeps leaves that JAX drops, with
            these. None where XLA keeps no totals.
    """

    promised: int
    in_place: int
    live: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """The tally as plain data."""
        return {
            "promised_bytes": self.promised,
            "in_place_bytes": self.in_place,
            "live_bytes": self.live,
        }


@dataclass(frozen=True, slots=True)
class Fix:
    """A cure for findings, tried by compiling the changed program.

    Attributes:
        kind: what was changed.
        codes: codes of the findings that it is for.
        leaves: paths of the leaves that it is for, largest bytes first.
        change: what is changed, in words that go on from there: ``with `keep_unused=True```.
        status: ``held`` where the compiled program showed it, ``failed`` where it showed the
            opposite, ``untried`` where it could not be built or did not fit the budget.
        why_not: why it did not hold or was not tried; None where it held.
        before: of the program as it is.
        after: of the changed program; None where it was not compiled.
        compiles_again: whether the next call of the program as it is compiles again, and that of
            the changed one does not.
        grade: how far the edit is certain, as rustc grades: ``sure``, ``maybe``, or ``sketch``
            where there is no edit of one expression.
        edit: what to write where; None for a sketch.
        notes: facts.
    """

    kind: FixKind
    codes: tuple[str, ...]
    leaves: tuple[str, ...]
    change: str
    status: FixStatus
    why_not: str | None = None
    before: Tally = Tally(0, 0)
    after: Tally | None = None
    compiles_again: bool = False
    grade: Grade = "sketch"
    edit: Edit | None = None
    notes: tuple[str, ...] = ()

    @property
    def held(self) -> bool:
        """Whether the compiled program showed that it cures."""
        return self.status == "held"

    def to_dict(self) -> dict[str, Any]:
        """One element of ``fixes`` in the JSON report."""
        return {
            "kind": self.kind,
            "codes": list(self.codes),
            "leaves": list(self.leaves),
            "change": self.change,
            "status": self.status,
            "why_not": self.why_not,
            "before": self.before.to_dict(),
            "after": self.after and self.after.to_dict(),
            "compiles_again": self.compiles_again,
            "grade": self.grade,
            "edit": self.edit and self.edit.to_dict(),
            "notes": list(self.notes),
        }


@dataclass(frozen=True, slots=True)
class Target:
    """The hardware that a program was compiled for on purpose, here or not.

    Attributes:
        name: as the user writes it: ``tpu:v5e:4x4``, ``cuda:h100``, ``host``.
        platform: ``cpu``, ``gpu`` or ``tpu``.
        kind: the name that its maker's compiler gives a device, for example ``TPU v5 lite``.
        devices: how many of them the target has; a program may span fewer.
        memory: bytes that a program may use on one device; None where that is not known.
        memory_source: where that number is from, for example ``XLA refuses more``.
    """

    name: str
    platform: str
    kind: str | None = None
    devices: int = 1
    memory: int | None = None
    memory_source: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The target as plain data."""
        return {
            "name": self.name,
            "platform": self.platform,
            "kind": self.kind,
            "devices": self.devices,
            "memory_bytes": self.memory,
            "memory_source": self.memory_source,
        }


@dataclass(frozen=True, slots=True)
class MadeCopy:
    """A copy by which XLA takes back what the donation of some leaves would save.

    Attributes:
        instruction: its name in the compiled module.
        bytes: per device.
        leaves: paths of the leaves that it is for.
        protects: what it keeps, in words.
        readers: the operations that still read it, as JAX names them.
        costs: whether it makes the program need more memory; None where that is not known.
        location: the user's expression that it is for.
    """

    instruction: str
    bytes: int
    leaves: tuple[str, ...]
    protects: str
    readers: tuple[str, ...] = ()
    costs: bool | None = None
    location: Location | None = None

    def to_dict(self) -> dict[str, Any]:
        """The copy as plain data."""
        return {
            "instruction": self.instruction,
            "bytes": self.bytes,
            "leaves": list(self.leaves),
            "protects": self.protects,
            "readers": list(self.readers),
            "costs": self.costs,
            "location": self.location and str(self.location),
            "place": self.location and self.location.to_dict(),
        }


@dataclass(frozen=True, slots=True)
class Holding:
    """One of the largest buffers that a compiled program needs at once.

    Attributes:
        what: the path of the leaf or slot that it is, else the operation that computes it.
        bytes: per device, as the target lays it out.
        shape: XLA's text of its type, ``f32[1024,512]``.
        role: ``argument``, ``output``, ``argument and output`` or ``temporary``.
        location: the user's expression that a temporary is from.
    """

    what: str
    bytes: int
    shape: str
    role: str
    location: Location | None = None

    def to_dict(self) -> dict[str, Any]:
        """The buffer as plain data."""
        return {
            "what": self.what,
            "bytes": self.bytes,
            "shape": self.shape,
            "role": self.role,
            "location": self.location and str(self.location),
            "place": self.location and self.location.to_dict(),
        }


@dataclass(frozen=True, slots=True)
class Refusal:
    """A function that could not be compiled for a target, and why, in one line."""

    function: str
    signature: str
    target: str
    why: str

    def to_dict(self) -> dict[str, Any]:
        """The refusal as plain data."""
        return {
            "function": self.function,
            "signature": self.signature,
            "target": self.target,
            "why": self.why,
        }


@dataclass(frozen=True, slots=True)
class Ledger:
    """The entries of one compiled function for one signature, with its totals.

    Attributes:
        function: its name.
        signature: its arguments in short, with a digest that tells signatures apart.
        donated_arguments: names of the arguments whose leaves were promised.
        entries: one per promised leaf, in flatten order.
        findings: most bytes first.
        checked: the gates that were checked.
        platform: ``cpu``, ``gpu``, ``tpu``; None where nothing was compiled.
        devices: how many devices the program spans.
        location: where the function is defined.
        call: where it was called when it was compiled.
        live: XLA's own totals, bytes per device; None where not read.
        undonated: the same of the program that donates nothing; None where it was not compiled.
        alias_not_donated_bytes: the aliased bytes that belong to no donated leaf.
        notes: what the reader should know, for example what was left open.
        fixes: cures of the findings that were tried by compiling, those that held first.
        target: the hardware that it was compiled for on purpose; None where that is what the
            program runs on. Bytes of a target are those of its own padded layout.
        copies: the copies by which XLA takes bytes back, in the order of the program.
        largest: where the program does not fit, its largest buffers.
    """

    function: str
    signature: str
    donated_arguments: tuple[str, ...]
    entries: tuple[Entry, ...]
    findings: tuple[Finding, ...] = ()
    checked: tuple[Gate, ...] = (Gate.ASKED, Gate.KEPT, Gate.MATCHED, Gate.GRANTED)
    platform: str | None = None
    devices: int = 1
    location: Location | None = None
    call: Location | None = None
    live: Live | None = None
    undonated: Live | None = None
    alias_not_donated_bytes: int = 0
    notes: tuple[str, ...] = ()
    fixes: tuple[Fix, ...] = ()
    target: Target | None = None
    copies: tuple[MadeCopy, ...] = ()
    largest: tuple[Holding, ...] = ()

    @property
    def fits(self) -> bool | None:
        """Whether the program's bytes fit a device of the target; None where not known."""
        if self.live is None or self.target is None or self.target.memory is None:
            return None
        return self.live.total <= self.target.memory

    @property
    def alias_size_in_bytes(self) -> int | None:
        """XLA's own total of aliased bytes per device; None where not read."""
        return self.live and self.live.alias

    @property
    def saved(self) -> int | None:
        """Bytes per device that donation saves the whole call; None where it was not proved."""
        if self.live is None or self.undonated is None:
            return None
        return self.undonated.total - self.live.total

    @property
    def promised(self) -> int:
        """Bytes of the donated leaves, per device."""
        return sum(entry.bytes for entry in self.entries)

    @property
    def promised_global(self) -> int:
        """Bytes of the donated leaves over all devices, each array counted once."""
        return sum(entry.leaf.spec.global_bytes for entry in self.entries)

    @property
    def kept_in_place(self) -> int:
        """Bytes per device of the leaves that passed every gate checked."""
        return sum(entry.bytes for entry in self.entries if entry.stopped_at is None)

    @property
    def lost(self) -> tuple[Entry, ...]:
        """The entries that stopped at some gate."""
        return tuple(entry for entry in self.entries if entry.stopped_at is not None)

    @property
    def broken(self) -> bool:
        """Whether a promise was broken: a leaf was lost, or a finding says what was not asked."""
        return bool(self.lost) or any(finding.level == "error" for finding in self.findings)

    @property
    def fraction(self) -> float:
        """``kept_in_place / promised``; 1.0 where nothing was promised."""
        if self.promised:
            return self.kept_in_place / self.promised
        return 0.0 if self.lost else 1.0

    def bytes_after(self, gate: Gate) -> int | None:
        """Bytes per device that passed ``gate``; None where it was not checked."""
        if gate not in self.checked:
            return None
        return sum(entry.bytes for entry in self.entries if entry.passed(gate))

    def leaves_after(self, gate: Gate) -> int | None:
        """How many leaves passed ``gate``; None where it was not checked."""
        if gate not in self.checked:
            return None
        return sum(entry.passed(gate) for entry in self.entries)

    @property
    def summary(self) -> str:
        """The fraction in words, for example ``80 of 84 bytes, 2 of 3 leaves``."""
        kept = len(self.entries) - len(self.lost)
        return (
            f"{self.kept_in_place:,} of {self.promised:,} bytes, "
            f"{kept:,} of {len(self.entries):,} leaves"
        )

    def to_dict(self) -> dict[str, Any]:
        """One element of ``ledgers`` in the JSON report."""
        return {
            "function": self.function,
            "location": self.location and str(self.location),
            "call": self.call and str(self.call),
            "defined_at": self.location and self.location.to_dict(),
            "called_at": self.call and self.call.to_dict(),
            "signature": self.signature,
            "donated_arguments": list(self.donated_arguments),
            "platform": self.platform,
            "devices": self.devices,
            "promised_bytes": self.promised,
            "promised_global_bytes": self.promised_global,
            "promised_leaves": len(self.entries),
            "checked": [gate.value for gate in self.checked],
            "bytes_after": {gate.value: self.bytes_after(gate) for gate in GATES},
            "leaves_after": {gate.value: self.leaves_after(gate) for gate in GATES},
            "alias_size_in_bytes": self.alias_size_in_bytes,
            "alias_not_donated_bytes": self.alias_not_donated_bytes,
            "argument_size_in_bytes": self.live and self.live.arguments,
            "live": self.live and self.live.to_dict(),
            "undonated": self.undonated and self.undonated.to_dict(),
            "saved_bytes": self.saved,
            "entries": [entry.to_dict() for entry in self.entries],
            "findings": [finding.to_dict() for finding in self.findings],
            "fixes": [fix.to_dict() for fix in self.fixes],
            "target": self.target and self.target.to_dict(),
            "fits": self.fits,
            "copies": [copy.to_dict() for copy in self.copies],
            "largest": [each.to_dict() for each in self.largest],
            "notes": list(self.notes),
        }


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that went wrong inside donatree itself; the user's program was not touched."""

    where: str
    error: str
    traceback: str

    def to_dict(self) -> dict[str, Any]:
        """The fault as plain data."""
        return {"where": self.where, "error": self.error, "traceback": self.traceback}


ProcessStatus = Literal["running", "ended", "died", "missing"]


@dataclass(frozen=True, slots=True)
class Process:
    """One of the processes of a program that called `jax.distributed.initialize`.

    Attributes:
        index: JAX's `process_id`.
        count: JAX's `num_processes`.
        host: the name of its machine; None where it left nothing.
        pid: its number there; None in a merged report, which is to be the same for the same run.
        status: ``ended`` where it came to its end, well or by an exception; ``died`` where it was
            killed; ``running`` where it had done neither when this was written; ``missing`` where
            it left no ledger.
        file: its own ledger, as the user would name it.
        ended: how its program ended, None where it ended well.
    """

    index: int
    count: int
    host: str | None = None
    pid: int | None = None
    status: ProcessStatus = "running"
    file: str | None = None
    ended: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """One element of ``processes`` in the JSON report."""
        return {
            "index": self.index,
            "count": self.count,
            "host": self.host,
            "pid": self.pid,
            "status": self.status,
            "file": self.file,
            "ended": self.ended,
        }


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """What `--before` learnt of one argument that is not donated yet, at one call site.

    Attributes:
        function: the name of the jitted function.
        argument: the argument; of what was named with ``--donate`` and not met, that text.
        why: why it was chosen; of what was not met, what there is instead.
        leaves: its leaves that donate nothing yet.
        bytes: their bytes per device.
        taken_bytes: those of them for which the result has an array of the same type.
        calls: how many calls were looked at; 0 for what was not met.
        confirmed_calls: after how many of them it was looked who still held a leaf.
        held_leaves: leaves that somebody was found to hold then.
        codes: codes of the findings about it.
        keyword: what to add to the jit: ``donate_argnums=0``.
        location: where the function is defined.
        call: the call site.
    """

    function: str
    argument: str
    why: str
    leaves: int = 0
    bytes: int = 0
    taken_bytes: int = 0
    calls: int = 0
    confirmed_calls: int = 0
    held_leaves: int = 0
    codes: tuple[str, ...] = ()
    keyword: str = ""
    location: Location | None = None
    call: Location | None = None

    def to_dict(self) -> dict[str, Any]:
        """One element of ``rehearsals`` in the JSON report."""
        return {
            "function": self.function,
            "argument": self.argument,
            "why": self.why,
            "leaves": self.leaves,
            "bytes": self.bytes,
            "taken_bytes": self.taken_bytes,
            "calls": self.calls,
            "confirmed_calls": self.confirmed_calls,
            "held_leaves": self.held_leaves,
            "codes": list(self.codes),
            "keyword": self.keyword,
            "defined_at": self.location and self.location.to_dict(),
            "called_at": self.call and self.call.to_dict(),
        }


@dataclass(frozen=True, slots=True)
class Account:
    """All that was learnt of one program: its ledgers and what concerns the program as a whole.

    Attributes:
        ledgers: one per donating function and signature, in the order of their first compile.
        findings: statements about the program and not about one function.
        faults: donatree's own faults.
        program: what was run, as the user would name it; None outside ``donatree run``.
        ended: how the program ended, None where it ended well.
        versions: versions of donatree, jax, jaxlib and Python.
        platform: JAX's default backend; None where JAX was not used.
        processes: all processes where this was merged from their accounts, this one alone where
            it is the account of one of several, none where there is only one.
        rehearsals: what `--before` learnt, one for each argument and call site.
        advice: on functions of which another argument ought to be donated, as plain data: what
            `AdviceList.to_dict` gives.
        refusals: functions that could not be compiled for a target that was asked for.
    """

    ledgers: tuple[Ledger, ...] = ()
    findings: tuple[Finding, ...] = ()
    faults: tuple[Fault, ...] = ()
    program: str | None = None
    ended: str | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    platform: str | None = None
    processes: tuple[Process, ...] = ()
    rehearsals: tuple[Rehearsal, ...] = ()
    advice: tuple[Mapping[str, Any], ...] = ()
    refusals: tuple[Refusal, ...] = ()

    @property
    def promised(self) -> int:
        """Bytes per device promised by all ledgers together."""
        return sum(ledger.promised for ledger in self.ledgers)

    @property
    def kept_in_place(self) -> int:
        """Bytes per device that passed every gate checked, over all ledgers."""
        return sum(ledger.kept_in_place for ledger in self.ledgers)

    @property
    def fraction(self) -> float:
        """``kept_in_place / promised``; 1.0 where nothing was promised."""
        return self.kept_in_place / self.promised if self.promised else 1.0

    def all_findings(self) -> Iterator[Finding]:
        """The program's own findings, then those of each ledger."""
        yield from self.findings
        for ledger in self.ledgers:
            yield from ledger.findings

    def to_dict(self) -> dict[str, Any]:
        """The whole JSON report."""
        return {
            "schema_version": SCHEMA_VERSION,
            "donatree": self.versions.get("donatree"),
            "jax": self.versions.get("jax"),
            "jaxlib": self.versions.get("jaxlib"),
            "python": self.versions.get("python"),
            "versions": dict(self.versions),
            "platform": self.platform,
            "program": self.program,
            "ended": self.ended,
            "ledgers": [ledger.to_dict() for ledger in self.ledgers],
            "findings": [finding.to_dict() for finding in self.findings],
            "faults": [fault.to_dict() for fault in self.faults],
            "processes": [process.to_dict() for process in self.processes],
            "rehearsals": [rehearsal.to_dict() for rehearsal in self.rehearsals],
            "advice": [dict(each) for each in self.advice],
            "refusals": [each.to_dict() for each in self.refusals],
        }


def by_bytes(entries: Iterable[Entry]) -> list[Entry]:
    """Entries with the most bytes first, equal ones in flatten order."""
    return sorted(entries, key=lambda entry: (-entry.bytes, entry.leaf.flat_index))
