"""The labelled set: programs with their call statements, and which arguments ought to be donated.

Every argument has a label and a word why. The labels were written before the advice was tuned. The
programs of this file were looked at while it was; those of `advice_held_out` were not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

PRELUDE = """\
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

D = 32
KEY = jax.random.PRNGKey(0)
X = jnp.ones((D, D)) / D
SOME = [X, X * 2, X * 3]


def weights():
    return {
        "w1": jnp.ones((D, D)) / D,
        "b1": jnp.zeros(D),
        "w2": jnp.ones((D, D)) / D,
        "b2": jnp.zeros(D),
    }


P = weights()


def model(p, x):
    h = jnp.tanh(x @ p["w1"] + p["b1"])
    return h @ p["w2"] + p["b2"]


def loss_of(p, x):
    return jnp.mean((model(p, x) - x) ** 2)


def batches():
    for n in range(3):
        yield X * n

"""

LIBRARIES = {
    "": "",
    "optax": "import optax\n\ntx = optax.adam(1e-3)\n",
    "linen": "import flax.linen as nn\nimport optax\nfrom flax.training import train_state\n",
    "nnx": "import optax\nfrom flax import nnx\n",
    "equinox": "import equinox as eqx\nimport optax\n",
}


@dataclass(frozen=True)
class Program:
    """One program.

    Attributes:
        name: what it is.
        text: its source after the prelude; `main` makes the call.
        args: the arguments of the call, as source; `kwargs` likewise.
        donate: arguments that ought to be donated, each with a word why.
        keep: arguments that ought not to.
        step: the jitted function, as source.
        needs: the library it uses.
        told: arguments whose label only the call statement tells: without it nobody can know.
        donated: arguments that the program donates already.
        rebinds: whether the call statement rebinds an argument.
    """

    name: str
    text: str
    args: str
    donate: Mapping[str, str] = field(default_factory=dict)
    keep: Mapping[str, str] = field(default_factory=dict)
    kwargs: str = "{}"
    step: str = "step"
    needs: str = ""
    told: frozenset[str] = frozenset()
    donated: frozenset[str] = frozenset()
    rebinds: bool = False

    @property
    def source(self) -> str:
        """The whole module; `target` is what the command line is given."""
        target = f"\n\ndef target():\n    return {self.step}, {self.args}, {self.kwargs}\n"
        return f"{LIBRARIES[self.needs]}{PRELUDE}\n{self.text.strip()}\n{target}"

    @property
    def labels(self) -> dict[str, str]:
        """`donate` or `keep` of every argument."""
        return {**dict.fromkeys(self.donate, "donate"), **dict.fromkeys(self.keep, "keep")}


BATCH = "nothing in the result replaces it"
REBOUND = "the call statement rebinds it"

PROGRAMS: list[Program] = []


def program(name: str, text: str, args: str, **more: object) -> None:
    PROGRAMS.append(Program(name, text, args, **more))  # type: ignore[arg-type]


program(
    "sgd over a dict",
    """
@jax.jit
def step(params, batch):
    value, grads = jax.value_and_grad(loss_of)(params, batch)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), value


def main():
    params = weights()
    for batch in batches():
        params, value = step(params, batch)
    return params
""",
    "(P, X)",
    donate={"params": REBOUND},
    keep={"batch": BATCH},
    rebinds=True,
)

program(
    "params and optimiser state of optax",
    """
@partial(jax.jit)
def step(params, opt_state, batch):
    value, grads = jax.value_and_grad(loss_of)(params, batch)
    updates, opt_state = tx.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), opt_state, value


def main():
    params = weights()
    opt_state = tx.init(params)
    for number, batch in enumerate(batches()):
        params, opt_state, value = step(params, opt_state, batch)
        if number % 2 == 0:
            print(float(value))
""",
    "(P, tx.init(P), X)",
    donate={"params": REBOUND, "opt_state": REBOUND},
    keep={"batch": BATCH},
    needs="optax",
    rebinds=True,
)

program(
    "predictions of the batch's shape are returned too",
    """
@jax.jit
def step(params, opt_state, batch):
    grads = jax.grad(loss_of)(params, batch)
    updates, opt_state = tx.update(grads, opt_state, params)
    new = optax.apply_updates(params, updates)
    return new, opt_state, model(params, batch)


def main():
    params = weights()
    opt_state = tx.init(params)
    seen = []
    for batch in batches():
        params, opt_state, predicted = step(params, opt_state, batch)
        seen.append(predicted)
""",
    "(P, tx.init(P), X)",
    donate={"params": REBOUND, "opt_state": REBOUND},
    keep={"batch": BATCH},
    needs="optax",
    rebinds=True,
)

program(
    "momentum in a NamedTuple",
    """
