"""The part of the labelled set that was kept apart while the advice was tuned.

Written together with `advice_set`, before the advice; its results were first looked at when the
advice was done. See `docs/advise.md` for what came out.
"""

from __future__ import annotations

from advice_set import BATCH, REBOUND, Program

PROGRAMS: list[Program] = []


def program(name: str, text: str, args: str, **more: object) -> None:
    PROGRAMS.append(Program(name, text, args, **more))  # type: ignore[arg-type]


program(
    "Adam by hand, four arguments",
    """
def adam(p, m, v, t, g):
    t = t + 1
    m = jax.tree.map(lambda a, b: 0.9 * a + 0.1 * b, m, g)
    v = jax.tree.map(lambda a, b: 0.99 * a + 0.01 * b * b, v, g)
    p = jax.tree.map(lambda a, b, c: a - 0.01 * b / (jnp.sqrt(c) + 1e-8), p, m, v)
    return p, m, v, t


step = jax.jit(adam)


def main():
    p, t = weights(), jnp.int32(0)
    m, v = jax.tree.map(jnp.zeros_like, p), jax.tree.map(jnp.zeros_like, p)
    for batch in batches():
        g = jax.grad(loss_of)(p, batch)
        p, m, v, t = step(p, m, v, t, g)
    return p
""",
    "(P, P, P, jnp.int32(0), P)",
    donate={"p": REBOUND, "m": REBOUND, "v": REBOUND, "t": REBOUND},
    keep={"g": "no slot is left for it"},
    rebinds=True,
)

program(
    "two losses, one state",
    """
@jax.jit
def step(state, inputs, targets):
    def value_of(p):
        return jnp.mean((model(p, inputs) - targets) ** 2)

    grads = jax.grad(value_of)(state["net"])
    net = jax.tree.map(lambda p, g: p - 0.1 * g, state["net"], grads)
    return {"net": net, "seen": state["seen"] + inputs.shape[0]}


def main():
    state = {"net": weights(), "seen": jnp.int32(0)}
    for inputs in batches():
        state = step(state, inputs, jnp.flip(inputs))
    print(int(state["seen"]))
""",
    '({"net": P, "seen": jnp.int32(0)}, X, X)',
    donate={"state": REBOUND},
    keep={"inputs": BATCH, "targets": BATCH},
    rebinds=True,
)

program(
    "optax chain with a schedule in a class",
    """
tx2 = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(optax.linear_schedule(1e-3, 0.0, 9)))


class Learner:
    def __init__(self):
        self.weights = weights()
        self.slots = tx2.init(self.weights)

        def update(weights_, slots, batch):
            value, grads = jax.value_and_grad(loss_of)(weights_, batch)
            change, slots = tx2.update(grads, slots, weights_)
            return optax.apply_updates(weights_, change), slots, value

        self.update = jax.jit(update)

    def learn(self, batch):
        self.weights, self.slots, value = self.update(self.weights, self.slots, batch)
        return value


learner = Learner()


def main():
    for batch in batches():
        print(float(learner.learn(batch)))
""",
    "(P, tx2.init(P), X)",
    step="learner.update",
    donate={"weights_": REBOUND, "slots": REBOUND},
    keep={"batch": BATCH},
    needs="optax",
    rebinds=True,
)

program(
    "linen parameters, frozen backbone",
    """
body, head = nn.Dense(D), nn.Dense(D)
BODY, HEAD = body.init(KEY, X), head.init(KEY, X)


@jax.jit
def step(frozen, trained, images):
    def value_of(trained):
        return jnp.mean(head.apply(trained, nn.relu(body.apply(frozen, images))) ** 2)

    return jax.tree.map(lambda p, g: p - 0.1 * g, trained, jax.grad(value_of)(trained))


def main():
    trained = head.init(KEY, X)
    for images in batches():
        trained = step(BODY, trained, images)
""",
    "(BODY, HEAD, X)",
    donate={"trained": REBOUND},
    keep={"frozen": "used for every batch", "images": BATCH},
    needs="linen",
    rebinds=True,
)

