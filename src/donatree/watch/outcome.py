"""How a program ends: what the interpreter does with what nothing caught, and in which order."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from dataclasses import dataclass
from types import TracebackType
from typing import NoReturn

from donatree.consumed import active

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a program ended.

    Attributes:
        code: the exit code that Python would have ended with.
        ended: None where it ended well, else in short what ended it, ``SystemExit(3)``.
        signal: the signal that Python would have died of (``SIGINT`` after an uncaught
            ``KeyboardInterrupt``), else None; `leave` gives it to the shell.
    """

    code: int
    ended: str | None = None
    signal: int | None = None


def leave(outcome: Outcome) -> NoReturn:
    """Ends the process as Python would have: by exit code, or by the signal that ended it.

    It raises, so that the program's exit handlers run first; let nothing catch what it raises.

    Args:
        outcome: how the program ended.

    Raises:
        SystemExit: with the exit code.
        KeyboardInterrupt: nothing is printed for it; Python turns it into death by ``SIGINT``.
    """
    if outcome.signal is None:
        sys.exit(outcome.code)
    hook = sys.excepthook

    def silent(*_: object) -> None:
        sys.excepthook = hook

    sys.excepthook = silent
    raise KeyboardInterrupt


def outcome_of(error: BaseException | None) -> Outcome:
    """Does what the interpreter does with an exception that nothing caught.

    Prints it by the program's ``sys.excepthook``, without donatree's frames and with the diagnosis
    below it where it used an array that was donated; a SystemExit's message goes to standard error.

    Args:
        error: what ended the program, None where it ran to its end.

    Returns:
        The outcome.
    """
    if error is None:
        return Outcome(0)
    strip_own_frames(error)
    if isinstance(error, SystemExit):
        value = _exit_value(error)
        code = _exit_code(value)
        return Outcome(code, f"SystemExit({_text(value, repr)})" if code else None)
    active.annotate(error)
    if sys.version_info >= (3, 12):
        sys.last_exc = error
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, error.__traceback__
    leaving = _call_excepthook(error)
    ended = _in_short(error)
    if leaving is not None:
        return Outcome(_exit_code(_exit_value(leaving)), ended)
    if type(error) is KeyboardInterrupt:
        return Outcome(128 + signal.SIGINT, ended, int(signal.SIGINT))
    return Outcome(1, ended)


def wait_for_threads() -> None:
    """Waits for the program's non-daemon threads, as the interpreter does before it ends.

    It is the interpreter's own wait and not a loop over ``join``: the idle workers of a thread
    pool leave only on its word, and threads may be watching for the main thread's end. It waits
    once; called again at the interpreter's end it finds its work done.
    """
    try:
        threading._shutdown()  # type: ignore[attr-defined]
    except BaseException as caught:
        error = caught
    else:
        return
    strip_own_frames(error)
    sys.__excepthook__(type(error), error, error.__traceback__)


def flush() -> None:
    """Flushes standard error and standard output; a failure is left to the interpreter's end."""
    for stream in (sys.stderr, sys.stdout):
        with contextlib.suppress(Exception):
            stream.flush()


def strip_own_frames(error: BaseException) -> None:
    """Takes donatree's frames out of the tracebacks of ``error`` and of all it is chained to.

    Args:
        error: the exception; its tracebacks are changed in place.
    """
    seen: set[int] = set()
    pending: list[BaseException | None] = [error]
    while pending:
        link = pending.pop()
        if link is None or id(link) in seen:
            continue
        seen.add(id(link))
        pending += [link.__cause__, link.__context__]
        if isinstance(link, BaseExceptionGroup):
            pending += link.exceptions
        entries = traceback_entries(link.__traceback__)
        kept = [entry for entry in entries if not is_own(entry)]
        if len(kept) < len(entries):
            for entry, following in zip(kept, [*kept[1:], None], strict=True):
                entry.tb_next = following
            link.__traceback__ = kept[0] if kept else None


def traceback_entries(traceback: TracebackType | None) -> list[TracebackType]:
    """The entries of a traceback, outermost first."""
    entries = []
    while traceback is not None:
        entries.append(traceback)
        traceback = traceback.tb_next
    return entries


def is_own(entry: TracebackType) -> bool:
    """Whether the frame of a traceback's entry is donatree's."""
    frame = entry.tb_frame
    return frame.f_code.co_filename.startswith(_PACKAGE) or "__donatree__" in frame.f_globals


def _call_excepthook(error: BaseException) -> SystemExit | None:
    """Prints ``error`` by the program's own hook; returns the SystemExit that the hook raised."""
    hook = getattr(sys, "excepthook", None)
    if hook is None:
        _write_error("sys.excepthook is missing\n")
        hook = sys.__excepthook__
    try:
        hook(type(error), error, error.__traceback__)
    except SystemExit as leaving:
        return leaving
    except BaseException as caught:
        failure = caught
    else:
        return None
    strip_own_frames(failure)
    _write_error("Error in sys.excepthook:\n")
    sys.__excepthook__(type(failure), failure, failure.__traceback__)
    _write_error("\nOriginal exception was:\n")
    sys.__excepthook__(type(error), error, error.__traceback__)
    return None


def _exit_value(error: SystemExit) -> object:
    with contextlib.suppress(Exception):
        return error.code
    return error


def _exit_code(value: object) -> int:
    if value is None:
        return 0
    if isinstance(value, int):
        # Python makes a C long of it, -1 where it does not fit; the system keeps the low byte.
        return (value if -(1 << 63) <= value < 1 << 63 else -1) & 0xFF
    _write_error(_text(value, str) + "\n")
    return 1


def _in_short(error: BaseException) -> str:
    kind = type(error)
    name = kind.__qualname__
    if kind.__module__ not in ("builtins", "__main__"):
        name = f"{kind.__module__}.{name}"
    lines = [line.strip() for line in _text(error, str).splitlines() if line.strip()]
    return f"{name}: {lines[0]}" if lines else name


def _text(value: object, convert: type[str] | object) -> str:
    with contextlib.suppress(Exception):
        return convert(value)  # type: ignore[operator]
    return ""


def _write_error(text: str) -> None:
    with contextlib.suppress(Exception):
        (sys.stderr or sys.__stderr__).write(text)  # type: ignore[union-attr]
