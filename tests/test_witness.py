"""`donatree.watch.witness`: what is printed for programs that die, and that nobody else sees it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from donatree.watch import witness
from donatree.watch.witness import HEADLINE

SOURCE = Path(witness.__file__).parents[2]

pytestmark = pytest.mark.skipif(
    os.name != "posix" or os.getpid() == 1, reason="there are witnesses on POSIX only"
)

START = """\
import json, os, signal, sys, time
from donatree.watch.witness import Witness
witness = Witness.start("own_report:render")
assert witness is not None
print(os.getpid(), flush=True)
"""
TELL = START + 'witness.tell(\'{"state": "old"}\')\nwitness.tell(\'{"state": "new"}\')\n'
REPORT = f"{HEADLINE}\nreport of new\n"


RENDERER = """\
import json
print("to nowhere")

def render(text):
    return "report of " + json.loads(text)["state"]
"""


def start(
    folder: Path, text: str, *, renderer: str = RENDERER, through: tuple[str, ...] = ()
) -> subprocess.Popen[str]:
    """Starts the program ``text``; beside it lies the renderer that its witness imports."""
    (folder / "modules").mkdir()
    (folder / "modules" / "own_report.py").write_text(renderer)
    (folder / "prog.py").write_text(text)
    return subprocess.Popen(
        [*through, sys.executable, "prog.py"],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(SOURCE), str(folder / "modules")])},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(running: subprocess.Popen[str]) -> subprocess.CompletedProcess[str]:
    """Waits for its end, and for the end of everything that holds its output open."""
    try:
        out, err = running.communicate(timeout=60)
    finally:
        running.kill()
    return subprocess.CompletedProcess(running.args, running.returncode, out, err)


def run(folder: Path, text: str, **how: Any) -> subprocess.CompletedProcess[str]:
    return finish(start(folder, text, **how))


def witnesses_of(process: int) -> list[int]:
    """The running witnesses of a process; one that has ended has no command line any more."""
    if sys.platform != "linux":
        pytest.skip("processes are looked up in /proc")
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            words = path.read_bytes().split(b"\0")
            if str(process).encode() in words and any(w.endswith(b"witness.py") for w in words):
                found.append(int(path.parent.name))
    return found


def gone(process: int) -> bool:
    """Whether no witness of the process is left, after a generous while at most."""
    for _ in range(300):
        if not witnesses_of(process):
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize(
    ("death", "code"),
    [
        ("os._exit(3)", 3),
        ("os.kill(os.getpid(), signal.SIGKILL); time.sleep(60)", -signal.SIGKILL),
        ("os.kill(os.getpid(), signal.SIGTERM); time.sleep(60)", -signal.SIGTERM),
        ("os.killpg(os.getpid(), signal.SIGHUP); time.sleep(60)", -signal.SIGHUP),
        ("signal.signal(signal.SIGSEGV, signal.SIG_DFL)\nsignal.raise_signal(11)", -11),
        ("os.execv(sys.executable, [sys.executable, '-c', 'print(1)'])", 0),
        ("os.closerange(3, 1000); time.sleep(1); os._exit(4)", 4),
    ],
)
def test_a_program_that_dies_is_reported(death: str, code: int, tmp_path: Path) -> None:
    own_group = "os.setpgid(0, 0) if os.getpid() != os.getpgrp() else None\n"
    ended = run(tmp_path, TELL + own_group + death)
    assert (ended.stderr, ended.returncode) == (REPORT, code)
    assert "to nowhere" not in ended.stdout
    assert gone(int(ended.stdout.split()[0]))


@pytest.mark.parametrize("end", ["", "sys.exit(2)", "1 / 0"])
def test_a_program_that_ends_in_order_is_not(end: str, tmp_path: Path) -> None:
    ended = run(tmp_path, TELL + "witness.dismiss()\nwitness.tell('{}')\nwitness.dismiss()\n" + end)
    assert HEADLINE not in ended.stderr
    assert gone(int(ended.stdout))


def test_nothing_is_printed_where_nothing_was_told(tmp_path: Path) -> None:
    ended = run(tmp_path, START + "os._exit(1)")
    assert (ended.stderr, ended.returncode) == ("", 1)
    assert gone(int(ended.stdout))


def test_the_witness_belongs_to_nobody_and_holds_only_standard_error(tmp_path: Path) -> None:
    running = start(tmp_path, TELL + "input()\nwitness.dismiss()\n")
    assert running.stdout is not None
    process = int(running.stdout.readline())
    (found,) = witnesses_of(process)
    status = Path(f"/proc/{found}/stat").read_text().rpartition(")")[2].split()
    assert int(status[1]) not in (process, os.getpid())
    deadline = time.monotonic() + 60  # on a busy machine it takes its session a moment later
    while os.getsid(found) != found and time.monotonic() < deadline:
        time.sleep(0.05)
    assert os.getsid(found) == os.getpgid(found) == found
    files = {path.name: os.readlink(path) for path in Path(f"/proc/{found}/fd").iterdir()}
    assert files["1"] == os.devnull
    assert files["2"] == os.readlink(f"/proc/{process}/fd/2")
    assert not {os.readlink(f"/proc/{process}/fd/{n}") for n in (0, 1)} & {*files.values()}
    os.kill(found, signal.SIGTERM)
    os.kill(found, signal.SIGINT)
    assert witnesses_of(process) == [found]
    running.communicate("\n", timeout=60)
    assert gone(process)


def test_a_child_that_outlives_the_program_does_not_hold_up_the_report(tmp_path: Path) -> None:
    text = """\
