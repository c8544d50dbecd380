"""Gate honoured: what a run did with what was granted, read from addresses."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import donatree as product
from donatree import gates
from donatree._jax import buffers
from donatree.gates import honoured
from donatree.ledger import ArraySpec, Entry, Gate, Leaf, Ledger, Slot
from donatree.observation import CallSeen, LeafCall
from programs import account, donatree, python, write


def train_step(state: dict[str, Any]) -> dict[str, Any]:
    return {name: value - 0.1 for name, value in state.items()}


def new_step() -> Any:
    """A jitted function that JAX has not compiled yet."""
    return jax.jit(lambda state: train_step(state), donate_argnums=0)


def made(step: Any, state: Any, calls: int = 4, **options: Any) -> Any:
    """Watches `calls` calls, each on the result of the one before."""
    with product.watch(**options) as watched:
        for _ in range(calls):
            state = step(state)
    return watched


def evidence(watched: Any, path: str) -> str:
    (entry,) = [e for ledger in watched.ledgers for e in ledger.entries if e.path == path]
    return entry.evidence["honoured"]


REUSED = "reused, the slot is at the leaf's address"


def test_leaves_that_are_reused_pass() -> None:
    step = new_step()
    watched = made(step, {"w": jnp.ones((4, 4)), "b": jnp.ones(4)})
    (ledger,) = watched.ledgers
    assert ledger.bytes_after(Gate.HONOURED) == ledger.promised == 80
    assert [entry.stopped_at for entry in ledger.entries] == [None, None]
    assert evidence(watched, "state['w']") == f"calls 1, 2 and 3: {REUSED}"
    assert watched.account.faults == ()


def test_only_as_many_calls_are_looked_at_as_were_asked_for() -> None:
    step = new_step()
    watched = made(step, {"w": jnp.ones(4)}, calls=4)
    assert "calls 1, 2 and 3" in evidence(watched, "state['w']")
    step = new_step()
    with product.watch(calls=2) as watched:
        state = {"w": jnp.ones(4)}
        for _ in range(4):
            state = step(state)
    assert evidence(watched, "state['w']") == f"calls 1 and 2: {REUSED}"


def test_compile_looks_at_no_call() -> None:
    step = new_step()
    watched = made(step, {"w": jnp.ones(4)}, check="compile")
    (ledger,) = watched.ledgers
    assert ledger.bytes_after(Gate.HONOURED) is None
    assert Gate.HONOURED not in ledger.checked


@pytest.mark.parametrize(("check", "calls"), [("everything", 3), ("calls", 1)])
def test_a_level_that_is_none_is_refused(check: Any, calls: int) -> None:
    with pytest.raises(ValueError, match=r"check must be|calls must be"):
        product.watch(check=check, calls=calls)


@pytest.mark.parametrize("view", [np.asarray, jax.device_get, memoryview, np.from_dlpack])
def test_a_view_that_is_alive_makes_the_run_copy(view: Any) -> None:
    step = new_step()
    state = {"w": jnp.ones((4, 4)) + 1, "b": jnp.ones(4) + 1}
    with product.watch() as watched:
        kept = view(state["w"])
        state = step(state)
    (ledger,) = watched.ledgers
    assert [(e.path, e.stopped_at) for e in ledger.entries] == [
        ("state['b']", None),
        ("state['w']", Gate.HONOURED),
    ]
    assert ledger.bytes_after(Gate.GRANTED) == 80
    assert ledger.bytes_after(Gate.HONOURED) == 16
    (found,) = ledger.findings
    assert (found.code, found.leaves, found.bytes) == ("DT601", ("state['w']",), 64)
    assert "`kept`" in " ".join(found.notes)
    del kept


def test_a_slice_of_a_view_counts_and_a_copy_does_not() -> None:
    step = new_step()
    state = {"w": jnp.ones((4, 4)) + 1, "b": jnp.ones(4) + 1}
    with product.watch() as watched:
        copy, piece = np.array(state["b"]), np.asarray(state["w"])[1:, 1:]
        state = step(state)
    lost = [entry.path for entry in watched.ledgers[0].lost]
    assert lost == ["state['w']"]
    assert (copy.shape, piece.shape) == ((4,), (3, 3))


def test_numpy_and_python_leaves_are_named_at_the_first_call_only() -> None:
    step = new_step()
    watched = made(step, {"w": np.ones((4, 4), np.float32), "b": jnp.ones(4)})
    (ledger,) = watched.ledgers
    assert ledger.lost == ()
    (found,) = ledger.findings
    assert (found.code, found.level, found.leaves) == ("DT603", "warning", ("state['w']",))
    assert evidence(watched, "state['w']").startswith("call 1: copied, what was passed is no")
    assert evidence(watched, "state['w']").endswith(f"calls 2 and 3: {REUSED}")


def test_memory_of_numpy_is_told_from_a_view_though_the_leaf_is_deleted() -> None:
    raw = np.zeros(4 * 16 + 64, np.uint8)
    start = -raw.ctypes.data % 64
    aligned = raw[start : start + 64].view(np.float32).reshape(4, 4)
    first = jax.device_put(aligned)
    step = new_step()
    watched = made(step, {"w": first})
    (ledger,) = watched.ledgers
    assert first.is_deleted()  # which proves nothing
    assert {found.code for found in ledger.findings} == {"DT602", "DT701"}
    assert evidence(watched, "state['w']").startswith("call 1: copied, the leaf is deleted")
    assert ledger.lost == ()


def test_nothing_of_a_leaf_is_held_after_a_call_that_was_looked_at() -> None:
    step = new_step()
    with product.watch() as watched:
        state = {"w": jnp.ones((4, 4)), "b": jnp.ones(4)}
        before = weakref.ref(state["w"])
        state = step(state)
        assert before() is None
        after = weakref.ref(state["w"])
        del state
        assert after() is None
    assert watched.ledgers[0].bytes_after(Gate.HONOURED) == 80


def test_no_array_is_made_that_stays() -> None:
    step = new_step()
    state = {"w": jnp.ones((4, 4)), "b": jnp.ones(4)}
    gc.collect()
    alive = len(jax.live_arrays())
    with product.watch():
        for _ in range(3):
            state = step(state)
        assert len(jax.live_arrays()) <= alive  # those of another test may go away meanwhile
    assert set(state) == {"w", "b"}


FAILS = """
    import gc, logging, sys, weakref
    import jax, jax.numpy as jnp
    logging.disable(logging.CRITICAL)  # a record of the error would hold the frames

    def fails(state):
        def raises(x):
            raise ZeroDivisionError("of the program")
        value = jax.pure_callback(raises, jax.ShapeDtypeStruct((4,), jnp.float32), state["b"])
        return {"b": value, "w": state["w"] + 1}

    step = jax.jit(fails, donate_argnums=0)
    state = {"w": jnp.ones((4, 4)), "b": jnp.ones(4)}
    kept = weakref.ref(state["w"])
    try:
        jax.block_until_ready(step(state))
    except Exception as error:
        print(type(error).__name__)
    del state
    gc.collect()
    print(kept() is None)
