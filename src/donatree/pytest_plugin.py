"""A plugin for pytest: the error of a failing test carries why its array is dead.

It says something only while a watch is active: under ``donatree run -m pytest``, or inside ``with
donatree.watch()`` of a test or fixture. Without one it imports nothing and changes nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest

__donatree__ = True


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_makereport(item: Any, call: Any) -> Iterator[None]:
    """Explains the error before pytest makes its report of it."""
    del item
    active = sys.modules.get("donatree.consumed.active")
    if active is not None and call.excinfo is not None:
        active.annotate(call.excinfo.value)
    yield
