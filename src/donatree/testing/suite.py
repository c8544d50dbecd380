"""``--donation``: the whole suite is watched by one recorder, and told in one table."""

from __future__ import annotations

import dataclasses
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from donatree import _version, policy, reports
from donatree.errors import DonatreeError
from donatree.ledger import Account, Ledger
from donatree.testing import closing, faults, table
from donatree.testing.marker import settings_of
from donatree.testing.part import BEFORE, Part, Test, merged
from donatree.watch.late_import import after_import
from donatree.watch.level import Level

if TYPE_CHECKING:
    from donatree.watch.recorder import Recorder

_PART = "donatree_part"


def register(config: pytest.Config) -> None:
    """Watches the suite from now on.

    Raises:
        pytest.UsageError: an option, or the project's configuration, cannot be; one line.
    """
    percentage = config.getoption("donation_fail_under")
    if percentage is not None and not 0 <= percentage <= 100:
        raise pytest.UsageError(f"--donation-fail-under takes 0 to 100, not {percentage:g}")
    name = config.getoption("donation_report")
    file = config.invocation_params.dir / name if name else None
    if file is not None and not file.parent.is_dir():
        raise pytest.UsageError(f"--donation-report: there is no folder `{file.parent}`")
    try:
        settings = settings_of(config)
    except DonatreeError as error:
        raise pytest.UsageError(str(error)) from None
    suite = Suite(config, settings, percentage, file)
    config.pluginmanager.register(suite, "donatree-suite")
    suite.start()


class Suite:
    """The watch of one process of a test run, and the report where it is the one that reports.

    Args:
        config: of the run.
        settings: the project's configuration.
        percentage: of the promised bytes that must be reused; None for none.
        file: for the account as JSON; None for none.
    """

    def __init__(
        self,
        config: pytest.Config,
        settings: policy.Settings,
        percentage: float | None,
        file: Path | None,
    ) -> None:
        self._config = config
        self._settings = settings
        self._percentage = percentage
        self._file = file
        self._recorder: Recorder | None = None
        self._over = False
        self._current = Test(-1, BEFORE)
        self._orders: dict[str, int] = {}
        self._first: dict[int, Test] = {}
        self._workers: dict[str, Part] = {}
        self._died: list[str] = []
        self._part: Part | None = None
        self._verdict: table.Line | None = None

    def start(self) -> None:
        """Watches as soon as JAX has been imported, which is the tests' own business."""
        after_import("jax", self._begin)

    def _begin(self) -> None:
        if self._over:
            return
        try:
            from donatree._jax import reads
            from donatree.watch.recorder import Recorder

            check = self._config.getoption("donation_check") or "calls"
            recorder = Recorder(
                told=self._told,
                catch_warning=False,  # the tests may be about it
                totals_later=True,
                level=Level(check),
            )
            recorder.start()
            self._recorder = recorder
            reads.forget_dispatch()  # what an earlier run in this process has compiled
        except Exception as error:
            faults.add(self._config, "the suite was not watched", error)

    def _told(self, place: int, ledger: Ledger) -> None:
        del ledger
        self._first.setdefault(place, self._current)

    # Hooks of pytest.

    def pytest_report_header(self) -> str:
        """Says that this is on, since calls that are looked at take longer."""
        return "donatree: every donating jit is watched (--donation)"

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """The order of the tests, which is the same in every worker."""
        self._orders = {item.nodeid: number for number, item in enumerate(items)}

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """The test that runs now, its fixtures included."""
        self._current = Test(self._orders.get(item.nodeid, len(self._orders)), item.nodeid)
        return (yield)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Takes the account of a worker of pytest-xdist."""
        name = node.gateway.id
        text = getattr(node, "workeroutput", {}).get(_PART)
        try:
            if text is None:
                self._died.append(name)
            else:
                self._workers[name] = Part.loads(text)
        except Exception as error:
            faults.add(self._config, f"the account of {name} could not be read", error)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Ends the watch; a worker sends its account, and the others are judged."""
        try:
            own = self._ended()
            output = getattr(self._config, "workeroutput", None)
            if output is not None:
                output[_PART] = own.dumps()
                return
            workers = [self._workers[name] for name in sorted(self._workers)]
            self._part = closing.applied(merged([own, *workers]), self._settings)
            self._write(self._part.account)
            if self._config.getoption("collectonly", False):
                return
            self._verdict, failed = closing.judged(self._part.account, self._percentage)
            if failed and session.exitstatus == pytest.ExitCode.OK:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED
        except Exception as error:
            faults.add(self._config, "the suite was not judged", error)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Writes the table."""
        if self._part is None or self._config.getoption("collectonly", False):
            return
        terminalreporter.section("donation")
        try:
            full = self._config.get_verbosity() > 0
            shown = list(table.lines(self._part, full=full))
        except Exception as error:
            faults.add(self._config, "the table was not written", error)
            shown = []
        for name in sorted(self._died):
            shown.append((f"{name} died; what it had watched is not in the table", "yellow"))
        if self._verdict is not None:
            shown.append(self._verdict)
        for line, look in shown:
            terminalreporter.write_line(line, **({look: True} if look else {}))

    def pytest_unconfigure(self) -> None:
        """Ends the watch also where the session never began."""
        self._stop()

    # The end.

    def _stop(self) -> None:
        if self._recorder is not None and not self._over:
            self._recorder.stop()
        self._over = True

    def _ended(self) -> Part:
        self._stop()
        recorder = self._recorder
        if recorder is None:
            return Part(Account(program="pytest", versions={"donatree": _version.__version__}), ())
        account = recorder.account(program="pytest")
        platform = next((each.platform for each in account.ledgers if each.platform), None)
        account = dataclasses.replace(account, platform=platform)
        for fault in account.faults:
            faults.add(self._config, fault.where, fault.error)
        first = (self._first.get(place, self._current) for place in range(len(account.ledgers)))
        return Part(account, tuple(first))

    def _write(self, account: Account) -> None:
        if self._file is None:
            return
        try:
            self._file.write_text(reports.render(account, "json"), encoding="utf-8")
        except OSError as error:
            faults.add(self._config, f"--donation-report {self._file}", error)
