"""A real kernel without a screen: what a cell shows that used a donated array."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from programs import environment

pytest.importorskip("ipykernel")
nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")

SETUP = """\
import jax
import jax.numpy as jnp
import donatree

step = jax.jit(lambda state: {"w": state["w"] * 2}, donate_argnums=0)
state = {"w": jnp.ones((4, 4))}
"""


def outputs(folder: Path, *cells: str) -> list[list[str]]:
    """Runs cells in a fresh kernel; the texts that each shows, errors without colours."""
    notebook: Any = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
    client = nbclient.NotebookClient(
        notebook,
        timeout=240,
        kernel_name="python3",
        allow_errors=True,
        resources={"metadata": {"path": str(folder)}},
    )
    client.execute(env=environment())
    return [[_text(each) for each in cell["outputs"]] for cell in notebook.cells]


def _text(output: Any) -> str:
    text = "\n".join(output.get("traceback", [])) or output.get("text", "")
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def test_a_cell_that_watches_is_explained_by_its_error(tmp_path: Path) -> None:
    cell = """\
with donatree.watch() as watched:
    old = state
    state = step(state)
    print(old["w"].sum())
"""
    _, (shown,) = outputs(tmp_path, SETUP, cell)
    assert "Array has been deleted" in shown or "deleted or donated" in shown
    assert shown.count("error[DT704]: `old['w']` is used after it was donated") == 1
    assert "donated here: `state['w']` float32[4,4]" in shown
    assert "used here, after the donation" in shown


def test_a_watch_over_several_cells_explains_the_error_of_a_later_one(tmp_path: Path) -> None:
    cells = (
        SETUP,
        "watched = donatree.watch(); _ = watched.__enter__()\n",
        "old = state\nstate = step(state)\n",
        "print(old['w'].sum())\n",
        "watched.__exit__(None, None, None)\nprint(watched.ledgers[0].summary)\n",
        "print(old['w'].sum())\n",
    )
    *_, during, after, unwatched = outputs(tmp_path, *cells)
    assert during[0].count("error[DT704]: `old['w']` is used after it was donated") == 1
    assert after == ["64 of 64 bytes, 1 of 1 leaves\n"]
    assert "DT704" not in unwatched[0]


def test_a_cell_without_fault_shows_what_it_prints(tmp_path: Path) -> None:
    cell = "with donatree.watch() as w:\n    state = step(state)\nprint(w.ledgers[0].fraction)\n"
    assert outputs(tmp_path, SETUP, cell)[-1] == ["1.0\n"]
