"""A leaf was refused and the evidence shows no cause

## What it means

The leaf was not reused, although a slot of its type was left for it.
No cause that donatree knows is in the evidence.

## Why it happens

XLA decided for a reason that donatree does not read yet, or donatree is wrong.

## What to do

Please report it, with the output of `donatree debug` and the JSON report of the run.

## Since when

No program is known that shows it, so this page has none.
"""

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
    """The finding for leaves that were lost for a reason that donatree does not know."""
    first = group.entries[0]
    seen = list(first.evidence.values())[-1]
    return finding(
        group,
        f"{subject(group)} {verb(group, 'was', 'were')} not reused, and donatree does not know "
        f"why: {count(group.bytes, 'byte')}",
        help="please report it with the output of `donatree debug` and the JSON report",
        notes=[f"the last evidence is: {seen}"],
    )


RULE = Rule(
    code="DT409",
    name="refused-for-no-known-cause",
    gate=Gate.GRANTED,
    page=__doc__ or "",
    failing=FAILING,
    repaired=REPAIRED,
    describe=describe,
)
