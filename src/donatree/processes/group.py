"""This process among the others, from `jax.distributed.initialize` to its end."""

from __future__ import annotations

import dataclasses
import json
import os
import platform
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from donatree.ledger import Account, Process, ProcessStatus
from donatree.processes import folder as folders
from donatree.processes import waiting
from donatree.processes.folder import Folder
from donatree.processes.merge import merge
from donatree.processes.run import Run, namespace

if TYPE_CHECKING:
    from donatree._jax.distributed import Place

FOLDER = "donatree-ledgers"
WAIT = 10.0
_SLOW = 0.05  # seconds that a write may take without a rest after it
_REST = 20  # times what it took


class Group:
    """Keeps this process's ledger on disk, and in process 0 merges those of all.

    Does nothing, and writes nothing, in a program of one process. Every method may be called on
    any thread; none of them raises for what the disk does.

    Args:
        folder: where ledgers are written; relative to the folder that is current now.
        wait: seconds that process 0 waits at its end for the others.
    """

    def __init__(self, folder: Path | str = FOLDER, wait: float = WAIT) -> None:
        self._base = Folder(Path(folder).absolute(), str(folder))
        self._folder = self._base
        self._wait = wait
        self._own: Process | None = None
        self._run: Run | None = None
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._trouble: str | None = None
        self._not_before = 0.0
        self._over = False
        self._changed: Callable[[], None] | None = None
        self._blame: Callable[[str, BaseException], None] | None = None

    @property
    def several(self) -> bool:
        """Whether this is one of several processes of a program; not so in a forked child."""
        return self._own is not None and os.getpid() == self._process

    def watch(
        self, changed: Callable[[], None], blame: Callable[[str, BaseException], None]
    ) -> None:
        """Looks out for `jax.distributed.initialize`; call it once JAX has been imported.

        Args:
            changed: called when this process has joined the others: it is to `save`.
            blame: called with the place and the error where donatree itself failed.
        """
        from donatree._jax import distributed

        self._changed, self._blame = changed, blame
        try:
            distributed.attach(self)
        except Exception as error:
            blame("hook distributed", error)

    # What the hook tells.

    def opening(self, place: Place) -> None:
        """See `distributed.Observer`."""
        if place.count < 2 or os.getpid() != self._process:
            return
        run = Run.new(place.address, place.count)
        self._folder = folders.choose(self._base, run)
        self._run = run
        self._try(lambda: self._folder.begin(run), own=False)

    def joined(self, place: Place) -> None:
        """See `distributed.Observer`."""
        if place.count < 2 or os.getpid() != self._process:
            return
        if place.index > 0:
            found = folders.find(self._base, place.address, place.count)
            in_use = found is None and self._base.is_in_use()
            away = self._base.below(place.address) if in_use else self._base
            self._folder, self._run = found or (away, None)
        file = self._folder.shown_file(place.index)
        self._own = Process(
            place.index, place.count, platform.node(), self._process, "running", file
        )
        if self._changed is not None:
            self._changed()

    def fault(self, where: str, error: BaseException) -> None:
        """See `distributed.Observer`."""
        if self._blame is not None:
            self._blame(where, error)

    # What the session does.

    def mark(self, account: Account, status: ProcessStatus = "running") -> Account:
        """The account with this process in it, where there are several."""
        if self._own is None:
            return account
        own = dataclasses.replace(self._own, status=status, ended=account.ended)
        return dataclasses.replace(account, processes=(own,))

    def more(self) -> dict[str, Any]:
        """What a ledger on disk, and what the witness is told, says beside the account."""
        if self._own is None:
            return {}
        left_by = {
            "namespace": namespace(),
            "folder": str(self._folder.path),
            "shown": self._folder.shown,
            "wait": self._wait,
        }
        return {"run": self._run and self._run.to_dict(), "left_by": left_by}

    def save(self, text: str) -> None:
        """Writes this process's newest ledger, where there are several processes.

        A disk that is slow is not written to all the time; the witness, and `finish`, write what
        was left out.

        Args:
            text: JSON of a marked account and of `more`.
        """
        own = self._own
        if own is not None and self.several:
            with self._lock:
                began = time.monotonic()
                if began < self._not_before or self._over:
                    return
                self._try(lambda: self._folder.write(own.index, text))
                took = time.monotonic() - began
                self._not_before = began + _REST * took if took > _SLOW else 0.0

    def finish(self, account: Account, stream: TextIO) -> Account | None:
        """Ends this process's part: its ledger is on disk, and in process 0 all are merged.

        Args:
            account: all that this process learnt.
            stream: for the one line of a process that does not report.

        Returns:
            What is to be reported here: the merged account in process 0, `account` itself where
            there is one process or the folder cannot be written, None in the others.
        """
        own = self._own
        if own is None or not self.several:
            if self._run is not None and os.getpid() == self._process:
                self._folder.abandon(self._run)
            return account
        try:
            marked = self.mark(account, "ended")
            own, index = marked.processes[0], own.index
            data = {**marked.to_dict(), **self.more()}
            text = json.dumps(data, indent=2, sort_keys=True) + "\n"
            with self._lock:
                self._over = True  # a thread of the program's may compile on
                self._try(lambda: self._folder.write(index, text))
            if self._trouble is not None:
                print(f"donatree: process {own.index} of {own.count}: {self._trouble}", file=stream)
            elif own.index > 0:
                print(line(own, self._run is not None), file=stream)
                return None
            return self._merged(marked, own) if own.index == 0 else marked
        except Exception as error:
            print(f"donatree: the ledgers could not be merged: {error!r}", file=stream)
            return account

    def _merged(self, marked: Account, own: Process) -> Account:
        rest = range(1, own.count)
        if self._trouble is not None or self._run is None:
            missing = [(Process(index, own.count, status="missing"), None) for index in rest]
            return merge([(own, marked), *missing])
        found = waiting.others(self._folder, self._run, rest, self._wait)
        return merge([(own, marked), *found.values()])

    def _try(self, write: Callable[[], None], own: bool = True) -> None:
        """Writes; where the folder is to be this run's `own`, only if it is so still."""
        if self._trouble is not None:
            return
        try:
            if own and self._run is not None and not self._folder.is_of(self._run):
                self._trouble = f"another run has taken over `{self._folder.shown}`"
            else:
                write()
        except OSError as error:
            self._trouble = f"cannot write `{self._folder.shown}`: {error.strerror or error}"


def line(process: Process, met: bool) -> str:
    """What a process that does not report says at its end.

    Args:
        process: the process.
        met: whether process 0 looks for its ledger where it is.
    """
    text = f"donatree: process {process.index} of {process.count}: its ledger is in {process.file}"
    if met:
        return f"{text}; process 0 reports"
    return f"{text}; process 0 does not see it: it runs without donatree or shares no folder"
