"""Running a script or module exactly as Python itself would, inside the current process.

What a program can see of its start (``sys.argv``, ``sys.path[0]``, ``__main__``, the frame under
its own, the depth left to recursion) is what ``python SCRIPT`` and ``python -m MODULE`` show it.
Modules, directories and zip files go through ``runpy._run_module_as_main``, the function that the
interpreter itself calls for them. What a user can see of the end is in `donatree.watch.outcome`.
"""

from __future__ import annotations

import builtins
import importlib.machinery
import importlib.util
import io
import marshal
import os
import pkgutil
import runpy
import sys
from collections.abc import Callable
from dataclasses import dataclass
from itertools import takewhile
from types import CodeType, ModuleType
from typing import Any, Literal

from donatree.watch import outcome as _outcome
from donatree.watch.outcome import Outcome, leave, strip_own_frames

__all__ = ["BadProgram", "Outcome", "Program", "leave", "run_program", "strip_own_frames"]

Call = tuple[Callable[..., object], tuple[Any, ...]]

# The frame under the program's own. A warning whose stacklevel reaches past the program is
# attributed to it, so it carries the name and the line that Python gives such a warning.
if sys.version_info >= (3, 13):
    _BOTTOM = compile("call(*args)", "<sys>", "exec").replace(co_firstlineno=0)
else:
    _BOTTOM = compile("call(*args)", "sys", "exec")


@dataclass(frozen=True, slots=True)
class Program:
    """What to run: a script (also a directory or zip file with ``__main__.py``) or a module.

    Attributes:
        kind: ``script`` for ``python NAME``, ``module`` for ``python -m NAME``.
        name: the path or the module's name as typed.
        args: what follows it on the command line.
    """

    kind: Literal["script", "module"]
    name: str
    args: tuple[str, ...] = ()


class BadProgram(Exception):  # noqa: N818
    """The program cannot be started at all; the message is one line for the user."""


def run_program(program: Program) -> Outcome:
    """Runs ``program`` to its end, its non-daemon threads included, and tells how it ended.

    An uncaught exception has been printed when this returns. ``sys.argv``, ``sys.path`` and
    ``__main__`` stay the program's, for its exit handlers. Call it once, from the main thread.

    Args:
        program: what to run.

    Returns:
        Its outcome; give it to `leave` once everything is reported. In a process that the program
        forked this returns too, where Python would have ended that process.

    Raises:
        BadProgram: it cannot be started: no such file or module, a syntax error in it, ...

    Example:
        >>> outcome = run_program(Program("script", "train.py", ("--steps", "3")))
    """
    call, args = _prepare_module(program) if program.kind == "module" else _prepare_script(program)
    error: BaseException | None = None
    try:
        _call_as_first_frame(call, args)
    except BaseException as caught:
        error = caught
    _outcome.flush()
    if error is not None:
        _raise_if_not_started(program, error)
    outcome = _outcome.outcome_of(error)
    if call is exec and not isinstance(error, SystemExit):
        for name in ("__file__", "__cached__"):  # Python takes them from a script that has ended
            args[1].pop(name, None)
    del error
    _outcome.wait_for_threads()
    _outcome.flush()
    return outcome


def _new_main() -> dict[str, Any]:
    """A fresh ``__main__`` with the attributes of the interpreter's own; returns its namespace."""
    main = ModuleType("__main__")
    namespace = main.__dict__
    namespace["__loader__"] = importlib.machinery.BuiltinImporter
    if sys.version_info < (3, 14):
        namespace["__annotations__"] = {}
    namespace["__builtins__"] = builtins
    sys.modules["__main__"] = main
    return namespace


def _prepare_module(program: Program) -> Call:
    _new_main()
    sys.argv = ["-m", *program.args]  # while its packages are imported; runpy puts the path then
    try:
        _set_first_path(os.getcwd())
    except OSError:
        _set_first_path(None)
    return runpy._run_module_as_main, (program.name,)  # type: ignore[attr-defined]