class State(NamedTuple):
    params: Any
    momentum: Any
    count: Any


def train(state, batch):
    grads = jax.grad(loss_of)(state.params, batch)
    momentum = jax.tree.map(lambda m, g: 0.9 * m + g, state.momentum, grads)
    params = jax.tree.map(lambda p, m: p - 0.1 * m, state.params, momentum)
    return State(params, momentum, state.count + 1)


step = jax.jit(train)


def main():
    state = State(weights(), jax.tree.map(jnp.zeros_like, P), jnp.int32(0))
    for batch in batches():
        state = step(state, batch)
    print(state.count)
""",
    "(State(P, P, jnp.int32(0)), X)",
    donate={"state": REBOUND},
    keep={"batch": BATCH},
    rebinds=True,
)

program(
    "flax TrainState",
    """
class MLP(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(D)(nn.relu(nn.Dense(D)(x)))


net = MLP()


def create():
    params = net.init(KEY, X)["params"]
    return train_state.TrainState.create(apply_fn=net.apply, params=params, tx=optax.adam(1e-3))


@jax.jit
def step(state, batch):
    def value_of(params):
        return jnp.mean((state.apply_fn({"params": params}, batch) - batch) ** 2)

    value, grads = jax.value_and_grad(value_of)(state.params)
    return state.apply_gradients(grads=grads), value


def main():
    state = create()
    for _ in range(2):
        for batch in batches():
            state, value = step(state, batch)
    return state
""",
    "(create(), X)",
    donate={"state": REBOUND},
    keep={"batch": BATCH},
    needs="linen",
    rebinds=True,
)

program(
    "linen with batch statistics and a dropout key",
    """
class Net(nn.Module):
    @nn.compact
    def __call__(self, x, train=True):
        x = nn.BatchNorm(use_running_average=not train)(nn.Dense(D)(x))
        return nn.Dense(D)(nn.Dropout(0.1, deterministic=not train)(x))


net = Net()
V = net.init({"params": KEY, "dropout": KEY}, X)


@jax.jit
def step(params, batch_stats, batch, key):
    def value_of(params):
        out, new = net.apply(
            {"params": params, "batch_stats": batch_stats},
            batch,
            rngs={"dropout": key},
            mutable=["batch_stats"],
        )
        return jnp.mean((out - batch) ** 2), new["batch_stats"]

    (value, batch_stats), grads = jax.value_and_grad(value_of, has_aux=True)(params)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), batch_stats, value


def main():
    key = KEY
    params, stats = V["params"], V["batch_stats"]
    for batch in batches():
        key, sub = jax.random.split(key)
        params, stats, value = step(params, stats, batch, sub)
""",
    '(V["params"], V["batch_stats"], X, KEY)',
    donate={"params": REBOUND, "batch_stats": REBOUND},
    keep={"batch": BATCH, "key": "made anew for each call"},
    needs="linen",
    rebinds=True,
)

program(
    "nnx split into a graph and a state",
    """
class Net(nnx.Module):
    def __init__(self, rngs):
        self.one = nnx.Linear(D, D, rngs=rngs)
        self.two = nnx.Linear(D, D, rngs=rngs)

    def __call__(self, x):
        return self.two(jnp.tanh(self.one(x)))


graph, S = nnx.split(Net(nnx.Rngs(0)))


@jax.jit
def step(state, batch):
    def value_of(state):
        return jnp.mean((nnx.merge(graph, state)(batch) - batch) ** 2)

    grads = jax.grad(value_of)(state)
    return jax.tree.map(lambda p, g: p - 0.1 * g, state, grads)


def main():
    state = S
    for batch in batches():
        state = step(state, batch)
""",
    "(S, X)",
    donate={"state": REBOUND},
    keep={"batch": BATCH},
    needs="nnx",
    rebinds=True,
)

program(
    "equinox filter_jit",
    """
optim = optax.adam(1e-3)
net = eqx.nn.MLP(D, D, D, 1, key=KEY)


@eqx.filter_jit
def step(net, opt_state, x):
    grads = eqx.filter_grad(lambda m: jnp.mean((jax.vmap(m)(x) - x) ** 2))(net)
    updates, opt_state = optim.update(grads, opt_state, net)
    return eqx.apply_updates(net, updates), opt_state


def main():
    net_ = net
    opt_state = optim.init(eqx.filter(net_, eqx.is_array))
    for x in batches():
        net_, opt_state = step(net_, opt_state, x)
""",
    "(net, optim.init(eqx.filter(net, eqx.is_array)), X)",
    donate={"net": REBOUND, "opt_state": REBOUND},
    keep={"x": BATCH},
    needs="equinox",
    rebinds=True,
)

program(
    "equinox parameters under jax.jit",
    """
