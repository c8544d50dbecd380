"""The memory went to another slot than the leaf's successor"""

from __future__ import annotations

from typing import TYPE_CHECKING

from donatree.findings.rule import Rule, finding, subject, verb
from donatree.ledger import Finding, Gate

if TYPE_CHECKING:
    from donatree.observation import Observation
    from donatree.why.causes import Group

FAILING = ""
REPAIRED = ""


def describe(group: Group, observation: Observation) -> Finding:
    """The finding for leaves that were reused by a slot that is not their successor."""
    first = group.entries[0]
    by = f"`{first.slot.path}`" if first.slot else "another slot"
    more = ", and so on" if len(group.entries) > 1 else ""
    return finding(
        group,
        f"{subject(group)} {verb(group, 'is', 'are')} reused, but by {by}{more}",
        level="note",
        help="return the state first, in the order in which it is donated, where this costs a copy",
        notes=[
            "JAX pairs leaves and slots of one type in flatten order; a value that is still to be "
            "read is then protected by a copy"
        ],
    )


RULE = Rule(
    code="DT408",
    name="reused-by-another-slot",
    gate=Gate.GRANTED,
    page=__doc__ or "",
    failing=FAILING,
    repaired=REPAIRED,
    describe=describe,
)
