"""Under `donatree run`: twins named before JAX refuses them, and holders at the first call."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import donatree as product
from programs import account, python, write

TWINS = """
    import jax, jax.numpy as jnp, optax

    params = {"w": jnp.ones((4, 4)), "b": jnp.zeros(4)}
    opt = optax.contrib.prodigy(1.0)
    opt_state = opt.init(params)

    def train_step(params, opt_state, x):
        grads = jax.grad(lambda p: ((x @ p["w"] + p["b"]) ** 2).mean())(params)
        updates, opt_state = opt.update(grads, opt_state, params)
        return optax.apply_updates(params, updates), opt_state

    train_step = jax.jit(train_step, donate_argnums=(0, 1))
    params, opt_state = train_step(params, opt_state, jnp.ones((2, 4)))
"""


def test_the_error_of_an_optimiser_that_keeps_the_parameters_names_both(tmp_path: Path) -> None:
    write(tmp_path, TWINS)
    plain = python("train.py", cwd=tmp_path)
    ended, report = account(tmp_path, TWINS)
    assert (ended.code, plain.code) == (1, 1)
    trace = plain.err[plain.err.index("Traceback") :].split("For simplicity")[0].rstrip("-\n")
    assert trace in ended.err
    note = ended.err.split(trace)[1]
    assert note.startswith("\nerror[DT702]: 2 buffers are each given away to `train_step` twice")
    assert "`params['w']` got this buffer here" in note
    assert "`opt_state.params0['w']` got this buffer here" in note
    told = [f for ledger in report["ledgers"] for f in ledger["findings"]]
    (found,) = [f for f in told if not f["code"].startswith("DT5")]
    assert (found["code"], found["bytes"], found["level"]) == ("DT702", 80, "error")
    lines = [label["location"]["line"] for label in found["labels"]]
    assert lines == [4, 6, 14]
    assert report["faults"] == []


LATE = """
    import jax, jax.numpy as jnp

    def train_step(params, ema, lr):
        return params - lr, 0.9 * ema + 0.1 * params

    train_step = jax.jit(train_step, donate_argnums=(0, 1))
    params, ema = jnp.ones((4, 4)), jnp.zeros((4, 4))
    for turn in range(8):
        if turn == 6:
            ema = params
        params, ema = train_step(params, ema, 0.1)
"""


def test_twins_of_a_call_that_is_not_looked_at_any_more_are_named_too(tmp_path: Path) -> None:
    ended, report = account(tmp_path, LATE)
    assert ended.code == 1
    assert ended.err.count("error[DT702]: `params` and `ema` are one buffer") == 2  # note, report
    (found,) = report["findings"]
    assert (found["code"], found["leaves"]) == ("DT702", ["params", "ema"])


UNDONATED_TOO = """
    import jax, jax.numpy as jnp

    step = jax.jit(lambda state, old: {"w": state["w"] - old}, donate_argnums=0)
    state = {"w": jnp.ones(4)}
    try:
        step(state, state["w"])
    except Exception as error:
        print(len(error.__notes__), state["w"].is_deleted())
        print([note for note in error.__notes__ if "DT703" in note][0].splitlines()[0])
"""


def test_a_leaf_that_is_passed_undonated_too_is_named_in_the_error_itself(tmp_path: Path) -> None:
    ended, report = account(tmp_path, UNDONATED_TOO)
    assert "False\nerror[DT703]: `state['w']` is given away to" in ended.out
    assert [f["code"] for ledger in report["ledgers"] for f in ledger["findings"]] == ["DT703"]


HELD = """
    import jax, jax.numpy as jnp

    CACHE = {}

    class Trainer:
        def __init__(self):
            self.best = None

    step = jax.jit(lambda state: {"w": state["w"] * 2, "b": state["b"] + 1}, donate_argnums=0)

    def main():
        metrics, trainer = {}, Trainer()
        state = {"w": jnp.ones((4, 4)), "b": jnp.zeros(4)}
        metrics["prev"] = state
        CACHE["b"] = state["b"]
        trainer.best = state["w"]
        for _ in range(5):
            state = step(state)
        print(len(metrics), trainer.best.shape, len(CACHE))

    main()
