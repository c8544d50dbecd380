"""Seconds that further compiles may take."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Self


class Budget:
    """What is left of the seconds that a user gave for further compiles.

    A compile cannot be stopped once it began, so one is begun only where the seconds that it is
    expected to take are left: those that the program's own compile took.

    Args:
        seconds: of all further compiles together.
        clock: gives the time in seconds.

    Example:
        >>> budget = Budget(10.0, clock=iter([0.0, 4.0]).__next__)
        >>> with budget.spent():
        ...     pass
        >>> budget.left, budget.allows(5.0), budget.allows(7.0)
        (6.0, True, False)
    """

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.seconds = seconds
        self.left = seconds
        self._clock = clock

    @property
    def words(self) -> str:
        """The budget as a user gave it."""
        return f"the budget of {self.seconds:g} seconds"

    def allows(self, seconds: float) -> bool:
        """Whether a compile that is expected to take so long may begin."""
        return self.left > 0 and seconds <= self.left

    def spent(self) -> _Spending:
        """A block whose time is taken from the budget, also where it raises."""
        return _Spending(self, self._clock)

    def part(self, fraction: float) -> Budget:
        """A budget with a part of what is left; what it spends is spent of this one."""
        return _Part(self, self.left * fraction, self._clock)

    def take(self, seconds: float) -> None:
        """Takes seconds that were spent."""
        self.left = max(self.left - seconds, 0.0) if math.isfinite(self.left) else self.left


class _Part(Budget):
    def __init__(self, whole: Budget, seconds: float, clock: Callable[[], float]) -> None:
        super().__init__(seconds, clock)
        self._whole = whole

    @property
    def words(self) -> str:
        return f"the part of {self._whole.words} that is for proofs"

    def take(self, seconds: float) -> None:
        super().take(seconds)
        self._whole.take(seconds)


class _Spending:
    """A block; `seconds` is what it took, once it has ended."""

    def __init__(self, budget: Budget, clock: Callable[[], float]) -> None:
        self._budget, self._clock = budget, clock

    def __enter__(self) -> Self:
        self._start = self._clock()
        return self

    def __exit__(self, *error: object) -> None:
        self.seconds = self._clock() - self._start
        self._budget.take(self.seconds)
