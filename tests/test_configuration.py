"""What the options and the configuration demand of a command: its exit code, its files."""

from __future__ import annotations

import dataclasses
import json
import linecache
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest

from donatree import baseline, cli, policy
from donatree.cli import baselined, demands
from donatree.cli.run import command as run_command
from programs import donatree, write
from sample_accounts import lesson

PROGRAM = """\
import jax
import jax.numpy as jnp


def step(state, x):
    return {"w": state["w"] + x, "n": (state["n"] + 1).astype(jnp.bfloat16)}


def target():
    state = {"w": jax.ShapeDtypeStruct((64,), "float32"), "n": jax.ShapeDtypeStruct((), "int32")}
    return jax.jit(step, donate_argnums=0), (state, 1.0)


if __name__ == "__main__":
    state = {"w": jnp.ones(64), "n": jnp.zeros((), jnp.int32)}
    print(jax.jit(step, donate_argnums=0)(state, 1.0)["w"][0])
"""


class Done(NamedTuple):
    code: int
    out: str
    err: str


Command = Callable[..., Done]


@pytest.fixture
def command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Command:
    """Runs a command in this process, in a folder with the program."""
    write(tmp_path, PROGRAM)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(sys, "path", list(sys.path))  # an audit imports what it is given
    monkeypatch.setitem(sys.modules, "train", ModuleType("train"))  # taken away again

    def run(*arguments: str) -> Done:
        linecache.clearcache()  # each command is a process of its own, to its user
        with pytest.raises(SystemExit) as caught:
            cli.main(arguments)
        code = caught.value.code
        return Done(code if isinstance(code, int) else 0, *capfd.readouterr())

    return run


def configure(text: str) -> None:
    Path("pyproject.toml").write_text(f"[tool.donatree]\n{text}\n", encoding="utf-8")


AUDIT = ("audit", "train.py::target")


def test_an_audit_fails_for_its_findings_and_not_for_those_that_are_ignored(
    command: Command,
) -> None:
    found = command(*AUDIT)
    assert found.code == 1
    assert "error[DT402]" in found.out
    configure("ignore = [{code = 'DT402', path = 'state', reason = 'a counter'}, 'DT801']")
    quiet = command(*AUDIT, "--json", "a.json")
    assert quiet.code == 0
    assert "error[DT402]" not in quiet.out
    assert "1 finding ignored: DT402" in quiet.out
    assert "pyproject.toml: `DT801`" in quiet.out
    assert "256 of 260 bytes, 1 of 2 leaves" in quiet.out  # the verdict stays
    (finding,) = json.loads(Path("a.json").read_text())["ledgers"][0]["findings"]
    assert finding["ignored"] == "pyproject.toml: a counter"


def test_a_comment_in_the_source_ignores_its_line(command: Command) -> None:
    text = PROGRAM.replace("(jnp.bfloat16)}", "(jnp.bfloat16)}  # donatree: ignore[DT402] small")
    write(Path.cwd(), text)
    assert command(*AUDIT).code == 0
    expanded = command(*AUDIT, "--expand").out
    assert "train.py:6: small" in " ".join(expanded.split())
    write(Path.cwd(), text.replace("DT402", "DT404"))
    stale = command(*AUDIT)
    assert stale.code == 1
    assert "train.py:6: `DT404`" in " ".join(stale.out.split())


@pytest.mark.parametrize(
    ("text", "options", "code"),
    [
        ("fail-under = 98", (), 0),
        ("fail-under = 99", (), 1),
        ("fail-under = 99\nignore = ['DT402']", (), 0),
        ("fail-under = 98\nstrict = true", (), 1),
        ("fail-under = 99", ("--fail-under", "50"), 0),
        ("", ("--fail-under", "100"), 1),
        ("", (), 1),
        ("functions = ['other']", (), 2),  # nothing was judged
    ],
)
def test_what_is_demanded_decides(
    command: Command, text: str, options: tuple[str, ...], code: int
) -> None:
    configure(text)
    assert command(*AUDIT, *options).code == code


