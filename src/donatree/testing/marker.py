"""``@pytest.mark.donated``: every donating jit of a test is watched, and the test judged."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

from donatree import policy
from donatree.consumed import active
from donatree.errors import DonatreeError
from donatree.testing import demand, faults, verdict, words

if TYPE_CHECKING:
    from donatree.testing.demand import Demand
    from donatree.testing.recorder import TestRecorder

RECORDER = pytest.StashKey["TestRecorder"]()
_TOLD = pytest.StashKey[tuple[str, BaseException | None]]()
_SETTINGS = pytest.StashKey[policy.Settings]()


def settings_of(config: pytest.Config) -> policy.Settings:
    """The ``[tool.donatree]`` of the project that is tested, read once.

    Raises:
        DonatreeError: it has something that it cannot have; one line.
    """
    if _SETTINGS not in config.stash:
        config.stash[_SETTINGS] = policy.load(config.rootpath)
    return config.stash[_SETTINGS]


def watched(item: pytest.Item, mark: pytest.Mark) -> Generator[None, Any, Any]:
    """Runs the call phase of a marked test; a wrapper's body, to be delegated to.

    What the test itself raises is raised, and the verdict becomes a section of its report. A fault
    of donatree's own leaves the test as it is.

    Raises:
        pytest.fail.Exception: the test passed, and the demand is not met.
    """
    try:
        demanded = demand.marked(mark.args, mark.kwargs)
        settings = settings_of(item.config)
    except (demand.BadDemand, DonatreeError) as error:
        raise pytest.fail.Exception(str(error), pytrace=False) from None
    recorder = _begin(item)
    try:
        result = yield
    except BaseException as error:
        active.annotate(error)  # the book of this watch is closed with it
        _end(recorder)
        if isinstance(error, Exception | pytest.fail.Exception):
            text, nothing = _judged(item, recorder, demanded, settings)
            if text is not None and not nothing:
                item.stash[_TOLD] = text, None
        raise
    _end(recorder)
    text, _ = _judged(item, recorder, demanded, settings)
    if text is not None:
        failure = pytest.fail.Exception(text, pytrace=False)
        item.stash[_TOLD] = text, failure
        raise failure
    return result


def add_section(item: pytest.Item, call: pytest.CallInfo[Any], report: pytest.TestReport) -> None:
    """Adds the verdict to the report of a test that failed for another reason."""
    text, failure = item.stash.get(_TOLD, (None, None))
    if text is None or call.when != "call":
        return
    own = call.excinfo is not None and call.excinfo.value is failure
    if report.failed and not own:
        report.sections.append(("donation", text))


def _begin(item: pytest.Item) -> TestRecorder | None:
    try:
        from donatree.testing.recorder import TestRecorder

        recorder = TestRecorder()
        recorder.start()
        item.stash[RECORDER] = recorder
        return recorder
    except Exception as error:
        faults.add(item.config, f"{item.nodeid} was not judged", error)
        return None


def _end(recorder: TestRecorder | None) -> None:
    if recorder is not None:
        recorder.stop()


def _judged(
    item: pytest.Item, recorder: TestRecorder | None, demanded: Demand, settings: policy.Settings
) -> tuple[str | None, bool]:
    """Why the test is to fail, None where it is not; and whether nothing else than nothing is."""
    if recorder is None:
        return None, False
    try:
        account = recorder.account()
        for fault in account.faults:
            faults.add(item.config, f"{item.nodeid}, {fault.where}", fault.error)
        found = verdict.judge(account, demanded, settings)
        for each in found.unmatched:
            item.warn(pytest.PytestWarning(f"donatree: an ignore that matches nothing: {each}"))
        if not found.failed or (account.faults and found.nothing):
            return None, False
        return words.failure(found, "in this test", recorder.met), not found.below
    except Exception as error:
        faults.add(item.config, f"{item.nodeid} was not judged", error)
        return None, False
