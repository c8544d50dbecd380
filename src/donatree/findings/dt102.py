"""`jax_disable_jit` runs jitted functions as plain Python"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from donatree.findings.rule import Rule, count, finding, subject
from donatree.ledger import Finding, Gate, Location

if TYPE_CHECKING:
    from donatree.observation import Observation
    from donatree.why.causes import Group

FAILING = ""
REPAIRED = ""


def describe(group: Group, observation: Observation) -> Finding:
    """The finding for leaves that are not donated because nothing is compiled."""
    return finding(
        group,
        f"{subject(group)} not donated because `jax_disable_jit` is on: "
        f"{count(group.bytes, 'byte')}",
        help=_HELP,
        notes=[_NOTE],
    )


_HELP = "take `jax.disable_jit()` or the environment variable `JAX_DISABLE_JIT` away"
_NOTE = "under `jax_disable_jit` nothing is compiled, so no buffer can be given away"


def about(functions: Sequence[tuple[str, Location | None]], place: Location | None) -> Finding:
    """The finding about a program in which the flag was on.

    Args:
        functions: name and place of every function that declares donation.
        place: where the flag was switched on, if that was seen.
    """
    names = ", ".join(f"`{name}`" for name, _ in functions[:4])
    more = f" and {len(functions) - 4} more" if len(functions) > 4 else ""
    places = [f"`{name}` is defined at {where}" for name, where in functions if where is not None]
    return Finding(
        code=RULE.code,
        headline=f"nothing was donated to {names}{more} while `jax_disable_jit` was on",
        level="warning",
        location=place,
        notes=(_NOTE, *places[:4]),
        help=_HELP,
    )


RULE = Rule(
    code="DT102",
    name="donation-off-disable-jit",
    gate=Gate.ASKED,
    page=__doc__ or "",
    failing=FAILING,
    repaired=REPAIRED,
    describe=describe,
)
