"""Use after donation: whole programs that break, and what is said of each."""

from __future__ import annotations

import ast
import asyncio
import concurrent.futures
import dataclasses
import gc
import linecache
import os
import runpy
import subprocess
import sys
import textwrap
import threading
import traceback
import types
import weakref
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import donatree
from consumed_watcher import watched
from donatree._jax import deleted
from donatree.consumed import active, notes
from donatree.consumed.calls import Call, Calls, Site, SiteLeaf, Taken
from donatree.consumed.explain import explain
from donatree.consumed.roots import got_here
from donatree.consumed.threads import ThreadHook
from donatree.ledger import Finding, Label
from donatree.watch.notebook import CellErrors


@pytest.fixture(autouse=True)
def _no_other_watch(monkeypatch: pytest.MonkeyPatch) -> None:
    """`donatree.whole` watches for good, in whichever test of this process it was used."""
    monkeypatch.setattr(active, "_books", [])


@dataclass
class Ran:
    """A program that ran to its error."""

    text: str
    error: BaseException
    calls: Calls
    names: dict[str, Any]

    @property
    def finding(self) -> Finding:
        found = explain(self.error, self.calls)
        assert found is not None, "".join(traceback.format_exception(self.error))
        return found

    def marked(self, label: Label) -> tuple[int, str]:
        """The line of a label and the text that it underlines, to the end of its first line."""
        place = label.location
        data = self.text.splitlines()[place.line - 1].encode()
        end = place.end_column if place.end_line == place.line else None
        return place.line, data[place.column : end].decode()

    @property
    def told(self) -> list[tuple[int, str, str]]:
        """Line, marked text and words of each label, in the order in which they are told."""
        return [(*self.marked(label), label.text) for label in self.finding.labels]


def run(text: str, *, first: int = 1_000, name: str = "<program>") -> Ran:
    """Runs a program in which `donate(...)` jits and watches; it must break."""
    text = textwrap.dedent(text).lstrip()
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    calls = Calls()

    def donate(what: Any = 0) -> Any:
        option = "donate_argnames" if isinstance(what, str) else "donate_argnums"
        return lambda function: watched(calls, jax.jit(function, **{option: what}), first)

    names: dict[str, Any] = {
        "__name__": "__main__",
        "donate": donate,
        "jax": jax,
        "jnp": jnp,
        "np": np,
        "optax": optax,
        "dataclasses": dataclasses,
        "threading": threading,
        "futures": concurrent.futures,
        "asyncio": asyncio,
    }
    try:
        exec(compile(text, name, "exec"), names)
    except Exception as error:
        return Ran(text, error, calls, names)
    raise AssertionError("the program ran to its end")


STEP = """\
@donate()
def step(state, x):
    return jax.tree.map(lambda leaf: leaf + x, state)

"""


def test_the_name_of_an_older_state():
    ran = run(
        STEP
        + """\
def main():
    state = {"w": jnp.ones((4, 4)), "b": jnp.zeros(4)}
    old = state
    for _ in range(3):
        state = step(state, 0.1)
    return float(jnp.abs(state["w"] - old["w"]).sum())

main()
"""
    )
    assert ran.told == [
        (7, "old", "`old` got this array here"),
        (9, "step(state, 0.1)", "donated here: `state['w']` float32[4,4], to `step` (call 1)"),
        (10, 'old["w"]', "used here, after the donation"),
    ]
    found = ran.finding
    assert (found.code, found.leaves, found.bytes) == ("DT704", ("state['w']",), 64)
    assert found.headline == "`old['w']` is used after it was donated to `step`"
    assert found.help == (
        "use the result of `step` instead, or keep a copy: `old = jax.tree.map(jnp.copy, state)`, "
        "which costs 80 bytes per device"
    )


def test_an_attribute_that_another_method_set():
    ran = run(
        """
        @jax.tree_util.register_dataclass
        @dataclasses.dataclass
        class State:
            w: jax.Array
            step: jax.Array

        @donate("state")
        def train_step(state, batch):
            return State(state.w - batch, state.step + 1), state.w.mean()

        class Trainer:
            def __init__(self):
                self.state = State(jnp.ones((4, 4)), jnp.int32(0))
                self.best = self.state
            def fit(self):
                for _ in range(3):
                    self.state, loss = train_step(self.state, jnp.ones((4, 4)))
            def report(self):
                return jnp.linalg.norm(self.best.w)

        trainer = Trainer()
        trainer.fit()
        print(trainer.report())
        """
    )
    assert ran.told == [
        (14, "self.best", "`self.best` got this array here"),
        (
            17,
            "train_step(self.state, jnp.ones((4, 4)))",
            "donated here: `state.w` float32[4,4], to `train_step` (call 1)",
        ),
        (19, "self.best.w", "used here, after the donation"),
    ]
    assert "costs 68 bytes" in (ran.finding.help or "")


