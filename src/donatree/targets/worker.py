"""A process that compiles, and its folder: started, spoken to, stopped, removed."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import weakref
from pathlib import Path
from typing import Any

from donatree.targets.environment import compile_environment
from donatree.targets.names import Wanted

_LOG_LINES = 20
_LOG_BYTES = 16_384
_START = (
    "import sys; sys.path.append({folder!r})\nfrom donatree.targets.child import main\nmain()\n"
)


class Worker:
    """A running `donatree.targets.child`.

    It leads a process group of its own: an interrupt from the keyboard reaches only its parent,
    and it is stopped with whatever it started. Where its parent dies, its standard input ends, and
    it removes its folder and ends by itself.

    Args:
        wanted: the target.
        first: the first order; its folder is added here.

    Attributes:
        pid: its process id, which is that of its group.
    """

    def __init__(self, wanted: Wanted, first: dict[str, Any]) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="donatree-")).resolve()
        try:
            temporary = self._folder / "tmp"
            temporary.mkdir()
            self._log = self._folder / "log"
            self._process = self._started(wanted, str(temporary))
        except BaseException:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise
        self.pid = self._process.pid
        self._finish = weakref.finalize(self, _end, os.getpid(), self._process, self._folder)
        self._answers = bytearray()
        self._dumps = 0
        self._selector = selectors.DefaultSelector()
        assert self._process.stdout is not None
        self._selector.register(self._process.stdout, selectors.EVENT_READ)
        self.send({**first, "folder": str(self._folder)})

    def _started(self, wanted: Wanted, temporary: str) -> subprocess.Popen[bytes]:
        package = str(Path(__file__).resolve().parents[2])
        with self._log.open("wb") as log:
            return subprocess.Popen(
                [sys.executable, "-c", _START.format(folder=package)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd=self._folder,
                env=compile_environment(wanted, temporary=temporary),
                start_new_session=True,
            )

    def send(self, order: dict[str, Any], *data: bytes) -> None:
        """Sends an order; one that the process does not live to read is noticed afterwards."""
        stream = self._process.stdin
        assert stream is not None
        with contextlib.suppress(BrokenPipeError):
            stream.write(json.dumps(order).encode() + b"\n")
            for each in data:
                stream.write(each)
            stream.flush()

    def answer(self, timeout: float) -> dict[str, Any] | None:
        """The next answer; None where none comes within `timeout` seconds."""
        stream = self._process.stdout
        assert stream is not None
        until = time.monotonic() + timeout
        while b"\n" not in self._answers:
            if not self._selector.select(max(0.0, until - time.monotonic())):
                return None
            read = os.read(stream.fileno(), 65536)
            if not read:
                self._process.poll()
                time.sleep(max(0.0, min(0.02, until - time.monotonic())))
                return None
            self._answers += read
        line, _, rest = bytes(self._answers).partition(b"\n")
        self._answers[:] = rest
        return json.loads(line)

    def code(self) -> int | None:
        """Its exit code; None while it runs."""
        return self._process.poll()

    def folder_for_dump(self) -> Path:
        """A new folder for the dump of one program."""
        self._dumps += 1
        path = self._folder / f"dump-{self._dumps}"
        path.mkdir()
        return path

    def log(self) -> tuple[str, ...]:
        """The last lines of its standard error."""
        try:
            with self._log.open("rb") as stream:
                stream.seek(max(0, stream.seek(0, os.SEEK_END) - _LOG_BYTES))
                text = stream.read().decode("utf-8", "replace")
        except OSError:
            return ()
        return tuple(line.rstrip() for line in text.splitlines() if line.strip())[-_LOG_LINES:]

    def kill(self) -> None:
        """Stops it and whatever it started; its files stay."""
        _kill(self._process)
        self._selector.close()

    def remove(self) -> None:
        """Stops it and removes its files."""
        self.kill()
        self._finish()


def _end(owner: int, process: subprocess.Popen[bytes], folder: Path) -> None:
    if os.getpid() != owner:  # a fork of the process that started it
        return
    _kill(process)
    shutil.rmtree(folder, ignore_errors=True)


def _kill(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        # Its group lives as long as it is not waited for, so no other can have its number.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()
