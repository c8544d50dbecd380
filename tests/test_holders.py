"""Who else holds a leaf: every kind of root, what is no holder, and what outlives a call."""

from __future__ import annotations

import asyncio
import collections
import concurrent.futures
import dataclasses
import functools
import gc
import json
import sys
import textwrap
import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from donatree.findings import dt701
from donatree.holders import Holder, find, find_views, holders
from donatree.holders.naming import named_leaves
from donatree.ledger import Location
from programs import python, write


class Pair(NamedTuple):
    mu: Any
    nu: Any


class Trainer:
    best: Any = None

    def __init__(self) -> None:
        self.state: Any = None
        self.history: list[Any] = []


class Slotted:
    __slots__ = ("w",)


CACHE: dict[str, Any] = {}
SOURCE: list[Any] = [None]


@functools.lru_cache
def cached(number: int) -> Any:
    return SOURCE[0]


def make() -> dict[str, Any]:
    return {
        "w": jnp.arange(8.0) + 1,
        "opt": Pair(jnp.zeros(8) + 2, [jnp.ones(3) + 3]),
        "n": jnp.zeros((), jnp.int32) + 4,
    }


def texts(found: list[Holder]) -> list[str]:
    """Holders as a user sees them, without the place."""
    return sorted(" -> ".join((each.root, *each.steps)) for each in found)


def test_nobody_else() -> None:
    state = make()
    assert holders(state) == []


def test_the_form_of_a_holder() -> None:
    state = make()
    metrics = {"prev": [state["opt"]]}
    (found,) = holders(state)
    line = test_the_form_of_a_holder.__code__.co_firstlineno + 2
    assert str(found).endswith(f"test_holders.py:{line}) -> ['prev'] -> [0]")
    assert str(found).startswith("local `metrics` of `test_the_form_of_a_holder` (")
    assert (found.held, found.kind, found.bytes) == ("state['opt']", "container", 44)
    assert found.leaves == ("state['opt'].mu", "state['opt'].nu[0]")
    assert json.loads(json.dumps(found.to_dict()))["steps"] == ["['prev']", "[0]"]
    assert metrics


def test_attributes_globals_slots_classes_and_deques() -> None:
    state = make()
    trainer = Trainer()
    trainer.history.append(state["w"])
    CACHE["prev"] = {"it": state["n"]}
    slotted = Slotted()
    slotted.w = state["opt"].mu
    Trainer.best = state["opt"].nu
    queue = collections.deque([state["opt"]])
    try:
        assert texts(holders(state)) == [
            "attribute `best` of class `Trainer`",
            f"global `CACHE` of module `{__name__}` -> ['prev'] -> ['it']",
            "local `queue` of `test_attributes_globals_slots_classes_and_deques` -> [0]",
            "local `slotted` of `test_attributes_globals_slots_classes_and_deques` -> .w",
            "local `trainer` of "
            "`test_attributes_globals_slots_classes_and_deques` -> .history -> [0]",
        ]
    finally:
        CACHE.clear()
        Trainer.best = None
    assert queue


def test_functions_partials_caches_and_generators() -> None:
    state = make()

    def closing(w: Any) -> Callable[[], Any]:
        def closure() -> Any:
            return w

        return closure

    def defaults(a: Any = state["n"], *, b: Any = state["opt"].mu) -> None: ...

    def generator(leaf: Any) -> Iterator[int]:
        yield 1
        yield leaf

    inner = closing(state["w"])
    partial = functools.partial(print, state["w"], end=state["n"])
    SOURCE[0] = state["opt"].nu[0]
    cached(1)
    SOURCE[0] = None
    suspended = generator(state["n"])
    next(suspended)
    own = "test_functions_partials_caches_and_generators"
    try:
        assert texts(holders(state)) == [
            "`functools.lru_cache` of `cached`",
            f"closure variable `w` of `{own}.closing.closure`",
            f"default argument `a` of `{own}.defaults`",
            f"default argument `b` of `{own}.defaults`",
            f"local `leaf` of generator `{own}.generator`",
            f"local `partial` of `{own}` -> .args[0]",
            f"local `partial` of `{own}` -> .keywords['end']",
        ]
    finally:
        cached.cache_clear()
    assert inner
    assert partial
    assert suspended