child = os.fork()
if child == 0:
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    time.sleep(120)
    os._exit(0)
print(child, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
time.sleep(60)
"""
    ended = run(tmp_path, TELL + text)
    process, child = map(int, ended.stdout.split())
    os.kill(child, signal.SIGKILL)  # it was there until now
    assert ended.stderr == REPORT
    assert gone(process)


def test_a_forked_child_neither_tells_nor_dismisses(tmp_path: Path) -> None:
    text = """\
child = os.fork()
if child == 0:
    witness.tell('{"state": "of the child"}')
    witness.dismiss()
    os._exit(0)
os.waitpid(child, 0)
os._exit(0)
"""
    assert run(tmp_path, TELL + text).stderr == REPORT


def test_the_program_has_no_child_to_wait_for(tmp_path: Path) -> None:
    text = """\
import multiprocessing
try:
    os.wait()
except ChildProcessError:
    print("no children", multiprocessing.active_children())
with open(os.devnull) as file:
    print(file.fileno())
witness.dismiss()
"""
    ended = run(tmp_path, TELL + text)
    assert ended.stdout.splitlines()[1:] == ["no children []", "3"]
    assert ended.stderr == ""


def test_a_long_account_arrives_whole(tmp_path: Path) -> None:
    text = """\
for size in (10, 5_000_000, 5_000_001):
    state = "\u00e9\U0001f600" * (size // 6)
    witness.tell(json.dumps({"state": state, "size": size}, ensure_ascii=False))
os._exit(0)
"""
    renderer = """\
import json

def render(text):
    account = json.loads(text)
    return f"{len(text.encode()) > 5_000_000} {account['size']} {ascii(account['state'][-2:])}"
"""
    ended = run(tmp_path, START + text, renderer=renderer)
    assert ended.stderr == f"{HEADLINE}\nTrue 5000001 '\\xe9\\U0001f600'\n"


@pytest.mark.parametrize("render", ["not_there:render", "own_report:missing", "own_report:render"])
def test_without_a_renderer_the_account_is_the_report(render: str, tmp_path: Path) -> None:
    text = START.replace("own_report:render", render) + "witness.tell('{\"no\": 1}')\nos._exit(1)\n"
    ended = run(tmp_path, text)
    headline, account = ended.stderr.splitlines()
    assert headline == HEADLINE
    assert json.loads(account) == {"no": 1}


def test_a_witness_that_is_gone_harms_nothing(tmp_path: Path) -> None:
    text = """\
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
input()
for _ in range(3):
    witness.tell("x" * 1_000_000)
witness.dismiss()
print("ended well")
"""
    running = start(tmp_path, TELL + text)
    assert running.stdout is not None
    process = int(running.stdout.readline())
    (found,) = witnesses_of(process)
    os.kill(found, signal.SIGKILL)
    assert gone(process)
    out, err = running.communicate("\n", timeout=60)
    assert (out, err, running.returncode) == ("ended well\n", "", 0)


def test_a_dead_process_is_not_running_though_nobody_fetched_its_end() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        assert witness.is_running(child.pid)
        os.kill(child.pid, signal.SIGKILL)
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        os.kill(child.pid, 0)  # it is there still
        assert sys.platform != "linux" or not witness.is_running(child.pid)
    assert not witness.is_running(child.pid)


def test_a_file_of_the_program_is_never_written_to(tmp_path: Path) -> None:
    text = """\
os.closerange(3, 1000)
mine = os.open("mine", os.O_CREAT | os.O_RDWR)
for number in range(100, 300):
    os.dup2(mine, number)
witness.tell("{}")
witness.dismiss()
print(os.fstat(250).st_size, os.path.getsize("mine"))
os._exit(0)
"""
    ended = run(tmp_path, TELL + text)
    assert ended.stdout.splitlines()[1:] == ["0 0"]


def test_no_resource_warning_for_the_line(tmp_path: Path) -> None:
    text = "import warnings\nwarnings.simplefilter('error')\ndel witness\nimport gc\ngc.collect()\n"
    ended = run(tmp_path, START + text)
    assert (ended.stderr, ended.returncode) == ("", 0)


def test_there_is_no_witness_where_none_can_start(tmp_path: Path) -> None:
    text = """\
import resource, sys
from donatree.watch.witness import Witness
resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))
print(Witness.start())
executable, sys.executable = sys.executable, ""
print(Witness.start())
"""
    ended = run(tmp_path, text)
    assert (ended.stdout, ended.stderr) == ("None\nNone\n", "")


def test_standard_input_closed_by_the_caller(tmp_path: Path) -> None:
    text = TELL + "print(sys.stdin, flush=True)\nos._exit(1)\n"
    ended = run(tmp_path, text, through=("sh", "-c", '"$@" <&-', "sh"))
    assert ended.stdout.splitlines()[1:] == ["None"]
    assert ended.stderr == REPORT