program(
    "nnx.jit of a module and an optimizer-like state",
    """
class Net(nnx.Module):
    def __init__(self, rngs):
        self.lin = nnx.Linear(D, D, rngs=rngs)

    def __call__(self, x):
        return self.lin(x)


net = Net(nnx.Rngs(0))


@nnx.jit
def step(net, batch):
    grads = nnx.grad(lambda m: jnp.mean((m(batch) - batch) ** 2))(net)
    state = jax.tree.map(lambda p, g: p - 0.1 * g, nnx.state(net, nnx.Param), grads)
    nnx.update(net, state)


def main():
    for batch in batches():
        step(net, batch)
""",
    "(net, X)",
    donate={"net": "the call writes it in place"},
    keep={"batch": BATCH},
    needs="nnx",
)

program(
    "equinox, the state second",
    """
optim = optax.sgd(0.1, momentum=0.9)
net = eqx.nn.Linear(D, D, key=KEY)


@eqx.filter_jit
def step(x, net, slots):
    grads = eqx.filter_grad(lambda m: jnp.mean(jax.vmap(m)(x) ** 2))(net)
    change, slots = optim.update(grads, slots)
    return eqx.apply_updates(net, change), slots


def main():
    own, slots = net, optim.init(eqx.filter(net, eqx.is_array))
    for x in batches():
        own, slots = step(x, own, slots)
""",
    "(X, net, optim.init(eqx.filter(net, eqx.is_array)))",
    donate={"net": REBOUND, "slots": REBOUND},
    keep={"x": BATCH},
    needs="equinox",
    rebinds=True,
)

program(
    "actor and critic, one of them read only",
    """
@jax.jit
def step(actor, critic, obs):
    def value_of(actor):
        return -jnp.mean(model(critic, model(actor, obs)))

    return jax.tree.map(lambda p, g: p - 0.1 * g, actor, jax.grad(value_of)(actor))


def main():
    actor, critic = weights(), weights()
    for obs in batches():
        actor = step(actor, critic, obs)
        critic = jax.tree.map(lambda p: 0.9 * p, critic)
""",
    "(P, P, X)",
    donate={"actor": REBOUND},
    keep={"critic": "read again after the call", "obs": BATCH},
    rebinds=True,
)

program(
    "speculative decoding: the cache is rolled back",
    """
@jax.jit
def step(cache, chunk, place):
    return lax.dynamic_update_slice(cache, chunk, (place, 0))


def main():
    cache = jnp.zeros((64, D))
    place = 0
    for batch in batches():
        tried = step(cache, batch[:4], place)
        if float(tried.sum()) > 3:
            cache = tried
            place += 4
    return cache
""",
    "(jnp.zeros((64, D)), X[:4], 0)",
    keep={"cache": "read again where it is rolled back", "chunk": BATCH, "place": "a number"},
    told=frozenset({"cache"}),
)

program(
    "paged cache with a table of pages",
    """
class Cache(NamedTuple):
    pages: Any
    table: Any
    length: Any


@jax.jit
def step(weights_, cache, new):
    pages = cache.pages.at[cache.table[cache.length]].set(new @ weights_["w1"])
    out = jnp.einsum("pd,d->p", pages, new)
    return Cache(pages, cache.table, cache.length + 1), out


def main():
    own = weights()
    cache = Cache(jnp.zeros((128, D)), jnp.arange(128), jnp.int32(0))
    for batch in batches():
        cache, out = step(own, cache, batch[0])
        print(out.sum())
""",
    "(P, Cache(jnp.zeros((128, D)), jnp.arange(128), jnp.int32(0)), X[0])",
    donate={"cache": REBOUND},
    keep={"weights_": "used for every token", "new": BATCH},
    rebinds=True,
)

program(
    "Metropolis sampling",
    """
@jax.jit
def step(position, log_density, key):
    key, one, two = jax.random.split(key, 3)
    proposal = position + 0.1 * jax.random.normal(one, position.shape)
    new = -0.5 * jnp.sum(proposal**2, axis=-1)
    accept = jnp.log(jax.random.uniform(two, new.shape)) < new - log_density
    position = jnp.where(accept[:, None], proposal, position)
    return position, jnp.where(accept, new, log_density), key


def main():
    position, key = X, jax.random.PRNGKey(3)
    log_density = -0.5 * jnp.sum(position**2, axis=-1)
    for _ in range(5):
        position, log_density, key = step(position, log_density, key)
    return position
""",
    "(X, X[0], KEY)",
    donate={"position": REBOUND, "log_density": REBOUND, "key": REBOUND},
    rebinds=True,
)

