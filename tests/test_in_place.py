"""Gate in place: handmade evidence, and what real programs show of it."""

from __future__ import annotations

import dataclasses
import textwrap
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest
from jax import lax

import donatree as library
from donatree import gates
from donatree.gates import in_place
from donatree.ledger import ArraySpec, Entry, Gate, Leaf, Live, Slot
from donatree.observation import (
    Observation,
    Placement,
    Proof,
    Protection,
    Request,
    Saving,
)
from programs import account, donatree, write

HAS_ASSIGNMENT = tuple(map(int, jax.__version__.split(".")[:3])) >= (0, 6, 2)
SIZE = 1024


def entry(size: int = SIZE, index: int = 0) -> Entry:
    spec = ArraySpec("uint8", (size,), (size,), size, size)
    leaf = Leaf(f"state[{index}]", "state", index, spec)
    slot = Slot(f"result[{index}]", index, spec)
    return Entry(leaf, slot, slot)


def copy(size: int = SIZE, at_peak: bool | None = True) -> Protection:
    return Protection(
        "copy.1", size, at_peak, "the leaf's value, which `mul` writes over", ("`sub`",)
    )


def observed(temp: int, *copies: Protection, proof: Proof | None = None) -> Observation:
    placement = Placement({0: copies} if copies else {})
    request = Request("step", (entry().leaf,), frozenset((0,)), frozenset((0,)))
    live = Live(SIZE, SIZE, SIZE, temp)
    return Observation(request, live=live, placement=placement, proof=proof)


def check(evidence: Observation, leaf: Entry) -> in_place.Verdict | None:
    return in_place.check(evidence, leaf, evidence.copied_bytes)


def proof(saved: int, size: int = SIZE, leaves: int = 1) -> Proof:
    saving = Saving(frozenset(range(leaves)), size, SIZE + saved, SIZE, saved > size - 64)
    return Proof(Live(SIZE, saved, 0, 0), (saving,), 1)


