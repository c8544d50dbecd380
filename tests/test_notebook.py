"""A real kernel without a screen: what cells show. One kernel runs all of them."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from typing import Any

import pytest

from programs import environment

pytest.importorskip("ipykernel")
nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")

IMPORTS = """\
import jax
import jax.numpy as jnp
from IPython.display import display
import donatree
%load_ext donatree
"""

SETUP = """\
step = jax.jit(lambda state: {"w": state["w"] * 2}, donate_argnums=0)
state = {"w": jnp.ones((4, 4))}
"""

DRIFTING = """\
drifting = jax.jit(
    lambda state: {**state, "n<b>": state["n<b>"] * 1.5, "<i>w": state["<i>w"] + 1},
    donate_argnums=0,
)
fresh = lambda: {"n<b>": jnp.int8(3), "<i>w": jnp.ones((8, 8))}
"""

CELLS = {
    "imports": IMPORTS,
    "setup": SETUP,
    "watches": """\
with donatree.watch() as watched:
    old = state
    state = step(state)
    print(old["w"].sum())
""",
    "setup again": SETUP,
    "watch begins": "watched = donatree.watch(); _ = watched.__enter__()\n",
    "watch goes on": "old = state\nstate = step(state)\n",
    "watch explains": "print(old['w'].sum())\n",
    "watch ends": "watched.__exit__(None, None, None)\nprint(watched.ledgers[0].summary)\n",
    "unwatched": "print(old['w'].sum())\n",
    "setup anew": SETUP,
    "no fault": """\
with donatree.watch() as w:
    state = step(state)
print(w.ledgers[0].fraction)
""",
    "records": DRIFTING
    + """\
held = fresh()
ledger = donatree.audit(drifting, held)
kept = [held["<i>w"]]
display(ledger, ledger.findings[0], donatree.holders(held))
display(donatree.twins([held["<i>w"], held["<i>w"]]))
display(donatree.advise(jax.jit(lambda state: {"<i>w": state["<i>w"] + 1}), held))
watched
""",
    "printed": "print(ledger)\nprint(repr(ledger)[:26])\n",
    "magic": "%%donatree learnt\n"
    + DRIFTING
    + "print('hello')\nmade = drifting(fresh())\n41 + 1\n",
    "unseen": "plain = jax.jit(lambda x: x + 1, donate_argnums=0)\n_ = plain(jnp.ones(4))\n",
    "too late": "%%donatree\nthree = plain(plain(jnp.ones(4)))\n",
    "cleared": "three\njax.clear_caches()\n",
    "seen": "%%donatree --calls 2 --expand\nthree = plain(three);\n",
    "learnt": "learnt\n",
    "audit": "%donatree made = drifting({**fresh()})\n",
    "magic fails": """\
