"""Names of leaves and slots in the user's own words, as literal text, for every way to jit.

A name is right where the user could type it: `state.w`, not `dynamic_donate['first'][0]`.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import re
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh, PartitionSpec

import donatree
from donatree._jax import wrappers
from donatree._jax.parameters import Parameters

Pairs = dict[str, "str | None"]


def ledger_of(program: Callable[[], object]) -> donatree.Ledger:
    """The only ledger of a program; what went wrong inside donatree is an error here."""
    with donatree.watch() as watched:
        program()
    assert watched.account.faults == (), watched.account.faults[0].traceback
    [ledger] = [ledger for ledger in watched.ledgers if ledger.entries]
    return ledger


def pairs(program: Callable[[], object]) -> Pairs:
    """The path of each donated leaf and the slot that took its memory."""
    return {e.path: e.slot and e.slot.path for e in ledger_of(program).entries}


def library(name: str) -> Any:
    return pytest.importorskip(name, reason=f"{name} is not installed")


def floats(*shape: int) -> jax.Array:
    return jnp.ones(shape, jnp.float32)


def doubled(tree: Any) -> Any:
    return jax.tree_util.tree_map(lambda leaf: leaf * 2, tree)


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class State:
    w: Any
    b: Any


class Carry(NamedTuple):
    w: Any
    layers: Any


# The helper itself.


def test_a_program_without_donation_has_no_pairs_to_pass_for_nothing():
    with pytest.raises(ValueError, match="not enough values"):
        pairs(lambda: jax.jit(doubled)(floats(2)))


def test_a_lost_leaf_is_seen_without_slot():
    step = jax.jit(lambda state, gone: state * 2, donate_argnums=(0, 1))
    assert pairs(lambda: step(floats(3), floats(5))) == {"state": "result", "gone": None}


# Trees.


def test_a_bare_array():
    assert pairs(lambda: jax.jit(lambda x: x + 1, donate_argnums=0)(floats(4))) == {"x": "result"}


def test_a_dict_and_a_result_in_a_tuple():
    def step(state, batch):
        return batch.sum(), {"w": state["w"] + 1}

    step = jax.jit(step, donate_argnums=0)
    assert pairs(lambda: step({"w": floats(4)}, floats(2))) == {"state['w']": "result[1]['w']"}


def test_a_list():
    assert pairs(lambda: jax.jit(doubled, donate_argnums=0)([floats(2), floats(3)])) == {
        "tree[0]": "result[0]",
        "tree[1]": "result[1]",
    }


def test_a_dataclass():
    @partial(jax.jit, donate_argnums=0)
    def step(state):
        return State(state.w + 1, state.b * 2)

    assert pairs(lambda: step(State(floats(4), floats(2)))) == {
        "state.w": "result.w",
        "state.b": "result.b",
    }


def test_a_namedtuple_with_a_list():
    @partial(jax.jit, donate_argnums=0)
    def step(carry):
        return Carry(carry.w + 1, [carry.layers[0] * 2]), carry.w.sum()

    assert pairs(lambda: step(Carry(floats(4), [floats(2)]))) == {
        "carry.w": "result[0].w",
        "carry.layers[0]": "result[0].layers[0]",
    }


def test_a_node_that_gives_no_keys_is_numbered():
    @jax.tree_util.register_pytree_node_class
    class Bare:
        def __init__(self, w: Any) -> None:
            self.w = w

        def tree_flatten(self):
            return (self.w,), None

        @classmethod
        def tree_unflatten(cls, _, children):
            return cls(*children)

        @partial(jax.jit, donate_argnums=0)
        def step(self):
            return Bare(self.w + 1)

    assert pairs(lambda: Bare(floats(4)).step()) == {"self[0]": "result[0]"}


def test_keys_that_hold_slashes_dots_quotes_and_numbers():
    params = {
        "mlp/~/linear_0": {"w": floats(2, 2), "b.x": floats(2)},
        "it's": floats(3),
        'a"b]': {"": floats(5)},
    }
    assert pairs(lambda: jax.jit(doubled, donate_argnums=0)(params)) == {
        """tree['a"b]']['']""": """result['a"b]']['']""",
        """tree["it's"]""": """result["it's"]""",
        "tree['mlp/~/linear_0']['b.x']": "result['mlp/~/linear_0']['b.x']",
        "tree['mlp/~/linear_0']['w']": "result['mlp/~/linear_0']['w']",
    }
    numbered = {0: floats(2), 10: floats(3)}
    assert pairs(lambda: jax.jit(doubled, donate_argnums=0)(numbered)) == {
        "tree[0]": "result[0]",
        "tree[10]": "result[10]",
    }
    tupled = {("a", 1): floats(2), ("b", 2): floats(3)}
    assert pairs(lambda: jax.jit(doubled, donate_argnums=0)(tupled)) == {
        "tree[('a', 1)]": "result[('a', 1)]",
        "tree[('b', 2)]": "result[('b', 2)]",
    }


# Ways to jit and to call.


def test_keyword_arguments():
    def step(a, b, state, *, scale):
        return {"w": state["w"] + a + b}, scale["s"] * 2

    step = jax.jit(step, donate_argnames=("state", "scale"))
    assert pairs(lambda: step(1.0, state={"w": floats(4)}, scale={"s": floats(2)}, b=2.0)) == {
        "scale['s']": "result[1]",
        "state['w']": "result[0]['w']",
    }


def test_keyword_arguments_against_the_order_of_the_signature():
    def step(d, b, *, c, **more):
        return d * 2, b * 2, c * 2, more["a"]["x"] * 2

    step = jax.jit(step, donate_argnames=("a", "b", "c", "d"))
    assert pairs(lambda: step(c=floats(2), b=floats(3), d=floats(4), a={"x": floats(5)})) == {
        "more['a']['x']": "result[3]",
        "b": "result[1]",
        "c": "result[2]",
        "d": "result[0]",
    }


def test_static_arguments_between():
    def step(times, state, flag, extra):
        return {"w": state["w"] * times}, extra * 2 if flag else extra

    by_number = jax.jit(step, static_argnums=(0, 2), donate_argnums=(1, 3))
    by_name = jax.jit(step, static_argnames=("times", "flag"), donate_argnames=("state", "extra"))
    expected = {"state['w']": "result[0]['w']", "extra": "result[1]"}
    assert pairs(lambda: by_number(3, {"w": floats(4)}, True, floats(2))) == expected
    assert pairs(lambda: by_name(3, {"w": floats(5)}, flag=True, extra=floats(3))) == {
        "state['w']": "result[0]['w']",
        "extra": "result[1]",
    }


def test_star_arguments():
    def step(state, *rest, **more):
        return state * 2, rest[1]["a"] * 2, more["lr"]["x"] * 2

    step = jax.jit(step, donate_argnums=(0, 2), donate_argnames="lr")
    assert pairs(lambda: step(floats(2), floats(3), {"a": floats(4)}, lr={"x": floats(5)})) == {
        "state": "result[0]",
        "rest[1]['a']": "result[1]",
        "more['lr']['x']": "result[2]",
    }


def test_parameters_are_called_as_jax_calls_them():
    def step(state, /, batch, *rest, flag, **more):
        raise AssertionError

    known = Parameters(step)
    assert [known.by_position(place) for place in range(4)] == [
        "state", "batch", "rest[0]", "rest[1]",
    ]  # fmt: skip
    assert known.by_keyword("flag") == "flag"
    assert known.by_keyword("batch") == "batch"
    assert known.by_keyword("lr") == "more['lr']"
    nameless = Parameters(dict.fromkeys)
    assert nameless.by_keyword("x") == "x"
    assert Parameters(print).by_position(1) == "args[1]"


def step_of_partials(rate, state, *, times=1.0):
    return {"w": state["w"] * rate * times}


@pytest.mark.parametrize(
    "bound", [partial(step_of_partials, 0.1), partial(step_of_partials, 0.1, times=3.0)]
)
def test_a_partial_and_the_name_of_its_function(bound):
    ledger = ledger_of(lambda: jax.jit(bound, donate_argnums=0)({"w": floats(4)}))
    assert ledger.function == "step_of_partials"
    assert [(e.path, e.slot and e.slot.path) for e in ledger.entries] == [
        ("state['w']", "result['w']")
    ]


def test_a_partial_of_keywords_only():
    step = jax.jit(partial(step_of_partials, times=2.0), donate_argnames="state")
    assert pairs(lambda: step(0.5, state={"w": floats(4)})) == {"state['w']": "result['w']"}


def test_a_callable_object_is_named_by_its_class():
    class Trainer:
        def __call__(self, state, batch):
            return {"w": state["w"] + batch}

    ledger = ledger_of(lambda: jax.jit(Trainer(), donate_argnums=0)({"w": floats(4)}, 1.0))
    assert ledger.function == "Trainer"
    assert ledger.entries[0].path == "state['w']"


class Methods:
    def __init__(self) -> None:
        self.scale = floats(4)
        self.bound = jax.jit(self.plain, donate_argnums=0)

    def plain(self, state):
        return {"w": state["w"] * self.scale}

    @partial(jax.jit, static_argnums=0, donate_argnums=1)
    def numbered(self, state):
        return {"w": state["w"] * 2}

    @partial(jax.jit, static_argnames="self", donate_argnames="state")
    def named(self, state):
        return {"w": state["w"] * 2}

    @staticmethod
    @partial(jax.jit, donate_argnums=0)
    def static(state):
        return {"w": state["w"] * 2}

    @classmethod
    @partial(jax.jit, static_argnums=0, donate_argnums=1)
    def of_class(cls, state):
        return {"w": state["w"] * 2}


@pytest.mark.parametrize(
    ("method", "function"),
    [
        ("bound", "plain"),
        ("numbered", "numbered"),
        ("named", "named"),
        ("static", "static"),
        ("of_class", "of_class"),
    ],
)
def test_methods_and_a_closure_over_a_jitted_method(method, function):
    jax.clear_caches()
    step = getattr(Methods(), method)
    ledger = ledger_of(lambda: (lambda state: step(state))({"w": floats(4)}))
    assert (ledger.function, ledger.donated_arguments) == (function, ("state",))
    assert ledger.entries[0].path == "state['w']"
    assert ledger.entries[0].slot is not None
    assert ledger.entries[0].slot.path == "result['w']"


def test_a_decorator_that_wraps_lends_the_names():
    def logged(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            return function(*args, **kwargs)

        return wrapper

    @partial(jax.jit, donate_argnums=0)
    @logged
    def step(state, batch):
        return {"w": state["w"] + batch}

    assert pairs(lambda: step({"w": floats(4)}, 1.0)) == {"state['w']": "result['w']"}


def test_jit_of_shard_map():
    from jax.experimental import shard_map as older

    shard_map = getattr(jax, "shard_map", None) or older.shard_map
    mesh = Mesh(np.array(jax.devices()[:1]), ("data",))
    spec = PartitionSpec()

    def step(state, batch):
        return {"w": state["w"] + batch}

    sharded = shard_map(step, mesh=mesh, in_specs=(spec, spec), out_specs=spec)
    jitted = jax.jit(sharded, donate_argnums=0)
    assert pairs(lambda: jitted({"w": floats(4)}, floats(4))) == {"state['w']": "result['w']"}


# Transforms of a donating jit, and one inside another.


@partial(jax.jit, donate_argnums=0)
def shifted(state, batch):
    return {"w": state["w"] + batch}


def test_vmap_of_a_donating_jit():
    ledger = ledger_of(lambda: jax.vmap(shifted)({"w": floats(3, 4)}, floats(3)))
    assert ledger.function == "shifted"
    assert [(e.path, e.leaf.spec.aval, e.slot and e.slot.path) for e in ledger.entries] == [
        ("state['w']", "float32[3,4]", "result['w']")
    ]


class Doubler:
    def __call__(self, state):
        return {"w": state["w"] * 2}


@pytest.mark.parametrize(
    ("function", "name"),
    [(partial(step_of_partials, 0.1), "step_of_partials"), (Doubler(), "Doubler")],
)
def test_vmap_of_a_function_without_a_name(function, name):
    step = jax.jit(function, donate_argnums=0)
    ledger = ledger_of(lambda: jax.vmap(step)({"w": floats(3, 4)}))
    assert (ledger.function, ledger.entries[0].path) == (name, "state['w']")
    assert ledger.entries[0].slot is not None
    assert ledger.entries[0].slot.path == "result['w']"


def test_a_function_that_never_meets_jax_is_named_without_an_address():
    with donatree.watch() as watched, jax.disable_jit():
        jax.jit(partial(step_of_partials, 0.1), donate_argnums=0)({"w": floats(4)})
    [finding] = watched.findings
    assert finding.code == "DT102"
    assert "`step_of_partials`" in finding.headline + "".join(finding.notes)
    assert "0x" not in finding.headline + "".join(finding.notes)


def test_grad_of_a_donating_jit():
    @partial(jax.jit, donate_argnums=0)
    def loss(state, batch):
        return (state["w"] * batch).sum()

    ledger = ledger_of(lambda: jax.grad(loss)({"w": floats(4)}, floats(4)))
    assert ledger.function == "loss"
    assert [entry.path for entry in ledger.entries] == ["state['w']"]


def inner_leaves(program: Callable[[], object]) -> tuple[str, ...]:
    """The leaves of the only DT103."""
    with donatree.watch() as watched:
        program()
    assert watched.account.faults == (), watched.account.faults[0].traceback
    [finding] = [each for each in watched.findings if each.code == "DT103"]
    return finding.leaves


def test_inside_a_jit():
    @jax.jit
    def outer(params, batch):
        return shifted({"w": params}, batch)

    assert inner_leaves(lambda: outer(floats(6), floats(6))) == ("state['w']",)


def test_inside_a_scan_of_a_jit():
    @jax.jit
    def outer(params, batches):
        return jax.lax.scan(lambda carry, batch: (shifted(carry, batch), None), params, batches)

    assert inner_leaves(lambda: outer({"w": floats(7)}, floats(3))) == ("state['w']",)


def test_inside_a_jit_where_a_leaf_is_handed_through():
    @partial(jax.jit, donate_argnums=0)
    def inner(state, batch):
        return State(state.w + batch, state.b)

    @jax.jit
    def outer(params, batch):
        return inner(State(*params), batch)

    found = inner_leaves(lambda: outer((floats(6), floats(2)), 1.0))
    assert found == ("state.w", "state.b")


# optax and flax linen.


def test_optax_states():
    optax = library("optax")

    def program(optimizer, params):
        def step(params, opt_state, grads):
            updates, opt_state = optimizer.update(grads, opt_state, params)
            return optax.apply_updates(params, updates), opt_state

        grads = doubled(params)
        jax.jit(step, donate_argnums=(0, 1))(params, optimizer.init(params), grads)

    chain = optax.chain(
        optax.clip(1.0), optax.inject_hyperparams(optax.sgd)(learning_rate=0.1, momentum=0.9)
    )
    found = pairs(lambda: program(chain, {"dense": {"kernel": floats(4, 4)}}))
    mine, state = "['dense']['kernel']", "opt_state[1]"
    assert found == {
        f"params{mine}": f"result[0]{mine}",
        f"{state}.count": "result[1][1].count",
        f"{state}.hyperparams['learning_rate']": "result[1][1].hyperparams['learning_rate']",
        f"{state}.hyperparams['momentum']": "result[1][1].hyperparams['momentum']",
        f"{state}.inner_state[0].trace{mine}": f"result[1][1].inner_state[0].trace{mine}",
    }
    many = optax.multi_transform(
        {"a": optax.adam(1.0), "b": optax.sgd(1.0)}, {"dense": "a", "bias": "b"}
    )
    found = pairs(lambda: program(many, {"dense": floats(3), "bias": floats(2)}))
    inside = "inner_states['a'].inner_state[0]"
    assert found == {
        "params['bias']": "result[0]['bias']",
        "params['dense']": "result[0]['dense']",
        f"opt_state.{inside}.count": f"result[1].{inside}.count",
        f"opt_state.{inside}.mu['dense']": f"result[1].{inside}.mu['dense']",
        f"opt_state.{inside}.nu['dense']": f"result[1].{inside}.nu['dense']",
    }


def test_a_train_state_of_flax_linen():
    library("flax")
    optax = library("optax")
    from flax import linen
    from flax.training.train_state import TrainState

    model = linen.Dense(3)
    params = {"kernel": floats(4, 3), "bias": floats(3)}
    state = TrainState.create(apply_fn=model.apply, params=params, tx=optax.adam(0.1))

    @partial(jax.jit, donate_argnums=0)
    def train_step(state, batch):
        def loss(params):
            return state.apply_fn({"params": params}, batch).sum()

        return state.apply_gradients(grads=jax.grad(loss)(state.params))

    assert pairs(lambda: train_step(state, floats(1, 4))) == {
        "state.step": "result.step",
        "state.params['bias']": "result.params['bias']",
        "state.params['kernel']": "result.params['kernel']",
        "state.opt_state[0].count": "result.opt_state[0].count",
        "state.opt_state[0].mu['bias']": "result.opt_state[0].mu['bias']",
        "state.opt_state[0].mu['kernel']": "result.opt_state[0].mu['kernel']",
        "state.opt_state[0].nu['bias']": "result.opt_state[0].nu['bias']",
        "state.opt_state[0].nu['kernel']": "result.opt_state[0].nu['kernel']",
    }


# equinox.


def equinox_module() -> Any:
    eqx = library("equinox")

    class Module(eqx.Module):
        w: Any
        table: dict
        name: str = "static"

        def __call__(self, x):
            return x * 2, self.w * 3, self.table["a"] * 4

        def method(self, x):
            return self(x)

        @eqx.filter_jit(donate="all")
        def step(self, x):
            return Module(self.w + 1, doubled(self.table)), x * 2

        @eqx.filter_jit(donate="all-except-first")
        def update(self, x, *rest, rate):
            return self.w.sum() * x, rest[0] * 2, rate["lr"] * 2

    return Module(floats(4), {"a": floats(3)})


def test_equinox_donates_all():
    eqx = library("equinox")

    @eqx.filter_jit(donate="all")
    def step(m, x):
        return eqx.tree_at(lambda m: m.layers[0].weight, m, m.layers[0].weight * 2), x * 2

    class Dense(eqx.Module):
        weight: Any
        bias: Any

    class Net(eqx.Module):
        layers: list
        activation: Any = eqx.field(static=True)

    model = Net([Dense(floats(4, 2), floats(4)), Dense(floats(3, 4), floats(3))], jnp.tanh)
    ledger = ledger_of(lambda: step(model, floats(9)))
    assert ledger.function == "step"
    assert {e.path: e.slot and e.slot.path for e in ledger.entries} == {
        "m.layers[0].weight": "result[0].layers[0].weight",
        "m.layers[0].bias": "result[0].layers[0].bias",
        "m.layers[1].weight": "result[0].layers[1].weight",
        "m.layers[1].bias": "result[0].layers[1].bias",
        "x": "result[1]",
    }


def test_equinox_donates_all_except_first():
    eqx = library("equinox")

    @eqx.filter_jit(donate="all-except-first")
    def step(data, m, flag, *, rate, rest=None):
        return doubled(m), rate * data.sum(), rest and doubled(rest)

    expected = {"m['w']": "result[0]['w']", "rate": "result[1]"}
    assert pairs(lambda: step(floats(9), {"w": floats(4)}, True, rate=floats(2))) == expected
    by_keyword = pairs(
        lambda: step(m={"w": floats(5)}, data=floats(9), rate=floats(2), flag=0, rest=[floats(7)])
    )
    assert by_keyword == {**expected, "rest[0]": "result[2][0]"}


def test_equinox_star_arguments():
    eqx = library("equinox")

    @eqx.filter_jit(donate="all")
    def step(state, *rest, **more):
        return state * 2, rest[1] * 2, rest[0] * 2, more["lr"]["x"] * 2

    arguments = floats(2), floats(3), floats(4)
    assert pairs(lambda: step(*arguments, lr={"x": floats(5)})) == {
        "state": "result[0]",
        "rest[0]": "result[2]",
        "rest[1]": "result[1]",
        "more['lr']['x']": "result[3]",
    }


def test_equinox_methods():
    module = equinox_module()
    assert pairs(lambda: module.step(floats(5))) == {
        "self.w": "result[0].w",
        "self.table['a']": "result[0].table['a']",
        "x": "result[1]",
    }
    module = equinox_module()
    assert pairs(lambda: module.update(floats(5), floats(6), rate={"lr": floats(7)})) == {
        "x": "result[0]",
        "rest[0]": "result[1]",
        "rate['lr']": "result[2]",
    }


def test_equinox_module_and_bound_method_as_the_function():
    eqx = library("equinox")
    expected = {"x": "result[0]", "self.w": "result[1]", "self.table['a']": "result[2]"}
    for function in (equinox_module(), equinox_module().method):
        step = eqx.filter_jit(function, donate="all")
        assert pairs(lambda step=step: step(floats(5))) == expected


def test_equinox_partials():
    eqx = library("equinox")

    def step(a, b, c):
        return a * 2, b * 2, c * 2

    bound = eqx.filter_jit(eqx.Partial(step, floats(2), c=floats(3)), donate="all")
    ledger = ledger_of(lambda: bound(floats(4)))
    assert ledger.function == "step"
    found = {e.path: e.slot and e.slot.path for e in ledger.entries}
    assert found == {"a": "result[0]", "b": "result[1]", "c": "result[2]"}
    plain = eqx.filter_jit(partial(step, c=1), donate="all")
    assert pairs(lambda: plain(floats(5), floats(6))) == {"a": "result[0]", "b": "result[1]"}


def test_equinox_result_that_is_half_static():
    eqx = library("equinox")
    step = eqx.filter_jit(lambda n, x: {"a": x * n, "b": "text"}, donate="all")
    assert pairs(lambda: step(3, floats(4))) == {"x": "result['a']"}


def test_equinox_under_vmap_and_audit():
    eqx = library("equinox")
    step = eqx.filter_jit(lambda x, m: {"w": m["w"] * x}, donate="all-except-first")
    expected = {"m['w']": "result['w']"}
    assert pairs(lambda: jax.vmap(step)(floats(3), {"w": floats(3, 4)})) == expected
    ledger = donatree.audit(step, floats(5), {"w": floats(5)})
    assert {e.path: e.slot and e.slot.path for e in ledger.entries} == expected


def test_equinox_inside_a_jit():
    eqx = library("equinox")

    @eqx.filter_jit(donate="all")
    def step(m, x):
        return doubled(m), x * 2

    def program(outer, size):
        return inner_leaves(lambda: outer({"a": floats(size)}, floats(5)))

    assert program(jax.jit(lambda p, x: step(p, x)), 6) == ("m['a']", "x")
    assert program(eqx.filter_jit(lambda p, x: step(p, x)), 7) == ("m['a']", "x")
    gradient = jax.jit(lambda p, x: jax.grad(lambda p: step(p, x)[0]["a"].sum())(p))
    assert program(gradient, 8) == ("m['a']", "x")


# flax nnx.


def nnx_model() -> Any:
    library("flax")
    from flax import nnx

    class Block(nnx.Module):
        def __init__(self, rngs: Any) -> None:
            self.dense = nnx.Linear(2, 3, rngs=rngs)

    class Model(nnx.Module):
        def __init__(self) -> None:
            rngs = nnx.Rngs(0)
            self.blocks = getattr(nnx, "List", list)([Block(rngs)])
            table = {"a": nnx.Param(floats(7)), "b/c": nnx.Param(floats(8))}
            self.table = getattr(nnx, "Dict", dict)(table)
            self.value = Block(rngs)  # a name that nnx itself uses inside
            self.scale = nnx.Param(floats(5))

        @nnx.jit(donate_argnums=(0, 1))
        def step(self, x):
            self.scale.value = self.scale.value + 1
            return {"y": x * 2}

    return Model()


MODEL = (
    "blocks[0].dense.bias", "blocks[0].dense.kernel", "scale", "table['a']", "table['b/c']",
    "value.dense.bias", "value.dense.kernel",
)  # fmt: skip


def test_nnx_model_and_optimizer():
    optax = library("optax")
    model = nnx_model()
    from flax import nnx

    optimizer = nnx.Optimizer(model, optax.sgd(0.1, momentum=0.9), wrt=nnx.Param)
    with_model = "model" in inspect.signature(optimizer.update).parameters

    @nnx.jit(donate_argnums=(0, 1))
    def train_step(model, optimizer, x):
        def loss(model):
            return sum((leaf**2).sum() for leaf in jax.tree_util.tree_leaves(nnx.state(model)))

        grads = nnx.grad(loss)(model)
        optimizer.update(*((model, grads) if with_model else (grads,)))
        return x * 2

    found = pairs(lambda: train_step(model, optimizer, floats(9)))
    trace = "optimizer.opt_state[0].trace"
    names = [f"model.{name}" for name in MODEL]
    names += [
        f"{trace}['blocks'][0]['dense']['bias']",
        f"{trace}['blocks'][0]['dense']['kernel']",
        f"{trace}['scale']",
        f"{trace}['table']['a']",
        f"{trace}['table']['b/c']",
        f"{trace}['value']['dense']['bias']",
        f"{trace}['value']['dense']['kernel']",
        "optimizer.step",
    ]
    assert found == {name: name for name in names}


def test_nnx_method_and_its_result():
    model = nnx_model()
    found = pairs(lambda: model.step(floats(6)))
    assert found == {**{f"self.{name}": f"self.{name}" for name in MODEL}, "x": "result['y']"}


def test_nnx_static_and_keyword_arguments():
    model = nnx_model()
    from flax import nnx

    @nnx.jit(static_argnums=0, donate_argnums=1, donate_argnames="state")
    def step(times, model, *, state, rate):
        model.scale.value = model.scale.value * times
        return {"w": state["w"] + rate}

    found = pairs(lambda: step(3, model, state={"w": floats(4)}, rate=1.0))
    names = {f"model.{name}": f"model.{name}" for name in MODEL}
    assert found == {**names, "state['w']": "result['w']"}


def test_nnx_star_arguments():
    model = nnx_model()
    from flax import nnx

    @nnx.jit(donate_argnums=(1,))
    def step(x, *models):
        models[0].scale.value = models[0].scale.value + x
        return x

    found = pairs(lambda: step(1.0, model))
    assert found == {f"models[0].{name}": f"models[0].{name}" for name in MODEL}


def test_nnx_without_graph():
    model = nnx_model()
    from flax import nnx

    if "graph" not in inspect.signature(nnx.jit).parameters:
        pytest.skip("this flax has no `graph=False`")

    @nnx.jit(donate_argnums=(0, 1), graph=False)
    def step(model, state, *, rate):
        model.scale.value = model.scale.value + 1
        return {"w": state["w"] + rate}

    found = pairs(lambda: step(model, {"w": floats(4)}, rate=1.0))
    names = {f"model.{name}": f"model.{name}" for name in MODEL}
    assert found == {**names, "state['w']": "result['w']"}


def test_nnx_state_under_a_plain_jit():
    model = nnx_model()
    from flax import nnx

    graph, state = nnx.split(model)

    @partial(jax.jit, donate_argnums=0)
    def step(state):
        model = nnx.merge(graph, state)
        model.scale.value = model.scale.value + 1
        return nnx.state(model)

    found = pairs(lambda: step(state))
    assert found["state['scale'].value"] == "result['scale'].value"
    assert found["state['table']['b/c'].value"] == "result['table']['b/c'].value"


def test_nnx_under_audit():
    model = nnx_model()
    from flax import nnx

    @nnx.jit(donate_argnums=0)
    def step(model, x):
        model.scale.value = model.scale.value + x

    if not hasattr(step, "lower"):
        pytest.skip("this flax has no `lower`")
    ledger = donatree.audit(step, model, 1.0)
    assert {e.path: e.slot and e.slot.path for e in ledger.entries} == {
        f"model.{name}": f"model.{name}" for name in MODEL
    }


def test_nnx_inside_a_jit():
    model = nnx_model()
    from flax import nnx

    @nnx.jit(donate_argnums=0)
    def inner(model, x):
        model.scale.value = model.scale.value + x
        return x

    graph, state = nnx.split(model)

    @jax.jit
    def outer(state, x):
        model = nnx.merge(graph, state)
        inner(model, x)
        return nnx.state(model)

    expected = {f"model.{name}" for name in MODEL}
    assert set(inner_leaves(lambda: outer(state, floats(5)))) == expected
    around = nnx.jit(lambda m, x: inner(m, x))
    assert set(inner_leaves(lambda: around(model, 2.0))) == expected


# When the naming of wrappers can go, and what stands where it fails.


def test_without_the_names_of_wrappers_the_flat_ones_stand(monkeypatch):
    """If this fails, the library names its leaves itself: remove its file in `donatree._jax`."""
    eqx = library("equinox")
    library("flax")
    from flax import nnx

    monkeypatch.setattr(wrappers, "names_of", lambda *_: None)
    step = eqx.filter_jit(doubled, donate="all")
    flat = pairs(lambda: step(floats(5)))
    assert flat == {"dynamic_donate['first'][0]": "result[1]"}, "remove `_jax/equinox.py`"
    step = nnx.jit(lambda m: None, donate_argnums=0)
    flat = pairs(lambda: step(nnx.Linear(2, 3, rngs=nnx.Rngs(0))))
    names = [re.sub(r"\.value$", "", name) for name in flat]
    assert names == ["m.states[0][0]", "m.states[0][1]"], "remove `_jax/nnx.py`"


def test_a_wrapper_that_changed_is_a_fault_and_jax_names_stand(monkeypatch):
    eqx = library("equinox")

    def changed(*_: Any) -> None:
        raise KeyError("first")

    monkeypatch.setattr("donatree._jax.equinox.names", changed)
    with donatree.watch() as watched:
        result = eqx.filter_jit(doubled, donate="all")(floats(6))
    assert result.tolist() == [2.0] * 6
    assert [fault.where for fault in watched.account.faults] == ["names"]
    [ledger] = watched.ledgers
    assert ledger.entries[0].path == "dynamic_donate['first'][0]"
