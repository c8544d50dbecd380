"""One watched run of a program: from its start to the account of what was learnt."""

from __future__ import annotations

import dataclasses
import json
import sys
import traceback
from typing import TYPE_CHECKING

from donatree import _version
from donatree.ledger import Account, Fault, Ledger
from donatree.watch.late_import import after_import
from donatree.watch.runner import Outcome, Program, run_program
from donatree.watch.witness import Witness

if TYPE_CHECKING:
    from donatree.watch.recorder import Recorder


class Session:
    """Runs a program and keeps the account, also where the program dies.

    Args:
        program: what to run.
    """

    def __init__(self, program: Program) -> None:
        self._program = program
        self._recorder: Recorder | None = None
        self._witness: Witness | None = None
        self._faults: list[Fault] = []
        self._outcome: Outcome | None = None
        self._written: list[str] = []

    def run(self) -> Outcome:
        """Runs the program to its end.

        Raises:
            BadProgram: it cannot be started.
        """
        self._witness = Witness.start()
        try:
            after_import("jax", self._begin)
            self._outcome = run_program(self._program)
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

    def _begin(self) -> None:
        """JAX has just been imported."""
        try:
            from donatree.watch.recorder import Recorder

            recorder = Recorder(told=self._tell, totals_later=True)
            recorder.start()
            self._recorder = recorder
        except Exception as error:
            self._fault("start", error)

    def _tell(self, ledger: Ledger) -> None:
        """Each ledger is written once, so that many of them cost no more than their own length."""
        if self._witness is None:
            return
        self._written.append(json.dumps(ledger.to_dict()))
        rest = dataclasses.replace(self.account(totals=False), ledgers=()).to_dict()
        del rest["ledgers"]
        whole = f'{json.dumps(rest)[:-1]}, "ledgers": [{", ".join(self._written)}]}}'
        self._witness.tell(whole)

    def _fault(self, where: str, error: BaseException) -> None:
        text = "".join(traceback.format_exception(error))
        self._faults.append(Fault(where, f"{type(error).__name__}: {error}", text))


def _platform(ledgers: list[Ledger]) -> str | None:
    return next((ledger.platform for ledger in ledgers if ledger.platform), None)


def _with_faults(account: Account, faults: list[Fault]) -> Account:
    return dataclasses.replace(account, faults=(*account.faults, *faults)) if faults else account