def test_donated_again_by_a_second_call():
    ran = run(
        STEP
        + """\
params = {"l1": {"w": jnp.ones(3)}, "l2": {"w": jnp.ones(5)}}
new = step(params, 1)
new2 = step(params, 1)
"""
    )
    assert ran.finding.code == "DT705"
    assert ran.told == [
        (5, "params", "`params` got this array here"),
        (
            6,
            "step(params, 1)",
            "donated here: `state['l1']['w']` float32[3], to `step` (call 1)",
        ),
        (7, "params", "donated again here"),
    ]
    assert ran.finding.headline == "`params['l1']['w']` is donated to `step` a second time"


def test_donated_again_when_the_function_was_called_often_before():
    """From the second call on C++ does the call, and up to JAX 0.10 raises it all by itself."""
    ran = run(
        STEP
        + "x = jnp.ones(4)\nfor _ in range(2):\n    step(jnp.ones(4), 1)\nstep(x, 1)\nstep(x, 1)\n"
    )
    assert ran.finding.code == "DT705"
    assert ran.told[1:] == [
        (8, "step(x, 1)", "donated here: `state` float32[4], to `step` (call 3)"),
        (9, "x", "donated again here"),
    ]


def test_passed_on_to_a_function_that_does_not_donate_it():
    ran = run(
        STEP
        + """\
@jax.jit
def evaluate(p, x):
    return (p["w"] * x).sum()

p = {"w": jnp.ones(4)}
evaluate(p, 1.0)
evaluate(p, 1.0)
p2 = step(p, 1)
print("eval",
      evaluate(p, 1.0))
"""
    )
    assert ran.finding.code == "DT704"
    assert ran.told[1:] == [
        (12, "step(p, 1)", "donated here: `state['w']` float32[4], to `step` (call 1)"),
        (14, "p", "used here, after the donation"),
    ]


def test_a_history_that_a_helper_saves():
    ran = run(
        """
        def save(path, tree):
            return {k: np.asarray(v) for k, v in tree.items()}

        @donate()
        def update(cache, k):
            return {"k": cache["k"].at[0].set(k)}

        def decode():
            cache = {"k": jnp.zeros((8, 2))}
            history = []
            for t in range(3):
                history.append(cache)
                cache = update(cache, float(t))
            save("x", history[0])

        decode()
        """
    )
    assert ran.told == [
        (12, "cache", "`history` got this array here"),
        (14, "history[0]", "passed on here, as `tree`"),
        (
            13,
            "update(cache, float(t))",
            "donated here: `cache['k']` float32[8,2], to `update` (call 1)",
        ),
        (2, "v", "used here, after the donation"),
    ]
    assert "put in `jax.tree.map(jnp.copy, cache)`, which costs 64 bytes" in str(ran.finding.help)


@pytest.mark.parametrize(
    ("read", "package"),
    [
        ("optax.incremental_update(p, ema, 0.9)", "optax/"),
        ("optax.global_norm(ema)", "optax/"),
    ],
)
def test_a_library_reads(read, package):
    ran = run(STEP + f'ema = p = {{"w": jnp.ones((4, 4))}}\np = step(p, 1)\nema = {read}\n')
    assert ran.told[-1] == (7, "ema", "used here, after the donation")
    assert ran.told[0] == (5, "ema", "`ema` got this array here")
    [note] = [note for note in ran.finding.notes if note.startswith("read by")]
    assert package in note
    assert note.rpartition(":")[2].isdigit()


