"""The GitHub Action and the pre-commit hook: what they run is run here."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from click.testing import CliRunner

from donatree.cli import group
from programs import environment, write

ROOT = Path(__file__).resolve().parents[1]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
(HOOK,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
INSTALL, ACCOUNT = ACTION["runs"]["steps"]

PROGRAM = """
    import sys
    import jax, jax.numpy as jnp
    def step(state):
        return {"w": (state["w"] * 2.0).astype(sys.argv[1])}
    step = jax.jit(step, donate_argnums=0)
    print(step({"w": jnp.ones((4, 4))})["w"].dtype, sys.argv[2:])
"""


class Job(NamedTuple):
    """What a step left behind."""

    code: int
    log: str
    outputs: dict[str, str]
    summary: str


def job(folder: Path, step: dict[str, Any] = ACCOUNT, **inputs: str) -> Job:
    """Runs a step of the action as a runner does, its inputs in the environment."""
    (folder / "temp").mkdir(exist_ok=True)
    files = {name: folder / "temp" / name for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    for file in files.values():
        file.write_text("")
    script = folder / "temp" / "script.sh"
    script.write_text(step["run"])
    defaults = {name: str(each.get("default", "")) for name, each in ACTION["inputs"].items()}
    given = defaults | {"python": sys.executable} | inputs
    env = {
        name: re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda found: given[found[1]], value)
        for name, value in step["env"].items()
    }
    more = {name: str(file) for name, file in files.items()}
    more |= {"RUNNER_TEMP": str(folder / "temp"), "GITHUB_WORKSPACE": str(folder)}
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-euo", "pipefail", str(script)],
        cwd=folder,
        env=environment(**env, **more),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
    )
    lines = files["GITHUB_OUTPUT"].read_text().splitlines()
    outputs = dict(line.split("=", 1) for line in lines)
    return Job(done.returncode, done.stdout, outputs, files["GITHUB_STEP_SUMMARY"].read_text())


def options_of(command: str) -> set[str]:
    shown = CliRunner().invoke(group, [command, "--help"], terminal_width=200).output
    return set(re.findall(r"--[a-z][a-z-]+", shown))


def test_a_program_that_keeps_its_memory_passes_and_gets_its_arguments(tmp_path: Path) -> None:
    write(tmp_path, PROGRAM, "my train.py")
    program = "'my train.py' float32 '$(touch evil)' \"two words\" ; touch evil2"
    ran = job(tmp_path, program=program, **{"fail-under": "100"})
    assert ran.code == 0, ran.log
    assert "float32 ['$(touch evil)', 'two words', ';', 'touch', 'evil2']" in ran.log
    assert not list(tmp_path.glob("evil*")), "an input is no shell text"
    assert "64 of 64 bytes" in ran.log
    assert "::error" not in ran.log
    assert ran.outputs["fails"] == "false"
    assert ran.outputs["exit-code"] == "0"
    assert "64" in ran.summary
    assert json.loads(Path(ran.outputs["json-file"]).read_text())["ledgers"]


def test_a_program_that_loses_memory_fails_after_all_was_written(tmp_path: Path) -> None:
    write(tmp_path, PROGRAM)
    ran = job(tmp_path, program="train.py bfloat16", **{"fail-under": "100"})
    assert ran.code == 1, ran.log
    (annotation,) = re.findall(r"^::error .*$", ran.log, re.M)
    assert "file=train.py" in annotation
    assert "line=5" in annotation
    assert "DT402" in annotation
    assert ran.outputs["fails"] == "true"
    assert ran.outputs["exit-code"] == "1"
    assert "DT402" in ran.summary
    sarif = json.loads(Path(ran.outputs["sarif-file"]).read_text())
    assert [each["ruleId"] for each in sarif["runs"][0]["results"]] == ["DT402"]
    assert "<html" in Path(ran.outputs["html-file"]).read_text()


@pytest.mark.parametrize(
    ("inputs", "code", "said"),
    [
        ({}, 2, "give the input 'program' or the input 'audit'"),
        ({"program": "a.py", "audit": "a.py::b"}, 2, "give the input 'program' or the input"),
        ({"program": "'a.py"}, 1, "No closing quotation"),
        ({"program": "gone.py"}, 2, "no such file: `gone.py`"),
        ({"program": "gone.py", "options": "--nonsense 'x y'"}, 2, "no such option"),
    ],
)
def test_what_cannot_be_run_is_said(
    inputs: dict[str, str], code: int, said: str, tmp_path: Path
) -> None:
    ran = job(tmp_path, **inputs)
    assert (ran.code, said in ran.log) == (code, True), ran.log


def test_inputs_reach_a_script_by_the_environment_alone() -> None:
    for step in (INSTALL, ACCOUNT):
        assert "${{" not in step["run"]
        assert step["shell"] == "bash"
        assert all(
            re.fullmatch(r"\$\{\{ inputs\.[\w-]+ \}\}", each) for each in step["env"].values()
        )
    used = re.findall(r"inputs\.([\w-]+)", json.dumps(ACTION["runs"]))
    assert set(used) == set(ACTION["inputs"])
    assert not [step for step in ACTION["runs"]["steps"] if "uses" in step]


def test_the_outputs_are_those_of_the_step() -> None:
    written = set(re.findall(r'echo "([\w-]+)=', ACCOUNT["run"]))
    kinds = re.search(r"for kind in (.*);", ACCOUNT["run"])
    assert kinds is not None
    written |= {f"{kind}-file" for kind in kinds[1].split()}
    assert written == set(ACTION["outputs"])
    for name, each in ACTION["outputs"].items():
        assert each["value"] == "${{ steps.account.outputs." + name + " }}"


@pytest.mark.parametrize("command", ["run", "audit"])
def test_the_options_that_are_used_exist(command: str) -> None:
    used = set(re.findall(r"\+=\((--.*)\)", ACCOUNT["run"]))
    used = {word for line in used for word in re.findall(r"--[a-z][a-z-]+", line)}
    assert {"--format", "--json", "--html", "--baseline", "--fail-under", "--strict"} <= used
    assert used <= options_of(command)
    assert "--nonsense" not in options_of(command)


def test_the_installed_donatree_is_the_one_of_the_action(tmp_path: Path) -> None:
    pip = tmp_path / "python"
    pip.write_text('#!/bin/sh\nprintf "<%s>" "$@"\n')
    pip.chmod(0o755)
    os.environ["GITHUB_ACTION_PATH"] = "/the action"
    try:
        ran = job(tmp_path, INSTALL, python=str(pip), extras="tpu")
        plain = job(tmp_path, INSTALL, python=str(pip))
    finally:
        del os.environ["GITHUB_ACTION_PATH"]
    assert ran.log.startswith("<-m><pip><install>")
    assert ran.log.endswith("</the action[tpu]>")
    assert plain.log.endswith("</the action>")


def test_the_hook_runs_the_program_against_the_baseline(tmp_path: Path) -> None:
    assert HOOK["pass_filenames"] is False
    assert re.search(HOOK["files"], "src/train.py")
    assert re.search(HOOK["files"], "donation.toml")
    name, *words = shlex.split(HOOK["entry"])
    assert name == "donatree"
    assert {word for word in words if word.startswith("--")} <= options_of("run")
    write(tmp_path, PROGRAM)
    command = [sys.executable, "-m", "donatree", *words]
    written = subprocess.run(
        [*command, "--write-baseline", "train.py", "float32"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
    )
    assert written.returncode == 0, written.stderr
    checked = subprocess.run(
        [*command, "train.py", "bfloat16"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
    )
    assert checked.returncode == 1, checked.stderr
    assert "state['w']" in checked.stderr
