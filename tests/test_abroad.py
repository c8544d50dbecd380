"""Lowering for a platform that is not here: what would be compiled, without compiling it."""

from __future__ import annotations

from threading import Event, Thread
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import pytest
from jax._src import compiler
from jax._src.interpreters import mlir, pxla
from jax._src.lib import xla_client

import donatree
from donatree._jax import abroad, hooks

SHAPE = jax.ShapeDtypeStruct((64, 32), jnp.float32)


class Taker:
    """Takes what is to be compiled for other hardware, and compiles nothing."""

    def __init__(self, platform: str) -> None:
        self.platform = platform
        self.taken = []

    def compile(self, computation):
        self.taken.append(abroad.shipment_of(computation, self.platform))
        raise donatree.TargetError("not here")


def taken(function, *args, platform="tpu"):
    """The shipments of an audit, and what it raised."""
    taker = Taker(platform)
    step = jax.jit(function, donate_argnums=0)
    with hooks.elsewhere(taker), pytest.raises(donatree.TargetError) as raised:
        donatree.audit(step, *args)
    return taker.taken, str(raised.value)


def named():
    return [
        compiler.compile_or_get_cached,
        mlir.ModuleContext.get_backend,
        mlir.LoweringParameters,
        pxla.MeshComputation.compile,
        pxla.lower_sharding_computation,
    ]


@pytest.mark.parametrize("platform", ["tpu", "cuda"])
def test_what_would_be_compiled_is_taken_before_it_is(platform):
    before = named()
    (shipment,), said = taken(lambda w: w * 2, SHAPE, platform=platform)
    assert said == "not here"
    assert named() == before  # JAX's own, all of them
    assert b"tf.aliasing_output" in shipment.module
    options = xla_client.CompileOptions.ParseFromString(shipment.options)
    assert (options.num_replicas, options.num_partitions) == (1, 1)
    assert (shipment.devices, shipment.tupled, shipment.callbacks) == ((0,), False, False)
    assert shipment.memory_kinds == ()


def test_two_thousand_arguments_are_one_tuple_for_a_tpu_and_not_for_a_gpu():
    leaves = [jax.ShapeDtypeStruct((), jnp.float32)] * 2001
    (shipment,), _ = taken(lambda s: [x + 1 for x in s], leaves)
    assert shipment.tupled
    (shipment,), _ = taken(lambda s: [x + 1 for x in s], leaves, platform="cuda")
    assert not shipment.tupled


def test_what_runs_while_it_is_traced_runs_here():
    def step(w):
        with jax.ensure_compile_time_eval():
            scale = float(jnp.sum(jnp.arange(5.0)))
        return w * scale

    (shipment,), _ = taken(step, SHAPE)
    assert "step" in shipment.name


def test_the_platforms_own_branch_is_lowered():
    def step(w):
        return jax.lax.platform_dependent(w, cpu=lambda w: w.at[3].set(1.0), default=jnp.sin)

    (shipment,), _ = taken(step, SHAPE)
    assert b"sine" in shipment.module
    if tuple(map(int, jax.__version__.split(".")[:2])) >= (0, 6):  # before, XLA takes the branch
        assert b"scatter" not in shipment.module


def test_a_callback_is_lowered_for_a_tpu_and_refused_for_a_gpu():
    def step(w):
        jax.debug.print("{}", w.sum())
        return w * 2

    (shipment,), said = taken(step, SHAPE)
    assert (shipment.callbacks, said) == (True, "not here")
    shipments, said = taken(step, SHAPE, platform="cuda")
    # Where JAX lowers it all the same, the compiler of targets refuses what calls back.
    assert said == abroad.CALLS_BACK or [each.callbacks for each in shipments] == [True]


def test_the_program_itself_goes_on_here():
    step = jax.jit(lambda w: w * 2, donate_argnums=0)
    taker = Taker("tpu")
    with hooks.elsewhere(taker):
        assert float(step(jnp.ones((8, 8))).sum()) == 128.0
    assert taker.taken == []
    assert donatree.audit(step, SHAPE).platform == "cpu"


def test_only_this_thread_goes_elsewhere():
    found = []
    with hooks.elsewhere(Taker("tpu")):
        thread = Thread(
            target=lambda: found.append(
                donatree.audit(jax.jit(lambda w: w * 3, donate_argnums=0), SHAPE).platform
            )
        )
        thread.start()
        thread.join()
    assert found == ["cpu"]


def test_an_interrupt_while_targets_are_compiled_for_loses_nothing(monkeypatch):
    from donatree.targets.names import read_target
    from donatree.watch import abroad as watched
    from donatree.watch.recorder import Recorder

    class Interrupted:
        asked = 0

        def __init__(self, *args, **kwargs):
            pass

        def __enter__(self):
            return self

        def __exit__(self, *error):
            pass

        def compile(self, shipment):
            Interrupted.asked += 1
            raise KeyboardInterrupt

    monkeypatch.setattr(watched, "Compiler", Interrupted)
    faults = []
    wanted = [read_target("tpu:v5e:2x2"), read_target("tpu:v6e:2x2"), read_target("cuda:h100")]
    targets = watched.Targets(wanted, False, lambda *fault: faults.append(fault))
    recorder = Recorder(targets=targets)
    recorder.start()
    try:
        jax.jit(lambda w: w * 2, donate_argnums=0)(jnp.ones((16, 16)) + 1)
    finally:
        recorder.stop()
    account = targets.added(recorder.account())
    assert [ledger.platform for ledger in account.ledgers] == ["cpu"]
    told = [(each.target, each.why) for each in account.refusals]
    assert told == [(each.name, "interrupted") for each in wanted]
    assert (Interrupted.asked, faults) == (1, [])


def test_threads_that_leave_in_another_order_put_the_original_back():
    from donatree._jax.swapped import swapped

    class Owner:
        @staticmethod
        def name():
            return "original"

    original, first, second = Owner.name, Event(), Event()
    seen = []

    def thread(text, entered, until):
        with swapped(Owner, "name", lambda _: lambda: text):
            entered.set()
            assert until.wait(10)
            seen.append(Owner.name())

    one = Thread(target=thread, args=("one", first, second))
    with swapped(Owner, "name", lambda made: lambda: f"here, {made()}"):
        one.start()
        assert first.wait(10)
        assert Owner.name() == "here, original"
    assert Owner.name() == "original"  # not that of the thread that is still inside
    second.set()
    one.join()
    assert seen == ["one"]
    assert Owner.name is original


def test_an_answer_that_the_cpu_gave_is_not_taken_for_a_targets():
    from donatree.cli import stand_in
    from donatree.targets.names import read_target

    wanted, order = read_target("tpu:v5e:2x2"), {"budget": 60.0}
    answer = {"account": {"ledgers": [{"platform": "cpu"}]}}
    compiled, nothing = SimpleNamespace(compiled=1), SimpleNamespace(compiled=0)
    with pytest.raises(RuntimeError, match=r"compiled for \{'cpu'\} and not for tpu:v5e:2x2"):
        stand_in._assert_abroad(wanted, compiled, order, answer)
    with pytest.raises(RuntimeError, match="compiled for nothing"):
        stand_in._assert_abroad(wanted, nothing, order, {"advice": {}})
    answer = {"account": {"ledgers": [{"platform": "tpu"}]}}
    stand_in._assert_abroad(wanted, compiled, order, answer)
