"""Cases on eight devices: shardings that change on the way, and bytes counted per device.

Run as a program it measures them all, which needs a process of its own with eight devices, and
prints one JSON object: per case what donatree says and what `cases_oracle` measures.
"""

from __future__ import annotations

import json
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

import cases_oracle
from cases_table import CASES, Call, Truth, case, kept, lost, said, unusable

TABLE, SCALE = "float32[48,16]", "float32[10]"


def sharding(*axes: str | None) -> NamedSharding:
    """Over a mesh of four `rows` and two `cols`."""
    return NamedSharding(Mesh(np.array(jax.devices()).reshape(4, 2), ("rows", "cols")), P(*axes))


def along(*axes: str | None) -> NamedSharding:
    """Over one axis `x` of eight devices."""
    return NamedSharding(Mesh(np.array(jax.devices()), ("x",)), P(*axes))


def state() -> dict[str, jax.Array]:
    """48x16 floats in shards of 12x8 (384 bytes), and ten floats on every device (40 bytes)."""
    return {
        "scale": jax.device_put(jnp.ones(10), sharding()),
        "table": jax.device_put(jnp.ones((48, 16)), sharding("rows", "cols")),
    }


def _grow(state: Any) -> Any:
    return {"scale": state["scale"] * 2, "table": state["table"] + 1}


def _given(**shardings: Any) -> Call:
    def grow(state: Any) -> Any:
        return _grow(state)

    return Call(jax.jit(grow, donate_argnums=0, out_shardings=shardings), (state(),))


@case(
    Truth(
        (
            kept("state['scale']", SCALE, 40, "result['scale']"),
            kept("state['table']", TABLE, 384, "result['table']"),
        ),
        (424, 424, 424, 424, 424),
        424,
    ),
    devices=8,
)
def same_shardings_given() -> Call:
    return _given(scale=sharding(), table=sharding("rows", "cols"))


@case(
    Truth(
        (
            kept("state['scale']", SCALE, 40, "result['scale']"),
            lost("state['table']", TABLE, 384, "matched", "DT404"),
        ),
        (424, 424, 424, 40, 40),
        40,
        unusable("float32[12,8]"),
    ),
    devices=8,
)
def replicated_as_given() -> Call:
    return _given(scale=sharding(), table=sharding())


@case(
    Truth(
        (
            kept("state['scale']", SCALE, 40, "result['scale']"),
            lost("state['table']", TABLE, 384, "matched", "DT404"),
        ),
        (424, 424, 424, 40, 40),
        40,
        unusable("float32[12,8]"),
    ),
    Truth(
        (
            kept("state['scale']", SCALE, 40, "result['scale']"),
            kept("state['table']", TABLE, 384, "result['table']", "DT404"),
        ),
        (424, 424, 424, 424, 424),
        424,
    ),
    devices=8,
)
def other_axes_given() -> Call:
    return _given(scale=sharding(), table=sharding("cols", "rows"))


@case(
    Truth(
        (
            kept("state['scale']", SCALE, 40, "result['scale']"),
            lost("state['table']", TABLE, 384, "granted", "DT405"),
        ),
        (424, 424, 424, 424, 40),
        40,
    ),
    devices=8,
)
def constrained_inside_and_left_open() -> Call:
    def gather(state: Any) -> Any:
        grown = _grow(state)
        return grown | {"table": jax.lax.with_sharding_constraint(grown["table"], sharding())}

    return Call(jax.jit(gather, donate_argnums=0), (state(),))


@case(
    Truth(
        (
            kept("state['scale']", SCALE, 40, "result['scale']"),
            lost("state['table']", TABLE, 384, "kept", "DT201"),
        ),
        (424, 424, 40, 40, 40),
        40,
    ),
    devices=8,
)
def sharded_leaf_is_never_used() -> Call:
    def drop(state: Any) -> Any:
        return {"scale": state["scale"] * 2}

    return Call(jax.jit(drop, donate_argnums=0), (state(),))


_DRIFT_LEFT_TO_XLA = Truth(
    (
        kept("state['scale']", SCALE, 40, "result['scale']"),
        lost("state['table']", TABLE, 384, "granted", "DT402"),
    ),
    (424, 424, 424, 424, 40),
    40,
)


def _halve(**options: Any) -> Call:
    def halve(state: Any) -> Any:
        return _grow(state) | {"table": state["table"].astype(jnp.bfloat16)}

    return Call(jax.jit(halve, donate_argnums=0, **options), (state(),))


@case(_DRIFT_LEFT_TO_XLA, devices=8)
def half_the_bytes_and_shardings_left_open() -> Call:
    return _halve()


@case(
    Truth(
        (
            kept("state['scale']", SCALE, 40, "result['scale']"),
            lost("state['table']", TABLE, 384, "matched", "DT402"),
        ),
        (424, 424, 424, 40, 40),
        40,
        unusable("float32[12,8]"),
    ),
    _DRIFT_LEFT_TO_XLA,
    devices=8,
)
def half_the_bytes_and_shardings_given() -> Call:
    return _halve(out_shardings={"scale": sharding(), "table": sharding("rows", "cols")})


def _shard_map(body: Any, **options: Any) -> Call:
    mapped: Any = getattr(jax, "shard_map", None)
    if mapped is None:  # up to JAX 0.5
        from jax.experimental.shard_map import shard_map as mapped
    step = mapped(body, mesh=along().mesh, in_specs=P("x"), out_specs=P("x"))
    field = jax.device_put(jnp.ones((40, 6)), along("x"))
    return Call(jax.jit(step, donate_argnums=0, **options), (field,))


