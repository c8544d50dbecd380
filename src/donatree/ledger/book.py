"""The entries of one compiled function for one signature, with its totals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from donatree.ledger.entry import Entry
from donatree.ledger.finding import Finding
from donatree.ledger.fix import Fix
from donatree.ledger.gate import GATES, Gate
from donatree.ledger.place import Location
from donatree.ledger.shown import Shown
from donatree.ledger.target import Holding, MadeCopy, Target


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
class Ledger(Shown):
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
    def accepted(self) -> frozenset[str]:
        """Paths of lost leaves whose loss the user's configuration ignores."""
        ignored = {(each.code, path) for each in self.findings for path in each.ignored_leaves}
        return frozenset(row.path for row in self.lost if (row.finding, row.path) in ignored)

    @property
    def accepted_bytes(self) -> int:
        """Bytes per device of the lost leaves whose loss is ignored."""
        accepted = self.accepted
        return sum(row.bytes for row in self.lost if row.path in accepted)

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