"""


REFUSED = """
    import jax, jax.numpy as jnp

    def tell(step, *arguments):
        try:
            step(*arguments)
        except Exception as error:
            print(type(error).__module__, type(error).__name__, error.__context__)
            print(str(error).splitlines()[0])

    step = jax.jit(lambda a, b: (a + 1, b * 2), donate_argnums=(0, 1))
    a, b = jnp.ones(4), jnp.zeros(4)
    tell(step, a, a)
    first, other = step(a, b)
    tell(step, a, other)
    tell(step, first, b)
    tell(step, first, first)
    one, two = step(first, other)
    tell(step, one, one)
    tell(step, one, first)
    for _ in range(4):
        one, two = step(one, two)
    tell(step, two, two)
    tell(step, a, two)
    compiled = step.lower(one, two).compile()
    tell(compiled, one, one)
    three, four = compiled(one, two)
    tell(compiled, three, three)
    tell(compiled, one, four)
"""


@pytest.mark.parametrize("first", ["refused", "done"])
@pytest.mark.parametrize("level", ["calls", "names"])
def test_what_jax_refuses_it_refuses_in_the_same_words(
    level: str, first: str, tmp_path: Path
) -> None:
    # Where the first call is refused C++ never dispatches that signature.
    text = REFUSED if first == "refused" else REFUSED.replace("    tell(step, a, a)\n", "")
    write(tmp_path, text)
    plain = python("train.py", cwd=tmp_path)
    watched = donatree("run", "--check", level, "train.py", cwd=tmp_path)
    assert plain.out.count("donate the same buffer twice") >= 4
    assert watched.out == plain.out


def test_a_failing_call_holds_nothing_and_raises_as_ever(tmp_path: Path) -> None:
    write(tmp_path, FAILS)
    plain = python("train.py", cwd=tmp_path)
    ended, report = account(tmp_path, FAILS)
    assert ended.out == plain.out
    assert plain.out.endswith("\nTrue\n")
    assert report["faults"] == []


def test_jax_has_its_own_function_back_after_the_calls_that_are_looked_at() -> None:
    from jax._src.interpreters import pxla

    step = new_step()
    kinds = []
    original = pxla.ExecuteReplicated.__call__
    with product.watch(calls=2):
        state = {"w": jnp.ones((4, 4))}
        for _ in range(3):
            state = step(state)
        executable = step.lower(state).compile()._executable
        kinds.append(type(executable.unsafe_call))
        state = step(state)
    assert kinds == [pxla.ExecuteReplicated]
    assert pxla.ExecuteReplicated.__call__ is original


def test_what_is_called_after_the_block_is_not_looked_at() -> None:
    from jax._src.interpreters import pxla

    step, state = new_step(), {"w": jnp.ones((4, 4))}
    with product.watch(check="names") as watched:
        state = step(state)
    old = state
    state = step(state)
    assert evidence(watched, "state['w']") == f"call 1: {REUSED}"
    executable = step.lower(state).compile()._executable
    assert type(executable.unsafe_call) is pxla.ExecuteReplicated
    with pytest.raises(Exception, match="deleted") as raised:
        old["w"] + 1
    assert "DT704" not in "".join(getattr(raised.value, "__notes__", ()))


FAST = """
    import sys
    import jax, jax.numpy as jnp

    entered = []

    def look(frame, event, argument):
        if frame.f_code.co_name == "cache_miss":
            entered.append(number)

    step = jax.jit(lambda state: {"w": state["w"] * 2}, donate_argnums=0)
    aot = jax.jit(lambda state: {"w": state["w"] * 3}, donate_argnums=0).lower(
        {"w": jax.ShapeDtypeStruct((4,), jnp.float32)}).compile()
    state = {"w": jnp.ones(4)}
    for number in range(1, 8):
        sys.setprofile(look)
        state = step(state)
        sys.setprofile(None)
    for number in range(11, 18):
        state = aot(state)
    fast = type(aot._call).__name__
    print(sorted(set(entered)), fast, float(state["w"][0]))