def _average_with_the_neighbour(field: Any) -> Any:
    ring = [(i, (i + 1) % 8) for i in range(8)]
    edge = jax.lax.ppermute(field[-1:], "x", ring)
    return (field + jnp.concatenate([edge, field[:-1]])) / 2


@case(
    Truth((kept("field", "float32[40,6]", 120, "result"),), (120, 120, 120, 120, 120), 120),
    devices=8,
)
def shard_map_and_sharding_left_open() -> Call:
    return _shard_map(lambda field: _average_with_the_neighbour(field))


@case(
    Truth((kept("field", "float32[40,6]", 120, "result"),), (120, 120, 120, 120, 120), 120),
    devices=8,
)
def shard_map_and_sharding_given() -> Call:
    return _shard_map(lambda field: _average_with_the_neighbour(field), out_shardings=along("x"))


@case(
    Truth((lost("field", "float32[40,6]", 120, "granted", "DT401"),), (120, 120, 120, 120, 0), 0),
    devices=8,
)
def shard_map_and_the_shard_shrinks() -> Call:
    return _shard_map(lambda field: field[:3])


_REPLICATED = Truth(
    (
        kept("net['bias']", "float32[3]", 12, "result['bias']"),
        kept("net['weight']", "float32[5,3]", 60, "result['weight']"),
    ),
    (72, 72, 72, 72, 72),
    72,
)


def _descend(place: Any) -> Call:
    def step(net: Any, rows: Any) -> Any:
        def error(net: Any) -> Any:
            spread = jax.lax.with_sharding_constraint(rows, along("x"))
            return ((spread @ net["weight"] + net["bias"]) ** 2).mean()

        def descend(leaf: Any, slope: Any) -> Any:
            return jax.lax.with_sharding_constraint(leaf - 0.5 * slope, along())

        return jax.tree_util.tree_map(descend, net, jax.grad(error)(net))

    net = {"bias": jnp.zeros(3), "weight": jnp.ones((5, 3))}
    return Call(jax.jit(step, donate_argnums=0), (place(net), jnp.ones((16, 5))))


@case(_REPLICATED, devices=8)
def replicated_state_under_constraints() -> Call:
    return _descend(lambda net: jax.device_put(net, along()))


@case(
    Truth(
        (
            kept("net['bias']", "float32[3]", 12, "result['bias']", "DT405"),
            kept("net['weight']", "float32[5,3]", 60, "result['weight']", "DT405"),
        ),
        (72, 72, 72, 72, 72),
        72,
    ),
    devices=8,
)
def state_on_one_device_under_constraints() -> Call:
    return _descend(lambda net: net)


def _as_shapes(**shardings: Any) -> dict[str, jax.ShapeDtypeStruct]:
    return {
        name: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=shardings.get(name))
        for name, leaf in state().items()
    }


def _shapes() -> dict[str, Any]:
    """`grow` of shapes: with their shardings, without, and with `in_shardings` instead."""
    import donatree

    own = {"scale": sharding(), "table": sharding("rows", "cols")}
    calls = {
        "with": (jax.jit(lambda state: _grow(state), donate_argnums=0), _as_shapes(**own)),
        "without": (jax.jit(lambda state: _grow(state), donate_argnums=0), _as_shapes()),
        "in_shardings": (
            jax.jit(lambda state: _grow(state), donate_argnums=0, in_shardings=(own,)),
            _as_shapes(),
        ),
    }
    answer = {}
    for name, (step, shapes) in calls.items():
        ledger = donatree.audit(step, shapes)
        answer[name] = {
            "said": said(ledger),
            "global": ledger.promised_global,
            "devices": ledger.devices,
            "left_open": [note for note in ledger.notes if "without a sharding" in note],
        }
    return answer


def _retraces() -> list[int]:
    """How many executables the step has after each of three calls, from a state on one device."""
    call = _descend(lambda net: net)
    (net, rows), counts = call.args, []
    for _ in range(3):
        net = call.step(net, rows)
        counts.append(call.step._cache_size())
    return counts


def _pmap() -> dict[str, Any]:
    """A pmapped step called twice, then one that loses a column."""
    import warnings

    import donatree

    def train(weights: Any, rows: Any) -> Any:
        return weights - rows.mean(), (weights * rows).sum()

    def shorten(weights: Any) -> Any:
        return weights[:-1]

    step, short = jax.pmap(train, donate_argnums=0), jax.pmap(shorten, donate_argnums=0)
    rows, first = jnp.ones((8, 16)), jnp.ones((8, 16))
    trace: Any = jax.make_jaxpr(jax.pmap(lambda rows: rows))(rows)
    with warnings.catch_warnings(), donatree.watch() as watched:
        warnings.simplefilter("always")
        second, _ = step(first, rows)
        third, _ = step(second, rows)
        short(third)
    return {
        "through_jit": trace.eqns[0].primitive.name in ("jit", "pjit"),
        "gone": [each.is_deleted() for each in (first, second, third)],
        "said": [said(ledger) for ledger in watched.ledgers],
        "honoured": [ledger.entries[0].evidence.get("honoured") for ledger in watched.ledgers],
        "functions": [ledger.function for ledger in watched.ledgers],
    }


def _cases() -> dict[str, Any]:
    import donatree

    answer = {}
    for name, each in CASES.items():
        call = each.make()
        ledger = donatree.audit(call.step, *call.args, **call.kwargs)
        again = each.make()
        measured = cases_oracle.measure(again)
        answer[name] = {
            "said": said(ledger),
            "measured": measured._asdict(),
            "gone": cases_oracle.gone_after(again),
        }
    return answer


if __name__ == "__main__":
    found = {"cases": _cases(), "shapes": _shapes(), "retraces": _retraces(), "pmap": _pmap()}
    print(json.dumps(found))
