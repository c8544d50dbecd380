"""What an account, or a baseline, has of each function: what is held against the old one."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from donatree.baseline.files import name_of, readable
from donatree.baseline.record import ANYWHERE, Baseline, Checked, Environment, Key, code_of
from donatree.ledger import GATES, Account, Entry, Finding, Gate, Ledger, Location

_DIGEST = re.compile(r" #[0-9a-f]+$")


@dataclass(frozen=True, slots=True)
class LeafNow:
    """What became of a leaf now.

    Attributes:
        verdict: the code, or the gate, by which it is lost; None where it was reused.
        gate: the gate where it stopped.
        looked: how much was looked at for this leaf.
        bytes: per device.
        location: where it is lost.
        ignored: why its finding is not to be told; None where it is.
        copied: whether a copy of it remains of which is not known whether it costs bytes.
    """

    verdict: str | None
    gate: Gate | None
    looked: Checked
    bytes: int = 0
    location: Location | None = None
    ignored: str | None = None
    copied: bool = False


@dataclass(frozen=True, slots=True)
class Met:
    """One function for one signature in one environment.

    Attributes:
        key: what its record is found by.
        signature: as the report has it.
        environment: platform and version of JAX.
        checked: how much was looked at for all leaves.
        leaves: each leaf by its path.
        outside: whether the name of the file is no more than its last part.
    """

    key: Key
    signature: str
    environment: Environment
    checked: Checked
    leaves: Mapping[str, LeafNow]
    outside: bool = False

    @property
    def lost(self) -> dict[str, str]:
        """What a record of it says."""
        return {path: leaf.verdict for path, leaf in self.leaves.items() if leaf.verdict}


def met(of: Account | Baseline, folder: Path) -> list[Met]:
    """What there is of each function, signature and environment.

    Args:
        of: an account, in which ledgers of one function and signature become one, where a leaf
            counts as reused only if it is in all of them; or a baseline.
        folder: what names of files are relative to.
    """
    return list(_of_baseline(of) if isinstance(of, Baseline) else _of_account(of, folder))


def _of_baseline(baseline: Baseline) -> Iterator[Met]:
    for key, record in baseline.records.items():
        for environment, checked in record.seen.items():
            lost = record.lost.get(environment, {})
            leaves = {
                path: LeafNow(lost.get(path), None, checked) for path in sorted(record.leaves)
            }
            yield Met(key, key.arguments, environment, checked, leaves)


def _of_account(account: Account, folder: Path) -> Iterator[Met]:
    together: dict[tuple[Key, Environment], list[Ledger]] = {}
    outside: dict[Key, bool] = {}
    for ledger in account.ledgers:
        name = name_of(ledger.location.file if ledger.location else None, folder)
        arguments = _DIGEST.sub("", ledger.signature)
        key = Key(
            name.text, readable(ledger.function), readable(arguments), _digest(ledger.entries)
        )
        platform = ledger.target.name if ledger.target else ledger.platform or account.platform
        jax = account.versions.get("jax") or ""
        environment = Environment(readable(platform or ANYWHERE), readable(jax))
        together.setdefault((key, environment), []).append(ledger)
        outside[key] = name.outside
    for (key, environment), ledgers in together.items():
        leaves: dict[str, LeafNow] = {}
        for ledger in ledgers:
            for path, leaf in _leaves(ledger):
                known = leaves.get(path)
                if known is None or (known.verdict is None and leaf.verdict is not None):
                    leaves[path] = leaf
        gates = set.intersection(*(set(_looked(each).gates) for each in ledgers))
        checked = Checked(_in_order(gates), all(_looked(each).proved for each in ledgers))
        signature = ledgers[0].signature
        yield Met(key, signature, environment, checked, leaves, outside[key])


def _digest(entries: Iterable[Entry]) -> str:
    """A digest of the donated leaves that is the same on all platforms and versions of JAX.

    A sharding counts by its axes and not by how many devices these have.
    """
    parts = []
    for entry in entries:
        spec = entry.leaf.spec
        axes = (spec.sharding or "").split(" on ")[0]
        parts.append(f"{entry.path}:{spec.aval}{'~' if spec.weak_type else ''}{axes}")
    return hashlib.sha256(readable("\n".join(sorted(parts))).encode()).hexdigest()[:6]


def _leaves(ledger: Ledger) -> Iterator[tuple[str, LeafNow]]:
    findings = _findings(ledger.findings)
    checked = _looked(ledger)
    # Only a gate that stayed open leaves it open whether a copy costs anything.
    unsure = Gate.IN_PLACE not in ledger.checked
    copied = {
        path for copy in ledger.copies if unsure and copy.costs is not True for path in copy.leaves
    }
    for entry in ledger.entries:
        gates = {*ledger.checked, *(gate for gate in GATES if gate.value in entry.evidence)}
        looked = Checked(_in_order(gates), checked.proved)
        if entry.stopped_at is None:
            leaf = LeafNow(None, None, looked, entry.bytes, copied=entry.path in copied)
        else:
            finding = findings.get((entry.finding, entry.path))
            leaf = LeafNow(
                readable(code_of(entry.finding or "")) or entry.stopped_at.value,
                entry.stopped_at,
                looked,
                entry.bytes,
                (finding.location if finding else None) or ledger.location,
                _ignored(finding, entry.path) if finding else None,
            )
        yield readable(entry.path), leaf


def _ignored(finding: Finding, path: str) -> str | None:
    """Why a leaf of a finding is ignored; None where it is not."""
    if path in finding.ignored_leaves:
        return finding.ignored or "the configuration"
    return finding.ignored


def _findings(found: Sequence[Finding]) -> dict[tuple[str | None, str], Finding]:
    """Findings by code and leaf; of several, one that is to be told."""
    by_leaf: dict[tuple[str | None, str], Finding] = {}
    for each in found:
        for path in each.leaves:
            known = by_leaf.get((each.code, path))
            if known is None or (known.ignored is not None and each.ignored is None):
                by_leaf[each.code, path] = each
    return by_leaf


def _looked(ledger: Ledger) -> Checked:
    """How much was looked at; gate in place also where it stayed open for some leaves."""
    gates = {*ledger.checked}
    if any(Gate.IN_PLACE.value in entry.evidence for entry in ledger.entries):
        gates.add(Gate.IN_PLACE)
    return Checked(_in_order(gates), ledger.undonated is not None)


def _in_order(gates: Iterable[Gate]) -> tuple[Gate, ...]:
    found = set(gates)
    return tuple(gate for gate in GATES if gate in found)