def _prepare_script(program: Program) -> Call:
    path = program.name
    if not os.path.isabs(path):
        # Not normalised (`./` and `../` stay in it), as in Python's own `__file__` and tracebacks.
        path = os.path.join(os.getcwd(), path)
    if pkgutil.get_importer(path) is not None:
        _new_main()
        sys.argv = [program.name, *program.args]
        _set_first_path(None)
        sys.path.insert(0, path)
        return runpy._run_module_as_main, ("__main__", False)  # type: ignore[attr-defined]
    code, loader = _load(program.name, path)
    namespace = _new_main()
    namespace.update(__file__=path, __cached__=None, __loader__=loader("__main__", path))
    sys.argv = [program.name, *program.args]
    _set_first_path(os.path.dirname(os.path.realpath(path)))
    return exec, (code, namespace)


def _set_first_path(folder: str | None) -> None:
    """Puts ``folder`` where Python put the launcher's own; under ``-P`` it put none."""
    if not sys.flags.safe_path:
        sys.path[:1] = [] if folder is None else [folder]


def _load(name: str, path: str) -> tuple[CodeType, Callable[[str, str], Any]]:
    """The code of a script and the class of its loader."""
    try:
        with io.open_code(path) as file:
            data = file.read()
        compiled = data.startswith(importlib.util.MAGIC_NUMBER)
        if compiled:
            return marshal.loads(data[16:]), importlib.machinery.SourcelessFileLoader
        if path.endswith(".pyc"):
            raise BadProgram(f"`{name}` was compiled by another version of Python")
        code = compile(data, path, "exec", dont_inherit=True)
    except (OSError, SyntaxError, ValueError, EOFError, TypeError) as error:
        raise BadProgram(_why_not_loaded(name, error)) from None
    return code, importlib.machinery.SourceFileLoader


def _why_not_loaded(name: str, error: Exception) -> str:
    if isinstance(error, (FileNotFoundError, NotADirectoryError)):
        return f"no such file: `{name}`"
    if isinstance(error, OSError):
        return f"cannot read `{name}`: {(error.strerror or str(error)).lower()}"
    if isinstance(error, SyntaxError):
        where = name if error.lineno is None else f"{name}:{error.lineno}"
        return f"syntax error at {where}: {error.msg}"
    return f"cannot load `{name}`: {error}"


def _call_as_first_frame(call: Callable[..., object], args: tuple[Any, ...]) -> None:
    """Calls with the recursion depth that a program started by Python has left."""
    frame, depth = sys._getframe(), 1
    while frame := frame.f_back:
        depth += 1
    if sys.version_info < (3, 12):  # each exec counts there, and Python itself has fewer of them
        depth += 2 if call is exec else 1
    sys.setrecursionlimit(sys.getrecursionlimit() + depth + 1)
    exec(_BOTTOM, {"__name__": "sys", "__donatree__": True, "call": call, "args": args})


def _raise_if_not_started(program: Program, error: BaseException) -> None:
    """Raises BadProgram where runpy could not find or load what was named.

    What came out of the user's own code, be it an ImportError or a SyntaxError of a package on
    the way to the module, is the program's own end and not meant.
    """
    entries = _outcome.traceback_entries(error.__traceback__)
    entries = [entry for entry in entries if not _outcome.is_own(entry)]
    finding = list(takewhile(lambda e: e.tb_frame.f_globals is runpy.__dict__, entries))
    if not finding:
        return
    if isinstance(error, SystemExit):
        refusal = error.__context__
        if len(entries) == 1 and isinstance(refusal, runpy._Error):  # type: ignore[attr-defined]
            raise BadProgram(_why_not_found(program, str(refusal))) from None
    elif isinstance(error, (OSError, SyntaxError, ValueError)):
        following = [entry.tb_frame.f_code.co_name for entry in entries[len(finding) :]]
        if following[:1] == ["get_code"]:
            name = getattr(error, "filename", None) or program.name
            raise BadProgram(_why_not_loaded(os.fsdecode(name), error)) from None


def _why_not_found(program: Program, text: str) -> str:
    if program.kind == "script" and text.startswith("can't find"):
        kind = "directory" if os.path.isdir(program.name) else "file"
        return f"the {kind} `{program.name}` has no `__main__.py`"
    return text[:1].lower() + text[1:].rstrip(".")