PARAMS, STATIC = eqx.partition(eqx.nn.MLP(D, D, D, 1, key=KEY), eqx.is_array)


def value_of(params, x):
    return jnp.mean((jax.vmap(eqx.combine(params, STATIC))(x) - x) ** 2)


step = jax.jit(lambda params, x: eqx.apply_updates(params, jax.grad(value_of)(params, x)))


def main():
    params = PARAMS
    for x in batches():
        params = step(params, x)
""",
    "(PARAMS, X)",
    donate={"params": REBOUND},
    keep={"x": BATCH},
    needs="equinox",
    rebinds=True,
)

program(
    "reinforcement learning: carry and xs of a scan",
    """
@jax.jit
def step(carry, actions):
    def turn(carry, action):
        position, speed = carry
        speed = 0.9 * speed + action[:, None]
        position = jnp.where(position > 5, 0.0, position + speed)
        return (position, speed), position.sum()

    return lax.scan(turn, carry, actions)


def main():
    carry = (X, X * 0)
    for n in range(3):
        carry, rewards = step(carry, jnp.ones((7, D)) * n)
        print(rewards)
""",
    "((X, X), jnp.ones((7, D)))",
    donate={"carry": REBOUND},
    keep={"actions": BATCH},
    rebinds=True,
)

program(
    "rollout of a policy",
    """
@partial(jax.jit, static_argnames="length")
def step(params, env, key, length):
    def turn(carry, _):
        env, key = carry
        key, sub = jax.random.split(key)
        action = jnp.tanh(model(params, env)) + 0.1 * jax.random.normal(sub, env.shape)
        env = 0.9 * env + 0.1 * action
        return (env, key), (env.mean(), action)

    (env, key), trajectory = lax.scan(turn, (env, key), None, length=length)
    return env, key, trajectory


def main():
    params, env, key = weights(), X, KEY
    for _ in range(2):
        env, key, trajectory = step(params, env, key, length=4)
        params = jax.tree.map(lambda p: p * 0.99, params)
""",
    "(P, X, KEY)",
    kwargs='{"length": 4}',
    donate={"env": REBOUND, "key": REBOUND},
    keep={"params": "read again after the call"},
    rebinds=True,
)

program(
    "decoding with a cache of keys and values",
    """
@jax.jit
def step(params, cache, token, position):
    x = params["w1"][token]
    k = x @ params["w2"]
    cache = {
        "k": lax.dynamic_update_slice(cache["k"], k[:, None], (0, position, 0)),
        "v": cache["v"].at[:, position].set(x),
    }
    scores = jax.nn.softmax(jnp.einsum("bd,btd->bt", x, cache["k"]))
    out = jnp.einsum("bt,btd->bd", scores, cache["v"]) @ params["w1"]
    return cache, jnp.argmax(out, -1).astype(jnp.int32)


def main():
    params = weights()
    cache = {"k": jnp.zeros((2, 64, D)), "v": jnp.zeros((2, 64, D))}
    token = jnp.zeros(2, jnp.int32)
    tokens = []
    for position in range(4):
        cache, token = step(params, cache, token, position)
        tokens.append(token)
    return tokens
""",
    '(P, {"k": jnp.ones((2, 64, D)), "v": jnp.ones((2, 64, D))}, jnp.zeros(2, jnp.int32), 3)',
    donate={"cache": REBOUND},
    keep={
        "params": "used for every token",
        "token": "kept in the list of tokens",
        "position": "a Python number",
    },
    told=frozenset({"token"}),
    rebinds=True,
)

program(
    "average of the parameters inside the step",
    """
@jax.jit
def step(params, ema, opt_state, batch):
    grads = jax.grad(loss_of)(params, batch)
    updates, opt_state = tx.update(grads, opt_state, params)
    params = optax.apply_updates(params, updates)
    ema = jax.tree.map(lambda e, p: 0.99 * e + 0.01 * p, ema, params)
    return params, ema, opt_state


def main():
    params, ema = weights(), weights()
    opt_state = tx.init(params)
    for batch in batches():
        params, ema, opt_state = step(params, ema, opt_state, batch)
""",
    "(P, weights(), tx.init(P), X)",
    donate={"params": REBOUND, "ema": REBOUND, "opt_state": REBOUND},
    keep={"batch": BATCH},
    needs="optax",
    rebinds=True,
)

program(
    "average of the parameters alone",
    """
@jax.jit
def step(ema, params):
    return jax.tree.map(lambda e, p: 0.99 * e + 0.01 * p, ema, params)


def main():
    params, ema = weights(), weights()
    for _ in range(3):
        params = jax.tree.map(lambda p: p * 0.9, params)
        ema = step(ema, params)
    return params, ema