program(
    "conjugate gradients",
    """
@jax.jit
def step(matrix, x, r, p):
    ap = matrix @ p
    alpha = jnp.vdot(r, r) / jnp.vdot(p, ap)
    x = x + alpha * p
    new = r - alpha * ap
    return x, new, new + p * jnp.vdot(new, new) / jnp.vdot(r, r)


def solve(matrix, b):
    x, r, p = jnp.zeros_like(b), b + 0, b + 0
    while float(jnp.vdot(r, r)) > 1e-3:
        x, r, p = step(matrix, x, r, p)
    return x


def main():
    solve(jnp.eye(D) * 2, jnp.ones(D))
""",
    "(X, X[0], X[1] * 2, X[2])",
    donate={"x": REBOUND, "r": REBOUND, "p": REBOUND},
    keep={"matrix": "read at the next call"},
    rebinds=True,
)

program(
    "k-means",
    """
@jax.jit
def step(points, centres):
    near = jnp.argmin(((points[:, None] - centres[None]) ** 2).sum(-1), axis=1)
    one_hot = jax.nn.one_hot(near, centres.shape[0])
    return one_hot.T @ points / (one_hot.sum(0)[:, None] + 1e-6), near


def main():
    points = X
    centres = X[:8]
    for _ in range(3):
        centres, near = step(points, centres)
    return near
""",
    "(X, X[:8])",
    donate={"centres": REBOUND},
    keep={"points": "read at the next call"},
    told=frozenset({"centres"}),
    rebinds=True,
)

program(
    "heat equation, swapped by hand",
    """
@jax.jit
def step(field, source, dt):
    around = jnp.roll(field, 1, 0) + jnp.roll(field, -1, 0) - 2 * field
    return field + dt * (around + source)


def main():
    field, source = X, X * 0.1
    for _ in range(3):
        after = step(field, source, 0.1)
        field = after
    return field
""",
    "(X, X * 2, 0.1)",
    donate={"field": "not read again, and the result is its own next value"},
    keep={"source": "read at the next call", "dt": "a Python number"},
    told=frozenset({"field", "source"}),
)

program(
    "distillation with a teacher",
    """
@jax.jit
def step(student, teacher, opt_state, batch):
    def value_of(student):
        return jnp.mean((model(student, batch) - model(teacher, batch)) ** 2)

    grads = jax.grad(value_of)(student)
    change, opt_state = tx.update(grads, opt_state, student)
    return optax.apply_updates(student, change), opt_state


def fit(student, teacher):
    opt_state = tx.init(student)
    for batch in batches():
        student, opt_state = step(student, teacher, opt_state, batch)
    return student


def main():
    fit(weights(), weights())
""",
    "(P, P, tx.init(P), X)",
    donate={"student": REBOUND, "opt_state": REBOUND},
    keep={"teacher": "used for every batch", "batch": BATCH},
    needs="optax",
    rebinds=True,
)

program(
    "the first parameters are compared at the end",
    """
@jax.jit
def step(params, batch):
    grads = jax.grad(loss_of)(params, batch)
    return jax.tree.map(lambda p, g: p - g, params, grads)


def main():
    params = weights()
    first = params
    for batch in batches():
        params = step(params, batch)
    return jax.tree.map(jnp.subtract, params, first)
""",
    "(P, X)",
    keep={"params": "`first` is the same arrays", "batch": BATCH},
    told=frozenset({"params"}),
    rebinds=True,
)

program(
    "MAML: the inner parameters are thrown away",
    """
@jax.jit
def step(params, task):
    grads = jax.grad(loss_of)(params, task)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)


def main():
    meta = weights()
    for batch in batches():
        fast = step(meta, batch)
        meta = jax.tree.map(lambda m, f: m + 0.1 * (f - m), meta, fast)
    return meta
""",
    "(P, X)",
    keep={"params": "read again after the call", "task": BATCH},
    told=frozenset({"params"}),
)