"""


def test_later_calls_go_by_jaxs_fast_path_as_they_would_have(tmp_path: Path) -> None:
    write(tmp_path, FAST)
    plain = python("train.py", cwd=tmp_path)
    watched = donatree("run", "train.py", cwd=tmp_path)
    assert plain.out.startswith("[1] ")
    # Calls 1 to 3 are looked at, and the one after them is the first that C++ remembers.
    assert watched.out.replace("[1, 2, 3, 4] ", "[1] ") == plain.out
    assert "[1, 2, 3, 4] " in watched.out
    every = donatree("run", "--check", "names", "train.py", cwd=tmp_path)
    assert "[1, 2, 3, 4, 5, 6, 7] " in every.out
    none = donatree("run", "--check", "compile", "train.py", cwd=tmp_path)
    assert none.out == plain.out


SHARDED = """
    import os
    os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
    import jax, jax.numpy as jnp, numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

    mesh = Mesh(jax.devices(), ("data",))
    rows = NamedSharding(mesh, P("data"))
    step = jax.jit(lambda state: {"w": state["w"] - 1}, donate_argnums=0)
    state = {"w": jax.device_put(jnp.ones((8, 4)), rows)}
    alive = len(jax.live_arrays())
    kept = []
    for number in range(4):
        if number == 2:
            view = np.asarray(state["w"].addressable_shards[1].data)
            alive = len(jax.live_arrays())
        state = step(state)
    print(len(jax.live_arrays()) <= alive)
