"""The compiler chose another sharding for the result than the leaf has"""

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
    """The finding for leaves whose output sharding was left to the compiler."""
    price = f": {count(group.bytes, 'byte')} per device not reused" if group.lost else ""
    return finding(
        group,
        f"{subject(group)} {verb(group, 'comes', 'come')} back with another sharding "
        f"({group.detail}), which was left open{price}",
        help="give `out_shardings` equal to the shardings that the state comes with, or take the "
        "`with_sharding_constraint` on its new value away",
        notes=[
            "where any output sharding is left open on several devices JAX never warns",
            *([] if group.lost else ["the next call meets another sharding and compiles again"]),
        ],
    )


RULE = Rule(
    code="DT405",
    name="sharding-changed-by-compiler",
    gate=Gate.GRANTED,
    page=__doc__ or "",
    failing=FAILING,
    repaired=REPAIRED,
    describe=describe,
)
