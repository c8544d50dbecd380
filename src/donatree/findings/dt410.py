"""The gate granted could not be checked"""

from __future__ import annotations

from typing import TYPE_CHECKING

from donatree.findings.rule import Rule
from donatree.ledger import Finding, Gate

if TYPE_CHECKING:
    from donatree.observation import Observation

FAILING = ""
REPAIRED = ""


def about(observation: Observation) -> Finding | None:
    """The finding, where the compiled module could not be read or there is none."""
    why = observation.compile_error or observation.header_error
    if why is None:
        return None
    what = "was not compiled" if observation.compile_error else "has no readable header"
    return Finding(
        code=RULE.code,
        headline=f"what XLA granted is not known, because `{observation.request.function}` {what}",
        level="warning",
        location=observation.request.call,
        notes=(why,),
    )


RULE = Rule(
    code="DT410",
    name="grant-not-known",
    gate=Gate.GRANTED,
    page=__doc__ or "",
    failing=FAILING,
    repaired=REPAIRED,
)