"""


def test_a_copy_is_told_shard_by_shard(tmp_path: Path) -> None:
    ended, report = account(tmp_path, SHARDED)
    assert ended.out == "True\n"
    (ledger,) = report["ledgers"]
    (entry,) = ledger["entries"]
    assert entry["evidence"]["honoured"] == (
        f"calls 1 and 2: {REUSED} on all 4 shards; "
        "call 3: copied on 1 of 4 shards, a view of the leaf's memory was alive"
    )
    assert entry["stopped_at"] == "honoured"
    (found,) = ledger["findings"]
    assert found["code"] == "DT601"
    assert any("of 4 shards" in note for note in found["notes"])
    assert any("global `view` of module `__main__`" in note for note in found["notes"])


KINDS = """
    import jax, jax.numpy as jnp

    keys = jax.jit(lambda key: jax.random.split(key)[0], donate_argnums=0)
    key = jax.random.key(0)
    for _ in range(3):
        key = keys(key)
    empty = jax.jit(lambda x: x + 1, donate_argnums=0)
    x = jnp.ones((0, 4))
    for _ in range(3):
        x = empty(x)
    half = jax.jit(lambda x: x * 2, donate_argnums=0)
    y = jnp.ones(8, jnp.bfloat16)
    for _ in range(3):
        y = half(y)
    batched = jax.vmap(jax.jit(lambda x: x + 1, donate_argnums=0))
    z = jnp.ones((3, 4))
    for _ in range(3):
        z = batched(z)
