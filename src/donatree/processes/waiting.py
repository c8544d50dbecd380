"""Process 0 waits for the others, not for ever."""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Iterable

from donatree.ledger import Account, Process
from donatree.processes.folder import Folder, Reader
from donatree.processes.run import Run, is_alive

_PAUSE = 0.1


def others(
    folder: Folder, run: Run, indexes: Iterable[int], seconds: float
) -> dict[int, tuple[Process, Account | None]]:
    """What the other processes left, once they have ended or the time is over.

    Args:
        folder: where they leave it.
        run: theirs; what other runs left is not read.
        indexes: which processes to wait for.
        seconds: how long at most. An interrupt from the keyboard ends the wait as well.

    Returns:
        For each index the process, with its status, and its newest account; None where it left
        none.
    """
    reader = Reader(folder, run)
    found: dict[int, tuple[Process, Account | None]] = {}
    pending = set(indexes)
    until = time.monotonic() + seconds
    with contextlib.suppress(KeyboardInterrupt):
        while pending:
            last = time.monotonic() >= until
            pending -= {
                index for index in sorted(pending) if _look(reader, run.count, index, found)
            }
            if last or not pending:
                break
            time.sleep(_PAUSE)
    for index in pending - found.keys():  # interrupted before they were looked at
        _look(reader, run.count, index, found)
    return {index: found[index] for index in sorted(found)}


def _look(
    reader: Reader, count: int, index: int, found: dict[int, tuple[Process, Account | None]]
) -> bool:
    """Looks at a process once; returns whether it will write nothing more."""
    saved = reader.read(index)
    if saved is None:
        found[index] = (Process(index, count, status="missing"), None)
        return False
    process, account = saved.process, saved.account
    died = False
    if process.status == "running" and is_alive(process.pid, saved.namespace) is False:
        again = reader.read(index) or saved  # it may have written its last just before
        process, account = again.process, again.account
        died = process.status == "running"
    if died:
        process = dataclasses.replace(process, status="died")
    found[index] = (process, account)
    return process.status != "running"
