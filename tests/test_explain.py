"""`donatree explain`: the page of a code with both programs, from a machine without JAX."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import donatree
from donatree import findings
from donatree.cli import explain, main

SOURCE = Path(donatree.__file__).parents[1]


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(["explain", *arguments])
    out, err = capsys.readouterr()
    return int(ended.value.code or 0), out, err


def blocks(page: str) -> dict[str, str]:
    """The programs of a page by the heading that they stand under."""
    return dict(re.findall(r"^## ([^\n]*)\n\n```python\n(.*?)^```$", page, re.M | re.S))


@pytest.mark.parametrize("code", findings.CODES)
def test_a_code_prints_its_page_and_both_programs(code, capsys):
    rule = findings.rule(code)
    status, out, err = call(capsys, code)
    assert (status, err) == (0, "")
    assert out == explain.page(rule)
    assert out.startswith(f"# {code}: {rule.title}\n")
    for part in rule.page.split("\n\n")[1:]:
        assert part.strip() in out
    programs = {"A program that shows it": rule.failing, "Repaired": rule.repaired}
    assert blocks(out) == {name: text for name, text in programs.items() if text}


def test_programs_are_found_on_a_page_that_has_them():
    assert set(blocks(explain.page(findings.rule("DT402")))) == {
        "A program that shows it",
        "Repaired",
    }


def test_every_program_on_a_page_is_python():
    for code in findings.CODES:
        for name, text in blocks(explain.page(findings.rule(code))).items():
            compile(text, f"{code} {name}", "exec")


def test_a_code_may_be_written_small(capsys):
    assert call(capsys, "dt402") == call(capsys, "DT402")


def test_without_a_code_all_are_listed_with_their_titles(capsys):
    status, out, err = call(capsys)
    assert (status, err) == (0, "")
    assert out.splitlines() == [f"{code}  {findings.rule(code).title}" for code in findings.CODES]


@pytest.mark.parametrize("wrong", ["DT999", "DT", "402", "nonsense", "Ü", ""])
def test_an_unknown_code_ends_with_2_and_one_line(wrong, capsys):
    status, out, err = call(capsys, wrong)
    assert (status, out) == (2, "")
    assert re.fullmatch(rf"donatree: there is no finding `{wrong}`.*\n", err)
    assert "`donatree explain` lists them" in err


def test_an_unknown_code_is_told_the_nearest_one(capsys):
    assert "; near it is `DT402`;" in call(capsys, "DT4O2")[2]
    assert "near it" not in call(capsys, "nonsense")[2]


@pytest.fixture
def without_jax(tmp_path: Path) -> dict[str, str]:
    """The environment of a machine on which JAX cannot be imported."""
    for name in ("jax", "jaxlib"):
        (tmp_path / f"{name}.py").write_text(f"raise ImportError('{name} was imported')\n")
    return os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(SOURCE)])}


def python(environ: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environ, timeout=60)


def test_explain_imports_no_jax(without_jax):
    done = python(without_jax, "-m", "donatree", "explain", "DT402")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == explain.page(findings.rule("DT402"))


def test_an_unknown_code_imports_no_jax_either(without_jax):
    done = python(without_jax, "-m", "donatree", "explain", "DT499")
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1


def test_an_import_of_jax_would_be_seen(without_jax):
    done = python(without_jax, "-c", "import donatree; donatree.watch().__enter__()")
    assert done.returncode == 1
    assert "jax was imported" in done.stderr
