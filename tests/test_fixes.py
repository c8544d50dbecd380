"""Fixes that were tried: what held is what the repaired program does, and nothing else is offered.

Each program stands beside the one that a reader would write after the advice. JAX's own
`memory_analysis` of that one is what a fix has to tell.
"""

from __future__ import annotations

import dataclasses
import json
import re
import time
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import fixing
from donatree import findings
from donatree._jax.ends import Ends
from donatree.findings import dt702, dt703
from donatree.fixes import attempts, candidates
from donatree.fixes.patch import patch
from donatree.holders.twins import find_twins
from donatree.ledger import Fix, Tally
from donatree.reports import fixes as report
from fixing import HEADER
from programs import python

pytestmark = pytest.mark.filterwarnings("ignore:Some donated buffers were not usable")


SINCE_08 = tuple(map(int, metadata.version("jax").split(".")[:2])) >= (0, 8)


@dataclass(frozen=True)
class Cure:
    """A program, the kind of change that cures it, and the program as it is then.

    Attributes:
        text: of the program.
        kind: of the change.
        old: what the reader would replace in the text.
        new: by what.
        words: what the fix says.
        codes: what it is for, one of them or both.
    """

    text: str
    kind: str
    old: str
    new: str
    words: str
    codes: tuple[str, str]


ADAM = """\
import optax

tx = optax.adam(1e-3, mu_dtype=jnp.bfloat16)


@partial(jax.jit, donate_argnums=(0, 1))
def step(params, opt, grads):
    updates, opt = tx.update(grads, opt, params)
    return optax.apply_updates(params, updates), opt


params = {"w": jnp.ones((64, 32))}
args = (params, optax.adam(1e-3).init(params), {"w": jnp.ones((64, 32))})
"""

FLAX = """\
import optax
from flax import linen
from flax.training import train_state


class State(train_state.TrainState):
    ema: object


@partial(jax.jit, donate_argnums=0)
def step(state, batch):
    def loss(params):
        return jnp.mean(state.apply_fn(params, batch) ** 2)

    state = state.apply_gradients(grads=jax.grad(loss)(state.params))
    ema = jax.tree.map(lambda e, p: jnp.float16(0.9) * e + 0.1 * p.astype(jnp.float16),
                       state.ema, state.params)
    return state.replace(ema=jax.tree.map(lambda e: e.astype(jnp.float16), ema))


model = linen.Dense(64)
params = model.init(jax.random.key(0), jnp.ones((2, 64)))
made = dict(apply_fn=model.apply, params=params, tx=optax.sgd(0.1))
args = (State.create(ema=jax.tree.map(jnp.copy, params), **made), jnp.ones((2, 64)))
"""

EQUINOX = """\
import equinox as eqx


class Model(eqx.Module):
    w: jax.Array
    calls: jax.Array


@partial(jax.jit, donate_argnums=0)
def step(model, x):
    w = model.w - 0.1 * (model.w @ x)[:, None]
    return eqx.tree_at(lambda m: (m.w, m.calls), model, (w, model.calls + 1.0))


args = (Model(jnp.ones((16, 16)), jnp.zeros((64,), jnp.int32)), jnp.ones((16,)))
"""

ORDER = """\
def train(params, momentum):
    new_params = {"w": params["w"] - 0.1 * momentum["w"]}
    new_momentum = {"w": 0.9 * momentum["w"]}
    return {"params": new_params, "momentum": new_momentum}


step = jax.jit(train, donate_argnums=(0, 1))
args = ({"w": jnp.ones((64, 32))}, {"w": jnp.ones((64, 32))})
"""