""",
    "(P, P)",
    donate={"ema": REBOUND},
    keep={"params": "read again after the call"},
    told=frozenset({"ema", "params"}),
    rebinds=True,
)

program(
    "target network, the online one first",
    """
@jax.jit
def step(params, target):
    return jax.tree.map(lambda p, t: 0.01 * p + 0.99 * t, params, target)


class Agent:
    def __init__(self):
        self.params = weights()
        self.target = weights()

    def sync(self):
        self.target = step(self.params, self.target)


def main():
    agent = Agent()
    for _ in range(3):
        agent.sync()
""",
    "(P, P)",
    donate={"target": REBOUND},
    keep={"params": "the agent still has it"},
    told=frozenset({"target", "params"}),
    rebinds=True,
)

program(
    "DQN: the target network is only read",
    """
@jax.jit
def step(params, target, opt_state, batch):
    def value_of(p):
        return jnp.mean((model(p, batch) - 0.9 * lax.stop_gradient(model(target, batch))) ** 2)

    grads = jax.grad(value_of)(params)
    updates, opt_state = tx.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), opt_state


def main():
    params, target = weights(), weights()
    opt_state = tx.init(params)
    for number, batch in enumerate(batches()):
        params, opt_state = step(params, target, opt_state, batch)
        if number % 2:
            target = jax.tree.map(jnp.copy, params)
""",
    "(P, P, tx.init(P), X)",
    donate={"params": REBOUND, "opt_state": REBOUND},
    keep={"target": "read at the next call", "batch": BATCH},
    needs="optax",
    rebinds=True,
)

program(
    "accumulated gradients",
    """
@jax.jit
def step(params, acc, batch):
    grads = jax.grad(loss_of)(params, batch)
    return jax.tree.map(lambda a, g: a + g / 4, acc, grads)


def main():
    params = weights()
    acc = jax.tree.map(jnp.zeros_like, params)
    for batch in batches():
        acc = step(params, acc, batch)
    return jax.tree.map(lambda p, a: p - a, params, acc)
""",
    "(P, P, X)",
    donate={"acc": REBOUND},
    keep={"params": "read at the next call", "batch": BATCH},
    rebinds=True,
)

program(
    "accumulated gradients with weight decay in the loss",
    """
def value_of(params, batch):
    return loss_of(params, batch) + 1e-4 * sum(jnp.sum(p**2) for p in params.values())


def accumulate(params, acc, batch):
    return jax.tree.map(jnp.add, acc, jax.grad(value_of)(params, batch))


step = jax.jit(accumulate)


def main(params):
    acc = jax.tree.map(jnp.zeros_like, params)
    for batch in batches():
        acc = step(params, acc, batch)
    return acc
""",
    "(P, P, X)",
    donate={"acc": REBOUND},
    keep={"params": "read at the next call", "batch": BATCH},
    rebinds=True,
)

program(
    "gradients with weight decay in the loss",
    """
def value_of(params, batch):
    return loss_of(params, batch) + sum(jnp.sum(p**2) for p in params.values())


step = jax.jit(jax.grad(value_of))


def main():
    params = weights()
    for batch in batches():
        grads = step(params, batch)
        params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
""",
    "(P, X)",
    keep={"params": "read again after the call", "batch": BATCH},
    told=frozenset({"params"}),
)

program(
    "gradients are applied by another function",
    """
@jax.jit
def step(params, opt_state, grads):
    updates, opt_state = tx.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), opt_state


def main():
    params = weights()
    opt_state = tx.init(params)
    for batch in batches():
        grads = jax.grad(loss_of)(params, batch)
        params, opt_state = step(params, opt_state, grads)
""",
    "(P, tx.init(P), P)",
    donate={"params": REBOUND, "opt_state": REBOUND},
    keep={"grads": "no slot is left for it"},
    needs="optax",
    rebinds=True,
)

program(
    "diffusion sampling",
    """
@jax.jit
def step(params, x, t, key):
    noise = model(params, x)
    a = jnp.cos(t)
    return (x - (1 - a) * noise) / jnp.sqrt(a) + 0.1 * jax.random.normal(key, x.shape)


def main():
    params, x, key = weights(), X, KEY
    n = 0
    while n < 3:
        key, sub = jax.random.split(key)
        x = step(params, x, 0.1 * n, sub)
        n += 1
    return x
""",
    "(P, X, 0.1, KEY)",
    donate={"x": REBOUND},
    keep={"params": "used for every step", "t": "a Python number", "key": "made for one call"},
    rebinds=True,
)

program(
    "GAN with two states in one step",
    """
