"""The gates asked, kept, matched and granted against the measured truth of small programs.

The table is in `cases_types`, `cases_layouts`, `cases_calls` and `cases_sharded`. The cases that
only a run shows are in `test_cases_watched`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import cases_alone
import cases_calls  # noqa: F401
import cases_layouts
import cases_oracle
import cases_sharded  # noqa: F401
import cases_types  # noqa: F401
import donatree
from cases_table import CASES, Call, Case, Row, Truth, kept, lost, said, written
from donatree._jax import facts
from donatree.ledger import Gate

pytestmark = pytest.mark.skipif(
    jax.default_backend() != "cpu", reason="the truths were measured on the CPU"
)

HERE = Path(__file__).parent
JAX_05 = jax.__version_info__ < (0, 6)


def of(devices: int) -> list[Any]:
    """Cases as parameters."""
    return [pytest.param(each, id=each.name) for each in CASES.values() if each.devices == devices]


def truth_of(case: Case) -> Truth:
    """The truth on the JAX that is installed."""
    return case.truth(facts.pairs_by_element_count())


def audit(call: Call) -> donatree.Ledger:
    return donatree.audit(call.step, *call.args, **call.kwargs)


def as_json(value: Any) -> Any:
    """What comes out of JSON again."""
    return json.loads(json.dumps(value))


def program(name: str, **environment: str) -> Any:
    """What a program beside this file prints."""
    source = str(Path(donatree.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, str(HERE / name)],
        env=os.environ | {"PYTHONPATH": source, "JAX_PLATFORMS": "cpu"} | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="session")
def on_eight_devices() -> Any:
    """What `cases_sharded` measures."""
    return program("cases_sharded.py", XLA_FLAGS="--xla_force_host_platform_device_count=8")


@pytest.fixture(scope="session")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What `cases_alone` measures."""
    cache = str(tmp_path_factory.mktemp("cache"))
    hoist = facts.pairs_by_element_count()  # both came to work with JAX 0.8
    return program("cases_alone.py", **cases_alone.environment(cache, hoist=hoist))


# The table.


@pytest.mark.filterwarnings("always")
@pytest.mark.parametrize("case", of(1))
def test_the_ledger_says_what_is_true(case: Case) -> None:
    assert said(audit(case.make())) == written(truth_of(case))


# The table ends before gate in place: what is compared there is one compile more, without donation.
@pytest.mark.filterwarnings("ignore:Some donated buffers")
@pytest.mark.parametrize("case", of(1))
def test_what_copies_say_of_the_saving_is_what_a_compile_without_donation_says(case: Case) -> None:
    call = case.make()
    plain = audit(call)
    proved = donatree.prove(call.step, *call.args, **call.kwargs)
    open_ = [each for each in plain.entries if "not known" in each.evidence.get("in_place", "")]
    assert (Gate.IN_PLACE in plain.checked) == (not open_) or Gate.GRANTED not in plain.checked
    for mine, measured in zip(plain.entries, proved.entries, strict=True):
        if mine not in open_:
            assert mine.stopped_at == measured.stopped_at, mine.path


@pytest.mark.parametrize("case", of(8))
def test_the_ledger_says_what_is_true_on_eight_devices(case: Case, on_eight_devices: Any) -> None:
    assert on_eight_devices["cases"][case.name]["said"] == as_json(written(truth_of(case)))


def measured_of(truth: Truth) -> Any:
    """What `cases_oracle.measure` must find; it sees only leaves that were asked."""
    asked = [row for row in truth.rows if row.passed("asked")]
    leaves = [(row.passed("kept"), row.passed("matched"), row.slot) for row in asked]
    return as_json([leaves, truth.alias, truth.warning])


def gone_of(truth: Truth, found: list[bool | None]) -> list[bool | None]:
    """Which leaves must be gone after a call: those that were granted, if they were arrays."""
    asked = [row.slot is not None for row in truth.rows if row.passed("asked")]
    assert len(asked) == len(found)
    return [None if gone is None else granted for gone, granted in zip(found, asked, strict=True)]


