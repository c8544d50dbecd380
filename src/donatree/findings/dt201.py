"""A donated leaf whose value is never used is dropped"""

from __future__ import annotations

from typing import TYPE_CHECKING

from donatree.findings.rule import Rule, count, finding, subject, verb
from donatree.ledger import Finding, Gate

if TYPE_CHECKING:
    from donatree.observation import Observation
    from donatree.why.causes import Group

FAILING = ""
REPAIRED = ""


def describe(group: Group, observation: Observation) -> Finding:
    """The finding for leaves that JAX pruned."""
    return finding(
        group,
        f"{subject(group)} {verb(group, 'is', 'are')} donated but never used: JAX drops "
        f"{verb(group, 'it', 'them')} and {count(group.bytes, 'byte')} stay alive",
        help="leave it out of the argument, delete it after the call, or pass `keep_unused=True` "
        "where a slot of its size waits for it",
        notes=["a pruned leaf is no parameter of the compiled module, so nothing can reuse it"],
    )


RULE = Rule(
    code="DT201",
    name="value-never-used",
    gate=Gate.KEPT,
    page=__doc__ or "",
    failing=FAILING,
    repaired=REPAIRED,
    describe=describe,
)
