"""`jax_debug_nans` switches donation off"""

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
    """The finding for leaves that `jax_debug_nans` kept from being donated."""
    return finding(
        group,
        f"{subject(group)} not donated because `jax_debug_nans` was on: "
        f"{count(group.bytes, 'byte')}",
        help="switch `jax_debug_nans` off for runs that are short of memory, and call "
        "`jax.clear_caches()` after switching it off in a running program",
        notes=[
            "JAX drops every donation while it traces under `jax_debug_nans`, without a warning",
            "the compiled function keeps it dropped after the flag is cleared",
        ],
    )


RULE = Rule(
    code="DT101",
    name="donation-off-debug-nans",
    gate=Gate.ASKED,
    page=__doc__ or "",
    failing=FAILING,
    repaired=REPAIRED,
    describe=describe,
)
