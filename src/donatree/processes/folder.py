"""The files of a run: who leads it, and the ledger of each process.

Process 0 writes `run.json` before the others can join, so what they find there is of this run or
of one that shares nothing with it. Whatever carries another run's id is not read, and a process
whose run was superseded writes no more.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from donatree.ledger import SCHEMA_VERSION, Account, Ledger, Process
from donatree.processes.run import Run, is_alive
from donatree.reports import decode

_LEDGER = re.compile(r"process-\d{4,}\.json")
_RUN = "run.json"


@dataclass(frozen=True, slots=True)
class Saved:
    """What a process left.

    Attributes:
        process: the process, as it saw itself.
        account: what it had learnt.
        namespace: where its number means something.
    """

    process: Process
    account: Account
    namespace: str | None


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder of ledgers.

    Attributes:
        path: where it is, absolute: the program may change the current folder.
        shown: the same as the user would name it.
    """

    path: Path
    shown: str

    def file(self, index: int) -> Path:
        """The ledger of a process."""
        return self.path / f"process-{index:04}.json"

    def shown_file(self, index: int) -> str:
        """The ledger of a process as the user would name it."""
        return f"{self.shown.rstrip('/')}/{self.file(index).name}"

    def below(self, address: str) -> Folder:
        """The folder in this one for a run at `address`."""
        name = re.sub(r"[^\w.-]+", "-", address).strip("-.") or "run"
        return Folder(self.path / name, f"{self.shown.rstrip('/')}/{name}")

    def run(self) -> Run | None:
        """The run that was begun here last."""
        return Run.of(_load(self.path / _RUN))

    def is_of(self, run: Run) -> bool:
        """Whether `run` was begun here and no other has been since."""
        return self.run() == run

    def is_in_use(self) -> bool:
        """Whether a run may be at work here that is not this process's."""
        run = self.run()
        if run is None or run.pid == os.getpid():
            return False
        alive = is_alive(run.pid, run.namespace)
        if alive is None:  # on another machine: it leads until it says that it has ended
            saved = self.read(0, run)
            return saved is None or saved.process.status == "running"
        return alive

    def begin(self, run: Run) -> None:
        """Makes this the folder of `run`: what earlier runs left is removed.

        Raises:
            OSError: the folder cannot be written.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        for path in self.path.iterdir():
            theirs = _LEDGER.fullmatch(path.name) and "left_by" in (_load(path) or ())
            if theirs or re.fullmatch(r"\.(process|run)-?\d*\.\d+", path.name):
                path.unlink(missing_ok=True)
        self._replace(self.path / _RUN, json.dumps(run.to_dict(), indent=2) + "\n")

    def abandon(self, run: Run) -> None:
        """Takes back what `begin` made, where no process came to join."""
        with contextlib.suppress(OSError):
            if self.is_of(run):
                (self.path / _RUN).unlink()
                self.path.rmdir()

    def write(self, index: int, text: str) -> None:
        """Puts a process's newest ledger in place of the one before, whole or not at all.

        Raises:
            OSError: the folder cannot be written.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        self._replace(self.file(index), text)

    def read(self, index: int, run: Run) -> Saved | None:
        """What a process of `run` left; None where it left nothing that can be read."""
        return Reader(self, run).read(index)

    def _replace(self, path: Path, text: str) -> None:
        part = path.with_name(f".{path.stem}.{os.getpid()}")
        try:
            part.write_text(text, encoding="utf-8", errors="backslashreplace")
            os.replace(part, path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise


class Reader:
    """Reads what the processes of a run left, again only where it has changed.

    There may be hundreds of them with the same ledgers; those are made of the JSON once.

    Args:
        folder: where they leave it.
        run: theirs; what carries another run's id is not read.
    """

    def __init__(self, folder: Folder, run: Run) -> None:
        self._folder = folder
        self._run = run
        self._known: dict[int, tuple[object, Saved | None]] = {}
        self._data: Any = None
        self._ledgers: tuple[Ledger, ...] = ()

    def read(self, index: int) -> Saved | None:
        """What a process left; None where it left nothing that can be read."""
        path = self._folder.file(index)
        stamp = None
        with contextlib.suppress(OSError):
            status = path.stat()
            stamp = (status.st_ino, status.st_mtime_ns, status.st_size)
        known = self._known.get(index)
        if known is None or stamp is None or known[0] != stamp:
            known = self._known[index] = (stamp, self._made(index, _load(path)))
        return known[1]

    def _made(self, index: int, data: Any) -> Saved | None:
        if _run_id(data) != self._run.id:
            return None
        with contextlib.suppress(ValueError):
            ledgers = data.get("ledgers")
            if not self._ledgers or ledgers != self._data:
                self._ledgers = decode.account(data, SCHEMA_VERSION).ledgers
                self._data = ledgers
            rest = decode.account({**data, "ledgers": []}, SCHEMA_VERSION)
            account = dataclasses.replace(rest, ledgers=self._ledgers)
            process = next((each for each in account.processes if each.index == index), None)
            left_by = data.get("left_by")
            there = left_by.get("namespace") if isinstance(left_by, dict) else None
            return Saved(process, account, there) if process is not None else None
        return None


def choose(base: Folder, run: Run) -> Folder:
    """The folder in which process 0 begins `run`: one of its own while another run is in `base`."""
    own = base.below(run.address)
    if base.is_in_use():
        return own
    with contextlib.suppress(OSError):  # so that `find` does not take an earlier run's for ours
        (own.path / _RUN).unlink()
    return base


def find(base: Folder, address: str, count: int) -> tuple[Folder, Run] | None:
    """The folder and run that process 0 chose, seen from another process; None where none fits."""
    for folder in (base.below(address), base):
        run = folder.run()
        if run is not None and run.is_of(address, count):
            return folder, run
    return None


def _load(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None


def _run_id(data: Any) -> Any:
    run = data.get("run") if isinstance(data, dict) else None
    return run.get("id") if isinstance(run, dict) else None