@pytest.mark.parametrize("case", of(1))
def test_jax_itself_does_what_the_table_says(case: Case) -> None:
    truth = truth_of(case)
    call = case.make()
    assert as_json(list(cases_oracle.measure(call))) == measured_of(truth)
    if case.runs:
        gone = cases_oracle.gone_after(call)
        assert gone == gone_of(truth, gone)


@pytest.mark.parametrize("case", of(8))
def test_jax_itself_does_what_the_table_says_on_eight_devices(
    case: Case, on_eight_devices: Any
) -> None:
    found, truth = on_eight_devices["cases"][case.name], truth_of(case)
    assert list(found["measured"].values()) == measured_of(truth)
    assert found["gone"] == gone_of(truth, found["gone"])


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_table_adds_up(case: Case) -> None:
    for truth in (case.upto_07, case.since_08):
        promised = sum(row.bytes for row in truth.rows)
        after = [
            sum(row.bytes for row in truth.rows if row.passed(gate))
            for gate in ("asked", "kept", "matched", "granted")
        ]
        assert truth.funnel == (promised, *after)
        assert truth.alias == sum(row.bytes for row in truth.rows if row.slot is not None)


def test_the_other_side_of_jax_08_would_fail() -> None:
    two_sided = [case for case in CASES.values() if case.upto_07 != case.since_08]
    assert {case.devices for case in two_sided} == {1, 8}
    for case in two_sided:
        if case.devices == 1:
            other = case.truth(not facts.pairs_by_element_count())
            assert said(audit(case.make())) != written(other), case.name


@pytest.mark.parametrize(
    "name",
    [
        "returned_in_half_the_bytes",
        "cache_grows_by_a_row",
        "leaf_is_never_used",
        "random_keys_are_threaded",
    ],
)
@pytest.mark.filterwarnings("always")
def test_shapes_are_judged_like_arrays(name: str) -> None:
    call = CASES[name].make()
    shapes = jax.tree_util.tree_map(
        lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype), call.args
    )
    ledger = donatree.audit(call.step, *shapes)
    assert said(ledger) == written(truth_of(CASES[name]))
    assert any("without a sharding" in note for note in ledger.notes)
    assert not any(leaf.is_deleted() for leaf in jax.tree_util.tree_leaves(call.args))


# Eight devices, beside the table.


STATE_8 = {
    "rows": [
        kept("state['scale']", "float32[10]", 40, "result['scale']"),
        kept("state['table']", "float32[48,16]", 384, "result['table']"),
    ],
    "funnel": (424, 424, 424, 424, 424),
    "alias_size_in_bytes": 424,
    "warnings": [],
    "codes": [],
}


def test_shapes_with_shardings_are_counted_per_device(on_eight_devices: Any) -> None:
    found = on_eight_devices["shapes"]["with"]
    assert found == as_json({"said": STATE_8, "global": 3112, "devices": 8, "left_open": []})


def test_shapes_without_shardings_leave_it_open(on_eight_devices: Any) -> None:
    found = on_eight_devices["shapes"]["without"]
    assert len(found["left_open"]) == 1
    assert found["devices"] == 1
    assert found["said"]["funnel"] == [3112, 3112, 3112, 3112, 3112]


def test_shapes_are_counted_per_device_where_the_jit_gives_shardings(on_eight_devices: Any) -> None:
    found = on_eight_devices["shapes"]["in_shardings"]
    assert (found["said"], found["global"], found["devices"]) == (as_json(STATE_8), 3112, 8)


def test_nothing_is_left_open_where_the_jit_gives_shardings(on_eight_devices: Any) -> None:
    assert on_eight_devices["shapes"]["in_shardings"]["left_open"] == []


def test_state_that_moves_to_eight_devices_is_compiled_twice(on_eight_devices: Any) -> None:
    # The price that DT405 names for `state_on_one_device_under_constraints`.
    assert on_eight_devices["retraces"] == [1, 2, 2]