"""


def test_holders_are_found_once_at_the_first_call_of_a_place(tmp_path: Path) -> None:
    ended, report = account(tmp_path, HELD)
    assert (ended.code, report["faults"]) == (0, [])
    (found,) = [f for ledger in report["ledgers"] for f in ledger["findings"]]
    assert (found["code"], found["level"], found["bytes"]) == ("DT701", "warning", 80)
    said = "\n".join(found["notes"])
    assert "`state` is held by local `metrics` of `main` (train.py:13) -> ['prev']" in said
    assert "`state['w']` is held by local `trainer` of `main` (train.py:13) -> .best" in said
    assert "`state['b']` is held by global `CACHE` of module `__main__` (train.py:4)" in said
    assert "read again at train.py:20" in said


CLEAN = {
    "plain": """
        import jax, jax.numpy as jnp

        step = jax.jit(lambda state, x: ({"w": state["w"] - x.sum()}, x.mean()), donate_argnums=0)

        def batches():
            for number in range(4):
                yield jnp.ones(8) * number

        def train(state):
            losses = []
            for batch in batches():
                state, loss = step(state, batch)
                losses.append(loss)
            return state, losses

        def main():
            state = {"w": jnp.ones((4, 4))}
            state, losses = train(state)
            return float(sum(losses))

        main()
    """,
    "at the top": """
        import jax, jax.numpy as jnp

        def init():
            return {"w": jnp.ones((4, 4))}

        step = jax.jit(lambda state: {"w": state["w"] * 2}, donate_argnums=0)
        initial = init()
        state = initial
        for _ in range(4):
            state = step(state)
        print(state["w"].shape)
    """,
    "linen": """
        import jax, jax.numpy as jnp, optax
        from flax import linen as nn
        from flax.training.train_state import TrainState

        model = nn.Dense(3)
        x = jnp.ones((2, 4))
        params = model.init(jax.random.key(0), x)["params"]
        state = TrainState.create(apply_fn=model.apply, params=params, tx=optax.adam(1e-3))

        def train_step(state, x):
            grads = jax.grad(lambda p: state.apply_fn({"params": p}, x).sum())(state.params)
            return state.apply_gradients(grads=grads)

        train_step = jax.jit(train_step, donate_argnums=0)
        for _ in range(4):
            state = train_step(state, x)
    """,
    "nnx": """
        import jax, jax.numpy as jnp
        from flax import nnx

        model = nnx.Linear(4, 3, rngs=nnx.Rngs(0))

        @nnx.jit(donate_argnums=0)
        def train_step(model, x):
            model.kernel.value = model.kernel.value - 0.1 * x.sum()

        for _ in range(4):
            train_step(model, jnp.ones((2, 4)))
    """,
    "equinox": """
        import equinox as eqx, jax, jax.numpy as jnp

        model = eqx.nn.Linear(4, 3, key=jax.random.key(0))

        @eqx.filter_jit(donate="all-except-first")
        def train_step(x, model):
            grads = eqx.filter_grad(lambda m: jax.vmap(m)(x).sum())(model)
            return eqx.apply_updates(model, jax.tree.map(lambda g: -0.1 * g, grads))

        x = jnp.ones((2, 4))
        for _ in range(4):
            model = train_step(x, model)
    """,
    "an object": """
        import jax, jax.numpy as jnp

        class Trainer:
            def __init__(self):
                self.state = {"w": jnp.ones((4, 4))}
                self.step = jax.jit(lambda state: {"w": state["w"] * 2}, donate_argnums=0)

            def fit(self):
                for _ in range(4):
                    self.state = self.step(self.state)

        Trainer().fit()
    """,
}


@pytest.mark.parametrize("name", CLEAN)
def test_a_loop_that_rebinds_its_state_raises_no_alarm(name: str, tmp_path: Path) -> None:
    ended, report = account(tmp_path, CLEAN[name])
    assert (ended.code, report["faults"]) == (0, []), ended.err
    found: list[Any] = [f for ledger in report["ledgers"] for f in ledger["findings"]]
    assert [f["headline"] for f in found if f["code"].startswith("DT7")] == []
    assert report["ledgers"]
    assert all(ledger["bytes_after"]["honoured"] is not None for ledger in report["ledgers"])


# What keeps a second name in the loops above, and what reads it after them.
HELD_IN = {
    "linen": ("first = state", "first.params"),
    "nnx": ("first = model.kernel.value", "first"),
    "equinox": ("first = model", "first.weight"),
    "an object": ("first = self.state", "first"),
}


@pytest.mark.parametrize("name", HELD_IN)
def test_the_same_loop_with_a_second_name_that_is_read_raises_the_alarm(
    name: str, tmp_path: Path
) -> None:
    keep, read = HELD_IN[name]
    lines = textwrap.dedent(CLEAN[name]).splitlines()
    loop = next(number for number, line in enumerate(lines) if "for _ in range(4):" in line)
    indent = lines[loop].partition("for")[0]
    lines[loop + 2 : loop + 2] = [f"{indent}print(id({read}))"]
    lines[loop:loop] = [f"{indent}{keep}"]
    _, report = account(tmp_path, "\n".join(lines) + "\n")
    found = [f for ledger in report["ledgers"] for f in ledger["findings"]]
    (held,) = [f for f in found if f["code"] == "DT701"]
    assert "`first`" in held["headline"] + " ".join(held["notes"])
    assert report["faults"] == []


def test_a_search_for_holders_that_fails_is_a_fault_and_no_clean_bill(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from donatree.holders.survey import Survey

    def broken(self: Survey) -> Any:
        raise ZeroDivisionError("in the search")

    monkeypatch.setattr(Survey, "_by_reference", broken)
    step = jax.jit(lambda state: {"w": state["w"] + 1}, donate_argnums=0)
    state = {"w": jnp.ones(4)}
    with product.watch() as watched:
        state = step(state)
    assert [(each.where, each.error) for each in watched.account.faults] == [
        ("holders", "ZeroDivisionError: in the search")
    ]
    assert watched.ledgers[0].bytes_after(product.Gate.HONOURED) == 16
    assert float(state["w"][0]) == 2.0
