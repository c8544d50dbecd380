"""Cases of calls: how the donation is declared, what of it reaches the module, and who gets it."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from cases_table import Call, Truth, case, kept, lost, unusable

i32 = jnp.int32
NOTHING = (0, 0, 0, 0, 0)


def _all(size: int) -> tuple[int, int, int, int, int]:
    return (size, size, size, size, size)


@case(Truth((kept("fast", "float32[5]", 20, "result[0]"),), _all(20), 20))
def static_argument_before_the_donated_one() -> Call:
    # Both results fit; JAX pairs in flatten order, so the first one takes the memory.
    def scale(times: int, slow: Any, fast: Any) -> Any:
        return slow * times, fast * times

    step = jax.jit(scale, static_argnums=0, donate_argnums=2)
    return Call(step, (3, jnp.ones(5), jnp.ones(5)), static=(0,))


@case(Truth((kept("moving", "float32[3]", 12, "result[0]['a']"),), _all(12), 12))
def tree_before_the_donated_argument() -> Call:
    def move(fixed: Any, moving: Any) -> Any:
        return fixed, moving + fixed["a"]

    fixed = {"a": jnp.ones(3), "b": jnp.ones(3)}
    return Call(jax.jit(move, donate_argnums=1), (fixed, jnp.ones(3)))


@case(Truth((kept("state['w']", "float32[6]", 24, "result['w']"),), _all(24), 24))
def declared_by_position_and_passed_by_keyword() -> Call:
    def step(state: Any, batch: Any) -> Any:
        return {"w": state["w"] - batch.sum()}

    kwargs = {"batch": jnp.ones((2, 2)), "state": {"w": jnp.ones(6)}}
    return Call(jax.jit(step, donate_argnums=0), kwargs=kwargs)


@case(Truth((kept("state['w']", "float32[6]", 24, "result['w']"),), _all(24), 24))
def declared_by_name_and_passed_by_position() -> Call:
    def step(batch: Any, state: Any) -> Any:
        return {"w": state["w"] - batch.sum()}

    return Call(jax.jit(step, donate_argnames="state"), (jnp.ones((2, 2)), {"w": jnp.ones(6)}))


@case(
    Truth(
        (
            kept("extra", "float32[4]", 16, "result[0]"),
            lost("state", "float32[4]", 16, "asked", "DT105"),
        ),
        (32, 16, 16, 16, 16),
        16,
    )
)
def declared_in_both_ways_and_passed_otherwise() -> Call:
    # With both keywords JAX takes each of them literally: `state` by keyword is not position 0.
    def step(state: Any, extra: Any) -> Any:
        return state + 1, extra * 2

    jitted = jax.jit(step, donate_argnums=0, donate_argnames="extra")
    return Call(jitted, kwargs={"state": jnp.ones(4), "extra": jnp.ones(4)})


@case(Truth((), NOTHING, 0, others=frozenset({"DT104"})))
def donation_lost_in_variadic_arguments() -> Call:
    def step(*args: Any, **kwargs: Any) -> Any:
        return args[0] + kwargs["rate"]

    return Call(jax.jit(step, donate_argnames="state"), (jnp.ones(4),), {"rate": jnp.ones(4)})


@case(
    Truth(
        (
            lost("state['guess']", "float32[50,40]", 8000, "kept", "DT201"),
            kept("state['w']", "float32[8]", 32, "result['w']"),
        ),
        (8032, 8032, 32, 32, 32),
        32,
    )
)
def leaf_is_never_used() -> Call:
    return _never_used()


@case(
    Truth(
        (
            lost("state['guess']", "float32[50,40]", 8000, "matched", "DT301"),
            kept("state['w']", "float32[8]", 32, "result['w']"),
        ),
        (8032, 8032, 8032, 32, 32),
        32,
        unusable("float32[50,40]"),
    )
)
def leaf_is_never_used_and_kept_all_the_same() -> Call:
    return _never_used(keep_unused=True)


def _never_used(**options: Any) -> Call:
    # A function of its own each time: JAX caches by function, and warns once for each.
    def third(state: Any) -> Any:
        return {"w": state["w"] / 3}

    state = {"guess": jnp.ones((50, 40)), "w": jnp.ones(8)}
    return Call(jax.jit(third, donate_argnums=0, **options), (state,))


@case(Truth((lost("like", "float32[9]", 36, "kept", "DT201"),), (36, 36, 0, 0, 0), 0))
def only_the_shape_is_used() -> Call:
    return _fresh_like()


@case(Truth((kept("like", "float32[9]", 36, "result"),), _all(36), 36))
def only_the_shape_is_used_and_the_leaf_kept() -> Call:
    return _fresh_like(keep_unused=True)


def _fresh_like(**options: Any) -> Call:
    def fresh(like: Any) -> Any:
        return jnp.full(like.shape, 2.5, jnp.float32)

    return Call(jax.jit(fresh, donate_argnums=0, **options), (jnp.ones(9),))


@partial(jax.jit, donate_argnums=0)
def _put(board: Any, place: Any) -> Any:
    return board.at[place].set(1.0), board.sum()


@case(Truth((), NOTHING, 0, others=frozenset({"DT103"})))
def donating_jit_inside_a_plain_one() -> Call:
    def play(board: Any) -> Any:
        return _put(board, 2)[0] + board.mean()  # reads what it "donated", and nobody minds

    return Call(jax.jit(play), (jnp.zeros(128),))


@case(Truth((), NOTHING, 0, others=frozenset({"DT103"})))
def donating_jit_as_the_body_of_a_scan() -> Call:
    def play(board: Any) -> Any:
        return lax.scan(_put, board, jnp.arange(3))

    return Call(jax.jit(play), (jnp.zeros(128),))


@case(Truth((kept("board", "float32[128]", 512, "result"),), _all(512), 512))
def donating_jit_inside_a_donating_one() -> Call:
    def play(board: Any) -> Any:
        return _put(board, 2)[0]

    return Call(jax.jit(play, donate_argnums=0), (jnp.zeros(128),))


@case(
    Truth(
        (
            kept("net['frozen']", "float32[12]", 48, "result['frozen']"),
            kept("net['w']", "float32[12]", 48, "result['w']"),
        ),
        _all(96),
        96,
    )
)
def frozen_leaf_passes_through() -> Call:
    def step(net: Any) -> Any:
        return {"frozen": net["frozen"], "w": net["w"] * net["frozen"]}

    return Call(jax.jit(step, donate_argnums=0), ({"frozen": jnp.ones(12), "w": jnp.ones(12)},))


@case(Truth((kept("net['frozen']", "float32[12]", 48, "result['frozen']"),), _all(48), 48))
def nothing_but_a_frozen_leaf() -> Call:
    def same(net: Any) -> Any:
        return net

    return Call(jax.jit(same, donate_argnums=0), ({"frozen": jnp.ones(12)},))


@case(Truth((kept("x", "float32[12]", 48, "result[0]"),), _all(48), 48))
def returned_twice() -> Call:
    def twice(x: Any) -> Any:
        return x, x

    return Call(jax.jit(twice, donate_argnums=0), (jnp.ones(12),))


@case(
    Truth(
        (
            kept("old['back']", "float32[12]", 48, "result['back']"),
            kept("old['front']", "float32[12]", 48, "result['front']"),
        ),
        _all(96),
        96,
    )
)
def two_leaves_change_places() -> Call:
    def swap(old: Any) -> Any:
        return {"back": old["front"], "front": old["back"]}

    return Call(jax.jit(swap, donate_argnums=0), ({"back": jnp.ones(12), "front": jnp.zeros(12)},))


@case(
    Truth(
        (
            kept("state['average']", "float32[20]", 80, "result['average']"),
            kept("state['params']", "float32[20]", 80, "result['params']"),
        ),
        _all(160),
        160,
    ),
    runs=False,  # both leaves are one buffer: the runtime refuses the first step
)
def average_starts_as_the_parameters() -> Call:
    def step(state: Any) -> Any:
        params = state["params"] * 0.9
        return {"average": (state["average"] + params) / 2, "params": params}

    params = jnp.ones(20)
    return Call(jax.jit(step, donate_argnums=0), ({"average": params, "params": params},))


@case(
    Truth((kept("params", "float32[20]", 80, "result"),), _all(80), 80),
    runs=False,  # one buffer is donated and read in the same call
)
def donated_and_read_in_one_call() -> Call:
    def pull(params: Any, anchor: Any) -> Any:
        return params - 0.5 * (params - anchor)

    params = jnp.ones(20)
    return Call(jax.jit(pull, donate_argnums=0), (params, params))


@case(
    Truth(
        (
            kept("buffer['at']", "int32[]", 4, "result['at']"),
            kept("buffer['rows']", "float32[64,4]", 1024, "result['rows']"),
        ),
        _all(1028),
        1028,
    )
)
def ring_buffer_on_the_host() -> Call:
    def push(buffer: Any, row: Any) -> Any:
        rows = lax.dynamic_update_slice(buffer["rows"], row[None], (buffer["at"], 0))
        return {"at": (buffer["at"] + 1) % 64, "rows": rows}

    buffer = {"at": i32(3), "rows": jnp.zeros((64, 4))}
    return Call(jax.jit(push, donate_argnums=0), (buffer, jnp.ones(4)))


@case(Truth((kept("signal", "float32[4096]", 16384, "result"),), _all(16384), 16384))
def granted_although_a_temporary_remains() -> Call:
    def shift(signal: Any) -> Any:
        wave = jnp.tanh(signal)
        total = lax.fori_loop(0, 4, lambda i, sum_: sum_ + wave[i * 1024], jnp.float32(0))
        return wave + total

    return Call(jax.jit(shift, donate_argnums=0), (jnp.ones(4096),))