"""


def test_keys_empty_leaves_and_transforms_are_looked_at(tmp_path: Path) -> None:
    _, report = account(tmp_path, KINDS)
    assert report["faults"] == []
    rows = [entry for ledger in report["ledgers"] for entry in ledger["entries"]]
    by_type = {entry["dtype"]: entry for entry in rows}
    assert by_type["key<fry>"]["evidence"]["honoured"] == f"calls 1, 2 and 3: {REUSED}"
    assert by_type["bfloat16"]["evidence"]["honoured"] == f"calls 1, 2 and 3: {REUSED}"
    shapes = {tuple(entry["shape"]): entry["evidence"].get("honoured") for entry in rows}
    assert shapes[0, 4] == "calls 1, 2 and 3: no bytes to reuse"
    assert shapes[3, 4] == f"calls 1, 2 and 3: {REUSED}"


ALL_KINDS_OF_CALLS = """
    import threading
    import jax, jax.numpy as jnp

    step = jax.jit(lambda state, *, lr: {"w": state["w"] - lr}, donate_argnames="state")
    state = {"w": jnp.ones(4)}
    for _ in range(3):
        state = step(lr=0.5, state=state)

    def work(out):
        mine = {"w": jnp.ones(6)}
        for _ in range(3):
            mine = step(mine, lr=0.5)
        out.append(mine)

    out = []
    threads = [threading.Thread(target=work, args=(out,)) for _ in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    print(float(state["w"][0]), [float(each["w"][0]) for each in out])
"""


def test_calls_by_keyword_and_from_threads_are_looked_at(tmp_path: Path) -> None:
    ended, report = account(tmp_path, ALL_KINDS_OF_CALLS)
    assert ended.out == "-0.5 [-0.5, -0.5, -0.5, -0.5]\n"
    assert report["faults"] == []
    verdicts = [entry["stopped_at"] for ledger in report["ledgers"] for entry in ledger["entries"]]
    assert verdicts == [None, None]
    assert all(ledger["bytes_after"]["honoured"] for ledger in report["ledgers"])


# The gate on evidence that is written by hand.

SPEC = ArraySpec("float32", (4,), (4,), 16, 16)
LEAF, SLOT = Leaf("state", "state", 0, SPEC), Slot("result", 0, SPEC)


def ledger_of(*seen: LeafCall) -> Ledger:
    plain = Ledger("step", "()", ("state",), (Entry(LEAF, SLOT, SLOT),))
    calls = [CallSeen(number, {0: leaf}) for number, leaf in enumerate(seen, 1)]
    return gates.with_calls(plain, calls)


WHOLE = LeafCall(shards=2, reused=2)
PART = LeafCall(shards=2, reused=1, why="view", by=("`v` of `main` is a view",))
UNKNOWN = LeafCall(shards=2, reused=None)


def test_the_newest_call_decides() -> None:
    assert ledger_of(PART, WHOLE).entries[0].stopped_at is None
    assert ledger_of(WHOLE, PART).entries[0].stopped_at is Gate.HONOURED
    assert ledger_of(PART, WHOLE).findings[0].level == "warning"
    assert ledger_of(WHOLE, PART).findings[0].level == "error"


def test_what_cannot_be_read_is_not_checked_and_said_so() -> None:
    ledger = ledger_of(UNKNOWN, UNKNOWN)
    assert ledger.bytes_after(Gate.HONOURED) is None
    assert ledger.findings == ()
    assert any("gate honoured was not checked" in note for note in ledger.notes)


def test_no_call_seen_leaves_the_ledger_as_it_was() -> None:
    plain = Ledger("step", "()", ("state",), (Entry(LEAF, SLOT, SLOT),))
    assert gates.with_calls(plain, []) == plain
    assert honoured.judge(plain, [CallSeen(1, {})]) == plain


def test_addresses_are_read_without_a_trace() -> None:
    x = jnp.ones(4) + 1
    alive = jax.live_arrays()  # held, so that none of another test goes away meanwhile
    first = buffers.pointers(x)
    assert first == buffers.pointers(x)
    assert first is not None
    assert len(first) == 1
    assert len(jax.live_arrays()) == len(alive)
    x.delete()
    assert buffers.pointers(x) is None


COUNTED = """
    import jax, jax.numpy as jnp, numpy as np, optax, sys, threading

    opt = optax.adam(1e-3)
    params = {"w": jnp.ones((8, 4)), "b": jnp.zeros(4)}
    state = (params, opt.init(params))

    def train_step(state, x):
        params, opt_state = state
        grads = jax.grad(lambda p: ((x @ p["w"] + p["b"]) ** 2).mean())(params)
        updates, opt_state = opt.update(grads, opt_state, params)
        return (optax.apply_updates(params, updates), opt_state), grads["b"]

    train_step = jax.jit(train_step, donate_argnums=0)
    del params
    counts, kept = [], []
    for turn in range(6):
        batch = jnp.ones((2, 8)) * turn
        counts.append(len(jax.live_arrays()))
        state, found = train_step(state, batch)
        counts.append(len(jax.live_arrays()))
        kept.append(found)
        if turn == 4:
            view = np.asarray(state[0]["w"])
    print(counts, max(counts), len(jax.live_arrays()))
    print(np.asarray(state[0]["w"]).tobytes().hex())
    sys.exit(7)
"""


@pytest.mark.parametrize("level", ["compile", "calls", "names"])
def test_output_exit_code_and_numbers_of_arrays_are_the_programs_own(
    level: str, tmp_path: Path
) -> None:
    write(tmp_path, COUNTED)
    plain = python("train.py", cwd=tmp_path)
    watched = donatree("run", "--check", level, "train.py", cwd=tmp_path)
    assert (watched.code, watched.out) == (plain.code, plain.out)
    assert plain.code == 7
    assert "donatree itself failed" not in watched.err
