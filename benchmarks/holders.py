"""What looking for holders costs: 10,000 leaves in a heap of a million objects.

As ratios to one `gc.collect()` of the same heap in the same process, which any look at who holds an
object has to pay for where something is unexplained.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import pairs


def timed(work: Callable[[], Any], runs: int) -> float:
    """The median seconds of `runs` runs."""
    found = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        found.append(time.perf_counter() - start)
    return statistics.median(found)


def main() -> None:
    """Prints a table in Markdown."""
    import jax.numpy as jnp

    from donatree.holders import find
    from donatree.holders.twins import find_twins

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--leaves", type=int, default=10_000)
    parser.add_argument("--objects", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    state = {f"w{number}": jnp.zeros(8) + number for number in range(options.leaves)}
    heap = [[number] for number in range(options.objects)]
    leaves = [(f"state['{name}']", leaf) for name, leaf in state.items()]
    collect = timed(gc.collect, options.runs)

    def clean() -> list[Any]:
        return find({"state": state}, leaves, None, views=False)

    def with_views() -> list[Any]:
        return find({"state": state}, leaves, None)

    def held() -> list[Any]:
        old, first, tree = [state["w1"]], {"best": state["w2"]}, {**state}
        found = find({"state": state}, leaves, sys._getframe(), views=False)
        assert len(found) >= 3, found
        return [old, first, tree]

    works: dict[str, Callable[[], Any]] = {
        "nobody holds anything, as `run` looks": clean,
        "the same, numpy and dlpack too": with_views,
        "three hold a leaf, one of them every leaf": held,
        "twins, by address": lambda: find_twins([(*each, True) for each in leaves]),
        "twins, by identity": lambda: find_twins(
            [(*each, True) for each in leaves], by_address=False
        ),
    }
    print(f"{options.leaves:,} leaves, {len(gc.get_objects()):,} objects that Python tracks\n")
    print(f"| | median of {options.runs} | to `gc.collect()` ({pairs.seconds(collect)}) |")
    print("| --- | ---: | ---: |")
    for name, work in works.items():
        took = timed(work, options.runs)
        print(f"| {name} | {pairs.seconds(took)} | {took / collect:.1f} |")
    assert len(heap) == options.objects


if __name__ == "__main__":
    main()