def test_a_coroutine_and_a_task() -> None:
    async def waits(leaf: Any) -> Any:
        await asyncio.sleep(0)
        await asyncio.sleep(10)
        return leaf

    async def main() -> list[Holder]:
        state = make()
        task = asyncio.create_task(waits(state["w"]))
        await asyncio.sleep(0)
        found = holders(state)
        task.cancel()
        return found

    found = asyncio.run(main())
    assert texts(found) == ["local `leaf` of coroutine `test_a_coroutine_and_a_task.waits`"]


def test_another_thread() -> None:
    state = make()
    started, end = threading.Event(), threading.Event()

    def worker(batch: Any) -> Any:
        started.set()
        end.wait()
        return batch

    thread = threading.Thread(target=worker, args=(state["w"],), name="prefetch")
    thread.start()
    started.wait()
    try:
        (found,) = holders(state)
    finally:
        end.set()
        thread.join()
    assert found.thread == "prefetch"
    assert "local `batch` of `test_another_thread.worker` in thread `prefetch`" in str(found)
    assert found.read_at is not None


def test_a_saver_that_runs_in_a_pool() -> None:
    state = make()
    started, end = threading.Event(), threading.Event()

    def save(tree: Any) -> int:
        started.set()
        end.wait()
        return len(tree)

    with concurrent.futures.ThreadPoolExecutor(1, "saver") as pool:
        pool.submit(save, state["opt"])
        started.wait()
        try:
            found = holders(state)
        finally:
            end.set()
    assert [each.held for each in found] == ["state['opt']"]
    assert "local `tree` of" in str(found[0])
    assert str(found[0].thread).startswith("saver")


def test_other_handles() -> None:
    state = make()
    put = jax.device_put(state["w"], jax.devices()[0])
    shards = [state["n"].addressable_data(0)]
    found = holders(state)
    assert {(each.held, each.kind) for each in found} == {
        ("state['w']", "handle"),
        ("state['n']", "handle"),
    }
    print(found)
    assert any(each.steps == ("[0]",) for each in found)
    assert put is not state["w"]
    assert shards


def test_views_of_the_memory() -> None:
    state = make()
    history = [(0, {"w": np.asarray(state["w"])})]
    part = np.asarray(state["opt"].mu)[2:5]
    dlpack = np.from_dlpack(state["opt"].nu[0])
    found = holders(state)
    assert {each.kind for each in found} == {"view"}
    assert {each.held: (each.what, each.steps) for each in found} == {
        "state['w']": ("numpy array float32[8]", ("[0]", "[1]", "['w']")),
        "state['opt'].mu": ("numpy array float32[3]", ()),
        "state['opt'].nu[0]": ("numpy array float32[3]", ()),
    }
    assert len(history) + len(part) + len(dlpack) == 7


def test_a_memoryview_and_a_capsule() -> None:
    state = make()
    seen = memoryview(state["w"])
    capsule = state["opt"].mu.__dlpack__()
    assert {each.what for each in holders(state)} == {"memoryview", "dlpack capsule"}
    assert seen.nbytes == 32
    assert capsule is not None