READS = [
    ("old + 1", "old"),
    ("1 - old", "old"),
    ("jnp.abs(old)", "old"),
    ("jnp.linalg.norm(old)", "old"),
    ("np.asarray(old)", "old"),
    ("np.array(old)", "old"),
    ("print(old)", "old"),
    ("repr(old)", "old"),
    ('f"{old}"', "old"),
    ("old.item()", "old"),
    ("old[0]", "old"),
    ("old[0].item()", "old"),
    ("float(old.sum())", "old"),
    ("list(old)", "old"),
    ("old == 1", "old"),
    ("old.at[0].set(1.0)", "old"),
    ("old.tolist()", "old"),
    ("old.copy()", "old"),
    ("old.block_until_ready()", "old"),
    ("jax.block_until_ready({'a': old})", "old"),
    ("jax.device_get(old)", "old"),
    ("old.copy_to_host_async()", "old"),
    ("old.addressable_shards", "old"),
    ("jax.jit(lambda a: a + 1)({'a': old}['a'])", "old"),
    ("jax.lax.scan(lambda c, _: (c + 1, None), old, length=2)", "old"),
    ("jax.grad(lambda a: (a * old).sum())(jnp.ones(4))", "old"),
    ("jnp.stack([jnp.ones(4), old])", "old"),
    ("[a for a in (1, old + 1)]", "old"),
]


@pytest.mark.parametrize(("read", "marked"), READS, ids=[read for read, _ in READS])
def test_every_kind_of_read(read, marked):
    ran = run(STEP + f"state = jnp.ones(4)\nold = state\nstate = step(state, 1)\n{read}\n")
    assert ran.told == [
        (6, "old", "`old` got this array here"),
        (7, "step(state, 1)", "donated here: `state` float32[4], to `step` (call 1)"),
        (8, marked, "used here, after the donation"),
    ]


ALIVE = ["old.shape", "len(old)", "old.dtype"]


@pytest.mark.parametrize(
    "wrong",
    [
        "old.no_such_attribute",
        "{}[old.shape]",
        "step(old)",
        "step(old, 1, 2)",
        "jnp.dot(old, jnp.ones(3))",
        "jnp.zeros_like(old, dtype='wat')",
        "{old: 1}",
        "isinstance(old, 3)",
        "raise_(ValueError('old'))",
        "[old][1]",
        "raise_(RuntimeError('Array has been deleted with shape=float32[4].'), old)",
    ],
)
def test_another_error_beside_a_dead_array_is_left_alone(wrong):
    text = "def raise_(error, *_):\n    raise error\n\n"
    ran = run(text + STEP + f"state = old = jnp.ones(4)\nstate = step(state, 1)\n{wrong}\n")
    assert explain(ran.error, ran.calls) is None
    assert notes.annotate(ran.error, ran.calls) is None
    assert ran.calls.found == []


def test_an_error_without_a_dead_array_asks_jax_nothing(monkeypatch):
    ran = run(STEP + "state = old = jnp.ones(4)\nstep(jnp.ones(4), 1)\n{}[old.shape]\n")
    asked: list[BaseException] = []
    monkeypatch.setattr(deleted, "is_meant", asked.append)
    assert explain(ran.error, ran.calls) is None
    assert asked == []
    dead = run(STEP + "old = jnp.ones(4)\nstep(old, 1)\n{}[old.shape]\n")
    assert explain(dead.error, dead.calls) is None
    assert asked == [dead.error]


def test_the_loop_whose_state_is_not_rebound():
    ran = run(
        STEP
        + """\
def main():
    state = jnp.ones(4)
    for batch in range(3):
        new = step(state, batch)

main()
"""
    )
    assert ran.told == [
        (6, "state", "`state` got this array here"),
        (
            8,
            "step(state, batch)",
            "donated here in an earlier turn of the loop: `state` float32[4], to `step` (call 1)",
        ),
        (8, "state", "donated again here"),
    ]
    found = ran.finding
    assert found.code == "DT705"
    assert found.notes == ("`state` is not rebound in the loop",)
    assert found.help == (
        "assign the result of `step` to `state`, or donate a copy, `jnp.copy(state)`, "
        "which costs 16 bytes per device"
    )


def test_read_in_the_loop_before_the_call_that_took_it():
    ran = run(
        STEP
        + """\
state = jnp.ones(4)
while True:
    print(jnp.sum(state))
    new = step(state, 1)
"""
    )
    assert ran.finding.code == "DT704"
    assert ran.told[1][2].startswith("donated here in an earlier turn of the loop")
    assert ran.told[2] == (7, "state", "used here, after the donation")
    assert ran.finding.notes == ("`state` is not rebound in the loop",)


def test_the_same_line_in_another_call_of_the_function_is_no_turn_of_its_loop():
    ran = run(
        STEP
        + """\
def epoch(state):
    for _ in range(1):
        new = step(state, 1)

def main():
    state = jnp.ones(4)
    epoch(state)
    deeper(epoch, state)

def deeper(function, state):
    function(state)

main()
"""
    )
    ran.calls.calls()[0].activation = 1  # ids can be used again; this one is surely another
    assert ran.finding.code == "DT705"
    assert not any("turn of the loop" in text for _, _, text in ran.told)
    passed = [(line, marked) for line, marked, text in ran.told if text.startswith("passed on")]
    assert passed == [(12, "state"), (15, "state")]


