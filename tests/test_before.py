"""The dry run: what would break if a function donated, on programs that donate nothing."""

from __future__ import annotations

import json
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import pytest

from donatree import findings, reports
from donatree._jax import reads
from donatree.before.wish import Wish
from donatree.reports import json as json_report
from programs import Ended, donatree, python, write

STEP = """\
import jax
import jax.numpy as jnp


@jax.jit
def train_step(state, batch):
    return {"w": state["w"] - 0.1 * batch, "n": state["n"] + 1}, batch.sum()


def fresh():
    return {"w": jnp.ones((4, 4)), "n": jnp.int32(0)}


"""

PROGRAMS = {
    "lesson": """\
        def main():
            state = fresh()
            metrics = {"prev": [], "change": []}
            for turn in range(5):
                metrics["prev"].append(state)
                state, loss = train_step(state, jnp.ones((4, 4)) * turn)
                old = metrics["prev"][-1]
                metrics["change"].append(float(jnp.linalg.norm(state["w"] - old["w"])))
            print(metrics["change"], float(loss))


        main()
        print(len(jax.live_arrays()))
        """,
    "clean": """\
        state = fresh()
        for turn in range(5):
            batch = jnp.ones((4, 4)) * turn
            state, loss = train_step(state, batch)
            print(float(loss), float(batch.mean()), float(state["w"].sum()))
        print(len(jax.live_arrays()))
        """,
    "global": """\
        BEST = None


        def main():
            global BEST
            state = fresh()
            for turn in range(3):
                if turn == 1:
                    BEST = state
                state, loss = train_step(state, jnp.ones((4, 4)))
            return state


        state = main()
        print(float(BEST["w"].sum() - state["w"].sum()))
        """,
    "trainer": """\
        class Trainer:
            def __init__(self):
                self.state = fresh()
                self.best = self.state
                self.step = jax.jit(self._step)

            def _step(self, state, batch):
                return {"w": state["w"] - batch, "n": state["n"] + 1}

            def train(self):
                for _ in range(3):
                    self.state = self.step(self.state, jnp.ones((4, 4)))
                return jnp.abs(self.best["w"] - self.state["w"])


        trainer = Trainer()
        print(float(trainer.train().sum()))
        """,
    "closure": """\
        def main():
            state = fresh()
            first = state

            def distance(now):
                return float(jnp.abs(first["w"] - now["w"]).max())

            for _ in range(3):
                state, loss = train_step(state, jnp.ones((4, 4)))
                print(round(distance(state), 3))


        main()
        """,
    "eval": """\
        @jax.jit
        def evaluate(params, batch):
            return params @ batch


        def main():
            state = fresh()
            params = state["w"]
            for _ in range(3):
                batch = jnp.ones((4, 4))
                state, loss = train_step(state, batch)
                print(float(evaluate(params, batch).sum()))


        main()
        """,
    "loader": """\
        import queue
        import threading


        def load(batches):
            for turn in range(4):
                batches.put(jnp.full((4, 4), turn, jnp.float32))


        def save(states):
            while (state := states.get()) is not None:
                print(round(float(state["w"].sum()), 3))
                states.task_done()


        batches, states = queue.Queue(2), queue.Queue()
        threading.Thread(target=load, args=(batches,), name="loader").start()
        saver = threading.Thread(target=save, args=(states,), name="saver")
        saver.start()
        state = fresh()
        for _ in range(4):
            batch = batches.get()
            old = state
            state, loss = train_step(state, batch)
            states.put(old)
            del old
            states.join()
        states.put(None)
        saver.join()
        """,
    "returned": """\
        def one(state, batch):
            return train_step(state, batch)


        def grads_of(state):
            return jax.jit(lambda s: {"w": s["w"] * 2, "n": s["n"]})(state)


        state = fresh()
        for _ in range(3):
            grads = grads_of(state)
            state, loss = one(state, jnp.ones((4, 4)))
        print(float(state["w"].sum() + grads["w"].sum()))
        """,
    "nnx": """\
        from flax import nnx

        model = nnx.Linear(4, 4, rngs=nnx.Rngs(0))


        @nnx.jit
        def nnx_step(model, x):
            def loss_of(model):
                return (model(x) ** 2).mean()

            loss, grads = nnx.value_and_grad(loss_of)(model)
            old = nnx.state(model, nnx.Param)
            nnx.update(model, jax.tree.map(lambda p, g: p - 0.1 * g, old, grads))
            return loss


        kept = []
        for _ in range(3):
            kept.append(jax.tree.leaves(nnx.state(model))[-1])
            loss = nnx_step(model, jnp.ones((2, 4)))
        print(round(float(loss), 4), round(float(kept[0].sum()), 3))
        """,
    "nnx clean": """\
        from flax import nnx

        model = nnx.Linear(4, 4, rngs=nnx.Rngs(0))


        @nnx.jit
        def nnx_step(model, x):
            old = nnx.state(model, nnx.Param)
            nnx.update(model, jax.tree.map(lambda p: p * x.mean(), old))
            return x.sum()


        for _ in range(4):
            loss = nnx_step(model, jnp.ones((2, 4)))
            print(float(loss), model(jnp.ones((2, 4))).shape)
        """,
    "equinox": """\
        import equinox as eqx

        model = eqx.nn.Linear(4, 4, key=jax.random.key(0))


        @eqx.filter_jit
        def eqx_step(batch, model):
            return jax.tree.map(lambda p: p - batch.mean(), model)


        best = model.weight
        for _ in range(3):
            model = eqx_step(jnp.ones(3), model)
        print(round(float((best - model.weight).sum()), 3))
        """,
    "equinox clean": """\
        import equinox as eqx

        model = eqx.nn.Linear(4, 4, key=jax.random.key(0))


        @eqx.filter_jit
        def eqx_step(batch, model):
            return jax.tree.map(lambda p: p - batch.mean(), model)


        for _ in range(3):
            model = eqx_step(jnp.ones(3), model)
        print(round(float(model.weight.sum()), 3))
        """,
    "partial": """\
        from functools import partial


        class Trainer:
            @partial(jax.jit, static_argnums=0)
            def step(self, state, *, batch):
                return {"w": state["w"] - batch, "n": state["n"] + 1}


        trainer, state = Trainer(), fresh()
        for _ in range(3):
            state = trainer.step(state, batch=jnp.ones((4, 4)))
        other = jax.jit(partial(lambda scale, w: w * scale, 2.0))
        w = state["w"] + 1
        for _ in range(3):
            w = other(w=w)
        print(float(w.sum()))
        """,
    "twins": """\
        state = fresh()
        state["ema"] = state["w"]


        @jax.jit
        def both(state, teacher):
            return {k: v + teacher.astype(v.dtype).sum().astype(v.dtype) for k, v in state.items()}


        for _ in range(2):
            state = both(state, state["w"])
        print(float(state["w"].sum()))
        """,
    "two calls": """\
        state = fresh()
        for _ in range(3):
            state, loss = train_step(state, jnp.ones((4, 4)))
        probe, _ = train_step(state, jnp.zeros((4, 4)))
        print(float(probe["w"].sum() - state["w"].sum()))
        """,
    "stray": """\
        from functools import partial

        outer = jnp.arange(4.0)
        print(float(jnp.linalg.norm(outer)), float(jax.jit(jnp.sum)(outer)))
        """,
}