def test_pmap_is_seen_where_it_goes_through_jit(on_eight_devices: Any) -> None:
    found = on_eight_devices["pmap"]
    # The first call reshards what the caller holds and donates the copy.
    assert found["gone"] == [False, True, False]
    if not found["through_jit"]:
        assert found["said"] == []
        return
    assert len(found["said"]) == 3
    for ledger in found["said"][:2]:
        assert [row[1:4] for row in ledger["rows"]] == [["float32[8,16]", 64, "result[0]"]]
        assert ledger["alias_size_in_bytes"] == 64
    first, second, _ = found["honoured"]
    assert first.startswith("call 1: copied, the leaf is alive after the call, in another sharding")
    assert second == "call 1: reused, the slot is at the leaf's address on all 8 shards"
    assert found["said"][2]["funnel"][4] == 0
    assert found["said"][2]["rows"][0][2:4] == [64, None]


@pytest.mark.xfail(reason="a limit, said in the docs: JAX's names of pmap's own wrapper stand")
def test_pmap_is_named_as_the_user_wrote_it(on_eight_devices: Any) -> None:
    found = on_eight_devices["pmap"]
    if not found["through_jit"]:
        pytest.skip("pmap is no jit here")
    assert found["functions"] == ["train", "train", "shorten"]
    assert [each["rows"][0][0] for each in found["said"]] == ["weights", "weights", "weights"]


# Bytes of the alias map that are no donation, and settings of a process.


def new_ref(value: jax.Array) -> Any:
    """A mutable reference, as JAX calls it since 0.7, and before."""
    if hasattr(jax, "new_ref"):
        return jax.new_ref(value)
    from jax._src import core

    private: Any = core
    return private.mutable_array(value)


def test_references_are_aliased_and_not_donated() -> None:
    def accumulate(total: Any, rows: Any, scale: Any) -> Any:
        total[...] += rows.sum()
        return scale * 2

    step = jax.jit(accumulate, donate_argnums=2)
    ledger = donatree.audit(step, new_ref(jnp.ones(50)), jnp.ones((2, 2)), jnp.ones(3))
    assert said(ledger)["rows"] == [kept("scale", "float32[3]", 12, "result")]
    assert (ledger.alias_size_in_bytes, ledger.alias_not_donated_bytes) == (212, 200)
    [finding] = ledger.findings
    assert (finding.code, finding.leaves) == ("DT407", ("total",))
    assert "200 bytes of the alias map belong to the mutable reference `total`" in ledger.notes


def test_reference_alone_promises_nothing() -> None:
    def accumulate(total: Any, rows: Any) -> Any:
        total[...] += rows
        return rows * 2

    ledger = donatree.audit(jax.jit(accumulate), new_ref(jnp.ones(50)), jnp.ones(50))
    assert (ledger.promised, ledger.entries) == (0, ())
    assert (ledger.alias_size_in_bytes, ledger.alias_not_donated_bytes) == (200, 200)
    assert [finding.code for finding in ledger.findings] == ["DT407"]


def test_tokens_and_hoisted_constants_shift_no_leaf(alone: Any) -> None:
    found = alone["constants"]
    assert found["token"]
    assert found["hoisted"] == facts.pairs_by_element_count()
    assert found["said"]["rows"] == [
        ["state['high']", "float32[2,3]", 24, "result['high']", None, None],
        ["state['low']", "float32[5]", 20, "result['low']", None, None],
    ]
    assert found["said"]["alias_size_in_bytes"] == 44


def test_executable_from_the_persistent_cache_keeps_its_donation(alone: Any) -> None:
    compiled, cached = alone["cache"]
    assert (compiled["hit"], cached["hit"]) == (False, True)
    rows = [
        ["state['long']", "float32[64]", 256, "result['long']", None, None],
        ["state['short']", "float32[32]", 128, "result['short']", None, None],
    ]
    for found in (compiled, cached):
        assert found["gone"] == [True, True]
        assert [ledger["rows"] for ledger in found["said"]] == [rows]
        assert [ledger["funnel"] for ledger in found["said"]] == [[384] * 5]
    assert compiled["said"][0]["alias_size_in_bytes"] == 384
    assert compiled["notes"] == []
    if JAX_05:  # the statistics are not stored with the executable
        assert cached["said"][0]["alias_size_in_bytes"] == 0
        assert ["no alias statistics" in note for note in cached["notes"]] == [True]
    else:
        assert cached["said"][0]["alias_size_in_bytes"] == 384
        assert cached["notes"] == []