def test_one_leaf_of_a_tree():
    ran = run(
        """
        @donate()
        def step(state):
            return {"w": state["w"] + 1}

        state = {"w": jnp.ones(4), "b": jnp.ones(3)}
        old = state
        state = step(state)
        print(jax.tree.map(jnp.sum, old))
        """
    )
    assert ran.told[-1] == (8, "old", "used here, after the donation")
    assert ran.finding.headline == "`old['w']` is used after it was donated to `step`"
    assert ran.finding.notes == ("1 of the 2 leaves of `old` is gone; `old['b']` is alive",)
    assert "costs 16 bytes" in str(ran.finding.help)


def test_several_places_can_have_given_the_array():
    ran = run(
        STEP
        + """\
state = jnp.ones(4)
if len(state) > 3:
    old = state
else:
    old = jnp.zeros(4)
state = step(state, 1)
old.sum()
"""
    )
    assert ran.told[:2] == [
        (7, "old", "`old` can have got this array here"),
        (9, "old", "`old` can have got this array here"),
    ]


def test_a_constant_of_a_jitted_function():
    ran = run(
        STEP
        + """\
w = jnp.ones(4)

@jax.jit
def layer(x):
    return x * w

step(w, 1)
layer(jnp.ones(4))
"""
    )
    assert ran.told == [
        (5, "w", "`w` got this array here"),
        (11, "step(w, 1)", "donated here: `state` float32[4], to `step` (call 1)"),
        (9, "w", "`layer` reads `w` here: a constant of its trace, no argument"),
        (12, "layer(jnp.ones(4))", "traced here, after the donation"),
    ]
    assert ran.finding.help == (
        "pass `w` to `layer` as an argument instead of capturing it, or donate a copy of `state`, "
        "which costs 16 bytes per device"
    )


def test_eager_grad_of_a_donating_function():
    ran = run(
        """
        @donate()
        def loss(p, b):
            return ((p["w"] * b) ** 2).sum()

        p = {"w": jnp.ones(16)}
        value, grads = jax.value_and_grad(loss)(p, jnp.ones(16))
        p = {"w": p["w"] - grads["w"]}
        """
    )
    assert ran.told == [
        (5, "p", "`p` got this array here"),
        (
            6,
            "jax.value_and_grad(loss)(p, jnp.ones(16))",
            "donated here: `p['w']` float32[16], to `loss` (call 1)",
        ),
        (7, 'p["w"]', "used here, after the donation"),
    ]
    assert "`value_and_grad` calls `loss`, which takes its arguments then too" in ran.finding.notes
    assert str(ran.finding.help).startswith("take donation off `loss` and donate at an outer")


THREAD = (
    STEP
    + """\
def saver(x):
    return np.asarray(x)

state = jnp.ones(4)
other = state
state = step(state, 1)
"""
)


def test_another_thread_reads(capsys, monkeypatch):
    monkeypatch.setattr(threading, "excepthook", threading.__excepthook__)  # pytest has its own
    before = threading.excepthook
    book = Calls()
    text = THREAD + (
        "t = threading.Thread(target=saver, args=(other,), name='saver')\n"
        "t.start()\nt.join()\n1 / 0"
    )
    hook = ThreadHook()
    hook.start()
    active.enter(book)
    try:
        moved = Calls.remember
        seen: list[Call] = []

        def remember(self, call):
            seen.append(call)
            moved(book, call)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Calls, "remember", remember)
            run(text)
    finally:
        active.leave(book)
        hook.stop()
    assert threading.excepthook is before
    [found] = book.found
    assert "donated in thread `MainThread`, used in thread `saver`" in found.notes
    shown = capsys.readouterr().err
    assert shown.index("Exception in thread saver") < shown.index("error[DT704]: `x` is used")
    assert shown.count("error[DT704]") == 1


def test_a_worker_of_a_pool_reads():
    ran = run(
        THREAD
        + "with futures.ThreadPoolExecutor(1) as pool:\n    pool.submit(saver, other).result()\n"
    )
    assert ran.told[-1] == (6, "x", "used here, after the donation")
    assert "donated in thread `MainThread`, used in a worker thread of a pool" in ran.finding.notes


