"""What a project asks for in pyproject.toml and in comments: read, applied, and told."""

from __future__ import annotations

import dataclasses
import linecache
from pathlib import Path

import pytest

from donatree import policy
from donatree.errors import DonatreeError
from donatree.ledger import Account, Finding, Gate, Ledger, Location
from donatree.policy import pattern
from sample_accounts import account, entry, ledger, spec

PATHS = ("state.opt_state[0].mu['w']", "state.opt_state[0].nu['w']", "state.step")


def settings(folder: Path, text: str) -> policy.Settings:
    """The settings of a pyproject.toml with this table."""
    (folder / "pyproject.toml").write_text(f"[tool.donatree]\n{text}\n", encoding="utf-8")
    return policy.load(folder)


def lost(*paths: str, code: str = "DT402", function: str = "train_step", **more) -> Ledger:
    """A ledger whose leaves are lost by one finding."""
    rows = [
        entry(path, index, spec("float32", 4), stopped_at=Gate.GRANTED, finding=code)
        for index, path in enumerate(paths)
    ]
    finding = Finding(code, "they are lost", tuple(paths), 16 * len(paths), **more)
    return ledger(rows, finding, function=function, location=Location("src/train.py", 3))


def ignored(found: Account) -> list[str | None]:
    return [each.ignored for each in found.all_findings()]


def test_a_table_is_read_whole(tmp_path: Path) -> None:
    text = """\
functions = ["train_step", "eval.py::*"]
fail-under = 99.5
strict = true
baseline = "checks/donation.toml"
targets = ["tpu:v5e:4x4"]
formats = ["sarif=out/donation.sarif", "markdown"]
check = "compile"
ignore = [
  "DT801",
  {code = ["DT402", "DT5"], function = "train_step", reason = "it is only a counter"},
]
"""
    found = settings(tmp_path, text)
    assert found.functions == ("train_step", "eval.py::*")
    assert (found.fail_under, found.strict, found.check) == (99.5, True, "compile")
    assert found.baseline == tmp_path / "checks/donation.toml"
    assert found.targets == ("tpu:v5e:4x4",)
    assert found.formats == (f"sarif={tmp_path / 'out/donation.sarif'}", "markdown")
    assert [each.codes for each in found.ignore] == [("DT801",), ("DT402", "DT5")]
    assert found.ignore[1].why == "pyproject.toml: it is only a counter"


def test_the_nearest_table_upwards_counts(tmp_path: Path) -> None:
    settings(tmp_path, "strict = true")
    below = tmp_path / "packages" / "model"
    below.mkdir(parents=True)
    (below / "pyproject.toml").write_text("[project]\nname = 'model'\n", encoding="utf-8")
    assert policy.load(below).strict
    assert settings(below, "fail-under = 1") == policy.load(below)
    assert not policy.load(below).strict


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("stric = true", "`tool.donatree` has no `stric`; it has functions, fail-under, strict"),
        ("fail-under = 101", "`tool.donatree.fail-under` is not a percentage, 0 to 100"),
        ("fail-under = true", "`tool.donatree.fail-under` is not a percentage"),
        ("strict = 1", "`tool.donatree.strict` is not true or false"),
        ("functions = 'step'", "`tool.donatree.functions` is not a list of strings"),
        ("ignore = ['DT999']", "`tool.donatree.ignore[0]`: there is no code `DT999`"),
        ("ignore = [{code = 3}]", "`tool.donatree.ignore[0].code` is not a list of strings"),
        ("ignore = ['']", "there is no code ``"),
        ("ignore = [{path = 'x'}]", "`tool.donatree.ignore[0]` has no `code`"),
        ("ignore = [{code = 'DT402', paths = 'x'}]", "has no `paths`; it has code, function,"),
        ("ignore = [3]", "`tool.donatree.ignore[0]` is neither a code nor a table"),
        ("baseline = 3", "`tool.donatree.baseline` is not a string"),
        ("ignore = [", "pyproject.toml`: "),
    ],
)
def test_what_the_table_cannot_have_is_told_in_one_line(
    tmp_path: Path, text: str, told: str
) -> None:
    with pytest.raises(DonatreeError) as caught:
        settings(tmp_path, text)
    assert told in str(caught.value)
    assert "pyproject.toml" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("written", "path", "meant"),
    [
        ("state", "state.w", True),
        ("state.w", "state.w", True),
        ("state.w", "state.w2", False),
        ("state.opt_state[0]", "state.opt_state[0].mu['w']", True),
        ("state.opt_state[0]", "state.opt_state[01].mu", False),
        ("state.*['w']", "state.opt_state[0].mu['w']", True),
        ("*", "state.w", True),
        ("w", "state.w", False),
        ("state.[w]", "state.w", False),
    ],
)
def test_leaves_are_meant_by_path_by_subtree_and_by_stars(
    written: str, path: str, meant: bool
) -> None:
    assert pattern.leaf_matches(written, path) is meant


def test_a_finding_is_ignored_where_all_its_leaves_are(tmp_path: Path) -> None:
    asked = settings(
        tmp_path,
        "ignore = [{code = 'DT402', path = 'state.opt_state[0].mu', reason = 'mu is small'},"
        " {code = 'DT402', path = 'state.opt_state[0].nu'}]",
    )
    found = policy.applied(account(lost(*PATHS[:2])), asked)
    assert ignored(found) == ["pyproject.toml: mu is small; pyproject.toml"]
    assert found.unmatched == ()
    assert (found.fraction, found.judged_fraction) == (0.0, 1.0)


