"""The plugin for pytest: it is loaded in every run, and does something only where it is asked to.

- The error of a failing test carries why its array is dead, while a watch is active: under
  ``donatree run -m pytest``, or inside a test that watches.
- The fixture `donation`, the marker ``donated`` and the switch ``--donation`` are in
  `donatree.testing`, which is imported when a test or the command line uses one of them.

Without any of these it imports nothing and changes nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from donatree.testing.fixture import Donation

__donatree__ = True

MARKER = (
    "donated(min=1.0, function=None, ignore=()): watch every donating jit inside the test; the "
    "test fails where less than `min` of the promised bytes of one is reused, or where nothing is "
    "donated (donatree)"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the switches."""
    group = parser.getgroup("donatree", "memory donated to jitted functions")
    group.addoption(
        "--donation",
        action="store_true",
        help="watch every donating jit of the whole suite, and print a table at the end",
    )
    group.addoption(
        "--donation-fail-under",
        type=float,
        metavar="PERCENT",
        help="--donation, and exit 1 where less than PERCENT of the promised bytes is reused",
    )
    group.addoption(
        "--donation-report",
        metavar="FILE",
        help="--donation, and write the whole account to FILE as JSON",
    )
    group.addoption(
        "--donation-check",
        choices=("compile", "calls", "names"),
        help="--donation, and how much is looked at: what is compiled, the first calls too "
        "(default), or the names behind every call",
    )
    parser.addini("donation", "watch every donating jit of the whole suite", "bool", False)


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Registers the marker, and the watch of the whole suite where that is asked for."""
    config.addinivalue_line("markers", MARKER)
    values = ("donation_fail_under", "donation_report", "donation_check")
    switched = config.getoption("donation") or config.getini("donation")
    if switched or any(config.getoption(name) is not None for name in values):
        from donatree.testing import suite

        suite.register(config)


@pytest.fixture
def donation(request: pytest.FixtureRequest) -> Donation:
    """Audits, watches and asserts what became of donated memory (donatree)."""
    from donatree.testing.fixture import Donation

    return Donation(request.node)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Watches the call phase of a test that is marked."""
    mark = item.get_closest_marker("donated")
    if mark is None:
        return (yield)
    from donatree.testing import marker

    return (yield from marker.watched(item, mark))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[Any]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Explains the error before pytest makes its report of it, and adds the marker's verdict."""
    active = sys.modules.get("donatree.consumed.active")
    if active is not None and call.excinfo is not None:
        active.annotate(call.excinfo.value)
    report = yield
    marker = sys.modules.get("donatree.testing.marker")
    if marker is not None:
        marker.add_section(item, call, report)
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Sends the faults of a worker of pytest-xdist to the process that reports."""
    faults = sys.modules.get("donatree.testing.faults")
    output = getattr(session.config, "workeroutput", None)
    if faults is not None and output is not None:
        output["donatree_faults"] = faults.kept(session.config)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Takes the faults of a worker of pytest-xdist."""
    kept = getattr(node, "workeroutput", {}).get("donatree_faults")
    if kept:
        from donatree.testing import faults

        faults.take(node.config, kept)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Tells of donatree's own faults."""
    faults = sys.modules.get("donatree.testing.faults")
    if faults is not None:
        faults.tell(config, terminalreporter)
