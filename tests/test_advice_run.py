"""The advice in the report of a run, and what it costs the program: nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from programs import account, donatree, write

TRAIN = """\
import jax
import jax.numpy as jnp

compiles = []
jax.monitoring.register_event_duration_secs_listener(
    lambda name, *rest, **more: compiles.append(name)
    if name.endswith("backend_compile_duration")
    else None
)


@jax.jit
def train_step(state, batch):
    grads = jax.grad(lambda w: jnp.mean((batch @ w) ** 2))(state["w"])
    momentum = 0.9 * state["m"] + grads
    return {"w": state["w"] - 0.1 * momentum, "m": momentum}, grads.sum()


state = {"w": jnp.ones((512, SIZE)), "m": jnp.zeros((512, SIZE))}
batch = jnp.ones((64, 512))
before = len(compiles)
for _ in range(3):
    state, loss = train_step(state, batch)
print(len(compiles) - before, float(loss))
"""
LARGE, SMALL = TRAIN.replace("SIZE", "512"), TRAIN.replace("SIZE", "8")


def test_a_function_that_donates_nothing_is_told_what_to_donate(tmp_path: Path):
    ended, told = account(tmp_path, LARGE)
    assert ended.code == 0
    assert ended.out.split()[0] == "1"
    [advised] = told["advice"]
    assert (advised["function"], advised["keyword"]) == ("train_step", "donate_argnums=0")
    state, batch = advised["advice"]
    assert (state["argument"], state["verdict"]) == ("state", "donate")
    assert (state["bytes"], state["saved_bytes"], state["measured"]) == (1 << 21, 1 << 21, False)
    assert (batch["argument"], batch["verdict"]) == ("batch", "keep")
    assert "write `donate_argnums=0`" in ended.err
    assert "rebound by the call statement at `train.py:23`" in ended.err


def test_it_measures_when_it_is_told_to_prove(tmp_path: Path):
    ended, told = account(tmp_path, LARGE, "--prove")
    [advised] = told["advice"]
    state = advised["advice"][0]
    assert state["measured"]
    assert 0 < state["saved_bytes"] <= 1 << 21
    saved = advised["live_bytes_before"] - advised["live_bytes_after"]
    assert saved == state["saved_bytes"]
    assert ended.out.split()[1] == account(tmp_path, LARGE)[0].out.split()[1]


@pytest.mark.parametrize(
    "text",
    [
        SMALL,
        LARGE.replace("@jax.jit", "@__import__('functools').partial(jax.jit, donate_argnums=0)"),
        "print('no JAX')\n",
    ],
    ids=["small", "donated", "no-jax"],
)
def test_where_nothing_is_to_be_changed_nothing_is_said(tmp_path: Path, text: str):
    ended, told = account(tmp_path, text)
    assert told["advice"] == []
    assert "write `donate" not in ended.err


def test_advice_is_no_fault(tmp_path: Path):
    write(tmp_path, LARGE)
    assert donatree("run", "--strict", "train.py", cwd=tmp_path).code == 0


def test_a_state_that_is_read_again_is_not_advised(tmp_path: Path):
    kept = LARGE.replace("state, loss =", "new, loss =") + "print(state['w'].sum())\n"
    _, told = account(tmp_path, kept)
    assert told["advice"] == []


def test_a_dry_run_has_its_own_section_and_no_advice(tmp_path: Path):
    _, told = account(tmp_path, LARGE, "--before")
    assert told["advice"] == []
    assert [each["argument"] for each in told["rehearsals"]] == ["state"]