@pytest.mark.parametrize(
    ("evidence", "passed"),
    [
        (observed(0), True),
        (observed(SIZE // 16), True),
        (observed(SIZE // 16 + 1), None),
        (observed(SIZE - 1), None),
        (observed(SIZE), None),
        (observed(SIZE, copy()), False),
        (observed(SIZE, copy(at_peak=False)), None),
        (observed(SIZE, copy(at_peak=None)), False),
        (observed(63, copy(at_peak=None)), True),
        (observed(SIZE - 1, copy(at_peak=None)), None),
        (observed(SIZE, proof=proof(SIZE)), True),
        (observed(SIZE, proof=proof(SIZE - 63)), True),
        (observed(SIZE, proof=proof(SIZE - 64)), False),
        (observed(SIZE, proof=proof(0)), False),
        (observed(SIZE, proof=proof(-SIZE)), False),
        (observed(0, proof=proof(0)), False),
        (observed(SIZE, copy(), proof=proof(SIZE)), True),
    ],
)
def test_the_strongest_evidence_decides(evidence, passed):
    verdict = check(evidence, entry())
    assert verdict is not None
    assert verdict.passed is passed
    assert verdict.evidence


def test_a_small_leaf_cannot_hide_in_what_alignment_explains():
    together = Proof(Live(0, 0, 0, 0), (Saving(frozenset((0, 1)), 68, 152, 88, True),), 1)
    small = entry(4)
    assert check(observed(4, proof=together), small).passed is True
    assert check(observed(4, copy(4), proof=together), small).passed is False


def test_a_group_that_saves_a_part_leaves_its_leaves_open_and_says_the_part():
    part = Saving(frozenset((0, 1)), 2 * SIZE, 3 * SIZE, 2 * SIZE, whole=False, settled=False)
    evidence = observed(SIZE, proof=Proof(Live(0, 0, 0, 0), (part,), 1, "the budget was spent"))
    verdict = check(evidence, entry())
    assert verdict.passed is None
    assert (
        check(dataclasses.replace(observed(SIZE, copy()), proof=evidence.proof), entry()).passed
        is False
    )
    assert verdict.evidence == (
        "not known of it alone: live memory goes from 3,072 to 2,048 bytes with its donation: it "
        "and 1 more leaf save 1,024 of 2,048"
    )


def test_without_totals_nothing_is_said():
    assert check(Observation(observed(0).request), entry()) is None


def test_the_evidence_says_what_was_read():
    said = check(observed(SIZE, copy()), entry()).evidence
    assert said == (
        "`copy.1` copies 1,024 bytes, the leaf's value, which `mul` writes over, still read by "
        "`sub`; its buffer is live at the peak of the temporaries"
    )
    assert check(observed(5), entry()).evidence == (
        "temporaries hold 5 bytes, too few for the leaf's 1,024"
    )


# Real programs.


def audit(function, *args, donate=0, prove=False):
    jitted = jax.jit(function, donate_argnums=donate)
    return (library.prove if prove else library.audit)(jitted, *args)


def at(ledger) -> dict[str, str | None]:
    return {each.path: each.stopped_at and each.stopped_at.value for each in ledger.entries}


def matrix():
    return jnp.ones((64, 64))


def square(x):
    return x @ x


def doubled(x):
    return x * 2


def crossed(params, momentum):
    return 0.9 * momentum, params - 0.1 * momentum


def mixed(state):
    return {"a": state["a"] @ state["b"], "b": state["b"] * 2, "n": state["a"].sum()}


def kept(state):
    return {"a": state["a"], "b": state["b"] + state["a"].sum()}


def written_then_read(cache, place):
    new = lax.dynamic_update_slice(cache, jnp.ones((1, 64)), (place, 0))
    return new, cache.sum(0)


def written(cache, place):
    return lax.dynamic_update_slice(cache, jnp.ones((1, 64)), (place, 0))


LOST = [
    (square, (matrix(),), {"x": "in_place"}),
    (
        mixed,
        ({"a": matrix(), "b": matrix()},),
        {"state['a']": "in_place", "state['b']": "in_place"},
    ),
    (written_then_read, (matrix(), 3), {"cache": "in_place"}),
]
SAVED = [
    (doubled, (matrix(),), {"x": None}),
    (kept, ({"a": matrix(), "b": matrix()},), {"state['a']": None, "state['b']": None}),
    (written, (matrix(), 3), {"cache": None}),
]


@pytest.mark.parametrize(("function", "args", "verdict"), LOST + SAVED)
def test_the_verdict_is_what_compiling_without_donation_says(function, args, verdict):
    plain, proved = audit(function, *args), audit(function, *args, prove=True)
    assert at(plain) == at(proved) == verdict
    assert Gate.IN_PLACE in plain.checked
    lost = sum(each.bytes for each in plain.lost)
    assert abs(proved.saved - (proved.promised - lost)) <= 64
    assert plain.alias_size_in_bytes == plain.promised


def chain(x):
    kernel = jnp.ones((3, 3, 1, 1))
    for _ in range(4):
        numbers = ("NHWC", "HWIO", "NHWC")
        x = lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=numbers)
    return x


def test_where_no_copy_is_and_a_temporary_of_the_leafs_size_the_gate_stays_open():
    image = jnp.ones((16, 32, 32, 1))
    ledger = audit(chain, image)
    assert ledger.live.temp >= image.nbytes
    assert ledger.bytes_after(Gate.IN_PLACE) is None
    assert ledger.lost == ()
    [note] = [each for each in ledger.notes if "gate in place is open" in each]
    assert "65,536 bytes" in note
    assert "`--prove`" in note
    proved = audit(chain, image, prove=True)
    assert proved.bytes_after(Gate.IN_PLACE) == image.nbytes
    assert proved.saved >= image.nbytes
    assert not any("open" in each for each in proved.notes)


def test_a_loop_that_reads_an_intermediate_is_measured_and_not_assumed():
    size = 1 << 16

    def step(x):
        a = jnp.exp(x)
        body = lambda i, c: c + a[i * (size // 8)]  # noqa: E731
        return a * 0.5 + lax.fori_loop(0, 8, body, jnp.float32(0))

    ledger = audit(step, jnp.ones(size), prove=True)
    assert (ledger.saved, ledger.kept_in_place) == (4 * size, 4 * size)


def test_pairing_with_another_leafs_slot_is_told_with_its_price():
    def step(state, batch):
        return {"logits": 2 * batch, "state": {"w": state["w"] + 1}}

    ledger = audit(step, {"w": matrix()}, matrix(), prove=True)
    [lost] = ledger.lost
    assert (ledger.saved, lost.finding, lost.slot.path) == (0, "DT502", "result['logits']")
    [finding] = ledger.findings
    assert "reused: `state['w']` by `result['logits']`" in finding.notes


def test_leaves_that_cost_more_than_they_save_are_told():
    ledger = audit(lambda a, b: (b, a), matrix(), matrix(), donate=(0, 1), prove=True)
    assert ledger.saved == 0
    [finding] = ledger.findings
    assert finding.code in ("DT501", "DT502")
    assert [each.stopped_at for each in ledger.entries] == [None, Gate.IN_PLACE]
    assert "it saves -16,384 of 16,384" in ledger.entries[1].evidence["in_place"]


# The place in the program.

READER = """\
import jax
import jax.numpy as jnp


def step(state, place):
    rows = jnp.ones((1, 64))
    new = jax.lax.dynamic_update_slice(state["w"], rows, (place, 0))
    return {"w": new, "mean": state["w"].sum(0) / 2}


def audited():
    state = {"w": jax.ShapeDtypeStruct((64, 64), jnp.float32)}
    return jax.jit(step, donate_argnums=0), (state, 3)
"""


def test_the_finding_points_at_the_expression_that_still_reads(tmp_path: Path):
    write(tmp_path, READER)
    shown = donatree("audit", "train.py::audited", cwd=tmp_path)
    assert shown.code == 1
    assert "warning[DT501]" in shown.out
    assert "--> train.py:7" not in shown.out  # what writes the memory is not what still reads it
    if jax.__version_info__ < (0, 10):
        return  # of a sum XLA keeps no place there, so none is named
    assert "--> train.py:8" in shown.out
    assert "train.py:8:31" in shown.out
    assert textwrap.dedent(
        """\
        8 |     return {"w": new, "mean": state["w"].sum(0) / 2}
          |                               ^^^^^^^^^^^^^^^^^^^^^ still reads the old value
        """
    ) in shown.out.replace("\n  |\n", "\n")


def test_the_report_shows_the_gate_and_the_saving(tmp_path: Path):
    write(tmp_path, READER)
    shown = donatree("audit", "--prove", "--json", "out.json", "train.py::audited", cwd=tmp_path)
    assert "in place" in shown.out
    assert "lost  DT501" in shown.out
    assert "bytes per device: donation saves nothing" in " ".join(shown.out.split())


def test_a_run_measures_only_when_it_is_told_to(tmp_path: Path):
    text = READER + textwrap.dedent(
        """

        compiles = []
        jax.monitoring.register_event_duration_secs_listener(
            lambda name, *rest, **more: compiles.append(name)
            if name.endswith("backend_compile_duration")
            else None
        )
        jitted = jax.jit(step, donate_argnums=0)
        state = {"w": jnp.ones((64, 64)), "mean": jnp.ones(64)}
        before = len(compiles)
        for place in range(3):
            new = jitted({"w": state["w"]}, place)
            state = new
        print(len(compiles) - before, state["w"].sum())
        """
    )
    plain, told = account(tmp_path, text)
    again, proved = account(tmp_path, text, "--prove")
    assert plain.out.split()[0] == "1"
    assert plain.out.split()[1] == again.out.split()[1]
    assert int(again.out.split()[0]) > 1
    [ledger] = told["ledgers"]
    assert ledger["undonated"] is None
    assert ledger["bytes_after"]["in_place"] == 0
    [ledger] = proved["ledgers"]
    assert ledger["saved_bytes"] == 0
    assert ledger["bytes_after"] == {
        **dict.fromkeys(("asked", "kept", "matched", "granted"), 16_384),
        "in_place": 0,
        "honoured": 0,
    }


def test_the_budget_of_a_run_is_kept_and_what_was_not_compiled_is_said(tmp_path: Path):
    _, told = account(
        tmp_path,
        READER + "\njax.jit(step, donate_argnums=0)({'w': jnp.ones((64, 64))}, 3)\n",
        "--prove",
        "--prove-budget",
        "0",
    )
    [ledger] = told["ledgers"]
    assert ledger["undonated"] is None
    assert any("was not compiled" in note for note in ledger["notes"])


@pytest.mark.parametrize("budget", ["-1", "soon"])
def test_a_budget_that_is_none_is_refused(tmp_path: Path, budget: str):
    write(tmp_path, READER)
    shown = donatree("run", "--prove", "--prove-budget", budget, "train.py", cwd=tmp_path)
    assert shown.code == 2
    assert shown.out == ""
    assert "--prove-budget" in shown.err


def test_a_leaf_that_a_copy_protects_is_still_looked_at_in_the_run():
    with library.watch() as watched:
        jitted = jax.jit(square, donate_argnums=0)
        x = jitted(matrix())
        x = jitted(x)
    [ledger] = watched.ledgers
    [lost] = ledger.lost
    assert lost.stopped_at is Gate.IN_PLACE
    assert "reused" in lost.evidence["honoured"]
    assert [each.code for each in ledger.findings] == ["DT501"]


def test_whole_does_not_refuse_what_a_copy_protects():
    @library.whole
    @jax.jit
    def plain(x):
        return x

    jitted = library.whole(jax.jit(square, donate_argnums=0))
    assert jitted(matrix()).shape == (64, 64)
    with pytest.raises(library.DonationError):
        library.require(audit(square, matrix()))


@pytest.mark.skipif(not HAS_ASSIGNMENT, reason="this jaxlib gives no buffer assignment")
def test_the_buffer_assignment_is_what_says_that_a_copy_costs():
    [lost] = audit(square, matrix()).lost
    assert "its buffer is live at the peak of the temporaries" in lost.evidence["in_place"]


@pytest.mark.skipif(HAS_ASSIGNMENT, reason="this jaxlib gives a buffer assignment")
def test_without_a_buffer_assignment_the_modules_text_has_to_do():
    [lost] = audit(square, matrix()).lost
    assert "this jaxlib does not tell whether that is at the peak" in lost.evidence["in_place"]


def test_a_module_that_cannot_be_read_leaves_the_gate_unchecked(monkeypatch):
    from donatree._jax import placement
    from donatree.hlo.error import HeaderError

    def broken(text):
        raise HeaderError("not a module", 3)

    monkeypatch.setattr(placement, "read_entry", broken)
    ledger = audit(square, matrix())
    assert ledger.bytes_after(Gate.IN_PLACE) is None
    assert any("gate in place was not checked: " in note for note in ledger.notes)
    assert gates is not None
