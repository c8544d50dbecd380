"""Faults of donatree's own while tests run: kept for the end, they never fail a test."""

from __future__ import annotations

import traceback
from collections.abc import Iterable
from typing import Any

import pytest

from donatree.errors import in_one_line
from donatree.reports.text import clean

KEY = pytest.StashKey[list[str]]()
_MOST = 10


def add(config: pytest.Config, where: str, error: BaseException | str) -> None:
    """Keeps a fault.

    Args:
        config: of the run.
        where: the test, and what was not done for it.
        error: what went wrong.
    """
    found = config.stash.setdefault(KEY, [])
    if isinstance(error, BaseException):
        frames = traceback.extract_tb(error.__traceback__)
        last = f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""
        error = in_one_line(error) + last
    found.append(f"{where}: {error}")


def kept(config: pytest.Config) -> list[str]:
    """The faults so far."""
    return list(config.stash.get(KEY, []))


def take(config: pytest.Config, more: Iterable[str]) -> None:
    """Adds the faults that another process kept."""
    config.stash.setdefault(KEY, []).extend(more)


def tell(config: pytest.Config, terminal: Any) -> None:
    """Writes the faults at the end of the run; nothing where there are none.

    Args:
        config: of the run.
        terminal: pytest's terminal reporter.
    """
    found = list(dict.fromkeys(kept(config)))
    if not found:
        return
    terminal.section("donatree failed, and no test failed for it", yellow=True)
    for each in found[:_MOST]:
        terminal.write_line(clean(each))
    if len(found) > _MOST:
        terminal.write_line(f"and {len(found) - _MOST:,} more")
    terminal.write_line("please report it, with the output of `donatree debug`")
