"""Changed programs: built from what JAX was asked to lower, compiled, never run."""

from __future__ import annotations

import functools
import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import pytest

from donatree import gates
from donatree.audit import examined
from donatree.errors import CannotBuild, TargetError
from donatree.ledger import Gate

pytestmark = pytest.mark.filterwarnings("ignore:Some donated buffers were not usable")


def live_of(jitted, *args) -> int:
    found = jitted.lower(*args).compile().memory_analysis()
    return (
        found.argument_size_in_bytes
        + found.output_size_in_bytes
        - found.alias_size_in_bytes
        + found.temp_size_in_bytes
    )


def crossed(state, batch):
    return {
        "n": state["n"] + 1.0,
        "w": (state["w"] * batch).astype(jnp.bfloat16),
        "loss": batch.sum(),
    }


STATE = {"n": jax.ShapeDtypeStruct((), jnp.int32), "w": jax.ShapeDtypeStruct((64, 8), jnp.float32)}
BATCH = jax.ShapeDtypeStruct((64, 8), jnp.float32)


def of(function, *args, **options):
    return examined(jax.jit(function, **options), args, {})


def test_a_program_without_a_change_is_the_program():
    found = of(crossed, STATE, BATCH, donate_argnums=0)
    built = found.program.compile()
    assert built.observation.header == found.observation.header
    assert built.live == found.observation.live
    assert built.live.total == live_of(jax.jit(crossed, donate_argnums=0), STATE, BATCH)


@pytest.mark.parametrize("donated", [(), (0,), (1,), (0, 1), (2,), (0, 1, 2)])
def test_other_leaves_are_donated_as_jax_itself_would(donated):
    def flat(n, w, batch):
        return crossed({"n": n, "w": w}, batch)

    found = of(crossed, STATE, BATCH, donate_argnums=0)
    built = found.program.with_(donated=donated).compile()
    asked = jax.jit(flat, donate_argnums=donated)
    assert built.live.total == live_of(asked, STATE["n"], STATE["w"], BATCH)
    assert {entry.leaf.flat_index for entry in gates.judge(built.observation).entries} == {*donated}


def test_a_cast_brings_the_leaf_back():
    found = of(crossed, STATE, BATCH, donate_argnums=0)
    paths = [slot.path for slot in found.program.slots]
    cast = {paths.index("result['n']"): "int32", paths.index("result['w']"): "float32"}
    ledger = gates.judge(found.program.with_(cast=cast).compile().observation)
    assert found.ledger.lost
    assert not ledger.lost
    assert [entry.slot.spec.aval for entry in ledger.entries] == ["int32[]", "float32[64,8]"]


def test_the_results_are_put_in_another_order():
    def step(params, momentum):
        return 0.9 * momentum, params - 0.1 * momentum

    found = of(step, BATCH, BATCH, donate_argnums=(0, 1))
    built = found.program.with_(order=[1, 0]).compile()
    turned = jax.jit(lambda p, m: step(p, m)[::-1], donate_argnums=(0, 1))
    assert built.live.total == live_of(turned, BATCH, BATCH) < found.observation.live.total
    ledger = gates.judge(built.observation)
    assert [entry.slot.path for entry in ledger.entries] == ["result[1]", "result[0]"]
    assert [entry.slot.flat_index for entry in ledger.entries] == [0, 1]


@pytest.mark.parametrize("order", [[0], [0, 0], [0, 2], [0, 1, 2]])
def test_an_order_that_is_none_is_refused(order):
    found = of(lambda a, b: (a, b), BATCH, BATCH, donate_argnums=0)
    with pytest.raises(CannotBuild, match="names not every slot once"):
        found.program.with_(order=order)


def test_an_unused_leaf_becomes_a_parameter():
    def step(state):
        return {"w": state["w"] * 2}

    found = of(step, {"old": BATCH, "w": BATCH}, donate_argnums=0)
    built = found.program.with_(keep_unused=True).compile()
    assert found.observation.parameter_of == {1: 0}
    assert built.observation.parameter_of == {0: 0, 1: 1}


def test_a_change_that_jax_refuses_is_told_in_one_line():
    found = of(lambda a: a, BATCH, donate_argnums=0)
    with pytest.raises(CannotBuild) as told:
        found.program.with_(cast={0: "no_such_type"})
    assert "\n" not in str(told.value)
    assert "no_such_type" in str(told.value)


def test_changes_are_made_one_upon_the_other():
    found = of(crossed, STATE, BATCH)
    paths = [slot.path for slot in found.program.slots]
    changed = found.program.with_(donated=[0, 1]).with_(
        cast={paths.index("result['w']"): "float32"}
    )
    ledger = gates.judge(changed.compile().observation)
    assert [entry.path for entry in ledger.entries] == ["state['n']", "state['w']"]
    assert "state['w']" in [entry.path for entry in ledger.entries if entry.slot]


def test_static_arguments_constants_and_effects_stay():
    table = jnp.arange(512.0).reshape(64, 8)

    @functools.partial(jax.jit, static_argnames="times", donate_argnames="w")
    def step(w, *, times):
        jax.debug.print("{}", w.sum(), ordered=True)
        return w * times + table

    found = examined(step, (BATCH,), {"times": 3})
    built = found.program.with_(donated=[0]).compile()
    assert built.live == found.observation.live
    ledger = gates.judge(built.observation)
    assert ledger.bytes_after(Gate.GRANTED) == ledger.promised > 0


def test_what_cannot_be_compiled_is_told():
    def step(x):
        return jax.pure_callback(lambda x: x, x, x)

    with pytest.raises(TargetError, match="is not jitted"):
        examined(step, (BATCH,), {})


SHARDED = """\
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
from donatree import gates
from donatree.audit import examined

mesh = Mesh(np.array(jax.devices()), ("data",))
rows, all_ = NamedSharding(mesh, P("data")), NamedSharding(mesh, P())

def step(state):
    return {"w": jax.lax.with_sharding_constraint(state["w"] * 2, all_)}

like = jax.ShapeDtypeStruct((64, 8), jnp.float32, sharding=rows)
found = examined(jax.jit(step, donate_argnums=0), ({"w": like},), {})
built = found.program.with_(out_shardings={0: 0}).compile()
print(len(found.ledger.lost), len(gates.judge(built.observation).lost), built.live.alias)
"""


def test_a_slot_gets_the_leafs_sharding(tmp_path):
    (tmp_path / "sharded.py").write_text(SHARDED)
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=4"}
    done = subprocess.run(
        [sys.executable, "sharded.py"],
        cwd=tmp_path,
        env={
            **os.environ,
            **flags,
            "JAX_PLATFORMS": "cpu",
            "PYTHONPATH": os.pathsep.join(sys.path),
        },
        capture_output=True,
        text=True,
    )
    assert done.stdout == "1 0 512\n", done.stderr
