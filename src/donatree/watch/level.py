"""How much of a running program is looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Check = Literal["compile", "calls", "names"]
CHECKS: tuple[Check, ...] = ("compile", "calls", "names")
FEWEST_CALLS = 2  # the first call is often another program than the later ones


@dataclass(frozen=True, slots=True)
class Level:
    """How much is looked at.

    Attributes:
        check: ``compile`` looks at no call; ``calls`` at the first ones of each executable;
            ``names`` remembers what every call took as well, and so keeps JAX's fast path off.
        calls: how many calls of each executable are looked at, 2 or more.
    """

    check: Check = "calls"
    calls: int = 3
