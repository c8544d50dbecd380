"""`audit`, `require`, `whole` and `watch` from Python; `donatree audit` and `demo`."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import donatree
from donatree import Gate, lesson
from donatree._jax import facts
from programs import donatree as command
from programs import write

REUSES_EQUAL_BYTES = facts.pairs_by_element_count()


@pytest.fixture(autouse=True)
def quiet() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def test_the_lessons_numbers() -> None:
    state, g = lesson.arguments()
    kept = donatree.audit(jax.jit(lesson.kept, donate_argnums=0), state, g)
    drifted = donatree.audit(jax.jit(lesson.drifted, donate_argnums=0), state, g)
    halved = donatree.audit(jax.jit(lesson.halved, donate_argnums=0), state, g)
    assert kept.summary == "84 of 84 bytes, 3 of 3 leaves"
    assert kept.findings == ()
    assert halved.summary == "20 of 84 bytes, 2 of 3 leaves"
    (lost,) = halved.lost
    assert (lost.path, lost.finding, lost.bytes) == ("state.w", "DT402", 64)
    if REUSES_EQUAL_BYTES:
        # Granted, and then a copy of four bytes: the lesson's number, for another reason.
        assert drifted.bytes_after(Gate.GRANTED) == 84
        assert drifted.summary == "80 of 84 bytes, 2 of 3 leaves"
        assert drifted.lost[0].stopped_at is Gate.IN_PLACE
        assert [finding.code for finding in drifted.findings] == ["DT403"]
        assert lost.stopped_at is Gate.GRANTED
        assert "JAX gives no warning here" in halved.findings[0].notes
    else:
        assert drifted.summary == "80 of 84 bytes, 2 of 3 leaves"
        (counter,) = drifted.lost
        assert (counter.path, counter.stopped_at, counter.finding) == (
            "state.step", Gate.MATCHED, "DT402",
        )  # fmt: skip


def test_audit_runs_nothing_and_donates_nothing() -> None:
    ran = []

    def step(state: Any) -> Any:
        jax.debug.callback(lambda: ran.append(1))
        return state + 1

    x = jnp.ones(4)
    ledger = donatree.audit(jax.jit(step, donate_argnums=0), x)
    jax.effects_barrier()
    assert ledger.kept_in_place == 16
    assert not ran
    assert not x.is_deleted()


def test_audit_takes_shapes_and_says_what_they_leave_open() -> None:
    step = jax.jit(lambda s: {"w": s["w"] + 1}, donate_argnums=0)
    open_ended = donatree.audit(step, {"w": jax.ShapeDtypeStruct((4, 4), jnp.float32)})
    assert open_ended.kept_in_place == 64
    assert any("without a sharding" in note for note in open_ended.notes)
    one = jax.sharding.SingleDeviceSharding(jax.devices()[0])
    shape = jax.ShapeDtypeStruct((4, 4), jnp.float32, sharding=one)
    closed = donatree.audit(step, {"w": shape})
    assert not any("without a sharding" in note for note in closed.notes)


def test_audit_after_the_program_ran_compiles_nothing_again() -> None:
    counted = []

    def listen(name: str, seconds: float, **_: Any) -> None:
        if name == "/jax/core/compile/backend_compile_duration":
            counted.append(name)

    step = jax.jit(lambda s: s * 3.0, donate_argnums=0)
    step(jnp.ones(11))
    x = jnp.ones(11)
    jax.monitoring.register_event_duration_secs_listener(listen)
    assert donatree.audit(step, x).kept_in_place == 44
    assert donatree.audit(step, x).kept_in_place == 44
    assert counted == []
    step(jnp.ones(12))
    assert counted, "the listener must be able to count"


def test_audit_of_a_function_that_donates_nothing() -> None:
    ledger = donatree.audit(jax.jit(lambda x: x + 1), jnp.ones(4))
    assert (ledger.promised, ledger.entries, ledger.findings) == (0, (), ())
    assert ledger.fraction == 1.0


@pytest.mark.parametrize(
    ("step", "args", "line"),
    [
        (len, ([1],), "`len` is not jitted"),
        (jax.jit(lambda x: x), (object(),), "JAX refuses `<lambda>` with these arguments"),
        (jax.jit(lambda x: x), (), "JAX refuses `<lambda>` with these arguments"),
        (jax.jit(lambda x: x @ jnp.ones((7, 7))), (jnp.ones((3, 3)),), "JAX refuses `<lambda>`"),
    ],
)
def test_audit_of_something_else_is_one_clear_line(step: Any, args: Any, line: str) -> None:
    with pytest.raises(donatree.TargetError) as raised:
        donatree.audit(step, *args)
    assert str(raised.value).startswith(line)
    assert "\n" not in str(raised.value)


def test_require_names_each_lost_leaf() -> None:
    step = jax.jit(lambda s: {"a": s["a"][:2], "b": s["b"] + 1}, donate_argnums=0)
    ledger = donatree.audit(step, {"a": jnp.ones(9), "b": jnp.ones(3)})
    with pytest.raises(donatree.DonationError, match=r"s\['a'\]  float32\[9\]  36 bytes") as raised:
        donatree.require(ledger)
    assert raised.value.ledger is ledger
    assert "s['b']" not in str(raised.value)
    whole = donatree.audit(jax.jit(lambda s: s + 1, donate_argnums=0), jnp.ones(3))
    assert donatree.require(whole) is whole


def test_whole_raises_at_the_compile_before_anything_runs() -> None:
    @donatree.whole
    @jax.jit
    def without(x: Any) -> Any:
        return x

    step = jax.jit(lambda s: s[:-1], donate_argnums=0)
    assert donatree.whole(step) is step
    x = jnp.ones(5)
    for _ in range(2):
        with pytest.raises(donatree.DonationError, match="DT401"):
            step(x)
    assert not x.is_deleted()
    assert without(jnp.ones(2)).shape == (2,)


def test_whole_lets_a_kept_promise_pass_and_other_functions_alone() -> None:
    step = donatree.whole(jax.jit(lambda s: s + 1, donate_argnums=0))
    other = jax.jit(lambda s: s[:-1], donate_argnums=0)
    x = jnp.ones(5)
    assert step(x).tolist() == [2.0] * 5
    assert x.is_deleted()
    assert other(jnp.ones(5)).shape == (4,)


def test_whole_leaves_jaxs_own_warning_alone() -> None:
    donatree.whole(jax.jit(lambda s: s + 1, donate_argnums=0))
    with pytest.warns(UserWarning, match="Some donated buffers were not usable"):
        jax.jit(lambda s: s[:-1] * 5, donate_argnums=0)(jnp.ones(5))


def test_whole_over_what_is_not_jitted() -> None:
    with pytest.raises(donatree.TargetError, match="put `whole` above"):
        donatree.whole(len)


def test_watch_sees_what_is_compiled_inside_the_block() -> None:
    outside = jax.jit(lambda x: x + 1, donate_argnums=0)
    with donatree.watch() as watched:
        outside(jnp.ones(4))
        assert [ledger.promised for ledger in watched.ledgers] == [16]
    outside(jnp.ones(5))
    assert [ledger.promised for ledger in watched.ledgers] == [16]
    assert watched.account.versions["jax"] == jax.__version__


def test_watch_sees_a_function_that_was_lowered_before_the_block() -> None:
    step = jax.jit(lambda state: state - 1, donate_argnums=0)
    step.lower(jnp.ones(6))
    with donatree.watch() as watched:
        step(jnp.ones(6))
    (ledger,) = watched.ledgers
    assert [(e.path, e.slot and e.slot.path) for e in ledger.entries] == [("state", "result")]


def test_to_dict_has_the_stable_core() -> None:
    state, g = lesson.arguments()
    row = donatree.audit(jax.jit(lesson.kept, donate_argnums=0), state, g).to_dict()
    assert row["function"] == "kept"
    assert row["donated_arguments"] == ["state"]
    assert row["promised_bytes"] == 84
    assert row["bytes_after"] == {
        "asked": 84, "kept": 84, "matched": 84, "granted": 84, "in_place": 84, "honoured": None
    }  # fmt: skip
    assert row["alias_size_in_bytes"] == 84
    step = row["entries"][2]
    assert {name: step[name] for name in ("path", "flat_index", "dtype", "shape", "bytes")} == {
        "path": "state.step", "flat_index": 2, "dtype": "int32", "shape": [], "bytes": 4
    }  # fmt: skip
    assert (step["global_bytes"], step["stopped_at"], step["slot"], step["finding"]) == (
        4, None, "result.step", None,
    )  # fmt: skip


TARGET = """
    import jax, jax.numpy as jnp
    def kept():
        return jax.jit(lambda s: s + 1, donate_argnums=0), (jnp.ones(4),)
    def lost():
        step = jax.jit(lambda s, *, n: s[:n], donate_argnums=0, static_argnames="n")
        return step, (jax.ShapeDtypeStruct((9,), jnp.float32),), {"n": 2}
    def not_jitted():
        return len, ([1],)
    def no_tuple():
        return jax.jit(len)
    def three_wrong():
        return 1, 2, 3, 4
    def args_no_tuple():
        return jax.jit(len), jnp.ones(3)
    def raises():
        raise RuntimeError("mine")
    constant = 3
    jitted = jax.jit(lambda x: x)