OPTIONS = {
    "by number": ["--donate", "train_step:1"],
    "by name": ["--donate", "train_step:batch"],
    "open": ["--donate", "train_step"],
    "nothing": ["--donate", "trian_step:0", "--donate", "train_step:7"],
}


class Ran(NamedTuple):
    """A program without and with the dry run."""

    text: str
    plain: Ended
    rehearsed: Ended
    account: dict[str, Any]

    def findings(self, code: str) -> list[dict[str, Any]]:
        return [each for each in self.account["findings"] if each["code"] == code]

    def segment(self, place: dict[str, Any]) -> str:
        line = self.text.splitlines()[place["line"] - 1]
        return line[place["column"] : place["end_column"]]


def rehearse(folder: Path, text: str, *options: str) -> Ran:
    write(folder, text)
    command = ("run", "--before", "--json", "report.json", *options, "train.py")
    with ThreadPoolExecutor(2) as pool:
        plain = pool.submit(python, "train.py", cwd=folder)
        rehearsed = pool.submit(donatree, *command, cwd=folder)
    account = json.loads((folder / "report.json").read_text())
    return Ran(text, plain.result(), rehearsed.result(), account)


class Programs(dict[str, Ran]):
    """Each program, run when a test first asks for it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __missing__(self, name: str) -> Ran:
        kind = name.removeprefix("DT706 ")
        if kind in ("failing", "repaired"):
            text = getattr(findings.rule("DT706"), kind)
        else:
            text = STEP + textwrap.dedent(PROGRAMS["clean" if OPTIONS.get(name) else name])
        folder = self._folder / name.replace(" ", "_")
        self[name] = rehearse(folder, text, *OPTIONS.get(name, []))
        return self[name]


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ran]:
    return Programs(tmp_path_factory.mktemp("before"))


NAMES = [*PROGRAMS, *OPTIONS, "DT706 failing", "DT706 repaired"]


@pytest.mark.parametrize("name", NAMES)
def test_the_program_is_not_changed(name: str, ran: dict[str, Ran]) -> None:
    done = ran[name]
    assert done.plain.code == 0, done.plain.err
    assert (done.rehearsed.code, done.rehearsed.out) == (0, done.plain.out)
    assert done.account["faults"] == []
    assert done.account["ended"] is None
    assert done.account["ledgers"] == []


def rows(done: Ran) -> list[tuple[str, str, str, tuple[str, ...]]]:
    return [
        (each["function"], each["argument"], each["keyword"], tuple(each["codes"]))
        for each in done.account["rehearsals"]
    ]


def test_the_lesson_is_told_who_holds_the_state_and_what_would_read_it(
    ran: dict[str, Ran],
) -> None:
    done = ran["lesson"]
    assert rows(done) == [("train_step", "state", "donate_argnums=0", ("DT701", "DT706"))]
    (row,) = done.account["rehearsals"]
    assert (row["leaves"], row["bytes"], row["calls"], row["held_leaves"]) == (2, 68, 3, 2)
    assert row["why"] == "the statement of the call rebinds it"
    (held,) = done.findings("DT701")
    assert held["headline"] == (
        "local `metrics` of `main` -> ['prev'] -> [0] holds `state`, "
        "and would be left with deleted arrays"
    )
    assert "it still held them when `train_step` was called again" in held["notes"]
    (used,) = done.findings("DT706")
    assert used["headline"] == "`old['w']` would be used after it was donated to `train_step`"
    assert done.segment(used["location"]) == 'old["w"]'
    told = {label["text"]: done.segment(label["location"]) for label in used["labels"]}
    assert told == {
        "`old` got this array here": "old",
        "would be donated here: `state['w']` float32[4,4], to `train_step` (call 1)": (
            "train_step(state, jnp.ones((4, 4)) * turn)"
        ),
        "used here, after that": 'old["w"]',
    }
    assert "`jnp.copy(state['w'])`, which costs 64 bytes per device" in used["help"]
    assert "donate_argnums=0" in done.rehearsed.err


def test_a_clean_program_is_told_the_keyword(ran: dict[str, Ran]) -> None:
    done = ran["clean"]
    assert rows(done) == [("train_step", "state", "donate_argnums=0", ())]
    assert done.account["findings"] == []
    assert "nothing else holds it: add `donate_argnums=0`" in done.rehearsed.err
    assert "after the call nobody held any of its 2 leaves" in done.rehearsed.err
    assert "donatree explain" not in done.rehearsed.err


def test_a_call_inside_a_function_that_returns_it_is_followed_to_its_caller(
    ran: dict[str, Ran],
) -> None:
    """What has the types of the state but leaves it in use, a gradient, is no candidate."""
    assert rows(ran["returned"]) == [("train_step", "state", "donate_argnums=0", ())]


@pytest.mark.parametrize(
    ("name", "root", "read"),
    [
        ("global", "global `BEST` of module `__main__`", 'BEST["w"]'),
        ("trainer", ".best", 'self.best["w"]'),
        ("closure", "`first`", 'first["w"]'),
        ("eval", "local `params` of `main`", "params"),
    ],
)
def test_holders_of_all_kinds_are_named_and_their_reads(
    name: str, root: str, read: str, ran: dict[str, Ran]
) -> None:
    done = ran[name]
    assert any(root in each["headline"] for each in done.findings("DT701"))
    (used,) = done.findings("DT706")
    assert done.segment(used["location"]) == read
    (row,) = done.account["rehearsals"]
    assert row["codes"] == ["DT701", "DT706"]
    assert "nothing else holds it" not in done.rehearsed.err


def test_a_batch_of_another_thread_is_left_alone_and_a_saver_is_found(ran: dict[str, Ran]) -> None:
    done = ran["loader"]
    assert [each[1] for each in rows(done)] == ["state"]
    assert any("`old`" in each["headline"] for each in done.findings("DT701"))
    (used,) = done.findings("DT706")
    assert done.segment(used["location"]) == 'state["w"]'
    assert used["location"]["function"] == "save"
    assert "donated in thread `MainThread`, used in thread `saver`" in used["notes"]


def test_nnx(ran: dict[str, Ran]) -> None:
    done = ran["nnx"]
    assert rows(done) == [("nnx_step", "model", "donate_argnums=0", ("DT701", "DT706"))]
    assert done.account["rehearsals"][0]["why"] == "the call writes its arrays back into it"
    assert [each["leaves"] for each in done.findings("DT701")] == [["model.kernel"]]
    assert "`kept`" in done.findings("DT701")[0]["headline"]
    assert done.segment(done.findings("DT706")[0]["location"]) == "kept[0]"
    assert rows(ran["nnx clean"]) == [("nnx_step", "model", "donate_argnums=0", ())]


def test_equinox(ran: dict[str, Ran]) -> None:
    done = ran["equinox"]
    keyword = 'donate="all-except-first"'
    assert rows(done) == [("eqx_step", "model", keyword, ("DT701", "DT706"))]
    assert [each["leaves"] for each in done.findings("DT706")] == [["model.weight"]]
    assert rows(ran["equinox clean"]) == [("eqx_step", "model", keyword, ())]


def test_methods_partials_and_keywords_get_the_keyword_that_fits(ran: dict[str, Ran]) -> None:
    assert rows(ran["partial"]) == [
        ("step", "state", "donate_argnums=1", ()),
        ("<lambda>", "w", "donate_argnames='w'", ()),
    ]


def test_twins_are_found_before_jax_would_raise(ran: dict[str, Ran]) -> None:
    done = ran["twins"]
    found = [*done.findings("DT702"), *done.findings("DT703")]
    assert {"state['w']", "state['ema']", "teacher"} in [set(each["leaves"]) for each in found]
    assert set(rows(done)[0][3]) & {"DT702", "DT703"}


def test_another_call_of_the_function_would_donate_too(ran: dict[str, Ran]) -> None:
    done = ran["two calls"]
    both = done.account["rehearsals"]
    assert [each["why"] for each in both] == [
        "the statement of the call rebinds it",
        "another call of the function would donate it",
    ]
    assert [each["codes"] for each in both] == [["DT701", "DT706"]] * 2
    assert done.segment(done.findings("DT706")[0]["location"]) == 'state["w"]'


def test_functions_of_jax_are_no_candidates(ran: dict[str, Ran]) -> None:
    (row,) = ran["stray"].account["rehearsals"]
    assert (row["function"], row["calls"]) == ("", 0)
    assert "no jitted function of the program's own was called" in ran["stray"].rehearsed.err


@pytest.mark.parametrize("name", ["by number", "by name"])
def test_an_argument_is_named(name: str, ran: dict[str, Ran]) -> None:
    done = ran[name]
    assert [each[1] for each in rows(done)] == ["batch"]
    (used,) = done.findings("DT706")
    assert done.segment(used["location"]) == "batch"
    assert "no output of the same type is left" not in done.rehearsed.err


def test_a_function_alone_is_named(ran: dict[str, Ran]) -> None:
    assert rows(ran["open"]) == rows(ran["clean"])


def test_a_name_that_matches_nothing_is_a_warning(ran: dict[str, Ran]) -> None:
    err = " ".join(ran["nothing"].rehearsed.err.split())
    assert (
        "warning: `--donate trian_step:0` matches nothing: the jitted functions that were called "
        "are `train_step`" in err
    )
    assert (
        "`--donate train_step:7` matches nothing: `train_step` was called, and has no such "
        "argument" in err
    )
    assert ran["nothing"].rehearsed.code == 0


def test_donate_alone_is_a_usage_error(tmp_path: Path) -> None:
    write(tmp_path, "print('ran')")
    ended = donatree("run", "--donate", "step:0", "train.py", cwd=tmp_path)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == "donatree: `--donate` needs `--before`, which rehearses it\n"
    ended = donatree("run", "--before", "--donate", "step:0:1", "train.py", cwd=tmp_path)
    assert (ended.code, ended.err.count("\n")) == (2, 1)


KINDS = """\
for _ in range(2):
    old = state
    state, loss = train_step(state, jnp.ones((4, 4)))
    old["w"] + 1
    jnp.sum(old["w"])
    double(old["w"])
    float(old["n"])
    print(old["n"])
    jax.device_get(old["w"])
    old["w"].tolist()
    old["n"].item()
    old["w"][0]
    list(old["w"])
    copy.deepcopy(old["w"])
    pickle.dumps(old["w"])
    train_step(old, loss)
    helper(old)
    jax.lax.scan(lambda c, x: (c + x.sum(), None), 0.0, old["w"])
    bool(old["n"])
    f"{old['n']:d}"
    old["w"].block_until_ready()
