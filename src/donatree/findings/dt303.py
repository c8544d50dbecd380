"""The platform is not on JAX's list of platforms with donation"""

from __future__ import annotations

from typing import TYPE_CHECKING

from donatree.findings.rule import Rule, count, finding, subject
from donatree.ledger import Finding, Gate

if TYPE_CHECKING:
    from donatree.observation import Observation
    from donatree.why.causes import Group

FAILING = ""
REPAIRED = ""


def describe(group: Group, observation: Observation) -> Finding:
    """The finding for leaves on a platform for which JAX lowers no donation."""
    return finding(
        group,
        f"{subject(group)} not donated because JAX lowers no donation for "
        f"`{observation.platform}`: {count(group.bytes, 'byte')}",
        help="ask the makers of the platform's plugin for donation; until then plan for both "
        "copies",
        notes=["JAX keeps a private list of platforms with donation, and this one is not on it"],
    )


RULE = Rule(
    code="DT303",
    name="platform-without-donation",
    gate=Gate.MATCHED,
    page=__doc__ or "",
    failing=FAILING,
    repaired=REPAIRED,
    describe=describe,
)
