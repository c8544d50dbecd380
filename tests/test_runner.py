"""`donatree.watch.runner` against Python itself: one program, both ways, the same bytes."""

from __future__ import annotations

import os
import py_compile
import signal
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from donatree.watch import runner

SOURCE = Path(runner.__file__).parents[2]

LAUNCHER = """\
import sys
from donatree.watch.runner import BadProgram, Program, leave, run_program

kind = "script"
name, *args = sys.argv[1:]
if name == "-m":
    kind = "module"
    name, *args = args


def under_a_command_line(frames):
    if frames:
        return under_a_command_line(frames - 1)
    return run_program(Program(kind, name, tuple(args)))


try:
    outcome = under_a_command_line(20)
except BadProgram as error:
    sys.exit(f"bad program: {error}")
if sys.orig_argv[-1] == "--tell-outcome":
    print(outcome, file=sys.stderr)
leave(outcome)
"""

STATE = """\
import os, sys
import __main__ as main
print(sys.argv)
print(os.path.realpath(sys.path[0]) == sys.path[0], sys.path)
print([name for name in vars(main) if name not in ("os", "sys", "main")])
print(main.__name__, main.__file__, main.__cached__, main.__package__, main.__doc__)
print(type(main.__loader__).__name__, getattr(main.__loader__, "path", None))
print(type(main.__builtins__), sys.modules["__main__"] is main, globals() is vars(main))
spec = main.__spec__
print(spec and (spec.name, spec.origin, spec.parent, spec.loader is main.__loader__))
print("state shown")
"""


@dataclass(frozen=True)
class Case:
    name: str
    files: dict[str, str | bytes]
    shows: str  # what Python's own output must hold: two equal failures would prove nothing
    argv: tuple[str, ...] = ("prog.py",)
    code: int = 0
    stdin: str = ""
    flags: tuple[str, ...] = ()
    prepare: Callable[[Path], object] = field(default=lambda folder: None)


def script(name: str, text: str | bytes, shows: str, *args: str, code: int = 0, **more) -> Case:
    return Case(name, {"prog.py": text}, shows, ("prog.py", *args), code, **more)


def zip_app(folder: Path) -> None:
    with zipfile.ZipFile(folder / "app.pyz", "w") as file:
        file.writestr("__main__.py", STATE + "import inside\ninside.fail()\n")
        file.writestr("inside.py", "def fail():\n    raise LookupError('in the zip')\n")


def compiled(folder: Path) -> None:
    py_compile.compile(str(folder / "source.py"), cfile=str(folder / "prog.pyc"))


def link(folder: Path) -> None:
    (folder / "bin").mkdir()
    (folder / "bin" / "tool").symlink_to("../prog.py")


PACKAGE: dict[str, str | bytes] = {
    "pkg/__init__.py": "import sys\nprint('init', __name__, sys.argv[0])\nvalue = 7\n",
    "pkg/__main__.py": "from . import value\nprint('main', value)\n" + STATE,
    "pkg/mod.py": "from .other import twice\nfrom . import value\nprint(twice(value))\n" + STATE,
    "pkg/other.py": "def twice(x):\n    return 2 * x\n",
}

