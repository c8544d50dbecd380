"""Leaves that are one buffer, and what JAX does with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from donatree.findings import dt702, dt703
from donatree.holders.naming import named_leaves
from donatree.holders.twins import Twins, find_twins, twins
from donatree.ledger import Location
from programs import python


def paths(found: list[Twins]) -> list[tuple[str, ...]]:
    return [each.paths for each in found]


def is_refused(tree: Any) -> bool:
    """Whether JAX refuses to be given the whole tree."""
    add = jax.jit(lambda t: jax.tree.map(lambda x: x + 1, t), donate_argnums=0)
    try:
        add(jax.tree.map(lambda x: x, tree))
    except Exception as error:
        return "same buffer twice" in str(error)
    return False


def test_a_tree_without_twins() -> None:
    tree = {"a": jnp.ones(8) + 1, "b": [jnp.ones(8) + 1, jnp.zeros(8) + 2], "n": 3}
    assert twins(tree) == []
    assert not is_refused(tree)


def test_one_object_twice() -> None:
    w = jnp.ones((4, 4)) + 1
    tree = {"params": {"w": w}, "target": [w], "other": jnp.ones(3) + 1}
    (found,) = twins(tree)
    assert found.paths == ("tree['params']['w']", "tree['target'][0]")
    assert (found.aval, found.bytes, found.same_object) == ("float32[4,4]", 64, True)
    assert found.to_dict()["donated"] == [True, True]
    assert str(found) == "tree['params']['w'] and tree['target'][0] are one buffer (float32[4,4])"
    assert is_refused(tree)


def test_two_handles_on_one_buffer() -> None:
    w = jnp.ones(8) + 1
    tree = {"a": w, "b": jax.device_put(w, jax.devices()[0])}
    if tree["b"] is w:
        pytest.skip("this JAX gives the same object")
    (found,) = twins(tree)
    assert not found.same_object
    assert is_refused(tree)


def test_three_leaves_and_the_order_by_bytes() -> None:
    small, large = jnp.ones(2) + 1, jnp.ones(64) + 1
    tree = [small, large, small, large, small]
    assert paths(twins(tree)) == [("tree[1]", "tree[3]"), ("tree[0]", "tree[2]", "tree[4]")]


def test_typed_keys_and_leaves_without_bytes() -> None:
    key, empty = jax.random.key(0), jnp.zeros((0, 4))
    assert paths(twins({"a": key, "b": key, "e": empty, "f": empty})) == [
        ("tree['a']", "tree['b']")
    ]
    assert twins({"a": key, "b": jax.random.key(0)}) == []


def test_deleted_and_foreign_leaves_are_passed_over() -> None:
    gone = jnp.ones(4) + 1
    gone.delete()
    host = np.ones(4)
    assert twins({"a": gone, "b": jnp.ones(4) + 1, "c": host, "d": host, "e": 1.0, "f": 1.0}) == []


def test_no_array_is_left_behind() -> None:
    tree = [jnp.ones(8) + each for each in range(20)]
    jax.block_until_ready(tree)
    before = jax.live_arrays()  # held, so that none of another test goes away meanwhile
    assert twins(tree) == []
    assert len(jax.live_arrays()) == len(before)


def test_only_groups_with_a_donated_leaf() -> None:
    w, batch = jnp.ones(8) + 1, jnp.ones(4) + 1
    leaves = [("state.w", w, True), ("x", batch, False), ("y", batch, False), ("ema", w, False)]
    (found,) = find_twins(leaves)
    assert found.paths == ("state.w", "ema")
    assert found.donated == (True, False)
    assert find_twins([(path, leaf, False) for path, leaf, _ in leaves]) == []


SHARING = ("lbfgs", "dog", "dowg", "madgrad", "prodigy", "cocob", "mechanize")
CLEAN = ("adam", "adamw", "lion", "schedule_free")


@pytest.mark.parametrize("name", [*SHARING, *CLEAN])
def test_optimisers_whose_init_shares(name: str) -> None:
    optax = pytest.importorskip("optax")
    made = {
        "lbfgs": lambda: optax.lbfgs(),
        "dog": lambda: optax.contrib.dog(1.0),
        "dowg": lambda: optax.contrib.dowg(1.0),
        "madgrad": lambda: optax.contrib.madgrad(0.1),
        "prodigy": lambda: optax.contrib.prodigy(0.1),
        "cocob": lambda: optax.contrib.cocob(),
        "mechanize": lambda: optax.contrib.mechanize(optax.sgd(0.1)),
        "adam": lambda: optax.adam(1e-3),
        "adamw": lambda: optax.adamw(1e-3),
        "lion": lambda: optax.lion(1e-3),
        "schedule_free": lambda: optax.contrib.schedule_free(optax.sgd(0.1), 0.1),
    }
    try:
        optimiser = made[name]()
    except AttributeError:
        pytest.skip("not in this optax")
    params = {"w": jnp.ones((4, 4)) + 1}
    tree = {"params": params, "opt": optimiser.init(params)}
    # Whatever this version of optax does: the leaves named are the reason for JAX's refusal.
    assert bool(twins(tree)) == is_refused(tree)
    if name in CLEAN:
        assert twins(tree) == []


def test_a_clone_of_nnx() -> None:
    nnx = pytest.importorskip("flax.nnx")
    online = nnx.Linear(8, 8, rngs=nnx.Rngs(0))
    target = nnx.clone(online)
    tree = {
        "online": nnx.to_pure_dict(nnx.state(online)),
        "target": nnx.to_pure_dict(nnx.state(target)),
    }
    assert bool(twins(tree)) == is_refused(tree)


def test_modules_that_jax_takes_for_a_leaf() -> None:
    nnx = pytest.importorskip("flax.nnx")
    linear = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
    assert len(named_leaves("model", linear)) == 2
    found = twins([linear, linear])
    assert all(len(each.paths) == 2 for each in found)


def test_tree_at_of_equinox() -> None:
    equinox = pytest.importorskip("equinox")
    model = equinox.nn.Linear(3, 3, key=jax.random.key(0))
    other = equinox.tree_at(lambda m: m.bias, model, jnp.zeros(3))
    assert paths(twins({"a": model, "b": other})) == [("tree['a'].weight", "tree['b'].weight")]


BOTH = Twins(("state.w", "state.ema"), "float32[8]", 32, (True, True))
MIXED = Twins(("state.w", "target.w"), "float32[8]", 32, (True, False))


def test_the_finding_of_two_donated_leaves() -> None:
    finding = dt702.about([BOTH, MIXED], "train_step", Location("train.py", 7))
    assert finding is not None
    assert finding.headline == (
        "`state.w` and `state.ema` are one buffer, and `train_step` is given both"
    )
    assert (finding.level, finding.bytes) == ("error", 32)
    assert finding.leaves == ("state.w", "state.ema")
    assert "`jnp.copy(state.ema)`" in str(finding.help)
    assert "32 bytes per device" in str(finding.help)
    assert dt702.about([MIXED], "train_step") is None


def test_the_finding_of_many_twins_is_one() -> None:
    many = [Twins((f"a[{i}]", f"b[{i}]"), "float32[8]", 32, (True, True)) for i in range(9)]
    finding = dt702.about(many, "train_step")
    assert finding is not None
    assert finding.headline == "9 buffers are each given away to `train_step` twice"
    assert "and 5 more" in finding.notes


def test_the_finding_of_a_leaf_that_is_passed_as_well() -> None:
    finding = dt703.about([BOTH, MIXED], "train_step", Location("train.py", 7))
    assert finding is not None
    assert finding.headline == (
        "`state.w` is given away to `train_step`, and `target.w` is the same buffer"
    )
    assert "`jnp.copy(target.w)` costs 32 bytes" in str(finding.help)
    assert dt703.about([BOTH], "train_step") is None


@pytest.mark.parametrize(
    ("page", "message"),
    [(dt702, "donate the same buffer twice"), (dt703, "previously donated in the same call")],
)
def test_the_programs_of_the_findings_show_them(page: Any, message: str, tmp_path: Path) -> None:
    before = python("-c", page.FAILING, cwd=tmp_path)
    assert before.code == 1
    assert message in before.err
    after = python("-c", page.REPAIRED, cwd=tmp_path)
    assert after.code == 0, after.err
    assert page.FAILING != page.REPAIRED