"""


def test_reads_of_many_kinds_are_told_to_the_column(tmp_path: Path) -> None:
    head = STEP + textwrap.dedent(
        """\
        import copy
        import pickle

        double = jax.jit(lambda x: x * 2)


        def helper(tree):
            return jax.tree.map(jnp.sum, tree)


        state = fresh()
        """
    )
    text = head + KINDS
    done = rehearse(tmp_path, text)
    assert done.rehearsed.out == done.plain.out
    assert done.account["faults"] == []
    got = {
        (each["location"]["line"], done.segment(each["location"]))
        for each in done.findings("DT706")
    }
    first = head.count("\n") + 1
    expected = set()
    for number, line in enumerate(KINDS.splitlines(), first):
        for word in ("old['n']", 'old["w"]', 'old["n"]', "(old,"):
            if word in line:
                expected.add((number, word.strip("(,")))
    inside = next(n for n, line in enumerate(text.splitlines(), 1) if "jax.tree.map" in line)
    expected.add((inside, "tree"))
    assert len(expected) == 18
    assert got == expected


def test_marked_reads_cost_nothing_once_the_arrays_are_gone() -> None:
    told: list[Any] = []
    faults: list[Any] = []
    watching = reads.Reads(
        lambda array, frame: told.append(frame.f_lineno), lambda *f: faults.append(f)
    )
    from jax._src import pjit
    from jax._src.array import ArrayImpl

    names = [(ArrayImpl, "_check_if_deleted"), (ArrayImpl, "item"), (pjit, "_get_fastpath_data")]
    before = [getattr(owner, name) for owner, name in names]
    alive = jax.live_arrays()  # held, so that none of another test goes away meanwhile
    array = jnp.ones(4) + 1
    watching.mark(array)
    assert [getattr(owner, name) for owner, name in names] != before
    float(array[0])
    assert told
    del array
    assert float(jnp.ones(3).sum()) == 3.0
    assert [getattr(owner, name) for owner, name in names] == before
    assert faults == []
    assert len(jax.live_arrays()) == len(alive)


def test_a_read_that_fails_in_donatree_does_not_reach_the_program() -> None:
    faults: list[str] = []

    def broken(array: Any, frame: Any) -> None:
        raise KeyError("own")

    watching = reads.Reads(broken, lambda where, error: faults.append(where))
    array = jnp.ones(4) + 1
    watching.mark(array)
    try:
        assert array.tolist() == [2.0] * 4
    finally:
        watching.remove()
    assert faults
    assert set(faults) == {"read"}


def test_no_lasting_reference(tmp_path: Path) -> None:
    text = STEP + textwrap.dedent(
        """\
        import gc
        import weakref

        state = fresh()
        dead = []
        for _ in range(5):
            refs = [weakref.ref(leaf) for leaf in state.values()]
            batch = jnp.ones((4, 4))
            refs.append(weakref.ref(batch))
            state, loss = train_step(state, batch)
            del batch
            dead.append([ref() is None for ref in refs])
        print(dead, len(jax.live_arrays()))
        """
    )
    done = rehearse(tmp_path, text)
    assert done.rehearsed.out == done.plain.out
    assert "False" not in done.plain.out


def test_the_two_programs_of_the_page(ran: dict[str, Ran]) -> None:
    (used,) = ran["DT706 failing"].findings("DT706")
    assert used["leaves"] == ["state['w']"]
    assert ran["DT706 repaired"].findings("DT706") == []
    assert rows(ran["DT706 repaired"]) == [("train_step", "state", "donate_argnums=0", ())]


def test_what_was_rehearsed_survives_json(ran: dict[str, Ran]) -> None:
    text = json.dumps(ran["lesson"].account)
    account = json_report.loads(text)
    assert account.rehearsals[0].function == "train_step"
    assert account.to_dict()["rehearsals"] == ran["lesson"].account["rehearsals"]
    assert "dry run" in reports.render(account, "plain", reports.Options())
    older = {key: value for key, value in ran["lesson"].account.items() if key != "rehearsals"}
    assert json_report.loads(json.dumps(older)).rehearsals == ()


@pytest.mark.parametrize("text", ["", ":0", "a b", "step:", "step:-1", "step:0.5", "step:a.b"])
def test_a_wish_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not NAME"):
        Wish.parse(text)


def test_wishes_name_functions_as_a_user_would() -> None:
    assert Wish.parse("Trainer.step").means("step", "main.<locals>.Trainer.step")
    assert not Wish.parse("step").means("train_step", "Trainer.train_step")
    assert Wish.parse("step:0").argument_of(["state", "batch"], ["state"]) == "state"
    assert Wish.parse("step:1").argument_of(["state", "batch"], ["state"]) is None