@jax.jit
def step(gen, dis, batch):
    def g_loss(p):
        return jnp.mean(model(dis["p"], model(p, batch)))

    def d_loss(p):
        return jnp.mean(model(p, batch)) - jnp.mean(model(p, model(gen["p"], batch)))

    def up(s, g):
        updates, o = tx.update(g, s["o"], s["p"])
        return {"p": optax.apply_updates(s["p"], updates), "o": o}

    return up(gen, jax.grad(g_loss)(gen["p"])), up(dis, jax.grad(d_loss)(dis["p"]))


def fresh():
    return {"p": weights(), "o": tx.init(P)}


def main():
    gen, dis = fresh(), fresh()
    for batch in batches():
        gen, dis = step(gen, dis, batch)
""",
    "(fresh(), fresh(), X)",
    donate={"gen": REBOUND, "dis": REBOUND},
    keep={"batch": BATCH},
    needs="optax",
    rebinds=True,
)

program(
    "GAN whose discriminator has a step of its own",
    """
def value_of(dis, gen, batch):
    return jnp.mean(model(dis, batch)) - jnp.mean(model(dis, model(gen, batch)))


def update(gen, dis, batch):
    grads = jax.grad(value_of)(dis, gen, batch)
    return jax.tree.map(lambda p, g: p - 0.1 * g, dis, grads)


step = jax.jit(update)


def main():
    gen, dis = weights(), weights()
    for batch in batches():
        dis = step(gen, dis, batch)
        gen = jax.tree.map(lambda p: p * 0.9, gen)
""",
    "(P, P, X)",
    donate={"dis": REBOUND},
    keep={"gen": "read again after the call", "batch": BATCH},
    rebinds=True,
)

program(
    "a key threaded through",
    """
@jax.jit
def step(x, key):
    key, sub = jax.random.split(key)
    return x + jax.random.normal(sub, x.shape), key


def main():
    x, key = X, jax.random.PRNGKey(1)
    for _ in range(4):
        x, key = step(x, key)
""",
    "(X, KEY)",
    donate={"x": REBOUND, "key": REBOUND},
    rebinds=True,
)

program(
    "power iteration",
    """
@jax.jit
def step(matrix, x):
    y = matrix @ x
    return y / jnp.linalg.norm(y)


def main(matrix):
    x = jnp.ones((D, 8))
    for _ in range(10):
        x = step(matrix, x)
    return x
""",
    "(X, jnp.ones((D, 8)))",
    donate={"x": REBOUND},
    keep={"matrix": "read at the next call"},
    told=frozenset({"x"}),
    rebinds=True,
)

program(
    "leapfrog with two fields",
    """
@jax.jit
def step(u, v):
    around = jnp.roll(u, 1, 0) + jnp.roll(u, -1, 0) - 2 * u
    return 2 * u - v + 0.1 * around, u


def main():
    u, v = X, X * 1
    for _ in range(5):
        u, v = step(u, v)
    return u
""",
    "(X, X * 2)",
    donate={"u": REBOUND, "v": REBOUND},
    rebinds=True,
)

program(
    "replay buffer: adding",
    """
class Buffer(NamedTuple):
    data: Any
    place: Any


@jax.jit
def step(buffer, item):
    data = buffer.data.at[buffer.place].set(item)
    return Buffer(data, (buffer.place + 1) % buffer.data.shape[0])


def main():
    buffer = Buffer(jnp.zeros((100, D)), jnp.int32(0))
    for n in range(3):
        buffer = step(buffer, jnp.ones(D) * n)
    return buffer
""",
    "(Buffer(jnp.zeros((100, D)), jnp.int32(0)), jnp.ones(D))",
    donate={"buffer": REBOUND},
    keep={"item": BATCH},
    rebinds=True,
)

program(
    "replay buffer: sampling",
    """
@jax.jit
def step(buffer, key):
    rows = jax.random.randint(key, (16,), 0, buffer.shape[0])
    return buffer[rows]


def main():
    buffer, key = jnp.ones((100, D)), KEY
    for _ in range(3):
        key, sub = jax.random.split(key)
        sample = step(buffer, sub)
        print(sample.mean())
""",
    "(jnp.ones((100, D)), KEY)",
    keep={"buffer": "read at the next call", "key": "made for one call"},
)

program(
    "evaluation",
    """
@jax.jit
def step(params, batch):
    out = model(params, batch)
    return {"loss": jnp.mean((out - batch) ** 2), "size": jnp.abs(out).max()}


def main():
    params = weights()
    found = [step(params, batch) for batch in batches()]
    return found
""",
    "(P, X)",
    keep={"params": "used for every batch", "batch": BATCH},
)

program(
    "totals of an evaluation",
    """
@jax.jit
def step(totals, params, batch):
    out = model(params, batch)
    return {"loss": totals["loss"] + jnp.mean(out**2), "count": totals["count"] + 1}