def test_an_async_task_reads():
    ran = run(
        STEP
        + """\
async def save(x):
    await asyncio.sleep(0)
    return np.asarray(x)

async def main():
    state = jnp.ones(4)
    task = asyncio.create_task(save(state))
    state = step(state, 1)
    await task

asyncio.run(main())
"""
    )
    assert ran.told == [
        (5, "x", "`x` got this array here"),
        (12, "step(state, 1)", "donated here: `state` float32[4], to `step` (call 1)"),
        (7, "x", "used here, after the donation"),
    ]


def test_a_typed_key():
    ran = run(
        """
        @donate()
        def split(key):
            return jax.random.split(key, 1)[0]

        key = jax.random.key(0)
        old = key
        key = split(key)
        jax.random.uniform(old)
        """
    )
    assert ran.told[1][2] == "donated here: `key` key<fry>[], to `split` (call 1)"
    assert ran.told[2] == (8, "old", "used here, after the donation")


# What no record knows


LATER = (
    STEP
    + """\
state = jnp.ones(4)
kept = []
for i in range(3):
    kept.append(state)
    state = step(state, i)
print(kept[2])
"""
)


def test_a_later_call_than_those_watched():
    ran = run(LATER, first=1)
    assert ran.told == [
        (8, "state", "`kept` got this array here"),
        (
            9,
            "step(state, i)",
            "taken here, as `state`, by a later call of `step` than the one watched",
        ),
        (10, "kept[2]", "used here, after the donation"),
    ]
    assert ran.finding.headline == "`kept[2]` is used after it was donated to `step`"
    watched_all = run(LATER)
    assert watched_all.told[1][2] == "donated here: `state` float32[4], to `step` (call 3)"


def test_several_functions_can_have_taken_it():
    ran = run(
        LATER.replace("print(", "").replace("kept[2])", "other = donate()(lambda g: g * 2)")
        + "other(jnp.ones(4))\nother(jnp.ones(4))\nprint(kept[2])\n",
        first=1,
    )
    texts = [text for _, _, text in ran.told]
    assert [text for text in texts if text.startswith("can have been taken here")] == [
        "can have been taken here, as `state`, by a later call of `step` than the one watched",
        "can have been taken here, as `g`, by a later call of `<lambda>` than the one watched",
    ]
    assert ran.finding.headline == "`kept[2]` is used after its buffer was deleted"
    assert ran.finding.notes == (
        "only the first calls are watched; a later one of `step` or `<lambda>` took it",
    )


def test_the_path_tells_between_sites():
    calls = Calls()
    code = test_the_path_tells_between_sites.__code__
    for name, path in (("f", "p['w']"), ("g", "p['v']")):
        calls.expect(Site(name, None, code, 0, (SiteLeaf(path, "p", "float32[4]", 16),), 1))
    ran = run("old = {'w': jnp.ones(4)}\nold['w'].delete()\njax.tree.map(jnp.sum, old)\n")
    found = explain(ran.error, calls)
    assert found is not None
    assert found.headline == "`old['w']` is used after it was donated to `f`"


def test_deleted_by_hand():
    ran = run(STEP + "x = jnp.ones(4)\nstep(jnp.ones(5), 1)\nx.delete()\nprint(x)\n")
    assert ran.told == [
        (5, "x", "`x` got this array here"),
        (8, "x", "used here, after the deletion"),
    ]
    assert ran.finding.headline == "`x` is used after its buffer was deleted"
    [note] = ran.finding.notes
    assert note.startswith("no call that donatree watched took this array: it was deleted by hand")
    assert ran.finding.help is None


def test_source_that_cannot_be_read():
    ran = run(STEP + "x = jnp.ones(4)\nstep(x, 1)\nprint(x)\n", name="<gone>")
    linecache.cache.pop("<gone>")
    found = explain(ran.error, ran.calls)
    assert found is not None
    assert found.headline == "`state` is used after it was donated to `step`"
    assert [(label.location.line, label.text) for label in found.labels] == [
        (6, "donated here: `state` float32[4], to `step` (call 1)"),
        (7, "used here, after the donation"),
    ]


# The book


def taken(array: Any, path: str = "x") -> Taken:
    return Taken(weakref.ref(array), path, path, "", "float32[4]", 16)


def call(number: int, *arrays: Any, lasti: int = 0) -> Call:
    code = call.__code__
    return Call("f", None, number, code, lasti, "t", [taken(array) for array in arrays])