"""


def test_audit_command(tmp_path: Path) -> None:
    write(tmp_path, TARGET, "work/targets.py")
    write(tmp_path, "", "work/__init__.py")
    kept = command("audit", "work/targets.py::kept", cwd=tmp_path)
    assert (kept.code, kept.err) == (0, "")
    assert "16 of 16 bytes, 1 of 1 leaves" in kept.out
    lost = command("audit", "work.targets:lost", "--json", "l.json", cwd=tmp_path)
    assert lost.code == 1
    assert "DT401" in lost.out
    assert (tmp_path / "l.json").is_file()


@pytest.mark.parametrize(
    ("target", "line"),
    [
        ("nope.py::x", "no such file: `nope.py`"),
        ("nope:x", "no module named `nope`"),
        ("targets.py", "`targets.py` is no target"),
        ("targets.py::nope", "`targets.py` has no `nope`"),
        ("targets.py::constant", "`constant` in `targets.py` is a int and not a function"),
        ("targets.py::jitted", "`jitted` in `targets.py` is jitted itself"),
        ("targets.py::not_jitted", "`len` is not jitted"),
        ("targets.py::no_tuple", "`no_tuple` must return (jitted, args) or (jitted, args, kwargs)"),
        ("targets.py::three_wrong", "`three_wrong` must return"),
        ("targets.py::args_no_tuple", "`args_no_tuple` must return"),
        ("targets.py::raises", "`raises` in `targets.py` raised RuntimeError: mine"),
        ("broken.py::x", "syntax error at broken.py:1"),
        ("fails.py::x", "importing `fails.py` raised ZeroDivisionError"),
    ],
)
def test_bad_targets_are_one_clear_line(tmp_path: Path, target: str, line: str) -> None:
    write(tmp_path, TARGET, "targets.py")
    write(tmp_path, "def (", "broken.py")
    write(tmp_path, "1 / 0", "fails.py")
    from donatree.cli import main

    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        patch.syspath_prepend(tmp_path)
        with pytest.raises(SystemExit) as ended:
            main(["audit", target])
    assert ended.value.code == 2
    out, err = _captured(tmp_path, target)
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith(f"donatree: {line}")


def _captured(folder: Path, target: str) -> tuple[str, str]:
    import contextlib
    import io

    from donatree.cli import main

    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        redirected = contextlib.redirect_stdout(out), contextlib.redirect_stderr(err)
        with redirected[0], redirected[1], contextlib.suppress(SystemExit):
            main(["audit", target])
    return out.getvalue(), err.getvalue()


def test_demo_sets_the_lesson_beside_this_jax(tmp_path: Path) -> None:
    shown = command("demo", cwd=tmp_path)
    assert shown.code == 0
    here = "80 of 84 bytes, 2 of 3"
    text = " ".join(shown.out.split())
    said = "the lesson says: the counter drops out of the map: 80 of 84 bytes, with a warning;"
    assert f"{said} here: {here}" in text
    assert "here: the leaf is deleted: True, the batch: False" in text


def test_debug_prints_versions_and_facts(tmp_path: Path) -> None:
    shown = command("debug", cwd=tmp_path)
    assert shown.code == 0
    assert f"jax        {jax.__version__}" in shown.out
    assert f"pairs_by_element_count = {REUSES_EQUAL_BYTES}" in shown.out
    assert "hook pjit._infer_params = True" in shown.out


def test_a_function_with_effects_is_judged_once_though_jax_asks_at_each_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from donatree import gates

    judged = []
    real = gates.judge
    monkeypatch.setattr(gates, "judge", lambda *seen: judged.append(1) or real(*seen))

    def step(state: Any) -> Any:
        jax.debug.print("{}", state.sum(), ordered=True)
        return state + 1

    fast = jax.jit(step, donate_argnums=0)
    with donatree.watch() as watched:
        state = jnp.ones(3)
        for _ in range(4):
            state = fast(state)
    jax.effects_barrier()
    assert len(watched.ledgers) == 1
    # JAX 0.5 lowers anew at each call of a function with ordered effects.
    assert judged == [1] * (4 if jax.__version_info__ < (0, 6) else 1)


def test_audit_where_the_program_makes_warnings_errors() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ledger = donatree.audit(jax.jit(lambda s: s[:-1] - 1, donate_argnums=0), jnp.ones(7))
    assert [finding.code for finding in ledger.findings] == ["DT401"]


def test_audit_under_disable_jit_says_that_a_call_donates_nothing() -> None:
    step = jax.jit(lambda s: s + 7, donate_argnums=0)
    with jax.disable_jit():
        ledger = donatree.audit(step, jnp.ones(3))
    assert [(e.stopped_at, e.finding) for e in ledger.entries] == [(Gate.ASKED, "DT102")]
    assert donatree.audit(step, jnp.ones(3)).kept_in_place == 12


def test_require_raises_where_only_a_finding_says_that_nothing_was_asked() -> None:
    inner = jax.jit(lambda s: s * 2, donate_argnums=0)
    ledger = donatree.audit(jax.jit(lambda s: inner(s) + 1), jnp.ones(4))
    assert ledger.entries == ()
    with pytest.raises(donatree.DonationError, match="DT103"):
        donatree.require(ledger)

    def variadic(*args: Any, **kwargs: Any) -> Any:
        return (kwargs["state"] if kwargs else args[0]) + 1

    with pytest.raises(donatree.DonationError, match="DT104"):
        donatree.whole(jax.jit(variadic, donate_argnums=0))(state=jnp.ones(3))


def test_disabled_jit_is_no_warning_about_functions_that_were_compiled() -> None:
    with donatree.watch() as watched:
        jax.jit(lambda s: s + 9, donate_argnums=0)(jnp.ones(4))
        with jax.disable_jit():
            jnp.ones(3) + 1
    assert [(f.code, f.level) for f in watched.findings] == [("DT102", "note")]
