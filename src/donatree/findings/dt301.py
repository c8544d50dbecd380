"""No slot of the result has the leaf's type and size"""

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
    """The finding for leaves that no slot could take."""
    wanted = ", ".join(sorted({entry.leaf.spec.aval for entry in group.entries})[:4])
    return finding(
        group,
        f"{subject(group)} {verb(group, 'is', 'are')} donated but nothing in the result can take "
        f"{verb(group, 'its', 'their')} memory: {count(group.bytes, 'byte')}",
        help="stop donating what the step does not replace (a batch, most often), or return the "
        "leaf's new value from the step",
        notes=[f"no slot of the result is {wanted} on one device"],
    )


RULE = Rule(
    code="DT301",
    name="no-slot",
    gate=Gate.MATCHED,
    page=__doc__ or "",
    failing=FAILING,
    repaired=REPAIRED,
    describe=describe,
)