def test_the_book_keeps_no_array_and_forgets_what_died():
    calls = Calls()
    first, second = jnp.ones(4), jnp.ones(4)
    alive = weakref.ref(second)
    calls.remember(call(1, first, second))
    assert calls.taker_of(first)[0].number == 1  # type: ignore[index]
    del second
    assert alive() is None
    calls.remember(call(2))
    assert [len(each.taken) for each in calls.calls()] == [1, 0]
    del first
    calls.remember(call(3, lasti=2))
    calls.remember(call(4))
    assert [each.number for each in calls.calls()] == [1, 3, 4]


def test_the_book_has_room_for_so_many_calls():
    calls = Calls(room=3)
    arrays = [jnp.ones(4) for _ in range(5)]
    for number, array in enumerate(arrays):
        calls.remember(call(number, array))
    assert [each.number for each in calls.calls()] == [2, 3, 4]
    assert calls.taker_of(arrays[0]) is None


# The note


def test_the_note_stands_below_an_unchanged_traceback_once():
    ran = run(STEP + "x = jnp.ones(4)\nstep(x, 1)\nprint(x)\n")
    before = "".join(traceback.format_exception(ran.error))
    trace = ran.error.__traceback__
    found = notes.annotate(ran.error, ran.calls)
    assert found == ran.finding
    assert ran.error.__traceback__ is trace
    after = "".join(traceback.format_exception(ran.error))
    assert after.startswith(before.rstrip("\n"))
    assert "error[DT704]: `x` is used after it was donated to `step`\n" in after
    assert "7 | print(x)\n  |       ^ used here, after the donation" in after
    assert notes.annotate(ran.error, ran.calls) is None
    assert "".join(traceback.format_exception(ran.error)) == after
    assert ran.calls.found == [found]


def raised(text: str) -> Ran:
    return run(STEP + "x = jnp.ones(4)\nstep(x, 1)\n" + textwrap.dedent(text))


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("try:\n    print(x)\nexcept Exception as e:\n    raise KeyError from e\n", "cause"),
        ("try:\n    print(x)\nexcept Exception:\n    raise KeyError\n", "context"),
        ("try:\n    print(x)\nexcept Exception:\n    raise KeyError from None\n", "outer"),
        (
            "try:\n    print(x)\nexcept Exception as e:\n"
            "    raise ExceptionGroup('g', [e]) from None\n",
            "member",
        ),
    ],
)
def test_chained_errors_and_groups(text, where):
    ran = raised(text)
    outer = ran.error
    assert notes.annotate(outer, ran.calls) is not None
    shown = "".join(traceback.format_exception(outer))
    assert shown.count("error[DT704]") == 1
    link = {
        "cause": outer.__cause__,
        "context": outer.__context__,
        "outer": outer,
        "member": getattr(outer, "exceptions", [None])[0],
    }[where]
    assert link is not None
    assert notes.is_annotated(link)
    again = RuntimeError("again")
    again.__cause__ = outer
    assert notes.annotate(again, ran.calls) is None
    assert "".join(traceback.format_exception(again)).count("error[DT704]") == 1


def test_the_same_words_with_jaxs_internal_frames_taken_out_or_not():
    told = []
    for mode in ("off", "remove_frames", "quiet_remove_frames", "tracebackhide"):
        jax.config.update("jax_traceback_filtering", mode)
        try:
            ran = raised("jax.vmap(lambda a: a + x)(jnp.ones((4, 4)))\n")
            assert notes.annotate(ran.error, ran.calls) is not None
        finally:
            jax.config.update("jax_traceback_filtering", "auto")
        told.append(ran.told)
    assert told[0][-1] == (7, "x", "used here, after the donation")
    assert all(each == told[0] for each in told)


def test_nothing_is_kept_and_nothing_raises():
    ran = raised("print(x)\n")

    class Trapped(Calls):
        def taker_of(self, array):
            raise ValueError

    assert notes.annotate(ran.error, Trapped()) is None
    assert not hasattr(ran.error, "__notes__") or not notes.is_annotated(ran.error)

    def broken(finding):
        raise ValueError

    assert notes.annotate(ran.error, ran.calls, broken) is None
    assert notes.annotate(ran.error, ran.calls) is not None
    array = weakref.ref(ran.names["x"])
    calls = ran.calls
    ran.names.clear()
    ran.error.__traceback__ = None
    del ran
    gc.collect()
    assert array() is None
    assert len(calls.found) == 1


