"""Where drifted leaves stopped being of their type: every program's own mark, to the column."""

from __future__ import annotations

import gc
import inspect
import json
import subprocess
import sys
import textwrap
import warnings
import weakref
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest

import donatree
import drifting
import drifts_control
import drifts_libraries
import drifts_plain
from donatree._jax import graph, origins
from donatree.ledger import Finding, Ledger
from donatree.watch import recorder
from drifting import PROGRAMS, Mark, Program
from programs import account, environment

DRIFTS = ("DT401", "DT402", "DT403")
MODULES = (drifts_plain, drifts_control, drifts_libraries)


def ledger_of(program: Program) -> Ledger:
    """The ledger of a program's step; one without `lower` (nnx up to 0.10) has to be called."""
    step, args = program.make()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if hasattr(step, "lower"):
            return donatree.audit(step, *args)
        with donatree.watch() as watched:
            step(*args)
    assert not watched.account.faults
    return watched.account.ledgers[-1]


def drifts_of(ledger: Ledger) -> list[tuple[str, Finding]]:
    """Each drifted leaf with the finding that speaks of it."""
    return [(leaf, f) for f in ledger.findings if f.code in DRIFTS for leaf in f.leaves]


def misplaced(found: list[tuple[str, Finding]], marks: list[Mark], file: str) -> list[str]:
    """The leaves whose finding does not point at their mark, exact to the column."""
    wrong = []
    for leaf, finding in found:
        mark = drifting.wanted(marks, leaf)
        place = drifting.place(finding.location)
        if place != (mark and mark.place):
            wrong.append(f"{leaf}: {place} instead of {mark and mark.place}")
        elif finding.location and Path(finding.location.file).resolve() != Path(file).resolve():
            wrong.append(f"{leaf}: in {finding.location.file}")
    return wrong


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_drift_is_found_at_its_expression(name):
    program = PROGRAMS[name]
    ledger = ledger_of(program)
    found = drifts_of(ledger)
    assert len(found) == program.leaves, [entry.finding for entry in ledger.entries]
    marks = drifting.marks_of(program.make)
    assert (program.unknown is None) == bool(marks)
    file = inspect.getsourcefile(program.make)
    assert not misplaced(found, marks, file)
    used = {drifting.wanted(marks, leaf) for leaf, _ in found} - {None}
    assert used == set(marks), "a mark that no leaf drifted at"
    if program.code:
        assert {finding.code for _, finding in found} == {program.code}
    notes = [note for _, finding in found for note in finding.notes]
    for words in filter(None, (program.because, program.unknown)):
        assert any(words in note for note in notes), notes
    if program.library:
        assert any(f"in the library it is `{program.library}" in note for note in notes), notes
        assert not any("site-packages" in note for note in notes)
    else:
        assert not any("in the library" in note for note in notes), notes


def test_there_are_forty_programs():
    assert len(PROGRAMS) >= 40
    assert {program.make.__module__ for program in PROGRAMS.values()} == {
        module.__name__ for module in MODULES
    }


@pytest.mark.parametrize("shift", [(1, 0, 1, 0), (0, 1, 0, 0), (0, 0, 0, 1)])
def test_a_place_that_is_off_by_one_fails(shift):
    program = PROGRAMS["int_counter"]
    found = drifts_of(ledger_of(program))
    file = inspect.getsourcefile(program.make)
    (mark,) = drifting.marks_of(program.make)
    assert not misplaced(found, [mark], file)
    moved = tuple(a + b for a, b in zip(mark.place, shift, strict=True))
    assert misplaced(found, [Mark(mark.leaf, moved)], file)
    assert misplaced(found, [mark], drifts_control.__file__)


def test_leaves_of_one_expression_are_one_finding():
    ledger = ledger_of(PROGRAMS["many_leaves_of_one_expression"])
    (finding,) = ledger.findings
    assert len(finding.leaves) == 60
    assert finding.location is not None


def test_leaves_of_two_expressions_are_two_findings():
    def step(state):
        return {
            "a": state["a"].astype(jnp.bfloat16),
            "b": (state["b"] * 2).astype(jnp.bfloat16),
            "c": state["a"] + state["b"],
        }

    shape = jax.ShapeDtypeStruct((7,), jnp.float32)
    ledger = donatree.audit(jax.jit(step, donate_argnums=0), {"a": shape, "b": shape, "c": shape})
    lines = {f.location.line for f in ledger.findings if f.code in DRIFTS and f.location}
    assert len(lines) == 2


