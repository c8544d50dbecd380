"""One watched run of a program: from its start to the account of what was learnt."""

from __future__ import annotations

import dataclasses
import json
import sys
import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from donatree import _version
from donatree.ledger import Account, Fault, Ledger
from donatree.watch.late_import import after_import
from donatree.watch.runner import Outcome, Program, run_program
from donatree.watch.witness import Witness

if TYPE_CHECKING:
    from collections.abc import Sequence

    from donatree.advice.running import Adviser
    from donatree.before.rehearser import Rehearser
    from donatree.before.wish import Wish
    from donatree.targets.names import Wanted
    from donatree.watch.abroad import Targets
    from donatree.watch.level import Level
    from donatree.watch.recorder import Recorder


class Group(Protocol):
    """The processes of a program that has several; `donatree.processes` has one."""

    @property
    def several(self) -> bool:
        """Whether there are several."""
        ...

    def watch(
        self, changed: Callable[[], None], blame: Callable[[str, BaseException], None]
    ) -> None:
        """JAX has been imported; `changed` is to be called when this process joins others."""

    def mark(self, account: Account) -> Account:
        """The account with this process in it."""
        ...

    def more(self) -> dict[str, Any]:
        """What is to be told beside the account."""
        ...

    def save(self, text: str) -> None:
        """Keeps what was told."""


class Session:
    """Runs a program and keeps the account, also where the program dies.

    Args:
        program: what to run.
        level: how much of its calls is looked at.
        group: where its ledgers go if it turns out to be one of several processes.
        before: what is to be rehearsed; empty for the candidates, None for no rehearsal.
        prove: seconds of further compiles; None for none.
        targets: hardware to compile for as well, after the program's end.
        full: whether to compile for it to the end.
    """

    def __init__(
        self,
        program: Program,
        level: Level | None = None,
        group: Group | None = None,
        before: Sequence[Wish] | None = None,
        prove: float | None = None,
        targets: Sequence[Wanted] = (),
        full: bool = False,
    ) -> None:
        self._prove = prove
        self._wanted = targets
        self._full = full
        self._targets: Targets | None = None
        self._before = before
        self._rehearser: Rehearser | None = None
        self._adviser: Adviser | None = None
        self._program = program
        self._level = level
        self._recorder: Recorder | None = None
        self._witness: Witness | None = None
        self._faults: list[Fault] = []
        self._outcome: Outcome | None = None
        self._written: dict[int, str] = {}
        self._group = group

    def run(self) -> Outcome:
        """Runs the program to its end.

        Raises:
            BadProgram: it cannot be started.
        """
        self._witness = Witness.start()
        try:
            after_import("jax", self._begin)
            self._outcome = run_program(self._program)
            if self._rehearser is not None:
                self._rehearser.stop()
            if self._adviser is not None:
                self._adviser.stop()
            return self._outcome
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """The report is out: the witness is not needed any more."""
        if self._witness is not None:
            self._witness.dismiss()
            self._witness = None

    def account(self, *, totals: bool = True) -> Account:
        """What was learnt so far; a fault of donatree's own is in it and never raised.

        Args:
            totals: read what XLA's totals are still to be read, which takes its time.
        """
        name = self._program.name if self._program.kind == "script" else f"-m {self._program.name}"
        ended = self._outcome.ended if self._outcome is not None else None
        if self._recorder is not None:
            try:
                account = self._recorder.account(
                    totals=totals,
                    program=name,
                    ended=ended,
                    platform=_platform(self._recorder.ledgers),
                )
                account = self._rehearsed(account)
                if totals and self._targets is not None:
                    account = self._targets.added(account)
                return _with_faults(account, self._faults)
            except Exception as error:
                self._fault("account", error)
        return Account(
            faults=tuple(self._faults),
            program=name,
            ended=ended,
            versions={
                "donatree": _version.__version__,
                "python": ".".join(map(str, sys.version_info[:3])),
            },
        )

    def _rehearsed(self, account: Account) -> Account:
        if self._adviser is not None:
            advice = tuple(each.to_dict() for each in self._adviser.learnt())
            account = dataclasses.replace(account, advice=advice)
        if self._rehearser is None:
            return account
        learnt = self._rehearser.learnt()
        return dataclasses.replace(
            account,
            findings=(*account.findings, *learnt.findings),
            rehearsals=learnt.rehearsals,
        )

    def _begin(self) -> None:
        """JAX has just been imported."""
        try:
            from donatree.proof.budget import Budget
            from donatree.watch.level import Level
            from donatree.watch.recorder import Recorder

            budget = None if self._prove is None else Budget(self._prove)
            if self._wanted:
                from donatree.watch.abroad import Targets

                self._targets = Targets(self._wanted, self._full, self._fault)
            recorder = Recorder(
                told=self._tell,
                totals_later=True,
                level=self._level or Level(),
                prove=budget,
                targets=self._targets,
            )
            recorder.start()
            self._recorder = recorder
            if self._before is not None:
                from donatree.before.rehearser import Rehearser

                calls = (self._level or Level()).calls
                self._rehearser = Rehearser(calls, self._before, self._save, self._fault)
                self._rehearser.start()
            else:
                from donatree.advice.running import Adviser

                self._adviser = Adviser(self._fault, budget=budget)
                self._adviser.start()
            if self._group is not None:
                self._group.watch(self._save, self._fault)
        except Exception as error:
            self._fault("start", error)

    def _tell(self, place: int, ledger: Ledger) -> None:
        """Each ledger is written once, so that many of them cost no more than their own length."""
        self._written[place] = json.dumps(ledger.to_dict())
        self._save()

    def _save(self) -> None:
        """Tells the witness, and where there are several processes the disk."""
        group = self._group if self._group is not None and self._group.several else None
        if self._witness is None and group is None:
            return
        rest = dataclasses.replace(self.account(totals=False), ledgers=())
        data = rest.to_dict() if group is None else group.mark(rest).to_dict() | group.more()
        del data["ledgers"]
        whole = f'{json.dumps(data)[:-1]}, "ledgers": [{", ".join(self._written.values())}]}}'
        if self._witness is not None:
            self._witness.tell(whole)
        if group is not None:
            group.save(whole)

    def _fault(self, where: str, error: BaseException) -> None:
        text = "".join(traceback.format_exception(error))
        self._faults.append(Fault(where, f"{type(error).__name__}: {error}", text))


def _platform(ledgers: list[Ledger]) -> str | None:
    return next((ledger.platform for ledger in ledgers if ledger.platform), None)


def _with_faults(account: Account, faults: list[Fault]) -> Account:
    return dataclasses.replace(account, faults=(*account.faults, *faults)) if faults else account