def main():
    params = weights()
    totals = {"loss": jnp.zeros(()), "count": jnp.zeros((), jnp.int32)}
    for batch in batches():
        totals = step(totals, params, batch)
    return totals
""",
    '({"loss": jnp.zeros(()), "count": jnp.zeros((), jnp.int32)}, P, X)',
    donate={"totals": REBOUND},
    keep={"params": "used for every batch", "batch": BATCH},
    rebinds=True,
)

program(
    "augmentation of a batch",
    """
@jax.jit
def step(batch, key):
    return {
        "x": batch["x"] * 2 + jax.random.normal(key, batch["x"].shape),
        "y": jnp.flip(batch["y"]),
    }


def main():
    for number in range(3):
        batch = {"x": X * number, "y": jnp.arange(D)}
        batch = step(batch, jax.random.PRNGKey(number))
        print(batch["x"].sum())
""",
    '({"x": X, "y": jnp.arange(D)}, KEY)',
    donate={"batch": REBOUND},
    keep={"key": "made for one call"},
    rebinds=True,
)

program(
    "state of a trainer",
    """
def train(state, batch):
    grads = jax.grad(loss_of)(state["params"], batch)
    params = jax.tree.map(lambda p, g: p - 0.1 * g, state["params"], grads)
    return {"params": params, "step": state["step"] + 1}, loss_of(params, batch)


step = jax.jit(train)


class Trainer:
    def __init__(self):
        self.state = {"params": weights(), "step": jnp.int32(0)}

    def fit(self):
        for batch in batches():
            self.state, value = step(self.state, batch)

    def save(self):
        return jax.device_get(self.state)


def main():
    trainer = Trainer()
    trainer.fit()
    trainer.save()
""",
    '({"params": P, "step": jnp.int32(0)}, X)',
    donate={"state": REBOUND},
    keep={"batch": BATCH},
    rebinds=True,
)

program(
    "a trainer that jits its own function",
    """
class Trainer:
    def __init__(self):
        self.params = weights()
        self.opt_state = tx.init(self.params)
        self._update = jax.jit(self._step)

    def _step(self, params, opt_state, batch):
        grads = jax.grad(loss_of)(params, batch)
        updates, opt_state = tx.update(grads, opt_state, params)
        return optax.apply_updates(params, updates), opt_state

    def fit(self):
        for batch in batches():
            self.params, self.opt_state = self._update(self.params, self.opt_state, batch)


trainer = Trainer()


def main():
    trainer.fit()
""",
    "(P, tx.init(P), X)",
    step="trainer._update",
    donate={"params": REBOUND, "opt_state": REBOUND},
    keep={"batch": BATCH},
    needs="optax",
    rebinds=True,
)

program(
    "a loop until it has converged, with a walrus",
    """
@jax.jit
def step(state):
    x = 0.5 * (state["x"] + 2.0 / state["x"])
    return {"x": x, "change": jnp.abs(x - state["x"]).max(), "x0": state["x"]}


def main():
    state = {"x": X + 1, "change": jnp.ones(()), "x0": X + 1}
    while float((state := step(state))["change"]) > 1e-3:
        pass
    return state
""",
    '({"x": X, "change": jnp.ones(()), "x0": X},)',
    donate={"state": REBOUND},
    rebinds=True,
)

program(
    "star targets",
    """
@jax.jit
def step(state, batch):
    new = jax.tree.map(lambda p: p * 0.9 + batch.mean(), state)
    return new, batch.mean(), batch.max()


def main():
    state = weights()
    for batch in batches():
        state, *metrics = step(state, batch)
        print(metrics)
""",
    "(P, X)",
    donate={"state": REBOUND},
    keep={"batch": BATCH},
    rebinds=True,
)

program(
    "the state is an item of a dict",
    """
@jax.jit
def step(state, batch):
    grads = jax.grad(loss_of)(state, batch)
    return jax.tree.map(lambda p, g: p - g, state, grads), batch.mean()


def main():
    run = {"state": weights(), "best": 1e9}
    for batch in batches():
        run["state"], value = step(run["state"], batch)
        run["best"] = min(run["best"], float(value))
""",
    "(P, X)",
    donate={"state": REBOUND},
    keep={"batch": BATCH},
    rebinds=True,
)

program(
    "rebound by the statement after",
    """
@jax.jit
def step(state, batch):
    grads = jax.grad(loss_of)(state["params"], batch)
    return {"params": jax.tree.map(jnp.subtract, state["params"], grads), "n": state["n"] + 1}


def main():
    state = {"params": weights(), "n": jnp.int32(0)}
    for batch in batches():
        new_state = step(state, batch)
        state = new_state
    return state
""",
    '({"params": P, "n": jnp.int32(0)}, X)',
    donate={"state": "not read again, and its successor is in the result"},
    keep={"batch": BATCH},
)

program(
    "the old state is compared with the new one",
    """