def test_the_report_underlines_the_expression(tmp_path):
    ended, _ = account(
        tmp_path,
        """\
        import jax
        import jax.numpy as jnp

        def step(state, rate):
            return {"w": state["w"] - rate * state["w"]}

        step = jax.jit(step, donate_argnums=0)
        step({"w": jnp.ones(4, jnp.bfloat16)}, jnp.float32(0.5))
        """,
    )
    lines = ended.err.splitlines()
    at = next(i for i, line in enumerate(lines) if "5 |     return" in line)
    text, under = lines[at], lines[at + 1]
    assert text[under.index("^") : under.rindex("^") + 1] == 'state["w"] - rate * state["w"]'
    assert "the other operand is float32 because of argument `rate`" in ended.err


def test_a_library_function_that_is_jitted_itself_is_shown_where_it_is_called():
    optax = pytest.importorskip("optax")
    grads = {"w": jnp.ones((4, 4))}
    state = optax.trace(0.9).init(grads)
    step = jax.jit(optax.trace(0.9, accumulator_dtype=jnp.bfloat16).update, donate_argnums=1)
    with warnings.catch_warnings(), donatree.watch() as watched:
        warnings.simplefilter("ignore")
        line = inspect.currentframe().f_lineno + 1
        step(grads, state)
    (finding,) = [f for f in watched.account.ledgers[0].findings if f.code in DRIFTS]
    assert (finding.location.file, finding.location.line) == (
        donatree._jax.frames.shown(__file__),
        line,
    )
    assert any("in the library it is `optax/" in note for note in finding.notes)


def test_a_clean_compile_is_not_walked(monkeypatch):
    def never(*_: object) -> None:
        raise AssertionError("looked for an origin")

    monkeypatch.setattr(graph.Graph, "__init__", never)
    step = jax.jit(lambda s: {"w": s["w"] * 2}, donate_argnums=0)
    assert donatree.audit(step, {"w": jnp.ones(5)}).lost == ()
    drifts = jax.jit(lambda s: {"w": s["w"].astype(jnp.int8)}, donate_argnums=0)
    with pytest.raises(RuntimeError, match="looked for an origin"):
        donatree.audit(drifts, {"w": jnp.ones(5)})


def test_a_watched_program_goes_on_where_the_walk_fails(monkeypatch):
    def fails(*_: object) -> None:
        raise ValueError("no graph")

    monkeypatch.setattr(origins, "locate", fails)
    step = jax.jit(lambda s: {"w": s["w"].astype(jnp.int8)}, donate_argnums=0)
    with warnings.catch_warnings(), donatree.watch() as watched:
        warnings.simplefilter("ignore")
        assert step({"w": jnp.ones(5)})["w"].dtype == jnp.int8
    assert [fault.where for fault in watched.account.faults] == ["origins"]
    assert [f.code for f in watched.account.ledgers[0].findings] == ["DT402"]


def test_the_program_is_not_kept_alive():
    seen = []

    class Watching(recorder.Recorder):
        def lowered(self, jaxpr, computation, again):
            seen.append(weakref.ref(jaxpr))
            super().lowered(jaxpr, computation, again)

    watching = Watching()
    watching.start()
    try:
        step = jax.jit(lambda s: {"w": s["w"].astype(jnp.int8)}, donate_argnums=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            step({"w": jnp.ones(6)})
        assert seen[0]() is not None
        assert any(f.location for ledger in watching.ledgers for f in ledger.findings)
        del step
        jax.clear_caches()
        gc.collect()
        assert seen[0]() is None
    finally:
        watching.stop()


def test_programs_read_in_another_order_are_found_alike():
    """The caches of library functions keep the stack of their first caller; order must not tell."""
    code = textwrap.dedent(
        """
        import json, sys
        sys.path.insert(0, sys.argv[1])
        import test_origins
        found = {}
        for name in reversed(test_origins.PROGRAMS):
            if "called_before" in name or "variance" in name:
                program = test_origins.PROGRAMS[name]
                for leaf, finding in test_origins.drifts_of(test_origins.ledger_of(program)):
                    found[name] = test_origins.drifting.place(finding.location)
        print(json.dumps(found))
        """
    )
    here = Path(__file__).parent
    done = subprocess.run(
        [sys.executable, "-c", code, str(here)],
        capture_output=True,
        text=True,
        check=True,
        env=environment(),
    )
    found = json.loads(done.stdout)
    assert len(found) >= 4
    for name, place in found.items():
        (mark,) = drifting.marks_of(PROGRAMS[name].make)
        assert tuple(place) == mark.place, name