def test_the_frames_that_were_read_keep_nothing_alive_after_the_error_is_handled():
    ran = run(
        STEP
        + """\
class Thing:
    pass

def outer():
    thing = Thing()
    seen.append(weak(thing))
    try:
        inner(jnp.ones(4))
    except Exception as error:
        annotate(error)
    del thing
    return seen[0]()

def inner(x):
    step(x, 1)
    print(x)

seen = []
from weakref import ref as weak
from donatree.consumed import active
annotate = active.annotate
result = outer()
1 / 0
"""
    )
    assert isinstance(ran.error, ZeroDivisionError)
    assert ran.names["result"] is None


def test_only_running_watches_are_asked():
    ran = raised("print(x)\n")
    assert active.annotate(ran.error) is None
    active.enter(ran.calls)
    try:
        assert active.annotate(None) is None
        found = active.annotate(ran.error)
    finally:
        active.leave(ran.calls)
        active.leave(ran.calls)
    assert found is not None
    assert active.books() == ()


def test_the_innermost_book_that_knows_the_array_is_used():
    ran = raised("print(x)\n")
    inner = Calls()
    active.enter(ran.calls)
    active.enter(inner)
    try:
        found = active.annotate(ran.error)
    finally:
        active.leave(inner)
        active.leave(ran.calls)
    assert found is not None
    assert found.headline == "`x` is used after it was donated to `step`"
    assert ran.calls.found == [found]
    assert inner.found == []


def test_the_hook_of_threads_leaves_a_later_hook_alone():
    before = threading.excepthook
    hook = ThreadHook()
    hook.start()
    ours = threading.excepthook
    assert ours is not before
    try:
        threading.excepthook = print
        hook.stop()
        assert threading.excepthook is print
    finally:
        threading.excepthook = before


# Private JAX


def test_the_array_is_held_by_jaxs_own_check():
    array = jnp.ones(4)
    array.delete()
    with pytest.raises(RuntimeError) as caught:
        array + 1
    trace = caught.value.__traceback__
    held = []
    while trace is not None:
        held.append(deleted.receiver(trace.tb_frame))
        trace = trace.tb_next
    assert held[-1] is array
    assert all(each is None for each in held[:-1])


def test_what_only_cpp_notices_is_told_from_other_errors():
    array = jnp.ones(4)
    jax.block_until_ready(jax.jit(lambda a: a + 1, donate_argnums=0)(array))
    with pytest.raises(Exception, match=r"delete|donate") as caught:
        array.block_until_ready()
    assert deleted.is_meant(caught.value)
    assert not deleted.is_meant(KeyError(str(caught.value)))
    assert not deleted.is_meant(type(caught.value)("INTERNAL: something else"))


def test_asking_jax_is_no_business_of_a_watch():
    import donatree

    deleted._said.cache_clear()
    with donatree.watch() as watched_block:
        deleted.is_meant(ValueError())
    assert watched_block.ledgers == ()
    assert not watched_block.account.faults


def test_importing_it_brings_in_no_jax():
    code = (
        "import sys, donatree.consumed.active, donatree.consumed.calls, donatree.consumed.threads\n"
        "import donatree.watch.notebook, donatree.source.binding, donatree.consumed.notes\n"
        "import donatree.pytest_plugin\n"
        "print([name for name in ('jax', 'numpy', 'rich', 'IPython') if name in sys.modules])"
    )
    path = [each for each in sys.path if each]
    ran = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:0] = {path!r}\n{code}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout == "[]\n"


# Twins


def test_where_the_leaves_of_a_call_got_their_buffers():
    found: list[Label | None] = []

    def look(state, other):
        frame = sys._getframe(1)
        for argument, inside in (("state", "['a']"), ("state", "['y'][0]"), ("other", "")):
            found.append(got_here(frame, frame.f_lasti, argument, inside))

    text = textwrap.dedent(
        """\
        def main():
            a = make()
            y = a
            state = {"a": a, "y": (y,)}
            look(state, other=a)
        make = object
        main()
        """
    )
    linecache.cache["<twins>"] = (len(text), None, text.splitlines(keepends=True), "<twins>")
    exec(compile(text, "<twins>", "exec"), {"look": look})
    rows = text.splitlines()
    told = [
        (
            each.location.line,
            rows[each.location.line - 1][each.location.column : each.location.end_column],
            each.text,
        )
        for each in found
        if each is not None
    ]
    assert told == [
        (4, "a", "`state['a']` got this buffer here"),
        (4, "y", "`state['y'][0]` got this buffer here"),
        (2, "a", "`a` got this buffer here"),
    ]