program(
    "shard_map over one device",
    """
from jax.sharding import Mesh, PartitionSpec

try:
    from jax import shard_map
except ImportError:
    from jax.experimental.shard_map import shard_map

MESH = Mesh(jax.devices()[:1], ("data",))


def local(params, batch):
    grads = jax.grad(loss_of)(params, batch)
    return jax.tree.map(lambda p, g: p - 0.1 * lax.pmean(g, "data"), params, grads)


both = shard_map(
    local, mesh=MESH, in_specs=(PartitionSpec(), PartitionSpec("data")), out_specs=PartitionSpec()
)
step = jax.jit(both)


def main():
    params = weights()
    for batch in batches():
        params = step(params, batch)
""",
    "(P, X)",
    donate={"params": REBOUND},
    keep={"batch": BATCH},
    rebinds=True,
)

program(
    "ring buffer of losses and the parameters",
    """
@jax.jit
def step(losses, params, number):
    value = loss_of(params, X)
    return losses.at[number % 64].set(value)


def main():
    losses, params = jnp.zeros(64), weights()
    for number in range(3):
        losses = step(losses, params, number)
        params = jax.tree.map(lambda p: 0.9 * p, params)
    return losses
""",
    "(jnp.zeros(64), P, 3)",
    donate={"losses": REBOUND},
    keep={"params": "read again after the call", "number": "a Python number"},
    rebinds=True,
)

program(
    "mixed precision with master weights",
    """
def half(tree):
    return jax.tree.map(lambda p: p.astype(jnp.bfloat16), tree)


@jax.jit
def step(master, working, batch):
    grads = jax.grad(loss_of)(working, batch.astype(jnp.bfloat16))
    master = jax.tree.map(lambda p, g: p - 0.1 * g.astype(p.dtype), master, grads)
    return master, half(master)


def main():
    master = weights()
    working = half(master)
    for batch in batches():
        master, working = step(master, working, batch)
    return master
""",
    "(P, half(P), X)",
    donate={"master": REBOUND, "working": REBOUND},
    keep={"batch": BATCH},
    rebinds=True,
)

program(
    "metrics computed by a jitted method",
    """
class Evaluator:
    def __init__(self):
        self.params = weights()

    @partial(jax.jit, static_argnums=0)
    def score(self, params, batch):
        return jnp.mean((model(params, batch) - batch) ** 2)

    def run(self):
        return [float(self.score(self.params, batch)) for batch in batches()]


evaluator = Evaluator()


def main():
    evaluator.run()
""",
    "(evaluator, P, X)",
    step="Evaluator.score",
    keep={"params": "used for every batch", "batch": BATCH},
)

program(
    "resampling particles",
    """
@jax.jit
def step(particles, log_weights, key):
    probabilities = jax.nn.softmax(log_weights)
    chosen = jax.random.choice(key, particles.shape[0], (particles.shape[0],), p=probabilities)
    moved = particles[chosen] * 0.99
    return moved, -0.5 * jnp.sum(moved**2, axis=-1)


def main():
    particles, log_weights, key = X, X[0], jax.random.PRNGKey(5)
    for _ in range(3):
        key, sub = jax.random.split(key)
        particles, log_weights = step(particles, log_weights, sub)
    return particles
""",
    "(X, X[0], KEY)",
    donate={"particles": REBOUND, "log_weights": REBOUND},
    keep={"key": "made for one call"},
    told=frozenset({"log_weights"}),
    rebinds=True,
)

program(
    "the batch is rebound by a prefetch, the state by the loop",
    """
@jax.jit
def step(state, batch):
    grads = jax.grad(loss_of)(state, batch)
    return jax.tree.map(lambda p, g: p - g, state, grads), batch.sum()


def main():
    state = weights()
    source = iter(list(batches()))
    batch = next(source)
    while batch is not None:
        upcoming = next(source, None)
        (state, total), batch = step(state, batch), upcoming
    return state
""",
    "(P, X)",
    donate={"state": REBOUND},
    keep={"batch": BATCH},
    rebinds=True,
)
