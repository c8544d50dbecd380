"""Frames of the running program: which belong to the user, and where a call stands."""

from __future__ import annotations

import inspect
import linecache
import os
import site
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import islice
from types import CodeType, FrameType
from typing import Any

from donatree.ledger import Location

_OWN_ROOM = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_START_FOLDER = os.getcwd()


@cache
def _library_folders() -> tuple[str, ...]:
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    folders = {sysconfig.get_path(name) for name in names}
    try:
        folders.update(site.getsitepackages())
        folders.add(site.getusersitepackages())
    except (AttributeError, OSError):
        pass
    return tuple(sorted(os.path.abspath(folder) + os.sep for folder in folders if folder))


@cache
def is_user_file(filename: str) -> bool:
    """Whether a code object's file is the user's own: no library, not Python's, not donatree's."""
    if filename.startswith("<frozen") or filename == "<string>":
        return False
    if filename.startswith("<"):
        return True  # a notebook cell or an interactive line
    path = os.path.abspath(filename)
    return not path.startswith((*_library_folders(), _OWN_ROOM))


def user_frame(frame: FrameType | None) -> FrameType | None:
    """The innermost frame of the user's own code, from `frame` outwards."""
    while frame is not None and not is_user_file(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def shown(filename: str) -> str:
    """A file name as it is shown: relative to where the program started if it lies below."""
    if filename.startswith("<") or _is_in_memory(filename):
        return filename
    path = os.path.abspath(filename)
    inside = path.startswith(_START_FOLDER.rstrip(os.sep) + os.sep)
    return os.path.relpath(path, _START_FOLDER) if inside else path


def _is_in_memory(filename: str) -> bool:
    """Whether Python has the source under this very name and no file, as of a notebook's cell."""
    entry = linecache.cache.get(filename)
    return entry is not None and len(entry) > 1 and entry[1] is None


def location_of_frame(frame: FrameType | None) -> Location | None:
    """Where `frame` stands now, exact to columns where Python knows them."""
    if frame is None:
        return None
    return location_at(frame.f_code, frame.f_lasti, frame.f_lineno)


def location_at(code: CodeType, lasti: int, line_else: int | None = None) -> Location:
    """Where an instruction stands, exact to columns where Python knows them.

    Args:
        code: the code.
        lasti: the byte offset of the instruction; negative where none has run.
        line_else: the line where Python knows none; the first of the code if that is None too.
    """
    line, end_line, column, end_column = position(code, lasti) if lasti >= 0 else (None,) * 4
    return Location(
        file=shown(code.co_filename),
        line=line or line_else or code.co_firstlineno,
        column=column,
        end_line=end_line,
        end_column=end_column,
        function=code.co_qualname,
    )


def outwards(frame: FrameType | None) -> Iterator[FrameType]:
    """`frame` and the frames that called it, innermost first."""
    while frame is not None:
        yield frame
        frame = frame.f_back


def position(code: CodeType, lasti: int) -> tuple[int | None, int | None, int | None, int | None]:
    """Line, end line, column and end column of the instruction at byte offset `lasti`."""
    return next(islice(code.co_positions(), lasti // 2, None), (None, None, None, None))


def location_of_function(function: Any) -> Location | None:
    """Where a function, partial, method or callable object is defined; None if nobody can say."""
    seen = 0
    while seen < 32:
        seen += 1
        if hasattr(function, "__wrapped__"):
            function = function.__wrapped__
        elif hasattr(function, "func") and hasattr(function, "keywords"):
            function = function.func
        elif hasattr(function, "__func__"):
            function = function.__func__
        else:
            break
    code = getattr(function, "__code__", None)
    if code is None:
        method = type(function).__dict__.get("__call__")
        code = getattr(method, "__code__", None)
    if code is None:
        return None
    return Location(shown(code.co_filename), code.co_firstlineno, function=code.co_qualname)


def current_frame(depth: int = 1) -> FrameType:
    """The caller's frame, `depth` levels further out."""
    return sys._getframe(depth + 1)


def local(frame: FrameType, name: str) -> Any:
    """The value of one local of a running function; None where it has none of that name.

    Up to Python 3.12 `f_locals` is a snapshot that stays on the frame and keeps every local alive
    beyond its own end (measured); it is emptied at once.
    """
    return locals_of(frame, (name,)).get(name)


def locals_of(frame: FrameType, names: Iterable[str] | None = None) -> dict[str, Any]:
    """A copy of a frame's locals that leaves nothing on the frame; see `local`.

    Args:
        frame: of a function, class body or module.
        names: only these; all where None.
    """
    held = frame.f_locals
    wanted = list(held) if names is None else [name for name in names if name in held]
    found = {name: held[name] for name in wanted}
    if sys.version_info < (3, 13) and frame.f_code.co_flags & inspect.CO_OPTIMIZED:
        # Held by the frame, by `held` and by this call; more than that, and the program has it
        # from `locals()`.
        if sys.getrefcount(held) <= 3:
            held.clear()
    return found
