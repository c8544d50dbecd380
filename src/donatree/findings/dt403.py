"""A leaf is reused although its successor has another type, and the next call compiles again"""

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
    """The finding for leaves that were reused although their type drifted."""
    first = group.entries[0]
    by = f" by `{first.slot.path}`" if first.slot else ""
    return finding(
        group,
        f"{subject(group)} {verb(group, 'is', 'are')} reused{by} but "
        f"{verb(group, 'comes', 'come')} back as another type ({group.detail}): the next call "
        "compiles again",
        help=f"return {verb(group, 'it', 'them')} with the type that went in",
        notes=[
            "a slot of equal bytes took the memory (JAX 0.8 and later); up to 0.7 it is lost",
            "the state that the step returns is not the state that it was compiled for",
        ],
    )


RULE = Rule(
    code="DT403",
    name="reused-after-drift",
    gate=Gate.GRANTED,
    page=__doc__ or "",
    failing=FAILING,
    repaired=REPAIRED,
    describe=describe,
)