CURES = {
    "a cast": Cure(
        findings.rule("DT402").failing,
        "cast",
        "mu.astype(jnp.bfloat16)}",
        'mu.astype(opt_state["mu"].dtype)}',
        'with `"mu": mu.astype(opt_state["mu"].dtype)`',
        ("DT402", "DT402"),
    ),
    "a type that arithmetic brought": Cure(
        findings.rule("DT403").failing,
        "cast",
        'state["counts"] + 1.0 * jnp.bincount(tokens, length=1024)',
        '(state["counts"] + 1.0 * jnp.bincount(tokens, length=1024)).astype(jnp.int32)',
        'with `"counts": (state["counts"] + 1.0 * jnp.bincount(tokens, length=1024))'
        '.astype(state["counts"].dtype)`',
        ("DT402", "DT403"),
    ),
    "a library's cast": Cure(
        HEADER + ADAM,
        "cast",
        "optax.adam(1e-3, mu_dtype=jnp.bfloat16)",
        "optax.adam(1e-3)",
        "with `opt[0].mu['w']` returned without a last cast",
        ("DT402", "DT403"),
    ),
    "a flax state": Cure(
        HEADER + FLAX,
        "cast",
        "e.astype(jnp.float16)",
        "e.astype(jnp.float32)",
        "with `e.astype(jnp.float32)`",
        ("DT402", "DT402"),
    ),
    "an equinox module": Cure(
        HEADER + EQUINOX,
        "cast",
        "model.calls + 1.0",
        "(model.calls + 1.0).astype(jnp.int32)",
        "with `(model.calls + 1.0).astype(model.calls.dtype)`",
        ("DT402", "DT403"),
    ),
    "a batch": Cure(
        findings.rule("DT301").failing,
        "drop_argument",
        "donate_argnums=(0, 1)",
        "donate_argnums=0",
        "without donating `batch`",
        ("DT301", "DT301"),
    ),
    "a thief": Cure(
        HEADER
        + """\
def train(grads, params):
    return {"params": {"w": params["w"] - 0.1 * grads["w"]}}


step = jax.jit(train, donate_argnums=(0, 1))
args = ({"w": jnp.ones((64, 32))}, {"w": jnp.ones((64, 32))})
""",
        "drop_argument",
        "donate_argnums=(0, 1)",
        "donate_argnums=1",
        "without donating `grads`",
        ("DT302", "DT302"),
    ),
    "the order of a result": Cure(
        HEADER + ORDER,
        "order",
        'return {"params": new_params, "momentum": new_momentum}',
        "return new_params, new_momentum",
        "with `return new_params, new_momentum`",
        ("DT408", "DT502"),
    ),
    "an unused leaf that a slot waits for": Cure(
        HEADER
        + """\
def train(state, batch):
    return {"w": state["w"] + 1, "activations": batch * 2}


step = jax.jit(train, donate_argnums=0)
args = ({"w": jnp.ones((8,)), "activations": jnp.ones((64, 32))}, jnp.ones((64, 32)))
""",
        "keep_unused",
        "donate_argnums=0",
        "donate_argnums=0, keep_unused=True",
        "with `keep_unused=True`",
        ("DT201", "DT201"),
    ),
}


def analysed(step: Any, args: tuple[Any, ...]) -> int:
    """Live bytes of a compiled program, from JAX itself."""
    size = step.lower(*args).compile().memory_analysis()
    total = size.argument_size_in_bytes + size.output_size_in_bytes + size.temp_size_in_bytes
    return total - size.alias_size_in_bytes


def pruned(step: Any, args: tuple[Any, ...]) -> int:
    """Bytes of the arguments that JAX left out of the compiled program."""
    return sum(jnp.asarray(leaf).nbytes for leaf in jax.tree.leaves(args)) - (
        step.lower(*args).compile().memory_analysis().argument_size_in_bytes
    )


@pytest.mark.parametrize("name", CURES)
def test_a_fix_that_held_tells_what_the_repaired_program_does(name, tmp_path):
    cure = CURES[name]
    failing = fixing.load(fixing.write(tmp_path, cure.text, "failing.py"))
    assert cure.text.count(cure.old) == 1
    repaired_text = cure.text.replace(cure.old, cure.new)
    repaired = fixing.load(fixing.write(tmp_path, repaired_text, "repaired.py"))
    found = fixing.examine(failing)
    fix = next(fix for fix in fixing.tried(found) if fix.held)
    assert (fix.kind, fix.change) == (cure.kind, cure.words)
    assert set(fix.codes) <= set(cure.codes)
    assert found.observation.live is not None
    keeps = fix.kind == "keep_unused"
    dropped = pruned(failing.step, failing.args) if keeps else 0
    assert fix.before.live == found.observation.live.total + dropped
    assert (fix.before.promised, fix.before.in_place) == (
        found.ledger.promised,
        found.ledger.kept_in_place,
    )
    truth = fixing.examine(repaired).ledger
    live = analysed(repaired.step, repaired.args)
    assert fix.after == Tally(truth.promised, truth.kept_in_place, live)
    left = {leaf for each in truth.findings if each.code in fix.codes for leaf in each.leaves}
    assert left.isdisjoint(fix.leaves)


