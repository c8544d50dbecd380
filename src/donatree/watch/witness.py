"""A helper process that reports for a program that dies before it can report itself.

The out-of-memory killer, ``os._exit``, a segmentation fault or ``SIGTERM`` leave a program no
moment to say what was learnt of it. The witness is started before the program, is told the newest
state after every compile, and prints it where the program ends without having dismissed it.

The program must not see it: it is no child of the program, has a session of its own, closes what
it inherits but standard error, and its line is a file descriptor far above those that a program
counts on. This file is both rooms: the class is the program's end, the functions below it are the
helper process, which runs this file alone, without site-packages, until there is a report to make.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import threading

HEADLINE = "donatree: the program died before it could report; what was learnt until then:"
RENDER = "donatree.processes.late:render"

# What is told is UTF-8, in which these bytes never stand: a frame that was cut off is seen as such.
_START, _END, _DISMISSED = b"\xfd", b"\xfe", b"\xff"
_FIRST_FD = 200
_PATIENCE = 2.0  # seconds that a tell may hold up the program where the witness does not listen


class Witness:
    """The program's line to its witness.

    Every method is harmless anywhere: it never raises, and does nothing in a process that the
    program forked or after the line was closed by someone else.

    Example:
        >>> witness = Witness.start()
        >>> if witness is not None:
        ...     witness.tell('{"schema_version": 1}')
        ...     witness.dismiss()
    """

    def __init__(self, line: int) -> None:
        self._line = line
        self._identity = _identity(line)
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._hears = True

    @classmethod
    def start(cls, render: str = RENDER) -> Witness | None:
        """Starts a witness for this process.

        Args:
            render: ``module:function`` that makes the report's text of the account's JSON text.
                It is called in the witness; where that fails the JSON itself is the report.

        Returns:
            The witness, None where there can be none (not POSIX, no interpreter to start, or this
            process is the first one of a container, with which everything in it dies).
        """
        if os.name != "posix" or not sys.executable or os.getpid() == 1:
            return None
        with contextlib.suppress(Exception):
            line = _spawn(render)
            return None if line is None else cls(line)
        return None

    def tell(self, account_json: str) -> None:
        """Hands over the newest state, which takes the place of the one before.

        Args:
            account_json: the account as JSON text.
        """
        if self._hears:
            text = account_json.encode("utf-8", "backslashreplace")
            self._hears = self._send(b"".join((_START, text, _END)))

    def dismiss(self) -> None:
        """Sends the witness away: the program ended in an orderly way and was reported."""
        if self._send(_DISMISSED):
            with contextlib.suppress(OSError):
                os.close(self._line)
        self._hears = False

    def _send(self, data: bytes) -> bool:
        if os.getpid() != self._process or not self._lock.acquire(timeout=_PATIENCE):
            return False
        try:
            if _identity(self._line) != self._identity:  # closed, or by now a file of the program's
                return False
            import socket

            connection = socket.socket(fileno=self._line)
            try:
                connection.settimeout(_PATIENCE)
                # The program may have asked to die of SIGPIPE; not of a witness that is gone.
                connection.sendall(data, getattr(socket, "MSG_NOSIGNAL", 0))
            finally:
                connection.detach()
        except Exception:
            return False
        finally:
            self._lock.release()
        return True


def _identity(descriptor: int) -> tuple[int, int] | None:
    with contextlib.suppress(OSError):
        status = os.fstat(descriptor)
        return status.st_dev, status.st_ino
    return None


def _spawn(render: str) -> int | None:
    """Starts the helper process; returns the descriptor of the line to it."""
    import fcntl
    import socket

    here, there = socket.socketpair()
    with here, there:
        # Above what the program opens, so that its own files get the numbers they always get.
        line = fcntl.fcntl(here, fcntl.F_DUPFD_CLOEXEC, _FIRST_FD)
        far = fcntl.fcntl(there, fcntl.F_DUPFD_CLOEXEC, _FIRST_FD)
    mode = f"-Xutf8={sys.flags.utf8_mode}"
    command = [sys.executable, "-I", "-S", mode, os.path.abspath(__file__)]
    command += [str(os.getpid()), render, *_import_path()]
    actions = [
        (os.POSIX_SPAWN_DUP2, far, 0),
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
    ]
    started = False
    try:
        # Not os.fork: it warns where threads run, and calls the fork handlers of other libraries.
        child = os.posix_spawn(sys.executable, command, os.environ, file_actions=actions)
        with contextlib.suppress(ChildProcessError):  # where the parent ignored SIGCHLD
            started = os.waitpid(child, 0)[1] == 0
    finally:
        os.close(far)
        if not started:
            os.close(line)
    return line if started else None


def _import_path() -> list[str]:
    """Where the witness may import from: not the folder of the program or the launcher."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    path = sys.path if sys.flags.safe_path else sys.path[1:]
    return [*(os.path.abspath(entry) for entry in path if entry), root]


def _main(process: int, render: str, path: list[str]) -> None:
    """The helper process: leaves its parent, listens, and reports where it must."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    os.closerange(3, 1 << 16)
    if os.getppid() != process:
        return
    handle = None
    with contextlib.suppress(AttributeError, OSError):  # not on Linux, or not allowed
        handle = os.pidfd_open(process)
    if os.fork():
        os._exit(0)
    os.setsid()
    text = _listen(process, handle)
    if text is not None:
        _report(text, render, path)


def _listen(process: int, handle: int | None) -> str | None:
    """Waits for the program's end; returns what it told last, None if it dismissed its witness.

    The line's end is not enough: a process that the program forked may hold it open.
    """
    os.set_blocking(0, False)
    poll = select.poll()
    for descriptor in (0, handle):
        if descriptor is not None:
            poll.register(descriptor, select.POLLIN)
    newest, buffer, ended = None, bytearray(), False
    while not ended:
        ready = [descriptor for descriptor, _ in poll.poll(None if handle is not None else 500)]
        ended = handle in ready or (handle is None and not is_running(process))
        with contextlib.suppress(BlockingIOError):
            while chunk := os.read(0, 1 << 20):
                if _DISMISSED in chunk:
                    return None
                buffer += chunk
                if _END in chunk:
                    end = buffer.rfind(_END)
                    newest = bytes(buffer[buffer.rfind(_START, 0, end) + 1 : end])
                    del buffer[: end + 1]
            ended = True
    return None if newest is None else newest.decode("utf-8", "replace")


def is_running(process: int) -> bool:
    """Whether a process of this machine is alive. POSIX only: elsewhere the probe would kill it."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    with contextlib.suppress(OSError), open(f"/proc/{process}/stat", "rb") as file:
        # Dead, where its parent waits for the end of its standard error before it fetches it.
        return file.read().rpartition(b")")[2].split()[0] not in (b"Z", b"X")
    return True


def _report(text: str, render: str, path: list[str]) -> None:
    def too_long(*_: object) -> None:
        raise TimeoutError

    signal.signal(signal.SIGALRM, too_long)
    sys.path += [entry for entry in path if entry not in sys.path]
    report = text
    with contextlib.suppress(BaseException):
        signal.alarm(30)
        import importlib

        module, _, function = render.partition(":")
        report = getattr(importlib.import_module(module), function)(text)
    with contextlib.suppress(BaseException):
        signal.alarm(30)
        print(HEADLINE, report.rstrip("\n"), sep="\n", file=sys.stderr, flush=True)


if __name__ == "__main__":
    try:
        _main(int(sys.argv[1]), sys.argv[2], sys.argv[3:])
    except BaseException:
        os._exit(1)  # its traceback would stand among the output of the program
