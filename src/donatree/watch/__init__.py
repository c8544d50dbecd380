"""Running programs: the recorder that watches JAX, and the runner that runs a script under it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Self

from donatree.consumed import active
from donatree.ledger import Account, Finding, Ledger
from donatree.ledger.shown import Shown
from donatree.watch.level import CHECKS, FEWEST_CALLS, Check, Level

if TYPE_CHECKING:
    from donatree.targets.names import Wanted
    from donatree.watch.abroad import Targets
    from donatree.watch.recorder import Recorder


class Watched(Shown):
    """What `watch` learns; it can be read while the block runs and after it.

    Printed, and in a notebook, it is the report of what was learnt so far.
    """

    def __init__(self, level: Level, targets: Sequence[Wanted] = ()) -> None:
        self._level = level
        self._wanted = targets
        self._targets: Targets | None = None
        self._recorder: Recorder | None = None

    def __enter__(self) -> Self:
        from donatree.watch.recorder import Recorder

        self._recorder = Recorder(level=self._level)
        if self._wanted:
            from donatree.watch.abroad import Targets

            self._targets = Targets(self._wanted, False, self._recorder.fault)
            self._recorder.targets = self._targets
        self._recorder.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._recorder is not None:
            active.annotate(error)
            self._recorder.stop()

    def _told(self) -> Account:
        return self.account

    @property
    def account(self) -> Account:
        """All that was learnt so far."""
        return self._recorder.account() if self._recorder is not None else Account()

    def for_targets(self) -> Account:
        """The account with what was compiled, compiled for the targets that were asked for too."""
        account = self.account
        if self._recorder is None or self._targets is None:
            return account
        account = self._targets.added(account)
        return dataclasses.replace(account, faults=tuple(self._recorder.faults))

    @property
    def ledgers(self) -> tuple[Ledger, ...]:
        """One ledger per donating function and signature compiled inside the block."""
        return self.account.ledgers

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings, those of the program first."""
        return tuple(self.account.all_findings())


def watch(*, check: Check = "calls", calls: int = 3) -> Watched:
    """What `donatree run` does, for a block.

    Every function that asks for donation and is compiled inside the block gets its ledger. What
    was compiled before is not seen again: JAX does not compile it twice, and neither does
    donatree.

    Args:
        check: how much is looked at: ``compile`` for what JAX and XLA say, ``calls`` for the first
            calls of each compiled function as well, ``names`` for what every call took.
        calls: how many calls of each are looked at, 2 or more: the first one is often another
            program than the later ones.

    Raises:
        ValueError: `check` is none of the three, or `calls` is less than 2.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> with watch() as watched:
        ...     x = jax.jit(lambda x: x + 1, donate_argnums=0)(jnp.ones(4))
        >>> watched.ledgers[0].summary
        '16 of 16 bytes, 1 of 1 leaves'
    """
    if check not in CHECKS:
        raise ValueError(f"check must be one of {', '.join(CHECKS)}, not {check!r}")
    if calls < FEWEST_CALLS:
        raise ValueError(f"calls must be {FEWEST_CALLS} or more, not {calls!r}")
    return Watched(Level(check, calls))