def test_the_numbers_of_one_fix(tmp_path):
    _, found = fixing.fixes_of(tmp_path, CURES["a cast"].text)
    (fix,) = found
    assert (fix.before, fix.after) == (Tally(12_288, 4_096, 20_496), Tally(12_288, 12_288, 16_400))
    assert report.sentence(fix) == (
        'with `"mu": mu.astype(opt_state["mu"].dtype)` 12,288 of 12,288 bytes, live memory '
        "20,496 -> 16,400 bytes, and the next call does not compile again"
    )


def test_a_donation_that_saves_nothing_is_no_loss_without_it(tmp_path):
    _, found = fixing.fixes_of(tmp_path, CURES["a batch"].text)
    (fix,) = found
    assert fix.after is not None
    assert fix.before.live == fix.after.live
    assert fix.after.promised == fix.after.in_place < fix.before.promised


# What does not hold is not offered.


def status_of(found: tuple[Fix, ...], kind: str) -> list[tuple[str, str | None]]:
    return [(fix.status, fix.why_not) for fix in found if fix.kind == kind]


def test_an_unused_leaf_without_a_slot_is_not_worth_a_parameter(tmp_path):
    _, found = fixing.fixes_of(tmp_path, findings.rule("DT201").failing)
    assert status_of(found, "keep_unused") == [("failed", "nothing is gained")]
    assert patch(found, tmp_path) == ""


SCAN = """\
def body(carry, x):
    return carry, (carry["h"] * x).astype(jnp.bfloat16)


@partial(jax.jit, donate_argnums=0)
def step(carry, xs):
    carry, ys = jax.lax.scan(body, carry, xs)
    return {"h": ys[-1]}


args = ({"h": jnp.ones((SIZE, SIZE))}, jnp.ones((3,)))
"""


def test_a_cast_that_costs_more_than_the_leaf_is_not_offered(tmp_path):
    text = findings.rule("DT402").failing.replace("mu.astype(jnp.bfloat16)}", "halved(mu)}")
    halved = "halved = jax.jit(lambda x: x.astype(jnp.bfloat16))\n"
    _, found = fixing.fixes_of(tmp_path, text + halved)
    ((status, why),) = status_of(found, "cast")
    assert status == "failed"
    assert why is not None
    told = re.fullmatch(r"live memory ([\d,]+) -> ([\d,]+) bytes", why)
    assert told is not None
    old, new = (int(each.replace(",", "")) for each in told.groups())
    assert new > old


def test_what_is_verified_is_the_edit_and_not_another_one(tmp_path):
    """To cast in the body of the scan would stack float32: more than without any cast."""
    text = HEADER + SCAN.replace("SIZE", "64")
    ledger, found = fixing.fixes_of(tmp_path, text)
    fix = fixing.held(found, "cast")
    assert fix.change == 'with `"h": ys[-1].astype(carry["h"].dtype)`' or fix.edit is not None
    assert fix.edit is not None
    assert fix.edit.location.line != ledger.findings[0].location.line  # type: ignore[union-attr]
    assert fix.after is not None
    old, new = fix.edit.original, fix.edit.replacement
    assert text.count(old) == 1
    repaired = fixing.load(fixing.write(tmp_path, text.replace(old, new)))
    assert analysed(repaired.step, repaired.args) == fix.after.live
    inside = '(carry["h"] * x).astype(jnp.bfloat16)'
    other = fixing.load(fixing.write(tmp_path, text.replace(inside, f"{inside}.astype(float)")))
    assert analysed(other.step, other.args) > fix.before.live  # type: ignore[operator]


def test_a_donation_that_saves_is_not_to_be_taken_back(tmp_path):
    _, found = fixing.fixes_of(tmp_path, CURES["the order of a result"].text)
    drops = {fix.change: fix for fix in found if fix.kind == "drop_argument"}
    assert drops["without donating `params`"].held
    assert drops["without donating `momentum`"].status == "failed"


