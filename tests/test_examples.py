"""The example scripts are sound programs: they run by themselves, and what they train learns."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
NEEDS = {
    "train": ["sklearn", "optax"],
    "flax_linen": ["sklearn", "optax", "flax"],
    "flax_nnx": ["sklearn", "optax", "flax"],
    "equinox_mlp": ["sklearn", "optax", "equinox"],
    "kv_cache": ["sklearn", "optax"],
    "sharded": ["sklearn", "optax"],
    "debug_nans": ["sklearn", "optax"],
}
LINE = re.compile(r"step +\d+  loss (\d+\.\d+)(  held-out [a-z -]+ \d+\.\d+)?")


def scripts() -> list[str]:
    """Each faulty script and its repaired twin."""
    return [name + end for name in NEEDS for end in ("", "_repaired")]


@pytest.fixture(scope="session")
def bytecode(tmp_path_factory):
    """A folder for the compiled libraries, so that each script need not compile them again."""
    return tmp_path_factory.mktemp("bytecode")


@pytest.fixture(scope="session")
def losses(bytecode):
    """Runs a script once with plain Python; returns the losses that it prints."""
    known: dict[str, list[float]] = {}

    def run(script: str) -> list[float]:
        for package in NEEDS[script.removesuffix("_repaired")]:
            pytest.importorskip(package, reason=f"{script}.py needs {package}")
        if script in known:
            return known[script]
        env = {**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONPYCACHEPREFIX": str(bytecode)}
        for name in ("XLA_FLAGS", "PYTHONDONTWRITEBYTECODE"):
            env.pop(name, None)
        done = subprocess.run(
            [sys.executable, str(EXAMPLES / f"{script}.py")],
            capture_output=True,
            text=True,
            timeout=600,
            env=env,
        )
        assert done.returncode == 0, done.stderr
        lines = done.stdout.splitlines()
        found = [LINE.fullmatch(line) for line in lines]
        assert all(found), f"standard output holds more than losses: {lines}"
        known[script] = [float(match[1]) for match in found if match]
        return known[script]

    return run


def test_every_script_is_listed():
    on_disk = {path.stem for path in EXAMPLES.glob("*.py")}
    assert on_disk == {"digits", "decoder", *scripts()}  # the decoder has tests of its own


@pytest.mark.parametrize("script", scripts())
def test_loss_falls(script, losses):
    printed = losses(script)
    assert 3 <= len(printed) <= 6
    assert printed[-1] < printed[0] / 2


@pytest.mark.parametrize("name", NEEDS)
def test_fault_does_not_change_what_is_learnt(name, losses):
    assert losses(name) == pytest.approx(losses(f"{name}_repaired"), rel=0.02, abs=2e-3)


def parts(script: str) -> tuple[str, str]:
    """The docstring of a script, and its code without the docstring and comments."""
    tree = ast.parse((EXAMPLES / f"{script}.py").read_text(encoding="utf-8"))
    docstring = ast.get_docstring(tree)
    assert docstring
    return docstring, ast.unparse(ast.Module(tree.body[1:], []))


@pytest.mark.parametrize("script", scripts())
def test_only_the_docstring_names_donatree(script):
    docstring, code = parts(script)
    assert ("donatree" in docstring) == (not script.endswith("_repaired"))
    assert "donatree" not in code


@pytest.mark.parametrize("name", NEEDS)
def test_twins_differ_in_little(name):
    changed = set(parts(name)[1].splitlines()) ^ set(parts(f"{name}_repaired")[1].splitlines())
    assert 0 < len(changed) <= 25


@pytest.mark.parametrize("name", NEEDS)
def test_table_calls_the_fault_what_the_script_calls_it(name):
    code = re.search(r"DT\d{3}", parts(name)[0])
    assert code
    table = (EXAMPLES / "README.md").read_text(encoding="utf-8").splitlines()
    rows = [line for line in table if line.startswith(f"| `{name}.py`")]
    assert len(rows) == 1
    assert code[0] in rows[0]