def test_a_finding_of_which_some_leaves_are_ignored_is_told_with_a_note(tmp_path: Path) -> None:
    asked = settings(
        tmp_path, "ignore = [{code = 'DT402', path = 'state.step', reason = 'a counter'}]"
    )
    found = policy.applied(account(lost(*PATHS)), asked)
    (told,) = found.all_findings()
    assert told.ignored is None
    assert told.ignored_leaves == ("state.step",)
    assert told.notes == ("1 of its 3 leaves are ignored: pyproject.toml: a counter",)
    assert found.judged_fraction == pytest.approx(1 / 3)


def test_ignores_are_for_the_codes_and_functions_that_they_name(tmp_path: Path) -> None:
    asked = settings(
        tmp_path,
        "ignore = [{code = 'DT4', function = 'train.py::train_*'}, 'DT801', "
        "{code = 'DT402', function = 'no_such'}]",
    )
    others = (lost("s.a"), lost("s.b", code="DT501"), lost("s.c", function="evaluate"))
    program = Finding("DT104", "it is about the program")
    found = policy.applied(account(*others, findings=(program,)), asked)
    assert ignored(found) == [None, "pyproject.toml", None, None]
    assert found.unmatched == ("pyproject.toml: `DT801`", "pyproject.toml: `DT402` in `no_such`")
    everything = policy.applied(found, settings(tmp_path, "ignore = ['DT']"))
    assert None not in ignored(everything)


def test_only_the_functions_that_are_asked_for_are_judged(tmp_path: Path) -> None:
    asked = settings(tmp_path, "functions = ['train_*', 'infer']")
    found = policy.applied(account(lost("s.a"), lost("s.b", function="evaluate")), asked)
    assert [each.function for each in found.ledgers] == ["train_step"]
    assert found.notes == (
        "left out, as pyproject.toml has it under `functions`: `evaluate`",
        "no function `infer` donates anything, which pyproject.toml has under `functions`",
    )


SOURCE = """\
import jax

@jax.jit  # donatree: ignore[DT5] copies of a toy
def train_step(state):
    # donatree: ignore[DT402] the checkpoint wants it
    mu = state.mu.astype(
        "bfloat16"
    )
    nu = state.nu  # donatree: ignore[DT404, DT403] - two at once
    text = "# donatree: ignore[DT999] is only text"
    return mu, nu  # donatree: ignore

def other(state):
    return state  # donatree: ignore[DT402] of no ledger
"""


def commented(folder: Path, *findings: Finding) -> Account:
    """The account of `SOURCE` with these findings, the ignores applied."""
    file = folder / "train.py"
    file.write_text(SOURCE, encoding="utf-8")
    linecache.checkcache(str(file))
    placed = [
        dataclasses.replace(each, location=dataclasses.replace(each.location, file=str(file)))
        if each.location
        else each
        for each in findings
    ]
    book = ledger([], *placed, function="train_step", location=Location(str(file), 4))
    return policy.applied(account(book), policy.Settings())


def test_a_comment_ignores_on_its_line_on_the_next_and_on_the_head(tmp_path: Path) -> None:
    here = (
        Finding("DT402", "drift", location=Location("", 6, 9, 8, 5)),
        Finding("DT403", "reuse", location=Location("", 9)),
        Finding("DT402", "drift", location=Location("", 9)),
        Finding("DT501", "copy", location=Location("", 11)),
        Finding("DT502", "copy"),
        Finding("DT402", "elsewhere"),
    )
    found = commented(tmp_path, *here)
    file = tmp_path / "train.py"
    assert ignored(found) == [
        f"{file}:5: the checkpoint wants it",
        f"{file}:9: two at once",
        None,
        f"{file}:3: copies of a toy",
        f"{file}:3: copies of a toy",
        None,
    ]
    assert found.unmatched == (f"{file}:11: it names no code, write `ignore[DT402]`",)


def test_comments_that_match_nothing_are_told_of_judged_functions_alone(tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    assert commented(tmp_path).unmatched == (
        f"{file}:3: `DT5`",
        f"{file}:5: `DT402`",
        f"{file}:9: `DT404`, `DT403`",
        f"{file}:11: it names no code, write `ignore[DT402]`",
    )


def test_source_that_cannot_be_read_ignores_nothing(tmp_path: Path) -> None:
    for text in (None, "def broken(:  # donatree: ignore[DT402]\n", '"""donatree never ends'):
        file = tmp_path / f"{abs(hash(text))}.py"
        if text is not None:
            file.write_text(text, encoding="utf-8")
        finding = Finding("DT402", "drift", location=Location(str(file), 1))
        book = ledger([], finding, location=Location(str(file), 1))
        found = policy.applied(account(book), policy.Settings())
        assert (ignored(found), found.unmatched) == ([None], ())


def test_a_comment_is_for_its_own_file(tmp_path: Path) -> None:
    """Line 9 of the function's file has a comment; the finding is about line 9 of another one."""
    file, other = tmp_path / "train.py", tmp_path / "loss.py"
    file.write_text(SOURCE, encoding="utf-8")
    other.write_text("\n" * 12, encoding="utf-8")
    found = []
    for place in (other, file):
        finding = Finding("DT403", "reuse", location=Location(str(place), 9))
        book = ledger([], finding, location=Location(str(file), 4))
        found += ignored(policy.applied(account(book), policy.Settings()))
    assert found == [None, f"{file}:9: two at once"]