def test_a_donation_is_not_to_be_taken_back_where_another_change_saves_more(tmp_path):
    _, found = fixing.fixes_of(tmp_path, HEADER + ADAM)
    cast, drop = found
    assert cast.held
    assert (drop.change, drop.status) == ("without donating `opt`", "failed")
    assert drop.why_not == f"{cast.change} saves more"
    assert drop.after is not None
    assert cast.after is not None
    assert drop.before.live > drop.after.live > cast.after.live  # type: ignore[operator]


def test_an_order_that_would_cost_is_not_offered(tmp_path):
    ledger, found = fixing.fixes_of(tmp_path, findings.rule("DT408").failing)
    assert [finding.code for finding in ledger.findings] == ["DT408"]
    (order,) = [fix for fix in found if fix.kind == "order"]
    assert order.status == "failed"
    assert order.after is not None
    assert order.why_not == f"live memory {order.before.live:,} -> {order.after.live:,} bytes"


def test_the_callers_are_told_of_a_new_order_and_nothing_is_edited(tmp_path):
    _, found = fixing.fixes_of(tmp_path, CURES["the order of a result"].text)
    order = fixing.held(found, "order")
    assert (order.grade, order.edit) == ("sketch", None)
    assert "# left out: " in patch([order], tmp_path)
    assert any("callers" in note for note in order.notes)


@pytest.mark.parametrize(
    ("expression", "leaf"),
    [
        ('state["x"].T.reshape(4, 16)', "jnp.ones((8, 8))"),
        ('jax.random.key_data(state["x"])', "jax.random.key(0)"),
        ('state["x"] * jnp.ones(4)', "jax.lax.full((4,), 2.0)"),
    ],
    ids=["a shape", "a key", "a leaf that came weakly typed"],
)
def test_what_no_cast_can_cure_is_not_cast(expression, leaf, tmp_path):
    text = f"""\
step = jax.jit(lambda state: {{"x": {expression}}}, donate_argnums=0)
args = ({{"x": {leaf}}},)
"""
    ledger, found = fixing.fixes_of(tmp_path, HEADER + text)
    assert ledger.findings
    assert [fix for fix in found if fix.kind == "cast"] == []


def test_a_slot_that_became_weakly_typed_is_cast(tmp_path):
    text = """\
@partial(jax.jit, donate_argnums=0)
def step(state):
    return {"n": jnp.where(state["n"] > 0, 1.0, 0.0)}


args = ({"n": jnp.ones((8,))},)
"""
    ledger, found = fixing.fixes_of(tmp_path, HEADER + text)
    assert [finding.code for finding in ledger.findings] == ["DT403"]
    fix = fixing.held(found, "cast")
    assert fix.compiles_again
    assert fix.edit is not None
    assert fix.edit.replacement == ('jnp.where(state["n"] > 0, 1.0, 0.0).astype(state["n"].dtype)')


# The budget.


def test_a_fix_that_does_not_fit_the_budget_is_told_as_not_tried(tmp_path, monkeypatch):
    found = fixing.examine(fixing.load(fixing.write(tmp_path, CURES["a cast"].text)))
    (fix,) = fixing.tried(found, seconds=-1.0)
    assert (fix.status, fix.after) == ("untried", None)
    assert fix.why_not == "the budget of seconds was spent"
    assert report.sentence(fix).endswith(": not tried, the budget of seconds was spent")
    assert patch([fix], tmp_path) == ""


def test_a_compile_that_would_take_longer_than_is_left_is_not_begun(tmp_path):
    found = fixing.examine(fixing.load(fixing.write(tmp_path, CURES["a cast"].text)))
    slow = dataclasses.replace(found.program, seconds=1_000.0)
    deadline = time.monotonic() + 900.0
    (fix,) = attempts.try_all(slow, found.ledger, found.observation, deadline)
    assert fix.status == "untried"
    (fix,) = attempts.try_all(slow, found.ledger, found.observation, deadline + 1_000.0)
    assert fix.status == "held"


def test_a_change_that_cannot_be_built_is_told_as_not_tried(tmp_path, monkeypatch):
    from donatree.errors import CannotBuild
    from donatree.fixes.change import Change

    def refuse(self: Change, program: Any) -> Any:
        raise CannotBuild("ValueError: no")

    monkeypatch.setattr(Change, "of", refuse)
    _, found = fixing.fixes_of(tmp_path, CURES["a cast"].text)
    assert status_of(found, "cast") == [("untried", "ValueError: no")]


