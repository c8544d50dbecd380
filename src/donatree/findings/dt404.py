"""The output sharding that is given differs from the leaf's"""

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
    """The finding for leaves that are returned with another sharding, as asked."""
    if not group.lost:
        return finding(
            group,
            f"{subject(group)} {verb(group, 'is', 'are')} reused but "
            f"{verb(group, 'comes', 'come')} back sharded otherwise ({group.detail})",
            help="give `out_shardings` equal to the shardings that the state comes with",
            notes=["the next call meets another sharding and compiles again"],
        )
    return finding(
        group,
        f"{subject(group)} {verb(group, 'comes', 'come')} back with another sharding "
        f"({group.detail}): {count(group.bytes, 'byte')} per device not reused",
        help="give `out_shardings` equal to the shardings that the state comes with",
        notes=["a shard of another size needs a buffer of its own on every device"],
    )


RULE = Rule(
    code="DT404",
    name="sharding-changed",
    gate=Gate.GRANTED,
    page=__doc__ or "",
    failing=FAILING,
    repaired=REPAIRED,
    describe=describe,
)