%%donatree
state = {"w": jnp.ones((4, 4))}
old = state
state = jax.jit(lambda state: {"w": state["w"] * 2}, donate_argnums=0)(state)
print(old["w"].sum())
""",
    "magic cannot be read": "%%donatree\ndef (:\n",
    "later": "1 / 0",
    "bad option": "%%donatree --check everything\nprint('never run')\n",
    "waits": "%%donatree\nawait something\n",
}


class Shown(dict[str, list[Any]]):
    """The outputs of each cell by its name, and the names of those that failed."""

    failed: Mapping[str, str]
    numbers: Mapping[str, int]


@pytest.fixture(scope="module")
def shown() -> Shown:
    notebook: Any = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(source) for source in CELLS.values()]
    )
    names, failed = list(CELLS), {}
    client = nbclient.NotebookClient(
        notebook,
        timeout=240,
        kernel_name="python3",
        allow_errors=True,
        resources={"metadata": {"path": tempfile.gettempdir()}},  # below which cells seem to lie
        on_cell_error=lambda cell, cell_index, execute_reply: failed.setdefault(
            names[cell_index], execute_reply["content"]["ename"]
        ),
    )
    client.execute(env=environment())
    cells = zip(names, notebook.cells, strict=True)
    made = Shown({name: cell["outputs"] for name, cell in cells})
    made.failed = failed
    made.numbers = {name: number for number, name in enumerate(names, 1)}
    return made


def text(output: Any) -> str:
    """What an output says, errors without colours."""
    plain = output.get("data", {}).get("text/plain", "")
    found = "\n".join(output.get("traceback", [])) or output.get("text", "") or plain
    return re.sub(r"\x1b\[[0-9;]*m", "", found)


def kinds(outputs: list[Any]) -> list[str]:
    return [output["output_type"] for output in outputs]


def html(output: Any) -> str:
    return output["data"]["text/html"]


# Errors under `watch`.


def test_a_cell_that_watches_is_explained_by_its_error(shown: Shown) -> None:
    (output,) = shown["watches"]
    said = text(output)
    assert "Array has been deleted" in said or "deleted or donated" in said
    assert said.count("error[DT704]: `old['w']` is used after it was donated") == 1
    assert f"--> cell [{shown.numbers['watches']}]:4:11" in said
    assert "donated here: `state['w']` float32[4,4]" in said
    assert "used here, after the donation" in said


def test_a_watch_over_several_cells_explains_the_error_of_a_later_one(shown: Shown) -> None:
    (during,) = shown["watch explains"]
    assert text(during).count("error[DT704]: `old['w']` is used after it was donated") == 1
    assert [text(each) for each in shown["watch ends"]] == ["64 of 64 bytes, 1 of 1 leaves\n"]
    (after,) = shown["unwatched"]
    assert "Array has been deleted" in text(after) or "deleted or donated" in text(after)
    assert "DT704" not in text(after)


def test_a_cell_without_fault_shows_what_it_prints(shown: Shown) -> None:
    assert [text(each) for each in shown["no fault"]] == ["1.0\n"]


# Records.


def test_each_record_is_shown_as_html_and_as_text(shown: Shown) -> None:
    outputs = shown["records"]
    assert kinds(outputs) == ["display_data"] * 5 + ["execute_result"]
    for output in outputs:
        assert set(output["data"]) == {"text/html", "text/plain"}
        assert '<div class="donatree">' in html(output)
        assert "<script" not in html(output)
    ledger, finding, holders, twins, advice, watched = map(text, outputs)
    cell = f"cell [{shown.numbers['records']}]"
    assert f"<lambda> ({cell}:2)  cpu" in ledger
    assert "of 257 bytes" in ledger
    assert finding.startswith(("error[DT402]", "warning[DT403]")), finding
    assert f"{cell}:2" in finding
    assert '"n<b>": state["n<b>"] * 1.5' in finding, "the line of source, out of the cell"
    assert holders.startswith("1 other holder of `held`\n  held['<i>w']  256 bytes")
    assert "global `kept` of module `__main__`" in holders
    assert "1 buffer is shared by several leaves" in twins
    assert "write `donate_argnums=0`" in advice
    assert "1 of 1 leaves" in watched


def test_names_of_a_program_are_escaped_and_cells_have_their_numbers(shown: Shown) -> None:
    outputs = [*shown["records"], *shown["magic"][2:], *shown["learnt"], *shown["audit"]]
    assert len(outputs) == 6 + 1 + 1 + 1
    for output in outputs:
        assert "<b>'" not in html(output)
        assert "<i>" not in html(output)
        assert "ipykernel" not in html(output) + text(output)
    assert "&lt;i&gt;w" in html(outputs[0])
    assert "'<i>w'" in text(outputs[0])


def test_printed_it_is_the_same_text_and_its_repr_is_pythons_own(shown: Shown) -> None:
    (output,) = shown["printed"]
    assert text(output) == text(shown["records"][0]) + "\nLedger(function='<lambda>'\n"


# The magic.


def test_the_magic_shows_the_account_below_what_the_cell_shows(shown: Shown) -> None:
    printed, result, account = shown["magic"]
    number = shown.numbers["magic"]
    assert kinds(shown["magic"]) == ["stream", "execute_result", "display_data"]
    assert text(printed) == "hello\n"
    assert text(result) == "42"
    assert result["execution_count"] == number
    assert set(account["data"]) == {"text/html", "text/plain"}
    assert re.match(rf"donatree \S+: cell \[{number}\], jax", text(account))
    assert f"called at cell [{number}]:8" in text(account), "lines as the reader counts them"


def test_the_account_is_bound_to_the_name_and_the_names_of_the_cell_stay(shown: Shown) -> None:
    (learnt,) = shown["learnt"]
    assert text(learnt) == text(shown["magic"][2])
    assert "magic" not in shown.failed


def test_what_was_compiled_before_is_said_not_to_be_seen(shown: Shown) -> None:
    (output,) = shown["too late"]
    assert text(output).startswith("donatree: nothing that this cell compiled asked for donation")
    assert "`%donatree step(state, batch)` audits one call" in text(output)
    (output,) = shown["seen"]
    assert "16 of 16 bytes, 1 of 1 leaves" in text(output), "after `jax.clear_caches()` it is"


def test_the_line_magic_audits_a_call_and_does_not_run_it(shown: Shown) -> None:
    (output,) = shown["audit"]
    assert output["output_type"] == "execute_result"
    assert f"called at cell [{shown.numbers['audit']}]:1" in text(output)
    assert "of 257 bytes" in text(output)


def test_an_error_keeps_its_traceback_and_what_was_learnt_is_shown(shown: Shown) -> None:
    error, account = shown["magic fails"]
    assert (error["output_type"], error["ename"]) == ("error", shown.failed["magic fails"])
    number = shown.numbers["magic fails"]
    said = text(error)
    assert f"In[{number}], line 5" in said.replace("Cell ", "")
    assert '----> 5 print(old["w"].sum())' in said
    assert "magic.py" not in said
    assert "run_cell_magic" not in said
    assert said.count("error[DT704]: `old['w']` is used after it was donated") == 1
    assert f"--> cell [{number}]:5:7" in said
    assert "64 of 64 bytes, 1 of 1 leaves" in text(account)
    assert f"the program ended with {error['ename']}" in text(account)


def test_a_cell_that_is_no_python_fails_as_it_does_without_the_magic(shown: Shown) -> None:
    error, *_ = shown["magic cannot be read"]
    assert (error["ename"], shown.failed["magic cannot be read"]) == ("SyntaxError", "SyntaxError")
    assert kinds(shown["magic cannot be read"]).count("error") == 1


def test_the_errors_of_later_cells_are_shown_as_always(shown: Shown) -> None:
    (error,) = shown["later"]
    assert "ZeroDivisionError: division by zero" in text(error)


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("bad option", "UsageError: donatree: argument --check: invalid choice: 'everything'"),
        ("waits", "UsageError: donatree: a cell that awaits cannot run under `%%donatree`"),
    ],
)
def test_what_cannot_be_done_is_one_line(shown: Shown, cell: str, said: str) -> None:
    (output,) = shown[cell]
    assert text(output).startswith(said)
    assert len(text(output).splitlines()) == 1
    assert shown.failed[cell] == "UsageError"