CASES = [
    script("state of a script", STATE, "state shown", "--flag", "two words", ""),
    script("safe path", STATE, "state shown", flags=("-P",)),
    Case("script elsewhere", {"sub/prog.py": STATE}, "state shown", ("./sub/../sub/prog.py",)),
    Case("script by link", {"prog.py": STATE}, "state shown", ("bin/tool",), prepare=link),
    Case("state of a package", PACKAGE, "main 7", ("-m", "pkg", "a", "b")),
    Case("state of a module", PACKAGE, "state shown", ("-m", "pkg.mod", "-x")),
    Case("module under safe path", PACKAGE, "No module named", ("-m", "pkg"), 1, flags=("-P",)),
    Case("directory", {"app/__main__.py": STATE}, "state shown", ("app", "arg")),
    Case("directory, safe path", {"app/__main__.py": STATE}, "shown", ("app",), flags=("-P",)),
    Case("zip app", {}, "in the zip", ("app.pyz", "arg"), 1, prepare=zip_app),
    Case("compiled", {"source.py": STATE}, "state shown", ("prog.pyc",), prepare=compiled),
    script(
        "chained causes",
        """\
class Trouble(Exception):
    pass

def inner():
    try:
        {}["missing"]
    except KeyError:
        raise Trouble("first")

def outer():
    try:
        inner()
    except Trouble as error:
        raise RuntimeError("second") from error

try:
    outer()
except RuntimeError as error:
    raise ExceptionGroup("several", [error, ValueError("one more")]) from None
""",
        "several (2 sub-exceptions)",
        code=1,
    ),
    Case(
        "failure in a module",
        {"pkg/__init__.py": "", "pkg/mod.py": "def f():\n    1 / 0\n\nf()\n"},
        "ZeroDivisionError",
        ("-m", "pkg.mod"),
        1,
    ),
    Case(
        "import error of the user's package",
        {"pkg/__init__.py": "import not_installed_at_all\n", "pkg/mod.py": ""},
        "No module named 'not_installed_at_all'",
        ("-m", "pkg.mod"),
        1,
    ),
    Case(
        "import error of the user's module",
        {"mod.py": "from collections import nothing_like_it\n"},
        "cannot import name",
        ("-m", "mod"),
        1,
    ),
    Case(
        "syntax error in what the script imports",
        {"prog.py": "import broken\n", "broken.py": "def f(:\n"},
        "SyntaxError",
        code=1,
    ),
    Case(
        "syntax error in the package of the module",
        {"pkg/__init__.py": "def f(:\n", "pkg/mod.py": ""},
        "SyntaxError",
        ("-m", "pkg.mod"),
        1,
    ),
    Case(
        "exit in the package of the module",
        {"pkg/__init__.py": "import sys\nsys.exit('No module named pkg')\n", "pkg/mod.py": ""},
        "No module named pkg",
        ("-m", "pkg.mod"),
        1,
    ),
    Case(
        "module already imported by its package",
        {"pkg/__init__.py": "from . import mod\n", "pkg/mod.py": "print(__name__)\n"},
        "RuntimeWarning",
        ("-m", "pkg.mod"),
    ),
    script(
        "failure in a thread",
        "import threading\n"
        "t = threading.Thread(target=lambda: 1 / 0)\nt.start()\nt.join()\nprint('main goes on')\n",
        "Exception in thread Thread-1",
    ),
    script(
        "threads outlive the main code",
        """\
import atexit, sys, threading, time
from concurrent.futures import ThreadPoolExecutor

def late():
    while threading.main_thread().is_alive():
        time.sleep(0.01)
    print("late", globals().get("__file__"), sep=": ")

atexit.register(print, "exit handler")
threading.Thread(target=late).start()
pool = ThreadPoolExecutor(1)
pool.submit(print, "pooled").result()
print("main is through")
""",
        "main is through\nlate: None\nexit handler",
    ),
    *(
        script(f"exit with {value}", f"import sys\nsys.exit({value})\n", shows, code=code)
        for value, shows, code in [
            ("None", "", 0),
            ("0", "", 0),
            ("3", "", 3),
            ("True", "", 1),
            ("-1", "", 255),
            ("256 + 5", "", 5),
            ("'a text'", "a text\n", 1),
            ("('a', 1)", "('a', 1)\n", 1),
            ("2.5", "2.5\n", 1),
        ]
    ),
    script("raise SystemExit", "raise SystemExit\n", ""),
    script(
        "exit keeps the file for exit handlers",
        "import atexit, sys\natexit.register(lambda: print(__file__))\nsys.exit(4)\n",
        "prog.py",
        code=4,
    ),
    script(
        "exit handlers",
        "import atexit\natexit.register(lambda: print('last', '__file__' in globals()))\n1 / 0\n",
        "last False",
        code=1,
    ),
    script(
        "keyboard interrupt",
        "import atexit, signal\natexit.register(print, 'exit handler')\n"
        "def wait():\n    signal.raise_signal(signal.SIGINT)\nwait()\n",
        "exit handler",
        code=-signal.SIGINT,
    ),
    Case(
        "keyboard interrupt of a module",
        {"mod.py": "raise KeyboardInterrupt\n"},
        "KeyboardInterrupt",
        ("-m", "mod"),
        -signal.SIGINT,
    ),
    script(
        "a kind of keyboard interrupt",
        "class Stop(KeyboardInterrupt):\n    pass\nraise Stop('now')\n",
        "Stop: now",
        code=1,
    ),
    script("standard input", "print(input().upper(), [*open(0)])\n", "ONE", stdin="one\ntwo\n"),
    script(
        "spawned processes",
        """\
import multiprocessing, sys
print("imported as", __name__, flush=True)

def square(x):
    return x * x, __name__, sys.argv[1:], "__main__" in sys.modules

if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.map(square, [3]))
""",
        "[(9, '__mp_main__', ['arg'], True)]",
        "arg",
    ),
    Case(
        "spawned processes of a module",
        {
            "pkg/__init__.py": "",
            "pkg/mod.py": """\
import multiprocessing
from . import __name__ as package

def whose(_):
    return package, __name__, __spec__.name

if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.map(whose, [0]))
""",
        },
        "[('pkg', '__mp_main__', 'pkg.mod')]",
        ("-m", "pkg.mod"),
    ),
    script(
        "pickle and dataclass",
        """\
import dataclasses, pickle, typing

@dataclasses.dataclass
class Point:
    x: "int"
    y: "typing.ClassVar[int]" = 2

again = pickle.loads(pickle.dumps(Point(3)))
print(again, type(again) is Point, Point.__module__, typing.get_type_hints(Point))
""",
        "Point(x=3) True __main__",
    ),
    script(
        "argparse",
        "import argparse\nargparse.ArgumentParser().parse_args()\n",
        "usage: prog.py",
        "--nothing",
        code=2,
    ),
    Case(
        "argparse of a package",
        {
            "pkg/__init__.py": "",
            "pkg/__main__.py": "import argparse\nargparse.ArgumentParser().parse_args()\n",
        },
        "usage: ",
        ("-m", "pkg", "--nothing"),
        2,
    ),
    script(
        "unittest",
        "import unittest\nclass T(unittest.TestCase):\n    def test(self): pass\n"
        "unittest.main(argv=['prog', '-h'])\n",
        "usage: prog",
    ),
    script(
        "custom excepthook",
        "import sys, traceback\ndef hook(kind, error, tb):\n"
        "    print(kind, error, sys.exc_info(), sys.last_value is error)\n"
        "    traceback.print_tb(tb, file=sys.stdout)\n"
        "sys.excepthook = hook\n1 / 0\n",
        "division by zero (None, None, None) True",
        code=1,
    ),
    script(
        "excepthook that fails",
        "import sys\ndef hook(*_):\n    raise LookupError('in the hook')\n"
        "sys.excepthook = hook\n1 / 0\n",
        "Original exception was:",
        code=1,
    ),
    script(
        "excepthook that exits",
        "import sys\nsys.excepthook = lambda *_: sys.exit(9)\n1 / 0\n",
        "",
        code=9,
    ),
    script("no excepthook", "import sys\ndel sys.excepthook\n1 / 0\n", "is missing", code=1),
    script(
        "argv taken apart",
        "import sys\nsys.argv.pop(0)\ndel sys.argv[:1]\nprint(sys.argv)\n",
        "['c']",
        "b",
        "c",
    ),
    script(
        "cookie and shebang",
        b"#!/usr/bin/env python\n# -*- coding: latin-1 -*-\nprint(ascii('\xe9'))\n1 / 0  # \xe9\n",
        "'\\xe9'",
        code=1,
    ),
    script("exec", "exec('def f():\\n    1 / 0')\nexec('f()')\n", 'File "<string>"', code=1),
    script(
        "chdir",
        "import os, sys\nos.mkdir('deep') if not os.path.exists('deep') else None\n"
        "os.chdir('deep')\nprint(__file__, sys.argv)\n1 / 0\n",
        "1 / 0",
        code=1,
    ),
    script(
        "warnings",
        "import warnings\ndef f(level):\n    warnings.warn(f'level {level}', stacklevel=level)\n"
        "f(1)\nf(2)\nf(3)\nwarnings.warn('old', DeprecationWarning)\n1 is 1\n",
        "prog.py:5: UserWarning: level 2",
    ),
    script(
        "source of a main function",
        "import inspect\ndef f():\n    return 'here'  # with its comment\n"
        "print(inspect.getsource(f), inspect.getsourcefile(f))\n",
        "# with its comment",
    ),
    script(
        "generator left open",
        "def g():\n    try:\n        yield 1\n    finally:\n        print('closed')\n"
        "it = g()\nnext(it)\nprint('end')\n",
        "end\nclosed",
    ),
    script(
        "main replaced by the script",
        "import sys\nmain = sys.modules['__main__']\nsys.modules['__main__'] = 3\n"
        "print('replaced')\n",
        "replaced",
    ),
    script("recursion", "def f(n):\n    return f(n + 1)\nf(0)\n", "996 more times", code=1),
    script(
        "future imports stay donatree's own",
        "def f(x: undefined_name): pass\n",
        "NameError" if sys.version_info < (3, 14) else "",
        code=1 if sys.version_info < (3, 14) else 0,
    ),
    script(
        "standard output closed by the program",
        "import sys\nprint('said')\nsys.stdout.close()\nsys.stderr.write('end\\n')\n",
        "end",
    ),
]