# pytest and notebooks


# On a CI server (by the environment's `CI` or `BUILD_NUMBER`) pytest cuts no line of its short
# summary, and an exception's notes are part of its message there.
@pytest.mark.parametrize(
    ("server", "shown"), [({}, 1), ({"CI": "true"}, 2)], ids=["desk", "server"]
)
def test_pytests_own_report_shows_the_note(tmp_path, server, shown):
    (tmp_path / "test_it.py").write_text(
        textwrap.dedent(
            """\
            import jax, jax.numpy as jnp, pytest
            from consumed_watcher import watched
            from donatree.consumed import active
            from donatree.consumed.calls import Calls

            @pytest.fixture
            def calls():
                book = Calls()
                active.enter(book)
                yield book
                active.leave(book)

            def test_dead(calls):
                step = watched(calls, jax.jit(lambda s: s + 1, donate_argnums=0))
                old = jnp.ones(4)
                step(old)
                assert old.sum() == 4

            def test_other(calls):
                assert 1 == 2
            """
        )
    )
    path = [str(Path(__file__).parent), *(each for each in sys.path if each)]
    code = (
        f"import sys; sys.path[:0] = {path!r}\n"
        "import os; os.environ['PYTEST_DISABLE_PLUGIN_AUTOLOAD'] = '1'\n"
        "import pytest; sys.exit(pytest.main(['-q', '-p', 'donatree.pytest_plugin', "
        "'-p', 'no:cacheprovider', 'test_it.py']))"
    )
    env = {name: value for name, value in os.environ.items() if name not in ("CI", "BUILD_NUMBER")}
    ran = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env=env | server,
    )
    assert ran.returncode == 1, ran.stderr
    assert "2 failed" in ran.stdout
    title = "error[DT704]: `old` is used after it was donated to `<lambda>`"
    assert ran.stdout.count(title) == shown
    assert "17 |     assert old.sum() == 4\n" in ran.stdout


class Shell:
    """What `CellErrors` uses of IPython's shell."""

    def __init__(self) -> None:
        self.custom_exceptions: tuple[type[BaseException], ...] = ()
        self.CustomTB: Any = None
        self.shown: list[BaseException] = []

    def set_custom_exc(self, kinds: Any, handler: Any) -> None:
        self.custom_exceptions = kinds
        self.CustomTB = types.MethodType(handler, self)

    def showtraceback(self, told: Any, tb_offset: Any = None) -> None:
        self.shown.append(told[1])


def test_an_error_of_a_cell_is_explained_before_it_is_shown(monkeypatch):
    shell = Shell()
    ipython = types.SimpleNamespace(get_ipython=lambda: shell)
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    ran = raised("print(x)\n")
    cells = CellErrors()
    cells.start()
    active.enter(ran.calls)
    try:
        shell.CustomTB(type(ran.error), ran.error, ran.error.__traceback__, tb_offset=1)
    finally:
        active.leave(ran.calls)
        cells.stop()
    assert shell.shown == [ran.error]
    assert notes.is_annotated(ran.error)
    assert (shell.custom_exceptions, shell.CustomTB) == ((), None)


def test_outside_a_notebook_nothing_is_changed(monkeypatch):
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: None))
    cells = CellErrors()
    cells.start()
    cells.stop()


def test_the_programs_here_would_be_missed_without_their_records():
    """Meta: the labels come from the records, not from the text of the program."""
    ran = raised("print(x)\n")
    found = explain(ran.error, Calls())
    assert found is not None
    assert "donated" not in found.headline
    assert isinstance(ast.parse(ran.text), ast.Module)


def test_the_call_that_took_it_is_told_and_not_the_one_that_failed(tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_text(
        "import jax, jax.numpy as jnp\n"
        "step = jax.jit(lambda state, x: state + x, donate_argnums=0)\n"
        "old = jnp.ones(4)\nnew = step(old, 1)\nbetween = new + 1\nnew2 = step(old, 1)\n"
    )
    with pytest.raises(RuntimeError, match="deleted") as caught, donatree.watch():
        runpy.run_path(str(file))
    (note,) = [each for each in caught.value.__notes__ if "DT705" in each]
    took = [line for line in note.splitlines() if "donated here: " in line]
    assert len(took) == 1
    assert "(call 1)" in took[0]
    assert "error[DT705]" in note
