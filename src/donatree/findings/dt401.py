"""A donated leaf comes back with another shape"""

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
    """The finding for leaves whose successor has another shape."""
    first = group.entries[0]
    new = first.successor.spec.aval if first.successor else "another shape"
    return finding(
        group,
        f"{subject(group)} {verb(group, 'is', 'are')} donated as {first.leaf.spec.aval} and "
        f"returned as {new}: {count(group.bytes, 'byte')} not reused",
        help="keep the shape: allocate the full size once and write into it with `.at[].set` or "
        "`jax.lax.dynamic_update_slice`",
        notes=_notes(group),
    )


def _notes(group: Group) -> list[str]:
    notes = [
        "a result of another size needs a buffer of its own, so both are alive during the step"
    ]
    if any(entry.successor is not None for entry in group.entries):
        notes.append("the next call meets another shape and compiles again")
    return notes


RULE = Rule(
    code="DT401",
    name="shape-drift",
    gate=Gate.GRANTED,
    page=__doc__ or "",
    failing=FAILING,
    repaired=REPAIRED,
    describe=describe,
)
