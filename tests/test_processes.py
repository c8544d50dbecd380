"""Programs of several processes: two real ones that meet, compile, lose a leaf, and die."""

from __future__ import annotations

import dataclasses
import inspect
import json as plain_json
import os
import re
import signal
import socket
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any, NamedTuple

import jsonschema
import pytest

import programs
import sample_accounts
from donatree.ledger import Account, Fault, Finding, Gate, Ledger, Live, Process
from donatree.processes import folder as folders
from donatree.processes import waiting
from donatree.processes.folder import Folder
from donatree.processes.group import Group
from donatree.processes.merge import merge
from donatree.processes.run import Run, is_alive, namespace
from donatree.reports import json, render
from donatree.reports.processes import named
from donatree.watch.witness import HEADLINE

pytestmark = pytest.mark.skipif(os.name != "posix", reason="processes are killed by signal")

START = """
    import atexit, os, signal, sys, time
    index, port = int(sys.argv[1]), sys.argv[2]
    import jax, jax.numpy as jnp, numpy as np
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(f"localhost:{port}", 2, index)
    from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
    sharding = NamedSharding(Mesh(np.array(jax.devices()), ("data",)), P("data"))
    def split(*shape):
        mine = np.ones((shape[0] // 2, *shape[1:]), np.float32)
        lent = jax.make_array_from_process_local_data(sharding, mine, shape)
        return jax.jit(jnp.copy)(lent)  # in memory of XLA's own: a CPU may use numpy's
    def step(state):
        total = 4 * state["b"].sum()  # over both processes
        return {"w": state["w"] * 2, "b": (state["b"] + total).astype(jnp.bfloat16)}
    def kept(state):
        return {"w": state["w"] * 2, "b": state["b"] + state["b"].sum()}
    def extra(x):
        return x.astype(jnp.float16)
    state = {"w": split(4, 4), "b": split(4)}
"""
STEP = """
    state = jax.jit(step, donate_argnums=0)(state)
    print(index, float(state["b"].addressable_shards[0].data[0]), flush=True)
"""
ALONE = "    atexit.register(os._exit, 0)  # JAX would wait for the one that is dead\n"
EXTRA = """
    if index == 1:
        jax.jit(extra, donate_argnums=0)(jnp.ones(7))
"""


class Pair(NamedTuple):
    """Two processes that have ended."""

    folder: Path
    zero: programs.Ended
    one: programs.Ended


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("localhost", 0))
        return found.getsockname()[1]


