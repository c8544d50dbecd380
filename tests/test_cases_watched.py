"""Cases that only a run shows: transforms, loops, warnings, wrappers and loaded executables."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import cases_calls  # noqa: F401
import cases_types  # noqa: F401
import donatree
from cases_table import CASES, Row, kept, lost, said

pytestmark = pytest.mark.skipif(
    jax.default_backend() != "cpu", reason="the truths were measured on the CPU"
)


def watched(run: Callable[[], Any]) -> list[donatree.Ledger]:
    """The ledgers of what was compiled meanwhile; donatree itself must not have failed."""
    with donatree.watch() as seen:
        run()
    assert seen.account.faults == ()
    return list(seen.ledgers)


def rows_of(ledger: donatree.Ledger) -> list[Row]:
    return said(ledger)["rows"]


# Transforms of a donating jit.


def test_eager_gradient_of_a_donating_jit_takes_the_parameters() -> None:
    def error(net: Any, rows: Any) -> Any:
        return ((net["w"] * rows) ** 2).sum()

    net, step = {"w": jnp.ones(24)}, jax.jit(error, donate_argnums=0)
    [ledger] = watched(lambda: jax.value_and_grad(step)(net, jnp.ones(24)))
    assert net["w"].is_deleted()
    [row] = rows_of(ledger)
    assert row[:3] == ("net['w']", "float32[24]", 96)
    assert row.slot is not None
    assert ledger.alias_size_in_bytes == 96


@pytest.mark.filterwarnings("always")
def test_eager_gradient_that_cannot_use_the_parameters() -> None:
    def error(net: Any, rows: Any) -> Any:
        return (net["w"] * rows).sum()

    net, step = {"w": jnp.ones(24)}, jax.jit(error, donate_argnums=0)
    [ledger] = watched(lambda: jax.value_and_grad(step)(net, jnp.ones(24)))
    assert not net["w"].is_deleted()
    assert rows_of(ledger) == [lost("net['w']", "float32[24]", 96, "matched", "DT301")]
    assert said(ledger)["warnings"] == [
        "JAX itself warned: Some donated buffers were not usable: float32[24]."
    ]
    assert ledger.alias_size_in_bytes == 0


def test_vmap_of_a_donating_jit() -> None:
    def move(state: Any, by: Any) -> Any:
        return {"at": state["at"] + by}

    state, step = {"at": jnp.ones((6, 3))}, jax.jit(move, donate_argnums=0)
    [ledger] = watched(lambda: jax.vmap(step)(state, jnp.ones(6)))
    assert state["at"].is_deleted()
    assert rows_of(ledger) == [kept("state['at']", "float32[6,3]", 72, "result['at']")]
    assert ledger.alias_size_in_bytes == 72


# A donating jit inside something that is compiled.


def put_one(board: Any, place: Any) -> tuple[Any, Any]:
    return board.at[place].set(1.0), board.sum()


def loops() -> dict[str, Callable[[Any, Any], Any]]:
    return {
        "scan": lambda put, board: jax.lax.scan(put, board, jnp.arange(3)),
        "fori_loop": lambda put, board: jax.lax.fori_loop(
            0, 3, lambda i, board: put(board, i)[0], board
        ),
        "jit": lambda put, board: jax.jit(lambda board: put(board, 1)[0])(board),
    }


@pytest.mark.parametrize("name", loops())
def test_donating_jit_inside_a_compiled_loop_gives_nothing_away(name: str) -> None:
    board = jnp.zeros(32)
    put = jax.jit(lambda board, place: put_one(board, place), donate_argnums=0)
    [ledger] = watched(lambda: loops()[name](put, board))
    assert not board.is_deleted()
    assert rows_of(ledger) == [lost("board", "float32[32]", 128, "asked", "DT103")]
    assert said(ledger)["funnel"] == (128, 0, 0, 0, 0)


def test_disabled_jit_donates_nothing() -> None:
    x = jnp.ones(8)
    with donatree.watch() as seen, jax.disable_jit():
        jax.jit(lambda x: x - 3, donate_argnums=0)(x)
    assert not x.is_deleted()
    assert seen.ledgers == ()
    assert [finding.code for finding in seen.findings] == ["DT102"]


# JAX's own warning.


def shortening() -> Any:
    """A fresh function that must make JAX warn."""

    def shorten(x: Any) -> Any:
        return x[1:] * 2

    return jax.jit(shorten, donate_argnums=0)


def test_warning_comes_once_for_each_compile_and_goes_into_the_ledger() -> None:
    step = shortening()

    def run() -> None:
        step(jnp.ones(9))
        step(jnp.ones(9))
        step(jnp.ones(11))

    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        ledgers = watched(run)
    assert [str(each.message) for each in shown if "donated" in str(each.message)] == []
    assert [rows_of(ledger) for ledger in ledgers] == [
        [lost("x", "float32[9]", 36, "matched", "DT401")],
        [lost("x", "float32[11]", 44, "matched", "DT401")],
    ]
    assert [said(ledger)["warnings"] for ledger in ledgers] == [
        ["JAX itself warned: Some donated buffers were not usable: float32[9]."],
        ["JAX itself warned: Some donated buffers were not usable: float32[11]."],
    ]


@pytest.mark.filterwarnings("always")
def test_lowering_again_what_was_called_gives_no_second_ledger() -> None:
    step = shortening()

    def run() -> None:
        step(jnp.ones(9))
        step.lower(jnp.ones(9)).compile()

    assert [rows_of(ledger) for ledger in watched(run)] == [
        [lost("x", "float32[9]", 36, "matched", "DT401")]
    ]


def test_warning_is_shown_as_ever_once_the_watch_is_over() -> None:
    watched(lambda: shortening()(jnp.ones(9)))
    with pytest.warns(UserWarning, match="donated buffers were not usable"):
        shortening()(jnp.ones(9))


def test_warning_that_the_user_makes_an_error_still_raises() -> None:
    step, x = shortening(), jnp.ones(9)
    with donatree.watch() as seen, warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            with pytest.raises(UserWarning, match="donated buffers were not usable"):
                step(x)
    assert not x.is_deleted()
    assert seen.account.faults == ()


def test_warning_that_the_user_ignores_stays_silent_and_the_verdict_comes() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        [ledger] = watched(lambda: shortening()(jnp.ones(9)))
    assert rows_of(ledger) == [lost("x", "float32[9]", 36, "matched", "DT401")]
    assert said(ledger)["warnings"] == []


def test_warning_that_the_user_records_reaches_the_user() -> None:
    with donatree.watch(), warnings.catch_warnings(record=True) as recorded:
        warnings.simplefilter("always")
        shortening()(jnp.ones(9))
    assert [each for each in recorded if "donated buffers" in str(each.message)] != []


def test_second_jit_of_one_function_is_not_warned_about_and_still_judged() -> None:
    def shorten(x: Any) -> Any:
        return x[1:] * 2

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        jax.jit(shorten, donate_argnums=0).lower(jnp.ones(9))
    with warnings.catch_warnings(record=True) as recorded:
        warnings.simplefilter("always")
        ledger = donatree.audit(jax.jit(shorten, donate_argnums=0), jnp.ones(9))
    assert recorded == []
    assert rows_of(ledger) == [lost("x", "float32[9]", 36, "matched", "DT401")]
    assert said(ledger)["warnings"] == []


# Calls that fail, wrappers, and executables that were not compiled here.


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if not case.runs])
def test_buffer_given_twice_is_granted_on_paper_and_refused_at_the_call(name: str) -> None:
    call, truth = CASES[name].make(), CASES[name].upto_07
    with donatree.watch() as seen, pytest.raises(Exception, match="donate"):
        jax.block_until_ready(call.step(*call.args))
    [ledger] = seen.ledgers
    assert rows_of(ledger) == list(truth.rows)
    assert ledger.alias_size_in_bytes == truth.alias


def test_state_that_lives_on_is_compiled_twice_where_a_scalar_becomes_strong() -> None:
    # The price that DT403 names for `python_scalars_and_numpy_in_the_state`.
    call = CASES["python_scalars_and_numpy_in_the_state"].make()
    state, counts = call.args[0], []
    for _ in range(3):
        state = call.step(state)
        counts.append(call.step._cache_size())
    assert counts == [1, 2, 2]


def test_serialized_executable_still_donates() -> None:
    from jax.experimental import serialize_executable

    def step(state: Any) -> Any:
        return {"long": state["long"] - 1, "short": state["short"] * 3}

    def state() -> Any:
        return {"long": jnp.ones(64), "short": jnp.ones(32)}

    loaded: list[Any] = []

    def run() -> None:
        compiled = jax.jit(step, donate_argnums=0).lower(state()).compile()
        stored = serialize_executable.serialize(compiled)
        loaded.append(serialize_executable.deserialize_and_load(*stored))

    [ledger] = watched(run)
    given = state()
    result = loaded[0](given)
    assert [leaf.is_deleted() for leaf in given.values()] == [True, True]
    assert np.asarray(result["short"]).sum() == 96
    assert rows_of(ledger) == [
        kept("state['long']", "float32[64]", 256, "result['long']"),
        kept("state['short']", "float32[32]", 128, "result['short']"),
    ]
    assert ledger.alias_size_in_bytes == 384


def nnx_step(**options: Any) -> list[donatree.Ledger]:
    """One step of flax nnx with Adam."""
    nnx = pytest.importorskip("flax.nnx")
    optax = pytest.importorskip("optax")

    def step(model: Any, optimizer: Any, rows: Any) -> Any:
        error, slope = nnx.value_and_grad(lambda model: (model(rows) ** 2).mean())(model)
        # Up to flax 0.10 the optimizer holds the model itself.
        optimizer.update(*((slope,) if holds_model else (model, slope)))
        return error

    model = nnx.Linear(12, 5, rngs=nnx.Rngs(0))
    try:
        optimizer, holds_model = nnx.Optimizer(model, optax.adam(0.1), wrt=nnx.Param), False
        holds_model = hasattr(optimizer, "model")
    except TypeError:
        optimizer, holds_model = nnx.Optimizer(model, optax.adam(0.1)), True
    return watched(lambda: nnx.jit(step, **options)(model, optimizer, jnp.ones((4, 12))))


def test_nnx_jit_donates_nothing_unless_it_is_told() -> None:
    assert nnx_step() == []


def test_nnx_jit_names_the_leaves_of_model_and_optimizer() -> None:
    [ledger] = nnx_step(donate_argnums=(0, 1))
    moments = "optimizer.opt_state[0]"
    assert [(row.path, row.bytes) for row in rows_of(ledger)] == [
        ("model.bias", 20),
        ("model.kernel", 240),
        (f"{moments}.count", 4),
        (f"{moments}.mu['bias']", 20),
        (f"{moments}.mu['kernel']", 240),
        (f"{moments}.nu['bias']", 20),
        (f"{moments}.nu['kernel']", 240),
        ("optimizer.step", 4),
    ]
    assert [row.slot for row in rows_of(ledger)] == [row.path for row in rows_of(ledger)]
    assert said(ledger)["funnel"] == (788, 788, 788, 788, 788)
    assert ledger.alias_size_in_bytes == 788


@pytest.mark.filterwarnings("ignore:Some donated buffers")
def test_whole_refuses_a_lossy_step_and_leaves_the_arguments_alone() -> None:
    state = {"length": jnp.int32(1), "values": jnp.zeros((2, 3))}

    @donatree.whole
    @partial(jax.jit, donate_argnums=0)
    def append(cache: Any) -> Any:
        return {"length": cache["length"] + 1, "values": jnp.tile(cache["values"], 2)}

    with pytest.raises(donatree.DonationError, match=r"cache\['values'\]") as caught:
        append(state)
    assert rows_of(caught.value.ledger) == [
        kept("cache['length']", "int32[]", 4, "result['length']"),
        lost("cache['values']", "float32[2,3]", 24, "matched", "DT401"),
    ]
    assert not any(leaf.is_deleted() for leaf in state.values())


def test_whole_lets_a_step_through_that_keeps_its_promise() -> None:
    @donatree.whole
    @partial(jax.jit, donate_argnums=0)
    def step(state: Any) -> Any:
        return {"w": state["w"] + 1}

    state = {"w": jnp.ones(3)}
    assert step(state)["w"].tolist() == [2.0, 2.0, 2.0]
    assert state["w"].is_deleted()