def test_formats_go_to_files_and_to_the_report_s_own_stream(command: Command) -> None:
    done = command(*AUDIT, "--format", "json", "--format", "csv=out.csv", "--html", "out.html")
    assert json.loads(done.out)["ledgers"][0]["promised_bytes"] == 260
    assert "state['n']" in Path("out.csv").read_text()
    assert Path("out.html").read_text().startswith("<!doctype html>")
    configure("formats = ['junit=out.xml']")
    assert "error[DT402]" in command(*AUDIT).out
    assert Path("out.xml").read_text().startswith("<?xml")


def test_the_summary_of_a_github_job_is_added_to(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = tmp_path / "summary.md"
    summary.write_text("# earlier\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    command(*AUDIT, "--format", f"markdown={summary}", "--format", "markdown=other.md")
    command(*AUDIT, "--format", "markdown=other.md")
    assert summary.read_text() == "# earlier\n" + Path("other.md").read_text()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--format", "pdf"), "there is no format `pdf`; there are terminal, plain, json"),
        (("--format", "json="), "`--format json=` names no file"),
        (("--html", "no/such/x.html"), "cannot write `no/such/x.html`: no such folder `no/such`"),
        (("--baseline", "none.toml"), "none.toml"),
        (("--config", "none.toml"), "cannot read `none.toml`: No such file or directory"),
        (("--config", "empty.toml"), "`empty.toml` has no [tool.donatree]"),
    ],
)
def test_bad_input_is_one_line(command: Command, arguments: tuple[str, ...], told: str) -> None:
    Path("empty.toml").write_text("")
    for name in ("audit", "run"):
        done = command(name, *arguments, "train.py::target")
        assert (done.code, done.out) == (2, "")
        assert told in done.err
        assert len(done.err.splitlines()) == 1


def test_a_bad_configuration_is_one_line_and_runs_nothing(command: Command) -> None:
    configure("check = 'everything'")
    done = command("run", "train.py")
    assert (done.code, done.out) == (2, "")
    assert "`check` is none of compile, calls, names" in done.err


def test_a_saved_report_is_shown_again(command: Command) -> None:
    shown = command(*AUDIT, "--json", "a.json").out
    again = command("report", "a.json", "--html", "a.html", "--json", "b.json")
    assert (again.code, again.out) == (0, shown)
    assert Path("a.json").read_bytes() == Path("b.json").read_bytes()
    page = command("report", "a.json", "--html")
    assert page.out == Path("a.html").read_text()
    assert command("report", "a.json", "--json", "-").out == Path("b.json").read_text()
    (ledger,) = json.loads(Path("a.json").read_text())["ledgers"]
    Path("one.json").write_text(json.dumps(ledger))
    assert "256 of 260 bytes, 1 of 2 leaves" in command("report", "one.json").out
    Path("bad.json").write_text("{}")
    for bad in ("bad.json", "none.json"):
        done = command("report", bad)
        assert (done.code, done.out, len(done.err.splitlines())) == (2, "", 1)


