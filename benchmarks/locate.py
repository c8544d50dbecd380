"""What it takes to locate the causes of many drifted leaves, against the trace of the program.

    python benchmarks/locate.py --leaves 10000 --runs 5

Three programs. *moments*: a moving average in bfloat16 that float32 gradients promote, one
expression for all leaves. *adam*: `optax.adamw` whose first moments are made in float32 and
returned in bfloat16. *replaced*: a state that is replaced by values not computed from it, which no
walk back can find. Trace and locating are timed in one process, fresh processes one after another;
the part of an audit that locates is all of `_jax.origins.locate`.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import pairs

ROWS = {"trace": "trace", "locate": "locate", "ratio": "ratio"}


def moments(leaves: int) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    import jax
    import jax.numpy as jnp

    def step(state: Any, gradients: Any) -> Any:
        return jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, state, gradients)

    return step, (_tree(leaves, jnp.bfloat16), _tree(leaves, jnp.float32))


def adam(leaves: int) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    import jax
    import jax.numpy as jnp
    import optax

    before, now = optax.adamw(1e-3), optax.adamw(1e-3, mu_dtype=jnp.bfloat16)

    def step(state: Any, params: Any, gradients: Any) -> Any:
        return now.update(gradients, state, params)[1]

    params = _tree(leaves, jnp.float32)
    return step, (jax.eval_shape(before.init, params), params, params)


def replaced(leaves: int) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    import jax
    import jax.numpy as jnp

    def step(state: Any, gradients: Any) -> Any:
        del state
        return jax.tree.map(lambda g: 0.5 * g + 1, gradients)

    return step, (_tree(leaves, jnp.bfloat16), _tree(leaves, jnp.float32))


PROGRAMS = {each.__name__: each for each in (moments, adam, replaced)}


def _tree(leaves: int, dtype: Any) -> dict[str, Any]:
    import jax

    return {f"layer_{i}": jax.ShapeDtypeStruct((8, 16), dtype) for i in range(leaves)}


def measure(name: str, leaves: int) -> None:
    """Measures one program in this process and prints a JSON object of CPU seconds."""
    import jax

    from donatree._jax import origins
    from donatree.origin.drift import Drift

    step, arguments = PROGRAMS[name](leaves)
    jitted = jax.jit(step)
    start = time.process_time()
    traced = jitted.trace(*arguments)
    trace = time.process_time() - start
    before, after = jax.tree.leaves(arguments), jax.tree.leaves(traced.out_info)
    drifts = [
        Drift(index, index, "dtype")
        for index, (old, new) in enumerate(zip(before, after, strict=False))
        if old.dtype != new.dtype
    ]
    if len(drifts) != leaves:
        raise SystemExit(f"{len(drifts)} leaves drifted")
    names = [f"leaves[{index}]" for index in range(len(before))]
    start = time.process_time()
    found = origins.locate(traced.jaxpr, drifts, names)
    locate = time.process_time() - start
    places = {origin.location for origin in found.values()}
    if len(places) != 1 or None in places:
        raise SystemExit(f"{len(places)} places")
    print(json.dumps({"trace": trace, "locate": locate, "ratio": locate / trace}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--leaves", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--program", choices=PROGRAMS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.program:
        return measure(options.program, options.leaves)

    import jax

    about = [f"jax {jax.__version__}", f"{options.leaves:,} leaves", f"{options.runs} runs"]
    print(pairs.heading(about))
    print("\n| program | trace, least | locate, least | ratio, least | ratio, median |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for name in PROGRAMS:
        command = [__file__, "--leaves", str(options.leaves), "--program", name]
        runs = [pairs.run(command) for _ in range(options.runs)]
        ratios = sorted(each["ratio"] for each in runs)
        least = {key: min(each[key] for each in runs) for key in ROWS}
        print(
            f"| {name} | {pairs.seconds(least['trace'])} | {pairs.seconds(least['locate'])} | "
            f"{ratios[0]:.1%} | {ratios[len(ratios) // 2]:.1%} |"
        )
    return None


if __name__ == "__main__":
    sys.exit(main())
