"""A slot is aliased by a mutable reference and not by a donation"""

from __future__ import annotations

from typing import TYPE_CHECKING

from donatree.findings.rule import Rule, count
from donatree.ledger import Finding, Gate

if TYPE_CHECKING:
    from donatree.observation import Observation

FAILING = ""
REPAIRED = ""


def about(observation: Observation) -> Finding | None:
    """The finding, where references take part in the alias map."""
    numbers = observation.reference_parameters
    if not numbers or observation.header is None or observation.parameter_of is None:
        return None
    aliased = {alias.parameter for alias in observation.header.aliases}
    index_of = {number: index for index, number in observation.parameter_of.items()}
    leaves = [
        observation.request.leaves[index_of[number]]
        for number in sorted(numbers & aliased)
        if number in index_of
    ]
    if not leaves:
        return None
    names = ", ".join(f"`{leaf.path}`" for leaf in leaves[:4])
    more = f" and {len(leaves) - 4} more" if len(leaves) > 4 else ""
    size = sum(leaf.bytes for leaf in leaves)
    return Finding(
        code=RULE.code,
        headline=f"{names}{more} updated in place as mutable references, not by donation: "
        f"{count(size, 'byte')}",
        leaves=tuple(leaf.path for leaf in leaves),
        level="note",
        notes=("`alias_size_in_bytes` counts them although nobody donated them",),
    )


RULE = Rule(
    code="DT407",
    name="aliased-by-reference",
    gate=Gate.GRANTED,
    page=__doc__ or "",
    failing=FAILING,
    repaired=REPAIRED,
)