TWO_DRIFTS = """\
@partial(jax.jit, donate_argnums=(0, 1))
def step(state, batch):
    return {"few": state["few"] + 1.0, "many": state["many"] + batch.mean()}


args = ({"few": jnp.zeros((4,), jnp.int32), "many": jnp.zeros((64,), jnp.int32)}, jnp.ones((33,)))
"""


def test_what_concerns_most_bytes_is_tried_first(tmp_path):
    found = fixing.examine(fixing.load(fixing.write(tmp_path, HEADER + TWO_DRIFTS)))
    program = found.program
    tools = candidates.Tools(lambda types: False, Ends(program).makes)
    wanted = candidates.of(found.ledger, found.observation, tools)
    assert wanted[0].leaves == ("state['many']",)
    assert [each.bytes for each in wanted] == sorted((w.bytes for w in wanted), reverse=True)


def test_a_cast_that_takes_the_slot_of_another_drift_is_tried_with_that_one(tmp_path):
    text = HEADER + TWO_DRIFTS
    _, found = fixing.fixes_of(tmp_path, text)
    casts = {fix.leaves[0]: fix for fix in found if fix.kind == "cast"}
    assert all(fix.held for fix in casts.values())
    diff = patch(found, tmp_path)
    repaired = fixing.load(fixing.write(tmp_path, fixing.applied(tmp_path, diff, "patch")))
    truth = fixing.examine(repaired).ledger
    assert truth.findings == ()
    fix = fixing.held(found, "together")
    assert fix.after == Tally(truth.promised, truth.kept_in_place, truth.live.total)  # type: ignore[union-attr]
    if any("and the other casts" in each.change for each in casts.values()):
        assert fix.after.live < fix.before.live  # type: ignore[operator]


def test_the_program_is_not_run_and_its_arguments_are_not_donated(tmp_path):
    text = """\
@partial(jax.jit, donate_argnums=0)
def step(state):
    jax.debug.callback(lambda: 1 / 0)
    return {"n": state["n"] + 1.0}


args = ({"n": jnp.zeros((8,), jnp.int32)},)
"""
    module = fixing.load(fixing.write(tmp_path, HEADER + text))
    assert fixing.held(fixing.tried(fixing.examine(module)), "cast")
    assert not module.args[0]["n"].is_deleted()


# Several devices, in a process that has them.

SHARDED = """\
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
import json, sys
from pathlib import Path
sys.path.insert(0, {tests!r})
import fixing
from donatree.reports import fixes as report
answer = []
for name in ("one", "two", "pair"):
    found = fixing.examine(fixing.load(Path(name + ".py")))
    answer.append([
        (fix.kind, fix.status, report.sentence(fix, found.ledger.devices), fix.to_dict())
        for fix in fixing.tried(found)
    ])
print(json.dumps(answer))
"""


def test_shardings_that_are_given_back_hold_on_several_devices(tmp_path):
    fixing.write(tmp_path, findings.rule("DT404").failing, "one.py")
    fixing.write(tmp_path, findings.rule("DT405").failing, "two.py")
    pair = findings.rule("DT405").failing.replace(
        'return {"w": jax.lax.with_sharding_constraint(w, replicated)}',
        'return jnp.ones(3), {"w": jax.lax.with_sharding_constraint(w, replicated)}',
    )
    fixing.write(tmp_path, pair, "pair.py")
    script = SHARDED.format(tests=str(Path(__file__).parent))
    ended = python("-c", script, cwd=tmp_path)
    assert ended.code == 0, ended.err
    answer = json.loads(ended.out)
    tree = "jax.tree.map(lambda leaf: leaf.sharding, state)"
    for told, value in zip(answer, (tree, tree, f"(None, {tree})"), strict=True):
        ((kind, status, sentence, plain),) = told
        assert (kind, status) == ("out_shardings", "held"), told
        assert sentence.startswith(
            f"with `out_shardings={value}` 1,024 of 1,024 bytes on each device, live memory "
        )
        assert plain["after"]["in_place_bytes"] == 1_024
        assert plain["before"]["in_place_bytes"] == 0
    assert answer[0][0][3]["after"]["live_bytes"] < answer[0][0][3]["before"]["live_bytes"]


# Twins.