@jax.jit
def step(state, batch):
    grads = jax.grad(loss_of)(state, batch)
    return jax.tree.map(jnp.subtract, state, grads)


def main():
    state = weights()
    for batch in batches():
        new_state = step(state, batch)
        change = jnp.abs(new_state["w1"] - state["w1"]).max()
        print(change)
        state = new_state
""",
    "(P, X)",
    keep={"state": "read again after the call", "batch": BATCH},
    told=frozenset({"state"}),
)

program(
    "parameters passed to two calls",
    """
@jax.jit
def step(params, batch):
    return jax.value_and_grad(loss_of)(params, batch)


@jax.jit
def apply(params, grads):
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)


def main():
    params = weights()
    for batch in batches():
        value, grads = step(params, batch)
        params = apply(params, grads)
""",
    "(P, X)",
    keep={"params": "read again after the call", "batch": BATCH},
    told=frozenset({"params"}),
)

program(
    "a function of the user's returns the call",
    """
@jax.jit
def step(state, batch):
    grads = jax.grad(loss_of)(state, batch)
    return jax.tree.map(lambda p, g: p - g, state, grads)


def update(state, batch):
    return step(state, batch)


def main():
    state = weights()
    for batch in batches():
        state = update(state, batch)
    return state
""",
    "(P, X)",
    donate={"state": "rebound by the caller"},
    keep={"batch": BATCH},
)

program(
    "the best state so far is kept",
    """
@jax.jit
def step(state, batch):
    value, grads = jax.value_and_grad(loss_of)(state, batch)
    return jax.tree.map(lambda p, g: p - g, state, grads), value


def main():
    state = best = weights()
    least = 1e9
    for batch in batches():
        state, value = step(state, batch)
        if float(value) < least:
            least = float(value)
            best = state
    return best
""",
    "(P, X)",
    keep={"state": "`best` is the same arrays", "batch": BATCH},
    told=frozenset({"state"}),
    rebinds=True,
)

program(
    "a history of parameters",
    """
@jax.jit
def step(params, batch):
    grads = jax.grad(loss_of)(params, batch)
    return jax.tree.map(lambda p, g: p - g, params, grads)


def main():
    params = weights()
    history = [params]
    for batch in batches():
        params = step(params, batch)
        history.append(params)
    return [float(p["w1"].sum()) for p in history]
""",
    "(P, X)",
    keep={"params": "the list has the same arrays", "batch": BATCH},
    told=frozenset({"params"}),
    rebinds=True,
)

program(
    "a step that may be rejected",
    """
@jax.jit
def step(params, batch):
    grads = jax.grad(loss_of)(params, batch)
    new = jax.tree.map(lambda p, g: p - g, params, grads)
    return new, loss_of(new, batch)


def main():
    params = weights()
    least = 1e9
    for batch in batches():
        candidate, value = step(params, batch)
        if float(value) < least:
            params, least = candidate, float(value)
    return params
""",
    "(P, X)",
    keep={"params": "read again where the step is rejected", "batch": BATCH},
    told=frozenset({"params"}),
)

program(
    "the state is donated already",
    """
@partial(jax.jit, donate_argnums=0)
def step(state, batch):
    grads = jax.grad(loss_of)(state, batch)
    return jax.tree.map(lambda p, g: p - g, state, grads)


def main():
    state = weights()
    for batch in batches():
        state = step(state, batch)
    return state
""",
    "(P, X)",
    donate={"state": REBOUND},
    keep={"batch": BATCH},
    donated=frozenset({"state"}),
    rebinds=True,
)

program(
    "the optimiser's state was forgotten",
    """
@partial(jax.jit, donate_argnums=0)
def step(params, opt_state, batch):
    grads = jax.grad(loss_of)(params, batch)
    updates, opt_state = tx.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), opt_state


def main():
    params = weights()
    opt_state = tx.init(params)
    for batch in batches():
        params, opt_state = step(params, opt_state, batch)
""",
    "(P, tx.init(P), X)",
    donate={"params": REBOUND, "opt_state": REBOUND},
    keep={"batch": BATCH},
    needs="optax",
    donated=frozenset({"params"}),
    rebinds=True,
)

program(
    "the batch is donated and read again",
    """
@partial(jax.jit, donate_argnums=(0, 1))
def step(state, batch):
    grads = jax.grad(loss_of)(state, batch)
    new = jax.tree.map(lambda p, g: p - g, state, grads)
    return new, model(new, batch)


def main():
    state = weights()
    for batch in batches():
        state, predicted = step(state, batch)
        print(jnp.abs(predicted - batch).max())
