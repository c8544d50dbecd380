"""A jit that donates is called inside another traced function"""

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
    """The finding for leaves that only an inner jit donates."""
    request = observation.request
    outer = f"`{request.outer}`" if request.outer else "another traced function"
    return finding(
        group,
        f"{subject(group)} not donated because `{request.function}` is called inside {outer}: "
        f"{count(group.bytes, 'byte')}",
        help=f"donate the argument of {outer} that it comes from",
        notes=["only the outermost jit donates; an inner `donate_argnums` is ignored in silence"],
        location=request.call,
    )


RULE = Rule(
    code="DT103",
    name="donating-jit-inside-jit",
    gate=Gate.ASKED,
    page=__doc__ or "",
    failing=FAILING,
    repaired=REPAIRED,
    describe=describe,
)