def twins_of(code: str, tmp_path: Path) -> tuple[Any, Fix]:
    if code == "DT702":
        step, donated = "lambda state: {k: v * 2 for k, v in state.items()}", "0"
        args, paths = '({"a": w, "b": w},)', ("state['a']", "state['b']")
    else:
        step, donated = "lambda params, target: params - target", "0"
        args, paths = "(w, w)", ("params", "target")
    text = f"w = jnp.ones((64,))\nstep = jax.jit({step}, donate_argnums={donated})\nargs = {args}\n"
    module = fixing.load(fixing.write(tmp_path, HEADER + text))
    found = fixing.examine(module)
    flags = (True, code == "DT702")
    twins = find_twins(list(zip(paths, jax.tree.leaves(module.args), flags, strict=True)))
    finding = (dt702 if code == "DT702" else dt703).about(twins, "step")
    assert finding is not None
    ledger = dataclasses.replace(found.ledger, findings=(finding,))
    (fix,) = attempts.try_all(found.program, ledger, found.observation, 0.0)
    return ledger, fix


@pytest.mark.parametrize("code", ["DT702", "DT703"])
def test_twins_are_told_what_a_copy_costs_and_that_nothing_was_compiled(code, tmp_path):
    ledger, fix = twins_of(code, tmp_path)
    assert (fix.kind, fix.held, fix.edit) == ("copy_twins", True, None)
    assert "`jnp.copy" in fix.change
    assert fix.notes[0] == "copies cost 256 bytes per device, once"
    assert fix.notes[1].startswith("nothing was compiled for it")
    assert report.sentence(fix).endswith(f"{ledger.kept_in_place} of {ledger.promised} bytes")


# What is reported.


def lines_of(fix: Fix, **options: Any) -> list[str]:
    made = report.lines([fix], 1, 100, **options)
    return ["".join(piece for piece, _ in line) for line in made]


FIX = Fix(
    "cast",
    ("DT402",),
    ("state.step",),
    "with `step=(state.step + 1.0).astype(state.step.dtype)`",
    "held",
    before=Tally(84, 80, 148),
    after=Tally(84, 84, 144),
)


def test_the_line_of_a_fix_that_held():
    text = "with `step=(state.step + 1.0).astype(state.step.dtype)` 84 of 84 bytes, live memory"
    assert lines_of(FIX) == [f"  = verified: {text}", "              148 -> 144 bytes"]


def test_what_did_not_hold_is_shown_as_evidence_only():
    failed = dataclasses.replace(FIX, status="failed", why_not="nothing is gained")
    assert lines_of(failed) == []
    assert lines_of(failed, evidence=True) == [
        "  = tried: with `step=(state.step + 1.0).astype(state.step.dtype)`: it does not hold, "
        "nothing is",
        "           gained",
    ]


def test_a_fix_is_plain_data_and_goes_through_json(tmp_path):
    _, found = fixing.fixes_of(tmp_path, CURES["a cast"].text)
    plain = found[0].to_dict()
    assert json.loads(json.dumps(plain)) == plain
    assert plain["after"] == {
        "promised_bytes": 12_288,
        "in_place_bytes": 12_288,
        "live_bytes": 16_400,
    }
    assert plain["edit"]["replacement"] == 'mu.astype(opt_state["mu"].dtype)'
    assert (plain["status"], plain["grade"]) == ("held", "sure")


# The page.

PAGE = Path(__file__).resolve().parents[1] / "docs" / "fixes.md"


def block(name: str) -> str:
    """The fenced block of the page that follows the comment `<!-- NAME -->`."""
    found = re.search(rf"<!-- {name} -->\n```\w+\n(.*?)```", PAGE.read_text("utf-8"), re.S)
    assert found is not None, name
    return found[1]


@pytest.mark.skipif(not SINCE_08, reason="the page shows what JAX does since 0.8")
def test_the_page_shows_what_is_reported_and_the_patch(tmp_path):
    ledger, found = fixing.fixes_of(tmp_path, block("program"))
    assert {finding.code for finding in ledger.findings} == {"DT301", "DT403"}
    made = [
        *(
            line
            for finding in ledger.findings[::-1]
            for line in report.lines(report.of_finding(found, finding), 1, 100)
        ),
        *report.together(found, 1, 100),
    ]
    lines = ["".join(piece for piece, _ in line) for line in made]
    assert lines == block("verified").splitlines()
    assert patch(found, tmp_path) == block("patch")
