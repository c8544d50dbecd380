"""The leaf and its successor have different layouts"""

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
    """The finding for leaves whose successor has another layout."""
    if group.lost:
        price = f": {count(group.bytes, 'byte')} not reused"
    else:
        price = ": reused, and a temporary of its size can be needed to turn it"
    return finding(
        group,
        f"{subject(group)} {verb(group, 'comes', 'come')} back in another layout "
        f"({group.detail}){price}",
        help="give both sides one `Format`, or `Layout.AUTO` on both",
    )


RULE = Rule(
    code="DT406",
    name="layout-changed",
    gate=Gate.GRANTED,
    page=__doc__ or "",
    failing=FAILING,
    repaired=REPAIRED,
    describe=describe,
)
