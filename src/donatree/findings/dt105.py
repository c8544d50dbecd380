"""A donated argument is passed in a way that the declaration does not cover"""

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
    """The finding for leaves passed by keyword though declared by position, or the reverse."""
    request = observation.request
    by_keyword = request.why_not.get(group.entries[0].leaf.flat_index) == "passed_by_keyword"
    declared, passed = ("position", "keyword") if by_keyword else ("name", "position")
    return finding(
        group,
        f"{subject(group)} not donated because it is declared by {declared} and passed by "
        f"{passed}: {count(group.bytes, 'byte')}",
        help="give only one of `donate_argnums` and `donate_argnames`: JAX then finds the other "
        "form by itself",
        notes=[
            f"declared `{request.declared}`",
            "where both are given, JAX takes each literally and matches no argument across them",
        ],
        location=request.call,
    )


RULE = Rule(
    code="DT105",
    name="donated-argument-passed-otherwise",
    gate=Gate.ASKED,
    page=__doc__ or "",
    failing=FAILING,
    repaired=REPAIRED,
    describe=describe,
)
