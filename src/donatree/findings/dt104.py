"""A declaration that no argument of the call answers"""

from __future__ import annotations

from typing import TYPE_CHECKING

from donatree.findings.rule import Rule
from donatree.ledger import Finding, Gate

if TYPE_CHECKING:
    from donatree.observation import Observation

FAILING = ""
REPAIRED = ""


def about(observation: Observation) -> Finding | None:
    """The finding, where a declared argument went into `*args` or `**kwargs` the other way."""
    request = observation.request
    if not request.undelivered:
        return None
    what = " and ".join(request.undelivered)
    return Finding(
        code=RULE.code,
        headline=f"`{request.declared}` donates {what}, and this call of `{request.function}` "
        "passes none",
        level="warning",
        location=request.call,
        help="name the parameter in the function's signature, or pass the argument in the way "
        "that the declaration counts on",
        notes=("inside `*args` and `**kwargs` JAX cannot tell a position from a name",),
    )


RULE = Rule(
    code="DT104",
    name="donation-lost-in-variadic-arguments",
    gate=Gate.ASKED,
    page=__doc__ or "",
    failing=FAILING,
    repaired=REPAIRED,
)
