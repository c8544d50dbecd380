"""The examples under `donatree run`: the fault that each one has, and none in its twin."""

from __future__ import annotations

import importlib.util
import json
import shutil
from pathlib import Path

import pytest

from programs import donatree

EXAMPLES = Path(__file__).parents[1] / "examples"

# script, library, code, bytes lost per device, leaves lost: measured with JAX's own means.
FAULTS = [
    ("debug_nans", "optax", "DT101", 5_200, 4),
    ("flax_nnx", "flax", "DT103", 160_640, 38),
    ("equinox_mlp", "equinox", "DT301", 12_480, 2),
    ("sharded", "sklearn", "DT405", 5_120, 1),
]


def copied(folder: Path) -> None:
    """The examples with their configuration, which names the baseline that is committed."""
    for file in EXAMPLES.iterdir():
        if file.suffix in (".py", ".toml"):
            shutil.copy(file, folder)


@pytest.mark.parametrize(("name", "library", "code", "lost", "leaves"), FAULTS)
def test_fault_and_cure(
    tmp_path: Path, name: str, library: str, code: str, lost: int, leaves: int
) -> None:
    for needed in ("sklearn", library):
        if importlib.util.find_spec(needed) is None:
            pytest.skip(f"{name}.py needs {needed}")
    copied(tmp_path)
    ended = donatree("run", "--json", "faulty.json", f"{name}.py", cwd=tmp_path)
    assert ended.code == 0, ended.err
    account = json.loads((tmp_path / "faulty.json").read_text())
    assert account["comparison"]["same"] > 0
    found = [each for ledger in account["ledgers"] for each in ledger["findings"]]
    errors = [(each["code"], each["bytes"], len(each["leaves"])) for each in found
              if each["level"] == "error"]  # fmt: skip
    assert errors == [(code, lost, leaves)]
    assert account["faults"] == []

    ended = donatree("run", "--json", "whole.json", f"{name}_repaired.py", cwd=tmp_path)
    assert ended.code == 0, ended.err
    account = json.loads((tmp_path / "whole.json").read_text())
    for ledger in account["ledgers"]:
        assert ledger["bytes_after"]["granted"] == ledger["promised_bytes"] > 0
        assert not [each for each in ledger["findings"] if each["level"] == "error"]


def test_an_example_that_loses_more_than_is_committed_fails(tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    copied(tmp_path)
    (tmp_path / "debug_nans_repaired.py").write_bytes((tmp_path / "debug_nans.py").read_bytes())
    ended = donatree("run", "debug_nans_repaired.py", cwd=tmp_path)
    assert ended.code == 1
    assert "error[worse]: `train_step` no longer reuses" in ended.err
