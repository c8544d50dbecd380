"""A donated leaf comes back with another dtype"""

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
    """The finding for leaves whose successor has another dtype."""
    old, new = group.detail.split(" -> ")
    notes = []
    if observation.jax_warning is None:
        notes.append("JAX gives no warning here")
    notes.append("the next call meets another dtype and compiles again")
    return finding(
        group,
        f"{subject(group)} {verb(group, 'is', 'are')} donated as {old} and returned as {new}: "
        f"{count(group.bytes, 'byte')} not reused",
        help=f"return {verb(group, 'it', 'them')} as {old}: `.astype({_example(group)}.dtype)`",
        notes=notes,
    )


def _example(group: Group) -> str:
    return group.entries[0].path


RULE = Rule(
    code="DT402",
    name="dtype-drift",
    gate=Gate.GRANTED,
    page=__doc__ or "",
    failing=FAILING,
    repaired=REPAIRED,
    describe=describe,
)