@pytest.fixture
def debug_flags() -> Any:
    """JAX's debug flags are off again after the test, and nothing that was traced is left."""
    yield
    jax.config.update("jax_debug_nans", False)
    jax.config.update("jax_debug_infs", False)
    jax.clear_caches()


@pytest.mark.usefixtures("debug_flags")
def test_debug_nans_switches_donation_off_and_it_stays_off() -> None:
    def step(x: Any) -> Any:
        return x + 1

    jitted = jax.jit(step, donate_argnums=0)
    off = {
        "rows": [lost("x", "float32[8]", 32, "asked", "DT101")],
        "funnel": (32, 0, 0, 0, 0),
        "alias_size_in_bytes": 0,
        "warnings": [],
        "codes": ["DT101"],
    }
    jax.config.update("jax_debug_nans", True)
    assert said(donatree.audit(jitted, jnp.ones(8))) == off
    jax.config.update("jax_debug_nans", False)
    assert said(donatree.audit(jitted, jnp.ones(8))) == off
    x = jnp.ones(8)
    jitted(x)
    assert not x.is_deleted()
    jax.clear_caches()
    assert donatree.audit(jitted, jnp.ones(8)).summary == "32 of 32 bytes, 1 of 1 leaves"


@pytest.mark.usefixtures("debug_flags")
def test_debug_infs_leaves_donation_on() -> None:
    jax.config.update("jax_debug_infs", True)
    step = jax.jit(lambda x: x * 3, donate_argnums=0)
    assert donatree.audit(step, jnp.ones(8)).summary == "32 of 32 bytes, 1 of 1 leaves"


@pytest.mark.filterwarnings("always")
def test_platform_without_donation(monkeypatch: pytest.MonkeyPatch) -> None:
    from jax._src.interpreters import mlir

    monkeypatch.setattr(mlir, "_platforms_with_donation", ["cuda"])
    ledger = donatree.audit(jax.jit(lambda x: x + 1, donate_argnums=0), jnp.ones(32))
    assert said(ledger) == {
        "rows": [lost("x", "float32[32]", 128, "matched", "DT303")],
        "funnel": (128, 128, 128, 0, 0),
        "alias_size_in_bytes": 0,
        "warnings": ["JAX itself warned: Some donated buffers were not usable: float32[32]."],
        "codes": ["DT303"],
    }


@pytest.mark.parametrize(
    ("inputs", "outputs"), [(cases_layouts.AUTO, None), (None, cases_layouts.AUTO)]
)
def test_layout_left_open_on_one_side_only_is_refused_by_jax(inputs: Any, outputs: Any) -> None:
    step = cases_layouts.double(in_shardings=inputs, out_shardings=outputs)
    with pytest.raises(donatree.TargetError, match=r"ayout being donated was") as caught:
        donatree.audit(step, jnp.ones((4, 4)))
    assert len(str(caught.value).splitlines()) == 1


def test_exported_function_donates_where_its_caller_does() -> None:
    from jax import export

    def step(state: Any) -> Any:
        return {"a": state["a"] + 1}

    jitted = jax.jit(step, donate_argnums=0)
    exported = export.export(jitted)({"a": jax.ShapeDtypeStruct((50,), jnp.float32)})
    assert "tf.aliasing_output" in exported.mlir_module()
    state = {"a": jnp.ones(50)}
    exported.call(state)
    assert not state["a"].is_deleted()
    plainly = donatree.audit(jax.jit(exported.call), state)
    assert (plainly.entries, plainly.alias_size_in_bytes) == ((), 0)
    [row] = said(donatree.audit(jax.jit(exported.call, donate_argnums=0), state))["rows"]
    assert row == Row("args[0]['a']", "float32[50]", 200, "result['a']", None, None)


def test_static_and_donated_at_once_is_refused_by_jax() -> None:
    with pytest.raises(ValueError, match="cannot intersect"):
        jax.jit(lambda n, x: x * n, static_argnums=0, donate_argnums=0)