def test_a_tensor_of_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Torch is not needed: what counts is an object of its type with an address."""

    class Tensor:
        def __init__(self, array: Any) -> None:
            self.address = array.unsafe_buffer_pointer()
            self.shape = array.shape

        def data_ptr(self) -> int:
            return self.address

        def numel(self) -> int:
            return 8

        def element_size(self) -> int:
            return 4

    module = type(sys)("torch")
    module.Tensor = Tensor  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch", module)
    state = make()
    tensor = Tensor(state["w"])
    assert [each.what for each in holders(state)] == ["torch tensor of shape (8,)"]
    assert tensor.numel() == 8


def test_real_copies_are_no_holders() -> None:
    state = make()
    copies = [np.array(state["w"]), jnp.copy(state["w"]), state["w"] + 0, state["w"].copy()]
    assert holders(state) == []
    assert len(copies) == 4


def test_a_constant_of_another_jitted_function() -> None:
    def close(w: Any) -> Any:
        captured = [w]
        scale = jax.jit(lambda x: x * captured[0])
        scale(jnp.ones(8))
        captured.clear()
        return scale

    state = make()
    scale = close(state["w"])
    (found,) = holders(state)
    assert found.root == "constant captured by jitted function `<lambda>`"
    assert found.location is not None
    assert found.location.line == close.__code__.co_firstlineno + 2
    assert scale is not None


def test_many_leaves_in_one_list_are_one_holder() -> None:
    state = {f"layer{i}": {"w": jnp.full(2, i)} for i in range(300)}
    old = jax.tree.leaves(state)
    (found,) = holders(state)
    assert (found.held, found.kind, len(found.leaves)) == ("state", "container", 300)
    assert found.steps == ("[0..299]",)
    assert found.bytes == 300 * 8
    assert len(old) == 300


def test_many_leaves_in_a_tree_of_its_own_are_one_holder() -> None:
    state = {f"layer{i}": {"w": jnp.full(2, i)} for i in range(300)}
    pairs = [(path, leaf) for path, leaf in named_leaves("state", state)]
    (found,) = holders(state)
    assert len(found.leaves) == 300
    assert found.root.startswith("local `pairs`")
    assert len(pairs) == 300


def test_what_dies_by_collecting_garbage_is_no_holder() -> None:
    state = make()

    class Cycle:
        def __init__(self, leaf: Any) -> None:
            self.leaf = leaf
            self.me = self

    def recursive(leaf: Any) -> None:
        def inner(depth: int) -> Any:
            return inner(depth - 1) if depth else leaf

        inner(3)

    gc.disable()
    try:
        Cycle(state["w"])
        recursive(state["opt"])
        assert holders(state) == []
    finally:
        gc.enable()


def test_the_expression_that_names_the_tree_is_no_holder() -> None:
    trainer = Trainer()
    trainer.state = make()
    named = {"state": make()}
    assert holders(trainer.state) == []
    assert holders(named["state"]) == []
    best = trainer.state
    assert texts(holders(trainer.state)) == [
        "local `best` of `test_the_expression_that_names_the_tree_is_no_holder`"
    ]
    assert best is trainer.state


def test_nothing_is_kept_and_nothing_is_left() -> None:
    state = make()
    jax.block_until_ready(state)
    watched = [weakref.ref(leaf) for leaf in jax.tree.leaves(state)]
    other = jax.device_put(state["w"], jax.devices()[0])
    view = np.asarray(state["n"])
    gc.collect()
    before = len(jax.live_arrays())  # all counted below, none held: that would be a holder
    assert len(holders(state)) == 2
    assert len(ask(sys._getframe(), state=state)) >= 2
    assert len(jax.live_arrays()) <= before
    assert other is not None
    assert view.shape == ()
    del state, other, view
    assert [each() for each in watched] == [None] * len(watched)


def test_a_frame_keeps_no_local_alive() -> None:
    class Thing: ...

    def main() -> bool:
        thing = Thing()
        seen = weakref.ref(thing)
        state = make()
        holders(state)
        ask(sys._getframe(), state=state)
        del thing
        return seen() is None

    assert main()


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Data:
    w: Any
    opt: Pair


def test_a_dataclass_and_a_typed_key() -> None:
    state = Data(jnp.ones(3) + 1, Pair(jax.random.key(0), jnp.zeros(2) + 1))
    assert holders(state) == []
    old = state.opt
    key = state.opt.mu
    found = {each.held: each.kind for each in holders(state)}
    assert found == {"state.opt": "container", "state.opt.mu": "leaf"}
    assert old.mu is key


def test_flax_linen() -> None:
    linen = pytest.importorskip("flax.linen")
    optax = pytest.importorskip("optax")
    train_state = pytest.importorskip("flax.training.train_state")
    model = linen.Dense(4)
    params = model.init(jax.random.key(0), jnp.ones((1, 3)))
    state = train_state.TrainState.create(apply_fn=model.apply, params=params, tx=optax.adamw(1e-3))
    assert [each.held for each in holders(state)] == ["state.params"]
    del params
    assert holders(state) == []
    frozen = pytest.importorskip("flax.core").freeze({"a": {"w": jnp.ones(4) + 1}})
    assert holders(frozen) == []
    inner = frozen["a"]["w"]
    assert [each.kind for each in holders(frozen)] == ["leaf"]
    assert inner is not None


def test_flax_nnx() -> None:
    nnx = pytest.importorskip("flax.nnx")

    class Model(nnx.Module):
        def __init__(self, rngs: Any) -> None:
            self.a = nnx.Linear(3, 8, rngs=rngs)

    model = Model(nnx.Rngs(0))
    assert holders(model) == []
    state = nnx.state(model)
    found = holders(model)
    assert found
    assert all("local `state` of" in each.root for each in found)
    assert {leaf for each in found for leaf in each.leaves} >= {
        path for path, _ in named_leaves("model", model) if ".a." in path
    }
    del state
    kernel = model.a.kernel
    assert [each.root for each in holders(model)] == ["local `kernel` of `test_flax_nnx`"]
    assert kernel is not None


def test_equinox() -> None:
    equinox = pytest.importorskip("equinox")
    model = equinox.nn.MLP(3, 4, 8, 2, key=jax.random.key(0))
    assert holders(model) == []
    ema = equinox.tree_at(lambda m: m.layers[0].bias, model, jnp.zeros(8))
    (found,) = holders(model)
    assert found.held == "model.layers"
    assert "local `ema` of" in found.root
    assert ema is not model


# What outlives a call. `step` stands for a donating function under the watcher.

SEEN: list[list[Holder]] = []


def ask(frame: Any, **arguments: Any) -> list[Holder]:
    leaves = [each for name, tree in arguments.items() for each in named_leaves(name, tree)]
    return find(arguments, leaves, frame)


def step(state: Any, *rest: Any) -> Any:
    SEEN.append(ask(sys._getframe(1), state=state))
    new = jax.tree.map(lambda x: x + 1, state)
    return (new, *rest) if rest else new


@pytest.fixture(autouse=True)
def _forget() -> Iterator[None]:
    SEEN.clear()
    yield
    SEEN.clear()


def held() -> list[list[str]]:
    return [[each.held for each in found] for found in SEEN]


def test_a_name_that_the_call_rebinds() -> None:
    state = make()
    for _ in range(2):
        state = step(state)
    state, loss = step(state, 1.0)
    assert held() == [[], [], []]
    assert loss


def test_a_name_that_is_not_read_again() -> None:
    state = make()
    old = state
    part = state["w"]  # noqa: F841
    new = step(state)
    assert held() == [[]]
    old = new
    assert old is new


def test_a_name_that_is_read_again() -> None:
    state = make()
    old = state["w"]
    state = step(state)
    assert old.shape == (8,)
    ((found,),) = SEEN
    line = test_a_name_that_is_read_again.__code__.co_firstlineno
    assert found.held == "state['w']"
    assert found.read_at is not None
    assert (found.read_at.line, found.location and found.location.line) == (line + 4, line + 2)
    assert state


def test_a_loop_that_does_not_rebind() -> None:
    state = make()
    for _ in range(2):
        step(state)
    assert held() == [["state"], ["state"]]


def test_attributes_that_are_rebound() -> None:
    class Own(Trainer):
        def at_once(self) -> None:
            self.state = step(self.state)

        def later(self) -> None:
            new, loss = step(self.state, 1.0)
            assert loss
            self.state = new

        def through_another(self) -> None:
            self.state = self.inner(self.state)

        def inner(self, state: Any) -> Any:
            return step(state)

        def keeps(self) -> None:
            self.best = self.state
            self.state = step(self.state)

    trainer = Own()
    trainer.state = make()
    trainer.at_once()
    trainer.later()
    trainer.through_another()
    assert held() == [[], [], []]
    trainer.keeps()
    assert texts(SEEN[-1]) == [
        "local `self` of `test_attributes_that_are_rebound.Own.keeps` -> .best"
    ] or texts(SEEN[-1]) == ["local `trainer` of `test_attributes_that_are_rebound` -> .best"]
    assert trainer.best is not None


def test_items_that_are_rebound() -> None:
    states = {"s": make()}
    states["s"] = step(states["s"])
    new = step(states["s"])
    states["s"] = new
    assert held() == [[], []]
    states["t"] = step(states["s"])
    assert [each.steps for each in SEEN[-1]] == [("['s']",)]
    assert states


def test_callers_further_out() -> None:
    def train(state: Any) -> Any:
        for _ in range(2):
            state = step(state)
        return state

    state = make()
    state = train(state)
    assert held() == [[], []]
    SEEN.clear()
    new = train(state)
    assert held()[0] == ["state"]
    assert SEEN[0][0].root == "local `state` of `test_callers_further_out`"
    assert state is not new


def test_a_variable_that_an_inner_function_rebinds() -> None:
    state = make()

    def train() -> None:
        nonlocal state
        state = step(state)

    train()
    assert state
    assert held() == [[]]


def test_a_closure_counts_while_it_may_be_called() -> None:
    def make_loss(w: Any) -> Callable[[], Any]:
        def loss() -> Any:
            return w.sum()

        return loss

    state = make()
    loss = make_loss(state["w"])
    state = step(state)
    loss()
    assert texts(SEEN[0]) == [
        "closure variable `w` of `test_a_closure_counts_while_it_may_be_called.make_loss.loss`"
    ]
    SEEN.clear()
    loss = make_loss(state["w"])
    state = step(state)
    assert held() == [[]]


def test_a_view_counts_though_it_is_not_read_again() -> None:
    state = make()
    seen = np.asarray(state["w"])  # noqa: F841
    state = step(state)
    assert [(each.kind, each.held) for each in SEEN[0]] == [("view", "state['w']")]
    assert state


def test_the_views_alone() -> None:
    array = jnp.arange(8.0) + 1
    kept = [array]
    assert find_views([("x", array)]) == []
    seen = np.asarray(array)
    (found,) = find_views([("x", array)])
    assert (found.held, found.what) == ("x", "numpy array float32[8]")
    assert kept
    assert seen is not None


def test_a_donated_array_is_its_own_argument() -> None:
    x = jnp.arange(8.0) + 1
    y = x
    x = step(x)
    assert y.shape == (8,)
    assert [(each.kind, each.root) for each in SEEN[0]] == [
        ("leaf", "local `y` of `test_a_donated_array_is_its_own_argument`")
    ]
    assert x is not None


def test_other_threads_may_run() -> None:
    stop = threading.Event()

    def busy() -> None:
        while not stop.is_set():
            junk = [{"a": [each]} for each in range(50)]
            del junk

    threads = [threading.Thread(target=busy) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        state = make()
        for _ in range(5):
            state = step(state)
            assert holders(state) == []
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert held() == [[]] * 5


def test_it_never_raises() -> None:
    class Odd:
        def __getattribute__(self, name: str) -> Any:
            raise RuntimeError("no")

        __hash__ = None  # type: ignore[assignment]

        def __eq__(self, other: object) -> bool:
            raise RuntimeError("no")

    state = make()
    odd = Odd()
    keep = {"odd": odd, "w": state["w"]}
    deleted = jnp.ones(3) + 1
    deleted.delete()
    found = find(
        {"state": state, "odd": odd, "gone": deleted},
        [*named_leaves("state", state), ("gone", deleted), ("no", 3)],
        sys._getframe(),
    )
    assert texts(found) == ["local `keep` of `test_it_never_raises` -> [*]"]
    assert len(keep) == 2


SCRIPT = """
import sys
import jax, jax.numpy as jnp
from donatree.holders import find