""",
    "(P, X)",
    donate={"state": REBOUND},
    keep={"batch": "read again after the call"},
    donated=frozenset({"state", "batch"}),
    told=frozenset({"batch"}),
    rebinds=True,
)

program(
    "a batch of labels is donated for nothing",
    """
@partial(jax.jit, donate_argnums=(0, 1))
def step(state, labels):
    return jax.tree.map(lambda p: p - labels.mean(), state)


def main():
    state = weights()
    for number in range(3):
        labels = jnp.arange(48) + number
        state = step(state, labels)
""",
    "(P, jnp.arange(48))",
    donate={"state": REBOUND},
    keep={"labels": BATCH},
    donated=frozenset({"state", "labels"}),
    rebinds=True,
)

program(
    "a checkpoint of the new state",
    """
@jax.jit
def step(state, batch):
    grads = jax.grad(loss_of)(state, batch)
    return jax.tree.map(lambda p, g: p - g, state, grads)


def save(tree):
    return jax.device_get(tree)


def main():
    state = weights()
    for number, batch in enumerate(batches()):
        state = step(state, batch)
        if number % 2 == 0:
            save(state)
    save(state)
""",
    "(P, X)",
    donate={"state": REBOUND},
    keep={"batch": BATCH},
    rebinds=True,
)

program(
    "forward pass to an array of the input's shape",
    """
@jax.jit
def step(params, x):
    return model(params, x)


def main():
    params = weights()
    for x in SOME:
        y = step(params, x)
        print(y.mean())
""",
    "(P, X)",
    keep={"params": "used for every input", "x": "the list has it"},
)

program(
    "residual forward pass over a list",
    """
@jax.jit
def step(params, x):
    return x + model(params, x)


def main():
    params = weights()
    return [step(params, x) for x in SOME]
""",
    "(P, X)",
    keep={"params": "used for every input", "x": "the list has it"},
    told=frozenset({"x"}),
)

program(
    "a factory makes the step",
    """
def make_step(rate):
    @jax.jit
    def update(params, batch):
        grads = jax.grad(loss_of)(params, batch)
        return jax.tree.map(lambda p, g: p - rate * g, params, grads)

    return update


step = make_step(0.1)


def main():
    params = weights()
    run = step
    for batch in batches():
        params = run(params, batch)
""",
    "(P, X)",
    donate={"params": REBOUND},
    keep={"batch": BATCH},
    rebinds=True,
)

program(
    "keyword-only arguments",
    """
@jax.jit
def step(*, state, batch):
    grads = jax.grad(loss_of)(state, batch)
    return jax.tree.map(lambda p, g: p - g, state, grads)


def main():
    state = weights()
    for batch in batches():
        state = step(state=state, batch=batch)
""",
    "()",
    kwargs='{"state": P, "batch": X}',
    donate={"state": REBOUND},
    keep={"batch": BATCH},
    rebinds=True,
)

program(
    "a static argument in front",
    """
@partial(jax.jit, static_argnums=0)
def step(rate, params, batch, lr):
    grads = jax.grad(loss_of)(params, batch)
    return jax.tree.map(lambda p, g: p - rate * lr * g, params, grads), lr * 0.99


def main():
    params, lr = weights(), jnp.float32(0.1)
    for batch in batches():
        params, lr = step(0.5, params, batch, lr)
""",
    "(0.5, P, X, jnp.float32(0.1))",
    donate={"params": REBOUND, "lr": REBOUND},
    keep={"batch": BATCH},
    rebinds=True,
)

program(
    "an LSTM cell step by step",
    """
@jax.jit
def step(params, h, c, x):
    gates = x @ params["w1"] + h @ params["w2"] + params["b1"]
    c = jax.nn.sigmoid(gates) * c + jnp.tanh(gates)
    h = jax.nn.sigmoid(gates) * jnp.tanh(c)
    return h, c


def main():
    params = weights()
    h, c = X * 0, X * 0
    for x in batches():
        h, c = step(params, h, c, x)
    return h
""",
    "(P, X, X * 2, X)",
    donate={"h": REBOUND, "c": REBOUND},
    keep={"params": "used for every input", "x": BATCH},
    told=frozenset({"h"}),
    rebinds=True,
)

program(
    "a value that is dead after the call",
    """
@jax.jit
def step(x):
    return (x - x.mean()) / (x.std() + 1e-6)


def load():
    return X * 3


def main():
    raw = load()
    white = step(raw)
    return white.sum()
""",
    "(X,)",
    donate={"x": "not read again, and the result is its own next value"},
)

program(
    "the loss alone",
    """
step = jax.jit(loss_of)


def main():
    params = weights()
    values = []
    for batch in batches():
        values.append(step(params, batch))
    return values
""",
    "(P, X)",
    keep={"p": "used for every batch", "x": BATCH},
)
