"""What a baseline holds: for each function and signature, which leaves were lost where."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from donatree import findings, paths
from donatree.errors import DonatreeError
from donatree.ledger import Gate

REUSED = "reused"
ANYWHERE = "any"
"""The platform of what was lost before anything was compiled, so that it holds for each."""

_GATES = {f"DT{number}": gate for number, gate in enumerate(Gate, 1)}


class BaselineError(DonatreeError, ValueError):
    """A baseline cannot be read or written; the text is one clear line."""


@dataclass(frozen=True, slots=True, order=True)
class Environment:
    """Under what a function was seen.

    Attributes:
        platform: ``cpu``, ``gpu``, ``tpu``, the name of a target, or ``any``.
        jax: the version of JAX; empty where it is not known.
    """

    platform: str
    jax: str


@dataclass(frozen=True, slots=True)
class Checked:
    """How much was looked at.

    Attributes:
        gates: those that were looked at, in their order.
        proved: whether the program was compiled without its donation as well.
    """

    gates: tuple[Gate, ...]
    proved: bool = False

    def has(self, gate: Gate | None) -> bool:
        """Whether a loss at ``gate`` would have been seen; the last of the compile has the rest."""
        if gate is None or gate in self.gates:
            return True
        return gate.position < Gate.GRANTED.position and Gate.GRANTED in self.gates


@dataclass(frozen=True, slots=True, order=True)
class Key:
    """What a record is found by; never a line.

    Attributes:
        file: the file that defines the function, as ``files.name_of`` names it.
        function: its name.
        arguments: its arguments in short.
        digest: of paths, types and shardings of the donated leaves.
    """

    file: str
    function: str
    arguments: str
    digest: str


@dataclass(frozen=True, slots=True)
class Record:
    """One function for one signature.

    Attributes:
        key: what it is found by.
        leaves: the paths of all donated leaves.
        seen: the environments in which it was seen, and how much was looked at there.
        lost: of each environment, the leaves that were lost with the code of the finding, or the
            gate where there is none, and after a space what somebody wrote behind it. All other
            leaves were reused.
    """

    key: Key
    leaves: frozenset[str]
    seen: Mapping[Environment, Checked]
    lost: Mapping[Environment, Mapping[str, str]] = field(default_factory=dict)

    @property
    def donated(self) -> frozenset[str]:
        """Names of the donated arguments."""
        return frozenset(paths.split(path)[0] for path in self.leaves)

    def verdict(self, path: str, environment: Environment) -> str | None:
        """``reused``, or what was written of the loss; None where there was no such leaf."""
        if path not in self.leaves:
            return None
        return self.lost.get(environment, {}).get(path, REUSED)

    def without(self, environments: Iterable[Environment]) -> Record:
        """The record as if it had not been seen in these environments."""
        left_out = set(environments)
        return dataclasses.replace(
            self,
            seen={each: value for each, value in self.seen.items() if each not in left_out},
            lost={each: value for each, value in self.lost.items() if each not in left_out},
        )

    def having(self, environment: Environment, checked: Checked, lost: Mapping[str, str]) -> Record:
        """The record with what was seen in one environment, in place of what it had for it."""
        return dataclasses.replace(
            self,
            seen={**self.seen, environment: checked},
            lost={**self.without([environment]).lost, **({environment: lost} if lost else {})},
        )


@dataclass(frozen=True, slots=True)
class Baseline:
    """What is expected of a program's donated leaves.

    Attributes:
        records: in the order of their keys.
        comment: the lines of comment at the top of the file, with their ends; empty for donatree's
            own.
        folder: where the file lies, which names of files are relative to.
    """

    records: Mapping[Key, Record] = field(default_factory=dict)
    comment: str = ""
    folder: Path | None = None

    @staticmethod
    def of(records: Iterable[Record], comment: str = "", folder: Path | None = None) -> Baseline:
        """A baseline of records, without those that were seen nowhere."""
        found = sorted((each for each in records if each.seen), key=lambda each: each.key)
        return Baseline({each.key: each for each in found}, comment, folder)


def code_of(verdict: str) -> str:
    """The code of a verdict, without what somebody wrote behind it.

    Example:
        >>> code_of("DT402 until the old checkpoints are gone")
        'DT402'
    """
    return (verdict.split(maxsplit=1) or [""])[0]


def gate_of(verdict: str) -> Gate | None:
    """The gate at which a leaf of this verdict is lost; None where its code belongs to none.

    Example:
        >>> gate_of("DT601"), gate_of("granted"), gate_of("DT704")
        (<Gate.HONOURED: 'honoured'>, <Gate.GRANTED: 'granted'>, None)
    """
    code = code_of(verdict)
    if code in set(Gate):
        return Gate(code)
    if code in findings.CODES:
        return findings.rule(code).gate
    return _GATES.get(code[:3])