def start(folder: Path, index: int, port: int, *options: str) -> subprocess.Popen[str]:
    """Starts one process under donatree; without it where there are no options."""
    under = ["-m", "donatree", "run", *options] if options else []
    return subprocess.Popen(
        [sys.executable, *under, "train.py", str(index), str(port)],
        cwd=folder,
        env=programs.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(running: subprocess.Popen[str]) -> programs.Ended:
    try:
        out, err = running.communicate(timeout=120)
    finally:
        running.kill()
    said = [line for line in out.splitlines(keepends=True) if not line.startswith("[Gloo]")]
    return programs.Ended(running.returncode, "".join(said), err)


def pair(
    folder: Path,
    text: str,
    zero: tuple[str, ...] = ("--json", "report.json"),
    one: tuple[str, ...] = ("--json", "report.json"),
) -> Pair:
    """Runs a program in two processes."""
    programs.write(folder, START + text)
    port = free_port()
    running = [start(folder, index, port, *how) for index, how in enumerate((zero, one))]
    ended = [finish(each) for each in running]
    return Pair(folder, *ended)


def report_of(run: Pair) -> dict[str, Any]:
    return plain_json.loads((run.folder / "report.json").read_text())


def ledger_of(run: Pair, index: int) -> dict[str, Any]:
    return plain_json.loads((run.folder / f"donatree-ledgers/process-000{index}.json").read_text())


# A run that ends well.


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Pair:
    return pair(tmp_path_factory.mktemp("both"), STEP + EXTRA)


def test_the_two_processes_really_worked_together(both: Pair) -> None:
    assert (both.zero.out, both.one.out) == ("0 17.0\n", "1 17.0\n")
    assert (both.zero.code, both.one.code) == (0, 0), both.zero.err + both.one.err
    assert ledger_of(both, 0)["ledgers"][0]["devices"] == 2


def test_process_0_reports_once_for_both(both: Pair) -> None:
    report = both.zero.err
    assert report.count("donatree 0.") == 1
    assert "2 processes, merged; ledgers in donatree-ledgers/\n" in report
    assert report.count("step (train.py:") == 1
    assert report.count("error[DT402]: `state['b']` is donated as float32") == 1
    assert "32 of 40 bytes, 1 of 2 leaves" in report


def test_the_other_process_says_where_its_ledger_is_and_no_more(both: Pair) -> None:
    assert both.one.err == (
        "donatree: process 1 of 2: its ledger is in donatree-ledgers/process-0001.json; "
        "process 0 reports\n"
    )


def test_what_only_one_process_compiled_says_so(both: Pair) -> None:
    step, extra = report_of(both)["ledgers"]
    assert (step["function"], extra["function"]) == ("step", "extra")
    assert "only in process 1 of 2" in extra["notes"]
    assert not any("only in" in note for note in step["notes"])
    assert "= note: only in process 1 of 2" in both.zero.err


def test_every_ledger_on_disk_is_a_valid_report_of_its_own(both: Pair) -> None:
    for index, functions in enumerate((["step"], ["step", "extra"])):
        document = ledger_of(both, index)
        jsonschema.validate(document, json.schema(), jsonschema.Draft202012Validator)
        assert [ledger["function"] for ledger in document["ledgers"]] == functions
        [process] = document["processes"]
        assert (process["index"], process["count"], process["status"]) == (index, 2, "ended")
        assert process["file"] == f"donatree-ledgers/process-000{index}.json"
        assert document["ledgers"][0]["alias_size_in_bytes"] == 32
    assert {path.name for path in (both.folder / "donatree-ledgers").iterdir()} == {
        "process-0000.json",
        "process-0001.json",
        "run.json",
    }


def test_the_json_report_is_the_merged_one(both: Pair) -> None:
    document = report_of(both)
    jsonschema.validate(document, json.schema(), jsonschema.Draft202012Validator)
    assert [each["status"] for each in document["processes"]] == ["ended", "ended"]
    assert [each["pid"] for each in document["processes"]] == [None, None]
    assert json.loads(plain_json.dumps(document)).processes[1].index == 1


# Runs that do not.


def test_a_process_that_is_killed_does_not_take_the_report_with_it(tmp_path: Path) -> None:
    killed = "    if index == 1:\n        os.kill(os.getpid(), signal.SIGKILL)\n"
    run = pair(tmp_path, ALONE + STEP + EXTRA + killed)
    assert (run.zero.code, run.one.code) == (0, -signal.SIGKILL)
    assert "= note: process 1 of 2 died; what had been learnt there until then" in run.zero.err
    assert "extra (train.py:" in run.zero.err
    assert report_of(run)["processes"][1]["status"] == "died"
    assert HEADLINE in run.one.err
    assert run.one.err.endswith("process-0001.json; process 0 reports\n")
    assert "promised" not in run.one.err


def test_process_0_that_is_killed_is_reported_with_the_others(tmp_path: Path) -> None:
    killed = """
    if index == 0:
        while "extra" not in open("donatree-ledgers/process-0001.json").read():
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    run = pair(tmp_path, ALONE + STEP + EXTRA + killed)
    assert run.zero.code == -signal.SIGKILL
    report = run.zero.err.partition(HEADLINE)[2]
    assert "2 processes, merged; ledgers in donatree-ledgers/\n" in report
    assert re.search(r"= note: process(es 0 and 1| 0) of 2 died", report)  # JAX may end the other
    assert "step (train.py:" in report
    assert "extra (train.py:" in report
    assert ledger_of(run, 0)["processes"][0]["status"] == "died"


def test_a_process_that_fails_has_ended_and_the_report_says_how(tmp_path: Path) -> None:
    run = pair(tmp_path, STEP + "    if index == 1:\n        raise ValueError('mine')\n")
    assert "ValueError: mine" in run.one.err.splitlines()[-2]
    assert "the program ended with ValueError: mine in process 1" in run.zero.err
    assert [each["ended"] for each in report_of(run)["processes"]] == [None, "ValueError: mine"]


def test_a_process_that_goes_on_is_waited_for_no_longer_than_asked(tmp_path: Path) -> None:
    waits = """
    if index == 1:
        while not os.path.exists("report.json"):
            time.sleep(0.05)
    """
    options = ("--json", "report.json", "--wait", "0.3")
    run = pair(tmp_path, STEP + waits, options, options)
    assert "= note: process 1 of 2 had not ended; what had been learnt there" in run.zero.err
    assert report_of(run)["processes"][1]["status"] == "running"
    assert ledger_of(run, 1)["processes"][0]["status"] == "ended"


# Which files are merged.


def test_an_earlier_run_in_the_folder_is_not_merged(both: Pair, tmp_path: Path) -> None:
    ledgers = tmp_path / "donatree-ledgers"
    ledgers.mkdir()
    for path in (both.folder / "donatree-ledgers").iterdir():
        (ledgers / path.name).write_bytes(path.read_bytes())
    (ledgers / "process-0002.json").write_bytes((ledgers / "process-0001.json").read_bytes())
    (ledgers / "process-0003.json").write_text('{"mine": "not a ledger"}')
    run = pair(tmp_path, STEP, ("--json", "report.json", "--wait", "0.3"), ())
    assert "extra" in (both.folder / "donatree-ledgers/process-0001.json").read_text()
    assert [ledger["function"] for ledger in report_of(run)["ledgers"]] == ["step"]
    assert [each["status"] for each in report_of(run)["processes"]] == ["ended", "missing"]
    assert (
        "= note: process 1 of 2 left no ledger in donatree-ledgers/: not run by `donatree run`, or"
        in run.zero.err
    )
    assert {path.name for path in ledgers.iterdir()} == {
        "process-0000.json",
        "process-0003.json",
        "run.json",
    }


def test_a_process_that_shares_no_folder_keeps_its_ledger_and_says_so(tmp_path: Path) -> None:
    quick = ("--json", "report.json", "--wait", "0.3")
    run = pair(tmp_path, STEP, quick, ("--ledgers", "other"))
    assert "process 1 of 2 left no ledger in donatree-ledgers/" in run.zero.err
    assert "its ledger is in other/process-0001.json; process 0 does not see it" in run.one.err
    document = plain_json.loads((tmp_path / "other/process-0001.json").read_text())
    assert document["ledgers"][0]["promised_bytes"] == 40
    assert not (tmp_path / "other/run.json").exists()


def test_strict_in_process_0_counts_what_only_another_process_lost(tmp_path: Path) -> None:
    whole = "    state = jax.jit(kept, donate_argnums=0)(state)\n"
    run = pair(tmp_path, whole + EXTRA, ("--strict", "--json", "report.json"), ("--strict",))
    kept, extra = report_of(run)["ledgers"]
    assert (len(kept["findings"]), len(extra["findings"])) == (0, 1)
    assert (run.zero.code, run.one.code) == (1, 1)


def test_one_process_leaves_nothing_on_disk(tmp_path: Path) -> None:
    text = f"""
        import jax, jax.numpy as jnp
        jax.distributed.initialize("localhost:{free_port()}", 1, 0)
        jax.jit(lambda x: x + 1, donate_argnums=0)(jnp.ones(3))
    """
    ended, report = programs.account(tmp_path, text)
    assert ended.code == 0, ended.err
    assert "process" not in ended.err
    assert report["processes"] == []
    assert not (tmp_path / "donatree-ledgers").exists()


# Merging, without processes.

ENDED = tuple(Process(i, 3, "host", 40 + i, "ended", f"d/process-000{i}.json") for i in range(3))
LOST = Finding("DT402", "`state.b` drifts", ("state.b",), 16)


def ledger(
    stopped_at: Gate | None = None, said: str = "seen", *findings: Finding, **more: Any
) -> Ledger:
    """A ledger of two leaves, the second of which may be lost."""
    whole = sample_accounts.entry("state.w", 0, sample_accounts.spec("float32", 4, 4))
    drifts = sample_accounts.entry(
        "state.b",
        1,
        sample_accounts.spec("float32", 4),
        stopped_at=stopped_at,
        finding=findings[0].code if findings else None,
        evidence={gate.value: said for gate in Gate},
    )
    return sample_accounts.ledger([whole, drifts], *findings, **more)


def merged(*ledgers: tuple[Ledger, ...], **more: Any) -> Account:
    accounts = [sample_accounts.account(*each, **more) for each in ledgers]
    return merge(list(zip(ENDED, accounts, strict=False)))


def test_equal_ledgers_become_one_and_keep_all_they_say() -> None:
    lost = ledger(Gate.GRANTED, "seen", LOST)
    account = merged((lost,), (lost,), (lost,))
    assert account.ledgers == (lost,)
    assert account.processes == tuple(dataclasses.replace(each, pid=None) for each in ENDED)


def test_the_worst_verdict_stands_and_names_its_process() -> None:
    of_one = ledger(Gate.GRANTED, "one", LOST)
    of_two = ledger(Gate.KEPT, "two", Finding("DT201", "`state.b` is unused", ("state.b",), 16))
    [made] = merged((ledger(),), (of_one,), (of_two,)).ledgers
    assert [entry.stopped_at for entry in made.entries] == [None, Gate.KEPT]
    assert made.entries[1].finding == "DT201"
    assert made.entries[1].evidence["kept"] == "process 2: two"
    assert made.entries[1].evidence["asked"] == "two"
    assert made.entries[0] == ledger().entries[0]
    assert [finding.notes for finding in made.findings] == [
        ("only in process 1 of 3",),
        ("only in process 2 of 3",),
    ]


def test_what_one_process_has_beside_is_kept_with_a_note() -> None:
    beside = ledger(function="eval")
    account = merged((ledger(),), (ledger(), beside), (ledger(), beside))
    step, other = account.ledgers
    assert step.notes == ()
    assert other == dataclasses.replace(beside, notes=("only in processes 1 and 2 of 3",))


def test_nothing_is_said_of_a_process_that_did_not_come_so_far() -> None:
    dead = dataclasses.replace(ENDED[1], status="died")
    gone = Process(2, 3, status="missing")
    accounts = (
        sample_accounts.account(ledger(), ledger(function="later")),
        sample_accounts.account(),
    )
    account = merge([(ENDED[0], accounts[0]), (dead, accounts[1]), (gone, None)])
    assert [each.notes for each in account.ledgers] == [(), ()]
    assert [each.status for each in account.processes] == ["ended", "died", "missing"]


def test_jits_of_one_function_with_different_outcomes_are_told_apart() -> None:
    kept, lost = ledger(), ledger(Gate.GRANTED, "seen", LOST)
    account = merged((kept, lost), (lost, kept), (kept,))
    assert [each.entries for each in account.ledgers] == [kept.entries, lost.entries]
    assert [each.notes for each in account.ledgers] == [(), ("only in processes 0 and 1 of 3",)]


def test_other_leaves_are_another_ledger() -> None:
    other = sample_accounts.ledger(
        [sample_accounts.entry("state.w", 0, sample_accounts.spec("int32"))]
    )
    account = merged((ledger(),), (other,))
    assert [len(each.entries) for each in account.ledgers] == [2, 1]
    assert account.ledgers[1].notes == ("only in process 1 of 3",)


def test_a_gate_that_one_process_did_not_check_is_said_to_be() -> None:
    checked = (*ledger().checked, Gate.HONOURED)
    [made] = merged((ledger(),), (ledger(checked=checked),)).ledgers
    assert made.checked == checked
    assert made.notes == ("gate honoured was not checked in process 0 of 3",)


def test_totals_come_from_a_process_that_read_them() -> None:
    live = Live(100, 100, 80, 0)
    [made] = merged((ledger(),), (ledger(live=live),)).ledgers
    assert (made.live, made.alias_size_in_bytes) == (live, 80)


def test_findings_about_the_program_are_told_once() -> None:
    accounts = [
        sample_accounts.account(findings=(LOST,)),
        sample_accounts.account(findings=(LOST, dataclasses.replace(LOST, code="DT102"))),
    ]
    account = merge(list(zip(ENDED, accounts, strict=False)))
    assert [(each.code, each.notes) for each in account.findings] == [
        ("DT402", ()),
        ("DT102", ("only in process 1 of 3",)),
    ]


def test_faults_and_ends_name_their_processes() -> None:
    fault = Fault("read", "KeyError: 1", "trace")
    accounts = [
        sample_accounts.account(),
        sample_accounts.account(faults=(fault,), ended="ValueError: a"),
        sample_accounts.account(faults=(fault,), ended="ValueError: b"),
    ]
    account = merge(list(zip(ENDED, accounts, strict=False)))
    assert account.ended == "ValueError: a in process 1"
    [made] = account.faults
    assert made.where == "read, processes 1 and 2 of 3"


def test_merging_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="no process has an account"):
        merge([(Process(0, 1, status="missing"), None)])


@pytest.mark.parametrize(
    ("indexes", "words"),
    [
        ([1], "process 1 of 16"),
        ([2, 0], "processes 0 and 2 of 16"),
        ([0, 1, 2], "processes 0, 1 and 2 of 16"),
        (range(9), "processes 0, 1, 2 and 6 more of 16"),
    ],
)
def test_processes_in_words(indexes: list[int], words: str) -> None:
    assert named(indexes, 16) == words


def test_the_report_of_one_process_alone_says_that_it_is_not_all() -> None:
    account = sample_accounts.account(ledger(), processes=(ENDED[1],))
    assert "process 1 of 3, not merged with the others; ledgers in d/\n" in render(account)


# The files.


def text_of(process: Process, run: Run, where: str | None = None) -> str:
    account = sample_accounts.account(ledger(), processes=(process,))
    left_by = {"namespace": where, "folder": "d", "shown": "d", "wait": 1.0}
    return plain_json.dumps({**account.to_dict(), "run": run.to_dict(), "left_by": left_by})


def test_only_ledgers_of_the_run_are_read(tmp_path: Path) -> None:
    folder, run, other = Folder(tmp_path, "d"), Run.new("a:1", 3), Run.new("a:1", 3)
    folder.write(1, text_of(ENDED[1], run))
    found = folder.read(1, run)
    assert found is not None
    assert (found.process, found.account.ledgers) == (ENDED[1], (ledger(),))
    assert folder.read(1, other) is None
    assert folder.read(2, run) is None
    folder.file(2).write_text(text_of(ENDED[2], run)[:-40])
    assert folder.read(2, run) is None


def test_a_process_is_dead_where_its_number_is_gone_on_this_machine(tmp_path: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    folder, run = Folder(tmp_path, "d"), Run.new("a:1", 3)
    running = dataclasses.replace(ENDED[1], status="running", pid=child.pid)
    for where, status in ((namespace(), "died"), ("elsewhere", "running"), (None, "running")):
        folder.write(1, text_of(running, run, where))
        [(process, account)] = waiting.others(folder, run, [1], 0).values()
        assert (process.status, account is not None) == (status, True)
    alive = dataclasses.replace(running, pid=os.getpid())
    folder.write(1, text_of(alive, run, namespace()))
    assert waiting.others(folder, run, [1], 0)[1][0].status == "running"
    assert waiting.others(folder, run, [2], 0)[2] == (Process(2, 3, status="missing"), None)


def test_a_run_keeps_out_of_a_folder_that_another_is_at_work_in(tmp_path: Path) -> None:
    base = Folder(tmp_path / "d", "d")
    mine, theirs = Run.new("host:1", 2), dataclasses.replace(Run.new("host:2", 2), pid=os.getppid())
    assert folders.choose(base, mine) == base
    base.begin(theirs)
    chosen = folders.choose(base, mine)
    assert (chosen.shown, base.is_of(theirs)) == ("d/host-1", True)
    chosen.begin(mine)
    assert folders.find(base, "host:1", 2) == (chosen, mine)
    assert folders.find(base, "host:2", 2) == (base, theirs)
    assert folders.find(base, "host:2", 3) is None
    assert folders.find(base, "host:3", 2) is None
    base.begin(mine)  # an earlier run's that ended: the next one takes the base again
    assert folders.choose(base, mine) == base
    assert folders.find(base, "host:1", 2) == (base, mine)


def test_a_run_whose_leader_is_gone_is_nobodys(tmp_path: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    base = Folder(tmp_path, "d")
    dead = dataclasses.replace(Run.new("host:1", 2), pid=child.pid)
    base.begin(dead)
    assert (base.is_in_use(), is_alive(child.pid, namespace())) == (False, False)
    assert folders.find(base, "host:1", 2) is None
    elsewhere = dataclasses.replace(dead, namespace="another machine")
    base.begin(elsewhere)
    assert folders.find(base, "host:1", 2) == (base, elsewhere)
    base.begin(dataclasses.replace(elsewhere, address="localhost:1"))
    assert folders.find(base, "localhost:1", 2) is None


def place(index: int, count: int = 2) -> Any:
    return type("Place", (), {"index": index, "count": count, "address": "host:1"})()


def test_a_run_that_was_superseded_writes_no_more(tmp_path: Path, capsys: Any) -> None:
    group = Group(tmp_path / "d", wait=0)
    group.opening(place(0))
    group.joined(place(0))
    folder = Folder(tmp_path / "d", "d")
    newer = Run.new("host:9", 2)
    folder.begin(newer)
    account = group.finish(sample_accounts.account(ledger()), sys.stderr)
    assert account is not None
    assert [each.status for each in account.processes] == ["ended", "missing"]
    assert "process 0 of 2: another run has taken over `" in capsys.readouterr().err
    assert not folder.file(0).exists()


def test_a_folder_that_cannot_be_written_costs_the_ledgers_only(
    tmp_path: Path, capsys: Any
) -> None:
    (tmp_path / "d").write_text("a file")
    group = Group(tmp_path / "d", wait=0)
    group.joined(place(1))
    own = sample_accounts.account(ledger())
    reported = group.finish(own, sys.stderr)
    assert reported is not None
    assert reported.ledgers == own.ledgers
    assert "donatree: process 1 of 2: cannot write `" in capsys.readouterr().err


def test_a_slow_disk_is_not_written_to_all_the_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    group = Group(tmp_path / "d", wait=0)
    group.joined(place(1))
    folder = Folder(tmp_path / "d", "d")
    monkeypatch.setattr("donatree.processes.group._SLOW", 1e12)
    group.save("first")
    group.save("second")
    assert folder.file(1).read_text() == "second"
    monkeypatch.setattr("donatree.processes.group._SLOW", -1.0)
    monkeypatch.setattr("donatree.processes.group._REST", 1e12)
    group.save("third")
    group.save("fourth")
    assert folder.file(1).read_text() == "third"
    assert group.finish(sample_accounts.account(ledger()), sys.stderr) is None
    assert json.loads(folder.file(1).read_text()).processes[0].status == "ended"
    monkeypatch.setattr("donatree.processes.group._SLOW", 1e12)
    group.save("a thread that goes on")
    assert json.loads(folder.file(1).read_text()).processes[0].status == "ended"


def test_a_forked_child_neither_writes_nor_removes(tmp_path: Path) -> None:
    group = Group(tmp_path / "d", wait=0)
    group.opening(place(0))
    child = os.fork()
    if child == 0:
        group.finish(Account(), sys.stderr)
        group.joined(place(0))
        group.save("of the child")
        os._exit(0)
    os.waitpid(child, 0)
    assert [path.name for path in (tmp_path / "d").iterdir()] == ["run.json"]


def test_equal_ledgers_of_many_processes_are_made_once_and_read_again_when_they_change(
    tmp_path: Path,
) -> None:
    folder, run = Folder(tmp_path, "d"), Run.new("a:1", 3)
    reader = folders.Reader(folder, run)
    for process in ENDED[:2]:
        folder.write(process.index, text_of(process, run))
    zero, one = reader.read(0), reader.read(1)
    assert zero is not None
    assert one is not None
    assert zero.account.ledgers is one.account.ledgers
    assert (zero.process.index, one.process.index) == (0, 1)
    assert reader.read(1) is one
    folder.write(1, text_of(ENDED[1], run).replace("state.b", "state.c"))
    again = reader.read(1)
    assert again is not None
    assert again.account.ledgers[0].entries[1].path == "state.c"


def test_a_meeting_that_nobody_came_to_leaves_nothing(tmp_path: Path) -> None:
    group = Group(tmp_path / "d", wait=0)
    group.opening(place(0))
    assert (tmp_path / "d/run.json").exists()
    own = sample_accounts.account(ledger())
    assert group.finish(own, sys.stderr) is own
    assert not (tmp_path / "d").exists()


# The hook.


def test_the_functions_of_jax_that_are_wrapped_are_put_back() -> None:
    from jax._src import distributed as of_jax

    from donatree._jax import distributed

    library = distributed._library(of_jax)
    before = getattr(library, distributed._SERVICE), of_jax.State.__dict__[distributed._CONNECTED]
    told: list[str] = []
    observer: Any = type("Observer", (), {"fault": lambda self, where, error: told.append(where)})()
    detach = distributed.attach(observer)
    try:
        assert getattr(library, distributed._SERVICE) is not before[0]
        distributed._tell(observer, "joined", lambda: distributed.Place(0, 2, "host:1"))
        assert told == ["processes: joined"]
    finally:
        detach()
    after = getattr(library, distributed._SERVICE), of_jax.State.__dict__[distributed._CONNECTED]
    assert after == before


def test_initialize_still_calls_what_is_wrapped_in_the_order_relied_on() -> None:
    from jax._src import distributed as of_jax

    source = textwrap.dedent(inspect.getsource(of_jax.State.initialize))
    steps = (
        "self.coordinator_address =",
        "self.process_id =",
        "get_distributed_runtime_service(",
        "self.num_processes =",
        "self.client.connect()",
        "self.initialize_preemption_sync_manager()",
    )
    found = [source.index(step) for step in steps]
    assert found == sorted(found)


def test_a_meeting_that_fails_shows_no_frame_of_donatree(tmp_path: Path) -> None:
    text = """
        import jax, traceback
        try:
            jax.distributed.initialize(num_processes=2, process_id=0)
        except ValueError:
            traceback.print_exc()
    """
    programs.write(tmp_path, text)
    plain = programs.python("train.py", cwd=tmp_path)
    watched = programs.donatree("run", "train.py", cwd=tmp_path)
    assert "coordinator_address should be defined" in plain.err
    assert watched.err.startswith(plain.err)
    assert not (tmp_path / "donatree-ledgers").exists()
