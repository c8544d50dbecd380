"""The leaf and its successor lie in different memories"""

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
    """The finding for leaves that come back in another memory kind."""
    return finding(
        group,
        f"{subject(group)} {verb(group, 'comes', 'come')} back in another memory "
        f"({group.detail}): {count(group.bytes, 'byte')}",
        help="return the state in the memory that it came from: give `out_shardings` with the same "
        "`memory_kind`, or move it outside the step",
        notes=["a buffer in one memory cannot be reused for a result in another"],
    )


RULE = Rule(
    code="DT304",
    name="memory-kind-changed",
    gate=Gate.MATCHED,
    page=__doc__ or "",
    failing=FAILING,
    repaired=REPAIRED,
    describe=describe,
)
