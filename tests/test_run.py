"""`donatree run`: an unchanged program, and an account of every function that donates."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import programs
from programs import account, donatree, python, write

KEPT = """
    import jax, jax.numpy as jnp
    step = jax.jit(lambda state: {"w": state["w"] * 2.0}, donate_argnums=0)
    state = {"w": jnp.ones((4, 4))}
    for _ in range(3):
        state = step(state)
    print(float(state["w"][0, 0]))
"""

LOST = """
    import jax, jax.numpy as jnp
    def step(state):
        return {"w": (state["w"] * 2.0).astype(jnp.bfloat16), "b": state["b"] + 1}
    step = jax.jit(step, donate_argnums=0)
    state = step({"w": jnp.ones((4, 4)), "b": jnp.ones(3)})
    print(state["w"].dtype)
"""


def test_report_goes_to_standard_error_and_the_output_stays_clean(tmp_path: Path) -> None:
    write(tmp_path, KEPT)
    plain = python("train.py", cwd=tmp_path)
    watched = donatree("run", "train.py", cwd=tmp_path)
    assert watched.out == plain.out == "8.0\n"
    assert watched.code == plain.code == 0
    assert "promised 64 -> asked 64 -> kept 64 -> matched 64 -> granted 64" in watched.err
    assert "64 of 64 bytes, 1 of 1 leaves" in watched.err
    assert "-> result['w']" in watched.err


def test_report_says_what_was_lost_and_which_command_comes_next(tmp_path: Path) -> None:
    write(tmp_path, LOST)
    watched = donatree("run", "train.py", cwd=tmp_path)
    assert watched.code == 0
    assert "12 of 76 bytes, 1 of 2 leaves" in watched.err
    assert (
        "error[DT402]: `state['w']` is donated as float32 and returned as bfloat16" in watched.err
    )
    assert "next: donatree explain DT402" in watched.err
    assert "step (train.py:3)" in watched.err


def test_json_and_report_are_written_where_the_program_started(tmp_path: Path) -> None:
    text = "import os; os.mkdir('below'); os.chdir('below')\n"
    write(tmp_path, KEPT)
    program = tmp_path / "train.py"
    program.write_text(text + program.read_text())
    options = ("--json", "report.json", "--report", "report.txt")
    watched = donatree("run", *options, "train.py", cwd=tmp_path)
    assert watched.code == 0
    (ledger,) = json.loads((tmp_path / "report.json").read_text())["ledgers"]
    assert ledger["promised_bytes"] == 64
    assert ledger["bytes_after"] == {
        "asked": 64, "kept": 64, "matched": 64, "granted": 64, "in_place": 64, "honoured": 64
    }  # fmt: skip
    assert (tmp_path / "report.txt").read_text() == watched.err


@pytest.mark.parametrize(
    ("options", "text", "code"),
    [
        ((), LOST, 0),
        (("--strict",), LOST, 1),
        (("--strict",), KEPT, 0),
        (("--fail-under", "15"), LOST, 0),
        (("--fail-under", "16"), LOST, 1),
        (("--fail-under", "100"), KEPT, 0),
        (("--strict",), LOST + "    raise SystemExit(5)\n", 5),
    ],
)
def test_exit_code_is_the_programs_own_unless_asked(
    tmp_path: Path, options: tuple[str, ...], text: str, code: int
) -> None:
    write(tmp_path, text)
    assert donatree("run", *options, "train.py", cwd=tmp_path).code == code


def test_a_program_that_fails_keeps_its_traceback_and_is_reported(tmp_path: Path) -> None:
    write(
        tmp_path,
        LOST
        + """
    def wrong(x):
        return x @ jnp.ones((7, 7))
    jax.jit(lambda s: wrong(s), donate_argnums=0)(jnp.ones((3, 3)))
    """,
    )
    plain = python("-W", "ignore", "train.py", cwd=tmp_path)
    watched = donatree("run", "train.py", cwd=tmp_path, PYTHONWARNINGS="ignore")
    assert "dot_general" in plain.err, "the program must fail inside a traced function"
    assert watched.code == plain.code == 1
    assert watched.err.startswith(plain.err)
    report = watched.err.removeprefix(plain.err)
    assert "the program ended with TypeError" in report
    assert "DT402" in report


@pytest.mark.parametrize("filtering", ["off", "remove_frames", "quiet_remove_frames"])
def test_no_frame_of_donatree_in_any_kind_of_traceback(tmp_path: Path, filtering: str) -> None:
    program = """
        import jax, jax.numpy as jnp, traceback
        def wrong(x):
            raise ValueError("mine")
        try:
            jax.jit(wrong, donate_argnums=0)(jnp.ones(3))
        except ValueError as error:
            raise RuntimeError("chained") from error
    """
    write(tmp_path, program)
    plain = python("train.py", cwd=tmp_path, JAX_TRACEBACK_FILTERING=filtering)
    watched = donatree("run", "train.py", cwd=tmp_path, JAX_TRACEBACK_FILTERING=filtering)
    assert "chained" in plain.err
    assert watched.err.startswith(plain.err)


def test_a_program_killed_outright_is_still_reported(tmp_path: Path) -> None:
    write(tmp_path, LOST + "    import os; os._exit(9)\n")
    watched = donatree("run", "train.py", cwd=tmp_path)
    assert watched.code == 9
    assert "the program died before it could report" in watched.err
    assert "12 of 76 bytes, 1 of 2 leaves" in watched.err


def test_every_way_of_asking_for_donation_is_seen(tmp_path: Path) -> None:
    ended, report = account(
        tmp_path,
        """
        import functools
        import jax, jax.numpy as jnp
        from jax import jit

        by_attribute = jax.jit(lambda a: a + 1, donate_argnums=0)
        def named(x): return x + 1
        imported = jit(named, donate_argnames="x")

        @functools.partial(jax.jit, static_argnums=0, donate_argnums=(2,))
        def partial_with_static(n, other, state): return state * n + other.sum()

        class Trainer:
            @functools.partial(jax.jit, static_argnums=0, donate_argnums=1)
            def method(self, state): return state + 1

        def ahead(s): return s + 1
        def mapped(s): return s + 1
        def derived(s): return (s * s).sum()
        def keyword(state, batch): return state + batch

        by_attribute(jnp.ones(1))
        imported(jnp.ones(2))
        partial_with_static(3, jnp.ones(1), jnp.ones(3))
        Trainer().method(jnp.ones(4))
        jax.jit(ahead, donate_argnums=0).lower(jnp.ones(5)).compile()(jnp.ones(5))
        jax.vmap(jax.jit(mapped, donate_argnums=0))(jnp.ones((6, 1)))
        jax.grad(jax.jit(derived, donate_argnums=0))(jnp.ones(7))
        jax.jit(keyword, donate_argnums=0)(batch=jnp.ones(8), state=jnp.ones(8))
        """,
        PYTHONWARNINGS="ignore",
    )
    assert ended.code == 0, ended.err
    seen = {
        (ledger["function"], tuple(ledger["donated_arguments"]), ledger["promised_bytes"])
        for ledger in report["ledgers"]
    }
    assert seen >= {
        ("<lambda>", ("a",), 4),
        ("named", ("x",), 8),
        ("partial_with_static", ("state",), 12),
        ("method", ("state",), 16),
        ("ahead", ("s",), 20),
        ("mapped", ("s",), 24),
        ("derived", ("s",), 28),
        ("keyword", ("state",), 32),
    }
    assert not report["faults"]


def test_each_signature_has_its_own_ledger_and_a_steady_call_adds_none(tmp_path: Path) -> None:
    _, report = account(
        tmp_path,
        """
        import jax, jax.numpy as jnp
        step = jax.jit(lambda x: x + 1, donate_argnums=0)
        for size in (2, 3, 2, 3, 2):
            step(jnp.ones(size))
        """,
    )
    assert [ledger["promised_bytes"] for ledger in report["ledgers"]] == [8, 12]
    assert len({ledger["signature"] for ledger in report["ledgers"]}) == 2


def test_environment_set_by_the_program_before_it_imports_jax_counts(tmp_path: Path) -> None:
    ended, report = account(
        tmp_path,
        """
        import os
        os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
        os.environ["JAX_ENABLE_X64"] = "1"
        import jax, jax.numpy as jnp
        from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
        mesh = Mesh(jax.devices(), ("data",))
        x = jax.device_put(jnp.ones((16, 4)), NamedSharding(mesh, P("data")))
        jax.jit(lambda s: s + 1, donate_argnums=0)(x)
        """,
    )
    assert ended.code == 0, ended.err
    (ledger,) = report["ledgers"]
    (entry,) = ledger["entries"]
    assert ledger["devices"] == 8
    assert entry["dtype"] == "float64"
    assert (entry["bytes"], entry["global_bytes"]) == (2 * 4 * 8, 16 * 4 * 8)
    assert entry["local_shape"] == [2, 4]
    assert ledger["alias_size_in_bytes"] == 64
    assert entry["sharding"] == "P('data', None) on (data: 8)"


def test_a_module_is_run_as_python_runs_it(tmp_path: Path) -> None:
    write(tmp_path, "", "app/__init__.py")
    write(tmp_path, "import sys\nprint(__name__, __package__, sys.argv[1:])\n", "app/main.py")
    arguments = ("-m", "app.main", "--strict", "--lr", "3")
    plain = python(*arguments, cwd=tmp_path)
    watched = donatree("run", *arguments, cwd=tmp_path)
    assert watched.out == plain.out == "__main__ app ['--strict', '--lr', '3']\n"
    assert "JAX was not used" in watched.err


def test_jaxs_own_warning_is_joined_and_the_users_filters_still_apply(tmp_path: Path) -> None:
    program = """
        import sys, warnings
        import jax, jax.numpy as jnp
        if sys.argv[1:]:
            warnings.simplefilter("error")
        jax.jit(lambda s: s[:-1] * 2, donate_argnums=0)(jnp.ones(5))
    """
    write(tmp_path, program)
    plain = python("train.py", cwd=tmp_path)
    assert plain.err.count("UserWarning: Some donated buffers were not usable") == 1
    watched = donatree("run", "train.py", cwd=tmp_path)
    assert watched.err.count("Some donated buffers were not usable") == 1
    assert "UserWarning" not in watched.err
    raising = donatree("run", "train.py", "raise", cwd=tmp_path)
    assert raising.code == 1
    assert "UserWarning: Some donated buffers were not usable" in raising.err


def test_what_compiles_in_a_thread_after_the_main_code_is_seen(tmp_path: Path) -> None:
    _, report = account(
        tmp_path,
        """
        import threading, time
        import jax, jax.numpy as jnp
        def late():
            time.sleep(0.2)
            jax.jit(lambda x: x + 1, donate_argnums=0)(jnp.ones(4))
        threading.Thread(target=late).start()
        """,
    )
    assert [ledger["promised_bytes"] for ledger in report["ledgers"]] == [16]


def test_disabled_jit_is_a_finding_about_the_program(tmp_path: Path) -> None:
    text = """
        import jax, jax.numpy as jnp
        step = jax.jit(lambda x: x + 1, donate_argnums=0)
        with jax.disable_jit():
            step(jnp.ones(4))
    """
    _, report = account(tmp_path, text)
    (finding,) = report["findings"]
    assert finding["code"] == "DT102"
    assert finding["location"]["line"] == 4
    write(tmp_path, text.replace("with jax.disable_jit():", "if True:"))
    watched = donatree("run", "--strict", "train.py", cwd=tmp_path, JAX_DISABLE_JIT="1")
    assert watched.code == 1
    assert "nothing was donated to `<lambda>` while `jax_disable_jit` was on" in watched.err


def test_a_child_that_the_program_forks_does_not_report(tmp_path: Path) -> None:
    write(
        tmp_path,
        """
        import os, sys
        if os.fork() == 0:
            sys.exit(0)
        os.wait()
        """,
    )
    watched = donatree("run", "train.py", cwd=tmp_path)
    assert watched.err.count("donatree 0") == 1


def test_a_fault_of_donatrees_own_never_reaches_the_program(tmp_path: Path) -> None:
    ended, report = account(
        tmp_path,
        """
    import donatree._jax.read as read
    def broken(computation): raise LookupError("planted")
    read.read_lowering = broken
        """
        + KEPT,
    )
    assert (ended.code, ended.out) == (0, "8.0\n")
    (fault,) = report["faults"]
    assert fault["error"] == "LookupError: planted"
    assert "in broken" in fault["traceback"]
    assert "donatree itself failed" in ended.err


def test_a_module_header_that_cannot_be_parsed_costs_one_gate_of_one_function(
    tmp_path: Path,
) -> None:
    ended, report = account(
        tmp_path,
        """
        import donatree._jax.read as read
        real = read._module_text
        def garbled(module):
            text = real(module)
            return text if "good" in text[:40] else text.replace("may-alias", "mayb")
        read._module_text = garbled
        import jax, jax.numpy as jnp
        def good(x): return x + 1
        def bad(x): return x + 2
        for f in (good, bad):
            print(jax.jit(f, donate_argnums=0)(jnp.ones(4))[0])
        """,
    )
    assert ended.code == 0
    good, bad = report["ledgers"]
    assert good["bytes_after"]["granted"] == 16
    assert (bad["bytes_after"]["matched"], bad["bytes_after"]["granted"]) == (16, None)
    (finding,) = bad["findings"]
    assert finding["code"] == "DT410"
    assert "column" in finding["notes"][0]
    assert not report["faults"]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("run", "nope.py"), "donatree: no such file: `nope.py`"),
        (("run", "-m", "nope"), "donatree: no module named nope"),
        (("run", "-m", "empty"), "donatree: no module named empty.__main__; 'empty' is a package "
                                 "and cannot be directly executed"),
        (("run", "broken.py"), "donatree: syntax error at broken.py:2: '(' was never closed"),
        (("run", "--bogus", "broken.py"), "donatree: no such option `--bogus` "
                                          "(see `donatree run --help`)"),
        (("run", "--json", "no/where.json", "fine.py"),
         "donatree: cannot write `no/where.json`: no such folder `no`"),
        (("run", "--fail-under", "120", "fine.py"), "donatree: invalid value for '--fail-under'"),
        (("bogus",), "donatree: no such command 'bogus'"),
    ],
)  # fmt: skip
def test_bad_input_is_one_clear_line_and_exit_code_2(
    tmp_path: Path, arguments: tuple[str, ...], line: str
) -> None:
    write(tmp_path, "print('started')\n", "fine.py")
    write(tmp_path, "x = 1\nprint(\n", "broken.py")
    write(tmp_path, "", "empty/__init__.py")
    ended = donatree(*arguments, cwd=tmp_path)
    assert ended.code == 2
    assert ended.out == ""
    assert ended.err.lower().startswith(line.lower())
    assert ended.err.count("\n") == 1


def test_importing_donatree_imports_neither_jax_nor_rich_nor_click(tmp_path: Path) -> None:
    code = "import donatree, sys; print(sorted({'jax', 'rich', 'click'} & set(sys.modules)))"
    assert python("-c", code, cwd=tmp_path).out == "[]\n"
    control = code.replace("import donatree", "import donatree, donatree.cli")
    assert "click" in python("-c", control, cwd=tmp_path).out


def test_programs_module_finds_the_sources() -> None:
    assert (programs.SOURCE / "donatree" / "__init__.py").is_file()


def test_a_program_that_donates_nothing_is_told_so(tmp_path: Path) -> None:
    write(tmp_path, "import jax, jax.numpy as jnp\njax.jit(lambda x: x + 1)(jnp.ones(3))\n")
    watched = donatree("run", "--strict", "train.py", cwd=tmp_path)
    assert watched.code == 0
    assert "no function that was compiled asked for donation" in watched.err
