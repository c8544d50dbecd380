"""All that was learnt of one program."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from donatree.ledger.book import Ledger
from donatree.ledger.comparison import Comparison
from donatree.ledger.finding import Finding
from donatree.ledger.program import Fault, Process, Rehearsal
from donatree.ledger.shown import Shown
from donatree.ledger.target import Refusal

SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class Account(Shown):
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
        comparison: what changed against a baseline or an older account; None where nothing was
            compared.
        unmatched: ignores that matched nothing, each with where it is written.
        notes: what the reader should know of the account as a whole.
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
    comparison: Comparison | None = None
    unmatched: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

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

    @property
    def judged_fraction(self) -> float:
        """``fraction``, where a loss that the configuration ignores is none."""
        if not self.promised:
            return 1.0
        accepted = sum(ledger.accepted_bytes for ledger in self.ledgers)
        return (self.kept_in_place + accepted) / self.promised

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
            "comparison": self.comparison and self.comparison.to_dict(),
            "unmatched_ignores": list(self.unmatched),
            "notes": list(self.notes),
        }