def step(state):
    found = find({"state": state}, [("state", state)], sys._getframe(1))
    print(*(f"{each.root}: read at {each.read_at and each.read_at.line}" for each in found))
    return state + 1

state = jnp.ones(4) + 1
first = state
state = step(state)
last = state

def evaluate():
    return last + 1

state = step(state)
evaluate()
state = step(state)
"""


def test_globals_of_a_script(tmp_path: Path) -> None:
    write(tmp_path, SCRIPT, "script.py")
    ended = python("script.py", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert ended.out.splitlines() == [
        "",
        "global `last` of module `__main__`: read at 17",
        "",
    ]


# The finding.

ONE = Holder(
    "state['w']",
    "leaf",
    "local `old` of `main`",
    Location("train.py", 3, 4, 3, 7),
    ("[0]",),
    ("state['w']",),
    32,
    read_at=Location("train.py", 9),
)


def test_the_finding_of_one_holder() -> None:
    finding = dt701.about([ONE], "train_step", Location("train.py", 7, 12))
    assert finding is not None
    assert finding.headline == (
        "`state['w']` is given away to `train_step` and still held by local `old` of `main` "
        "at `[0]`: 32 bytes"
    )
    assert (finding.level, finding.bytes, finding.leaves) == ("warning", 32, ("state['w']",))
    assert "`jax.tree.map(jnp.copy, state['w'])` costs 32 bytes" in str(finding.help)
    assert [(label.location.line, label.primary) for label in finding.labels] == [
        (3, False),
        (7, True),
        (9, False),
    ]


def test_the_finding_of_many_holders_counts_no_leaf_twice() -> None:
    whole = Holder(
        "state",
        "container",
        "global `CACHE` of module `a`",
        leaves=("state['w']", "state['n']"),
        bytes=36,
    )
    view = Holder("state['w']", "view", "local `v` of `main`", leaves=("state['w']",), bytes=32)
    finding = dt701.about([ONE, whole, view], "train_step")
    assert finding is not None
    assert finding.headline == (
        "2 leaves given away to `train_step` are held in 3 other places: 36 bytes"
    )
    assert "a view of the memory stops the reuse: the run copies the leaf" in finding.notes
    assert dt701.about([], "train_step") is None


def test_the_programs_of_the_finding_show_it(tmp_path: Path) -> None:
    before = python("-c", dt701.FAILING, cwd=tmp_path)
    after = python("-c", dt701.REPAIRED, cwd=tmp_path)
    assert (before.code, before.out) == (0, "gone\n"), before.err
    assert (after.code, after.out) == (0, "2048.0\n"), after.err
    assert dt701.FAILING != dt701.REPAIRED


def test_the_failing_program_is_found(tmp_path: Path) -> None:
    watched = textwrap.dedent(
        """\
        import sys
        from donatree.holders import find
        jitted = step
        def step(state):
            print(*map(str, find({"state": state}, [("state['w']", state["w"])], sys._getframe(1))))
            return jitted(state)
        """
    )
    for program, expected in ((dt701.FAILING, "local `best` of `main` ("), (dt701.REPAIRED, "")):
        text = program.replace("def main", watched + "\n\ndef main")
        write(tmp_path, text, "program.py")
        ended = python("program.py", cwd=tmp_path)
        assert ended.code == 0, ended.err
        first = ended.out.splitlines()[0]
        assert first.startswith(expected) if expected else not first
