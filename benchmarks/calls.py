"""What looking at calls costs: steady calls with and without, and the calls that are looked at.

Three processes that alternate call one jitted function, which donates a state of `--leaves` arrays:
plain Python, a watch that has seen its calls, and a watch at the level `names`.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import statistics
import sys
import time
from typing import Any

import pairs

KINDS = ("plain", "calls", "names")


def measure(kind: str, leaves: int, calls: int) -> None:
    """One process: prints the seconds of a steady call and of the first three after the compile."""
    import jax
    import jax.numpy as jnp

    import donatree

    watch: Any = contextlib.nullcontext()
    if kind != "plain":
        watch = donatree.watch(check=kind)  # type: ignore[arg-type]
    step = jax.jit(lambda state: {name: x + 1 for name, x in state.items()}, donate_argnums=0)
    state = {f"w{number}": jnp.ones(256) for number in range(leaves)}
    with watch:
        state = jax.block_until_ready(step(state))
        first = []
        for _ in range(2):
            start = time.perf_counter()
            state = jax.block_until_ready(step(state))
            first.append(time.perf_counter() - start)
        for _ in range(20):
            state = step(state)
        jax.block_until_ready(state)
        steady = []
        for _ in range(5):
            start = time.perf_counter()
            for _ in range(calls):
                state = step(state)
            jax.block_until_ready(state)
            steady.append((time.perf_counter() - start) / calls)
    print(json.dumps({"steady": min(steady), "looked at": min(first)}))


def main() -> None:
    """Prints a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--leaves", type=int, default=4)
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--measure", choices=KINDS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        measure(options.measure, options.leaves, options.calls)
        return
    found: dict[str, list[pairs.Measured]] = {kind: [] for kind in KINDS}
    for turn in range(options.runs):
        for kind in KINDS if turn % 2 == 0 else reversed(KINDS):
            sizes = ["--leaves", str(options.leaves), "--calls", str(options.calls)]
            found[kind].append(pairs.run(["calls.py", "--measure", kind, *sizes]))
        print(f"run {turn + 1} of {options.runs}", file=sys.stderr)
    print(f"{options.leaves:,} leaves, median of {options.runs} (least)\n")
    print("| | a steady call | to plain | the second and third call | to plain |")
    print("| --- | ---: | ---: | ---: | ---: |")
    base = {key: statistics.median(each[key] for each in found["plain"]) for key in _KEYS}
    for kind in KINDS:
        cells = []
        for key in _KEYS:
            values = [each[key] for each in found[kind]]
            middle = statistics.median(values)
            cells += [
                f"{pairs.seconds(middle)} ({pairs.seconds(min(values))})",
                f"{middle / base[key]:.2f}",
            ]
        print(f"| {kind} | {' | '.join(cells)} |")


_KEYS = ("steady", "looked at")

if __name__ == "__main__":
    main()