def test_a_fault_in_the_judging_loses_nothing_that_was_learnt(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("a fault")

    monkeypatch.setattr("donatree.policy.apply._judged", broken)
    done = command(*AUDIT)
    assert done.code == 1
    assert "error[DT402]" in done.out
    assert "ZeroDivisionError('a fault')" in done.out


def test_a_run_keeps_a_baseline_and_fails_for_what_got_worse(tmp_path: Path) -> None:
    whole = PROGRAM.replace(".astype(jnp.bfloat16)", "")
    write(tmp_path, whole)
    made = donatree("run", "--write-baseline", "checks.toml", "train.py", cwd=tmp_path)
    assert (made.code, made.out) == (0, "2.0\n")
    assert "`checks.toml` was written" in made.err
    recorded = (tmp_path / "checks.toml").read_text()
    write(tmp_path, PROGRAM)
    worse = donatree("run", "--baseline", "checks.toml", "train.py", cwd=tmp_path)
    assert (worse.code, worse.out) == (1, "2.0\n")
    assert "state['n']" in worse.err
    assert "reused" in worse.err
    assert (tmp_path / "checks.toml").read_text() == recorded


def test_a_baseline_accepts_what_it_has_and_keeps_what_got_better(command: Command) -> None:
    assert command(*AUDIT, "--write-baseline").code == 0
    file = Path("donation.toml")
    accepted = file.read_text()
    assert command(*AUDIT, "--baseline", "donation.toml").code == 0
    assert file.read_text() == accepted
    write(Path.cwd(), PROGRAM.replace(".astype(jnp.bfloat16)", ""))
    better = command(*AUDIT, "--baseline", "donation.toml")
    assert better.code == 0
    assert "`donation.toml` was rewritten: what got better is to stay so" in better.out
    assert file.read_text() != accepted
    write(Path.cwd(), PROGRAM)
    assert command(*AUDIT, "--baseline", "donation.toml").code == 1


@pytest.mark.parametrize(
    ("given", "own", "program"),
    [
        ("--write-baseline a.toml t.py b", "a.toml write", "t.py b"),
        ("--strict --write-baseline a.toml -m m", "a.toml write strict", "m"),
        ("--write-baseline t.py a.toml", "write", "t.py a.toml"),
        ("--json x.json --write-baseline a.toml t.py", "a.toml write", "t.py"),
        ("--baseline b.toml --write-baseline t.py", "b.toml write", "t.py"),
        ("--check calls t.py --write-baseline", "", "t.py --write-baseline"),
        ("t.py --write-baseline a.toml --n 3", "a.toml write moved", "t.py --n 3"),
        ("t.py --n 3 --baseline a.toml --write-baseline", "a.toml write moved", "t.py --n 3"),
        ("t.py --baseline is.toml x", "is.toml moved", "t.py x"),
        ("t.py --baseline=is.toml x", "is.toml moved", "t.py x"),
        ("t.py --baseline no.toml x", "", "t.py --baseline no.toml x"),
        ("t.py --baseline mean", "", "t.py --baseline mean"),
        ("t.py --baseline", "", "t.py --baseline"),
        ("-- t.py --baseline is.toml x", "is.toml moved", "t.py x"),
        ("t.py --strict -- --baseline is.toml", "", "t.py --strict -- --baseline is.toml"),
    ],
)
def test_what_stands_after_the_program_is_the_program_s_own_unless_it_cannot_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str, own: str, program: str
) -> None:
    monkeypatch.chdir(tmp_path)
    baseline.write("is.toml", baseline.recorded(lesson()))
    Path("no.toml").write_text("[tool]\nname = 'of the program'\n")
    context = run_command.make_context("run", given.split())
    read = context.params
    words = [str(read["baseline_file"] or "")]
    words += [
        word for word, key in (("write", "write_baseline"), ("strict", "strict")) if read[key]
    ]
    with context:
        words += ["moved"] if baselined.notes() else []
    assert " ".join(filter(None, words)) == own
    assert " ".join([read["name"], *read["arguments"]]) == program
    assert read["module"] == ("-m" in given.split())


def test_a_baseline_after_the_program_is_checked_and_the_program_does_not_see_it(
    command: Command,
) -> None:
    assert command(*AUDIT, "--write-baseline").code == 0
    text = "import sys\nassert sys.argv == ['train.py', 'x'], sys.argv\n" + PROGRAM
    write(Path.cwd(), text.replace('"w": state["w"] + x', '"w": (state["w"] + x).astype(bool)'))
    worse = donatree("run", "train.py", "x", "--baseline", "donation.toml", cwd=Path.cwd())
    assert worse.code == 1
    assert "no longer reuses a leaf" in worse.err
    assert "`--baseline donation.toml` stands after the program and was taken as" in worse.err


def test_nothing_is_written_or_accepted_of_a_program_that_did_not_end_well(tmp_path: Path) -> None:
    file = tmp_path / "checks.toml"
    asked = demands.Demands(policy.Settings(), file=file, name="checks.toml", write=True)
    found = asked.judged(dataclasses.replace(lesson(), ended="ValueError"))
    assert found.notes == ("`checks.toml` is left as it is: the program did not end well",)
    assert not file.exists()
    written = asked.judged(lesson())
    assert written.notes == ("`checks.toml` was written: 3 leaves, 1 of them accepted as lost",)
    recorded = baseline.recorded(lesson(), folder=tmp_path)
    assert baseline.read(file).records == recorded.records
