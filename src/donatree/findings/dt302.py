"""The slot was taken by another donated leaf"""

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
    """The finding for leaves that came too late for a slot."""
    thief = f" by `{group.detail}`" if group.detail else ""
    return finding(
        group,
        f"{subject(group)} {verb(group, 'finds its slot', 'find their slots')} taken{thief}: "
        f"{count(group.bytes, 'byte')}",
        help="donate only what the step replaces: each slot takes the memory of one leaf",
        notes=[
            "JAX pairs leaves and slots of one type first come, first served, in flatten order, "
            "and never by path"
        ],
    )


RULE = Rule(
    code="DT302",
    name="slot-taken",
    gate=Gate.MATCHED,
    page=__doc__ or "",
    failing=FAILING,
    repaired=REPAIRED,
    describe=describe,
)
