"""What the findings about advice share: the argument that they speak of, and their form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from donatree.findings.rule import Rule
from donatree.ledger import Finding, Location


@dataclass(frozen=True, slots=True)
class Advised:
    """An argument of which something is advised.

    Attributes:
        function: the jitted function.
        argument: the argument.
        leaves: its leaves, largest first.
        size: their bytes per device.
        saved: bytes per device that its donation saves; 0 or less where it saves nothing.
        measured: whether that was measured by compiling.
        reasons: why, the weightiest first.
        keyword: what to write in the jit; empty where nothing is to be donated.
        location: what the finding points at.
    """

    function: str
    argument: str
    leaves: tuple[str, ...]
    size: int
    saved: int
    measured: bool
    reasons: tuple[str, ...]
    keyword: str
    location: Location | None

    @property
    def write(self) -> str:
        """What to write, as an instruction."""
        return f"write `{self.keyword}`" if self.keyword else "donate nothing"


def finding(
    rule: Rule,
    advised: Advised,
    headline: str,
    *,
    size: int,
    notes: Sequence[str],
    help: str | None = None,  # noqa: A002, rustc's word
) -> Finding:
    """A warning about an argument.

    Args:
        rule: of its code.
        advised: the argument.
        headline: one line.
        size: the bytes per device that it is about.
        notes: facts.
        help: what to do; what to write where it says nothing else.
    """
    return Finding(
        code=rule.code,
        headline=headline,
        leaves=advised.leaves,
        bytes=size,
        level="warning",
        location=advised.location,
        notes=tuple(notes),
        help=help or advised.write,
    )