def environment() -> dict[str, str]:
    shut = ("PYTHON", "FORCE_COLOR", "COLUMNS")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(shut)}
    return kept | {"PYTHONPATH": str(SOURCE)}


def run(
    folder: Path, *command: str, stdin: str = "", flags: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *flags, *command],
        cwd=folder,
        env=environment(),
        input=stdin,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture
def launcher(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("launcher") / "launch.py"
    path.write_text(LAUNCHER)
    return str(path)


def write(folder: Path, files: dict[str, str | bytes]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_runs_as_python_itself(case: Case, tmp_path: Path, launcher: str) -> None:
    write(tmp_path, case.files)
    case.prepare(tmp_path)
    plain = run(tmp_path, *case.argv, stdin=case.stdin, flags=case.flags)
    assert (case.shows in plain.stdout + plain.stderr, plain.returncode) == (True, case.code), plain
    watched = run(tmp_path, launcher, *case.argv, stdin=case.stdin, flags=case.flags)
    if "No module named" in plain.stderr and not plain.stderr.startswith("Traceback"):
        plain.stderr = plain.stderr.replace(f"{sys.executable}: N", "bad program: n")
    assert watched.stdout == plain.stdout
    assert watched.stderr == plain.stderr
    assert watched.returncode == plain.returncode


def test_the_comparison_can_fail(tmp_path: Path, launcher: str) -> None:
    write(tmp_path, {"prog.py": "import sys\nprint('donatree.watch.runner' in sys.modules)\n"})
    assert run(tmp_path, "prog.py").stdout == "False\n"
    assert run(tmp_path, launcher, "prog.py").stdout == "True\n"


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("x = 1\n", "Outcome(code=0, ended=None, signal=None)"),
        ("raise SystemExit(0)\n", "Outcome(code=0, ended=None, signal=None)"),
        ("raise SystemExit(3)\n", "Outcome(code=3, ended='SystemExit(3)', signal=None)"),
        ("raise SystemExit('no')\n", "Outcome(code=1, ended=\"SystemExit('no')\", signal=None)"),
        # What Python itself prints for these two depends on its version: an error left behind.
        ("raise SystemExit(1 << 90)\n", "Outcome(code=255, ended='SystemExit(1237940"),
        (
            "class Bad:\n    def __str__(self): 1 / 0\n    __repr__ = __str__\n"
            "raise SystemExit(Bad())\n",
            "Outcome(code=1, ended='SystemExit()', signal=None)",
        ),
        ("raise RuntimeError('a\\nb')\n", "Outcome(code=1, ended='RuntimeError: a', signal=None)"),
        ("import json\njson.loads('')\n", "ended='json.decoder.JSONDecodeError: Expecting value"),
        ("class Own(Exception): pass\nraise Own\n", "Outcome(code=1, ended='Own', signal=None)"),
        ("raise KeyboardInterrupt\n", "Outcome(code=130, ended='KeyboardInterrupt', signal=2)"),
    ],
)
def test_the_outcome_says_how_it_ended(
    text: str, outcome: str, tmp_path: Path, launcher: str
) -> None:
    write(tmp_path, {"prog.py": text})
    shown = run(tmp_path, launcher, "prog.py", "--tell-outcome").stderr.splitlines()[-1]
    assert outcome in shown


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["missing.py"], "no such file: `missing.py`"),
        (["prog.py/x.py"], "no such file: `prog.py/x.py`"),
        (["empty"], "the directory `empty` has no `__main__.py`"),
        (["other.zip"], "the file `other.zip` has no `__main__.py`"),
        (["broken.py"], "syntax error at broken.py:2: '(' was never closed"),
        (["indent.py"], "syntax error at indent.py:2: unexpected indent"),
        (["old.pyc"], "`old.pyc` was compiled by another version of Python"),
        (["app"], "syntax error at {folder}/app/__main__.py:1: invalid syntax"),
        (["-m", "broken"], "syntax error at {folder}/broken.py:2: '(' was never closed"),
        (["-m", "missing"], "no module named missing"),
        (
            ["-m", "missing.mod"],
            "error while finding module specification for 'missing.mod' "
            "(ModuleNotFoundError: No module named 'missing')",
        ),
        (
            ["-m", "empty"],
            "no module named empty.__main__; 'empty' is a package and cannot be directly executed",
        ),
        (["-m", "math.x"], "error while finding module specification for 'math.x' "),
        (["-m", ".prog"], "relative module names not supported"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_cannot_be_started_is_one_clear_line(
    argv: list[str], message: str, tmp_path: Path, launcher: str
) -> None:
    files: dict[str, str | bytes] = {
        "prog.py": "print('ran')\n",
        "empty/module.py": "",
        "empty/__init__.py": "",
        "broken.py": "x = 1\nprint(x\n",
        "indent.py": "x = 1\n  y = 2\n",
        "old.pyc": b"\x00\x00\r\n" + bytes(20),
        "app/__main__.py": "a b\n",
    }
    write(tmp_path, files)
    zipfile.ZipFile(tmp_path / "other.zip", "w").close()
    ended = run(tmp_path, launcher, *argv)
    line = "bad program: " + message.format(folder=tmp_path)
    assert ended.stderr.startswith(line)
    assert (ended.stdout, ended.stderr.count("\n"), ended.returncode) == ("", 1, 1)


def test_a_file_that_cannot_be_read(tmp_path: Path, launcher: str) -> None:
    (tmp_path / "prog.py").symlink_to("prog.py")
    ended = run(tmp_path, launcher, "prog.py")
    assert ended.stderr.startswith("bad program: cannot read `prog.py`: too many levels of symb")


def test_no_frame_of_donatree_anywhere_in_a_chain(tmp_path: Path, launcher: str) -> None:
    text = """\
from donatree.ledger import by_bytes

class Bad:
    @property
    def bytes(self):
        raise LookupError("first")

def chained():
    try:
        by_bytes([Bad(), Bad()])
    except LookupError as error:
        raise ValueError("second") from error

try:
    chained()
except ValueError as error:
    by_bytes([Bad()])
"""
    write(tmp_path, {"prog.py": text})
    plain = run(tmp_path, "prog.py")
    own = [
        line for line in plain.stderr.splitlines() if "ledger/entry.py" in line.replace("\\", "/")
    ]
    assert len(own) == 4
    watched = run(tmp_path, launcher, "prog.py")
    assert str(SOURCE) not in watched.stderr
    assert watched.stderr.count("in bytes") == 2
    assert "LookupError: first\n\nThe above exception was the direct cause" in watched.stderr


def test_a_forked_child_ends_with_its_own_outcome(tmp_path: Path, launcher: str) -> None:
    text = """\
import os, sys
if os.fork() == 0:
    sys.exit(5)
print(os.waitstatus_to_exitcode(os.wait()[1]))
"""
    write(tmp_path, {"prog.py": text})
    ended = run(tmp_path, launcher, "prog.py")
    assert (ended.stdout, ended.stderr, ended.returncode) == ("5\n", "", 0)
