"""The fixture ``donation``: audits, watches and asserts in a test."""

from __future__ import annotations

import dataclasses
from typing import Any, Self

import pytest

from donatree import policy
from donatree.errors import DonatreeError
from donatree.ledger import Account, Ledger
from donatree.testing import faults, marker, verdict, words
from donatree.testing.demand import BadDemand, Demand, minimum_of
from donatree.testing.recorder import TestRecorder
from donatree.watch import Watched
from donatree.watch.level import Level


class Block(Watched):
    """What `Donation.watch` gives; like `donatree.watch`, and it sees what was compiled before."""

    def __init__(self) -> None:
        super().__init__(Level())
        self.met: tuple[str, ...] = ()

    def __enter__(self) -> Self:
        recorder = TestRecorder()
        recorder.start()
        self._recorder = recorder
        return self

    def __exit__(self, *of_error: Any) -> None:
        super().__exit__(*of_error)
        if isinstance(self._recorder, TestRecorder):
            self.met = self._recorder.met


class Donation:
    """Audits, watches and asserts; what it learnt in a test is remembered to the test's end.

    Example:
        >>> def test_step(donation):
        ...     donation.assert_whole(step, state, batch)
        >>> def test_training(donation):
        ...     with donation.watch():
        ...         train(steps=3)
        ...     donation.assert_at_least(0.99)
    """

    def __init__(self, item: pytest.Item) -> None:
        self._item = item
        self._audited: list[Ledger] = []
        self._watched: list[Block] = []

    @property
    def account(self) -> Account:
        """All that was audited and watched in this test, that of its marker included."""
        accounts = [Account(ledgers=tuple(self._audited))]
        accounts += [block.account for block in self._watched]
        if marker.RECORDER in self._item.stash:
            accounts.append(self._item.stash[marker.RECORDER].account())
        ledgers = {_key(one): one for each in reversed(accounts) for one in each.ledgers}
        return dataclasses.replace(
            accounts[-1],
            ledgers=tuple(ledgers.values()),
            findings=tuple(one for each in accounts for one in each.findings),
            faults=tuple(one for each in accounts for one in each.faults),
        )

    def audit(self, step: Any, /, *args: Any, **kwargs: Any) -> Ledger:
        """`donatree.audit`: lowers and compiles `step` for these arguments and runs nothing.

        Args:
            step: a jitted function.
            *args: arrays or `jax.ShapeDtypeStruct`.
            **kwargs: likewise.

        Raises:
            TargetError: `step` is not jitted, or JAX refuses the arguments.
        """
        __tracebackhide__ = True
        from donatree.audit import audit

        try:
            ledger = audit(step, *args, **kwargs)
        except DonatreeError as error:
            raise error.with_traceback(None) from None
        self._audited.append(ledger)
        return ledger

    def watch(self) -> Block:
        """`donatree.watch` for a block, also for functions that were compiled before it."""
        block = Block()
        self._watched.append(block)
        return block

    def assert_whole(self, step: Any = None, /, *args: Any, **kwargs: Any) -> None:
        """Asserts that every promised byte was kept.

        Args:
            step: a jitted function, which is audited for the arguments that follow; a ledger, an
                account, or what `watch` gave; None for all that this test has audited and watched.
            *args: arguments of the jitted function.
            **kwargs: likewise.

        Raises:
            AssertionError: a leaf was lost, or nothing was promised; it names leaves, causes, help.
        """
        __tracebackhide__ = True
        self._assert(Demand(), step, args, kwargs)

    def assert_at_least(
        self, fraction: float, step: Any = None, /, *args: Any, **kwargs: Any
    ) -> None:
        """Asserts that each function and signature kept a fraction of its promised bytes.

        Args:
            fraction: 0 to 1.
            step: as for `assert_whole`.
            *args: likewise.
            **kwargs: likewise.

        Raises:
            ValueError: `fraction` is no number from 0 to 1.
            AssertionError: as for `assert_whole`.
        """
        __tracebackhide__ = True
        try:
            demanded = Demand(minimum_of(fraction, "assert_at_least"))
        except BadDemand as error:
            raise ValueError(str(error)) from None
        self._assert(demanded, step, args, kwargs)

    def _assert(
        self, demanded: Demand, step: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        __tracebackhide__ = True
        text = None
        try:
            text = self._failure(demanded, step, args, kwargs)
        except DonatreeError as error:
            raise error.with_traceback(None) from None
        except Exception as error:
            faults.add(
                self._item.config, f"{self._item.nodeid}: an assertion was not judged", error
            )
        if text is not None:
            raise AssertionError(text)

    def _failure(
        self, demanded: Demand, step: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> str | None:
        met: tuple[str, ...] = ()
        where = "in this block"
        if step is None:
            account, where = self.account, "in what was audited and watched in this test"
            if not (self._audited or self._watched or marker.RECORDER in self._item.stash):
                return words.nothing_seen()
            met = tuple(name for block in self._watched for name in block.met)
            met += tuple(words.named(each) for each in self._audited)
        elif isinstance(step, Account):
            account, where = step, "in this account"
        elif isinstance(step, Watched):
            account, met = step.account, step.met if isinstance(step, Block) else ()
        else:
            ledger = step if isinstance(step, Ledger) else self.audit(step, *args, **kwargs)
            if demanded.minimum and not ledger.entries and not verdict.errors(ledger):
                return words.promised_nothing(ledger)
            account = Account(ledgers=(ledger,))
        found = verdict.judge(account, demanded, self._settings())
        return words.failure(found, where, met) if found.failed else None

    def _settings(self) -> policy.Settings:
        return marker.settings_of(self._item.config)


def _key(ledger: Ledger) -> object:
    """What it is and not how it was learnt: an audit and a run can be of one program."""
    fate = tuple((entry.path, entry.stopped_at) for entry in ledger.entries)
    return ledger.function, ledger.signature, ledger.location, fate
