"""`donatree diff`: two reports or baselines in any mix."""

from __future__ import annotations

import dataclasses
import itertools
import json
import subprocess
import sys
from pathlib import Path

import pytest

import programs
import sample_accounts as sample
from donatree import baseline, cli
from donatree.ledger import Account
from donatree.reports import json as json_report

DRIFTED, KEPT = sample.lesson().ledgers[0], sample.kept().ledgers[0]
WHOLE = sample.account(dataclasses.replace(KEPT, function="drifted"))
LOST = sample.account(DRIFTED)


def diff(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """Runs the command in this process; its code, output and errors."""
    with pytest.raises(SystemExit) as raised:
        cli.main(["diff", *map(str, arguments)])
    code = raised.value.code
    assert isinstance(code, int)
    return code, *capsys.readouterr()


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    for name, account in (("whole", WHOLE), ("lost", LOST)):
        Path(f"{name}.json").write_text(json_report.dumps(account))
        Path(f"{name}-ledger.json").write_text(json.dumps(account.ledgers[0].to_dict()))
        baseline.write(f"{name}.toml", baseline.recorded(account, folder=tmp_path))
    return tmp_path


ENDINGS = (".json", "-ledger.json", ".toml")


@pytest.mark.parametrize(("old", "new"), [*itertools.product(ENDINGS, ENDINGS)])
def test_reports_ledgers_and_baselines_in_any_mix(
    old: str, new: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = diff(capsys, f"whole{old}", f"lost{new}")
    assert (code, err) == (1, "")
    assert "`drifted` no longer reuses a leaf" in out
    assert "state.step" in out
    assert f"whole{old} -> lost{new}" in out
    assert "reused -> DT402" in out
    code, out, _ = diff(capsys, f"lost{old}", f"whole{new}")
    assert code == 0
    assert "now reused: state.step" in out
    code, out, _ = diff(capsys, f"lost{old}", f"lost{new}")
    assert code == 0
    assert "nothing changed, 3 leaves as they were" in out


@pytest.mark.parametrize("format", ["text", "plain", "markdown", "html", "json", "github", "csv"])
def test_every_format_shows_what_changed(
    format: str,  # noqa: A002
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, out, err = diff(capsys, "whole.json", "lost.json", f"--format={format}")
    assert code == 1
    assert "state.step" in out + err
    assert "DT402" in out + err


def test_the_json_has_the_comparison_and_can_be_shown_again(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, _, _ = diff(capsys, "whole.toml", "lost.json", "--json", "out.json", "--html", "out.html")
    assert code == 1
    back = json_report.loads(Path("out.json").read_text())
    assert back.comparison is not None
    assert (back.comparison.old, back.comparison.new) == ("whole.toml", "lost.json")
    assert [(c.kind, c.path) for c in back.comparison.changes] == [("worse", "state.step")]
    assert (back.ledgers, back.versions["jax"]) == ((), "0.12.0.1")
    assert "state.step" in Path("out.html").read_text()


def test_expand_names_every_leaf(capsys: pytest.CaptureFixture[str]) -> None:
    made = sample.transformer()
    whole = tuple(
        dataclasses.replace(each, stopped_at=None, finding=None) for each in made.ledgers[0].entries
    )
    before = dataclasses.replace(made.ledgers[0], entries=whole, findings=())
    Path("before.json").write_text(json_report.dumps(sample.account(before)))
    Path("after.json").write_text(json_report.dumps(made))
    path = "state.opt_state[0].mu['block_7']['mlp']['up']['bias']"
    short, long = (
        diff(capsys, "before.json", "after.json", *more)[1] for more in ([], ["--expand"])
    )
    assert path not in short
    assert path in long


def test_targets_are_compared_one_by_one(capsys: pytest.CaptureFixture[str]) -> None:
    """Only the CPU copies the flipped leaf; then the TPU does so too."""
    account = sample.targets()
    tpu = sample.on_target(sample.V5E, 16, copies=True)
    worse = dataclasses.replace(account, ledgers=(account.ledgers[0], tpu, account.ledgers[2]))
    Path("old.json").write_text(json_report.dumps(account))
    Path("new.json").write_text(json_report.dumps(worse))
    code, out, _ = diff(capsys, "old.json", "new.json", "--format", "json")
    assert code == 1
    changes = json.loads(out)["comparison"]["changes"]
    assert [(c["platform"], c["path"]) for c in changes] == [("tpu:v5e:4x4", "state.flipped")]
    assert diff(capsys, "old.json", "old.json")[0] == 0


def test_reports_of_two_platforms_are_held_against_each_other(
    capsys: pytest.CaptureFixture[str],
) -> None:
    tpu = dataclasses.replace(WHOLE.ledgers[0], target=sample.V5E)
    Path("tpu.json").write_text(json_report.dumps(sample.account(tpu)))
    code, out, _ = diff(capsys, "lost.json", "tpu.json")
    assert code == 0
    assert "now reused: state.step" in out
    assert diff(capsys, "tpu.json", "lost.json")[0] == 1


def test_a_copy_of_a_program_is_held_against_it(capsys: pytest.CaptureFixture[str]) -> None:
    place = sample.Location("train_repaired.py", 3)
    repaired = dataclasses.replace(WHOLE.ledgers[0], location=place)
    Path("repaired.json").write_text(json_report.dumps(sample.account(repaired)))
    code, out, _ = diff(capsys, "lost.json", "repaired.json")
    assert code == 0
    assert "now reused: state.step" in out
    assert "`drifted (train_repaired.py)` is taken for" in out


BAD = {
    "no_such.json": (None, "cannot read `no_such.json`: No such file or directory"),
    "folder": ("", "cannot read `folder`: Is a directory"),
    "bad.json": ('{\n"a":\n}', "bad.json:3: no JSON: Expecting value"),
    "other.json": ("{}", "other.json: not a donatree report: `schema_version` is missing"),
    "bad.toml": ("version = 9", "bad.toml:1: `version` is 9; this donatree reads 1"),
    "binary": (b"\xff\xfe\x00", "cannot read `binary`: it is no text in UTF-8"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_read_is_told_in_one_line(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text, message = BAD[name]
    if name == "folder":
        Path(name).mkdir()
    elif text is not None:
        Path(name).write_bytes(text if isinstance(text, bytes) else text.encode())
    for arguments in ((name, "lost.json"), ("lost.json", name)):
        code, out, err = diff(capsys, *arguments)
        assert (code, out) == (2, "")
        assert err.count("\n") == 1
        assert message.partition("`schema")[0] in err


def test_jax_is_not_needed() -> None:
    program = (
        "import sys; from donatree import cli\n"
        "try:\n    cli.main(['diff', 'whole.toml', 'lost.json'])\n"
        "except SystemExit as ended:\n    print(ended.code, 'jax' in sys.modules)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env=programs.environment(),
        timeout=120,
    )
    assert ended.stdout.splitlines()[-1] == "1 False", ended.stderr
    assert isinstance(baseline.load("lost.json"), Account)
