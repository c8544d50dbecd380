"""Functions that were jitted with donation, and whether jit was switched off meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

from donatree._jax import facts, frames, promise, request
from donatree.findings import dt102
from donatree.ledger import Finding, Ledger, Location


class Declared:
    """What is known of a donation before anything is compiled."""

    def __init__(self) -> None:
        self._functions: dict[tuple[str, Location | None], None] = {}
        self._disabled: tuple[Location | None] | None = None
        self._lock = threading.Lock()

    def add(self, fun: Any, info: Any) -> None:
        """A function was jitted; see `hooks.Observer`."""
        if not promise.donates(info):
            return
        place = frames.location_of_function(fun)
        with self._lock:
            self._functions[request.function_name(fun), place] = None
        if facts.jit_is_disabled():
            self.disable(frames.location_of_frame(frames.user_frame(frames.current_frame(3))))

    def disable(self, place: Location | None) -> None:
        """Jit was switched off at `place`; the first one stands."""
        if self._disabled is None:
            self._disabled = (place,)

    def findings(self, ledgers: Iterable[Ledger]) -> tuple[Finding, ...]:
        """What is to be said of the program.

        Args:
            ledgers: of what was compiled all the same.
        """
        if self._disabled is None and self._functions and facts.jit_is_disabled():
            self._disabled = (None,)
        if self._disabled is None or not self._functions:
            return ()
        compiled = {(ledger.function, ledger.location) for ledger in ledgers}
        never = [each for each in self._functions if each not in compiled]
        return (dt102.about(never or list(self._functions), self._disabled[0], bool(never)),)
