"""What `donatree.audit` costs against reading the alias map by hand.

    python benchmarks/audit_scale.py --leaves 1000 --pairs 5
    python benchmarks/audit_scale.py --leaves 10000 --pairs 3

One step of SGD over a dictionary of arrays, one fusion a leaf, from shapes. By hand is what a
person would write: `lower().compile()`, `as_text()`, a regular expression over the header, and
`memory_analysis()`. Fresh processes alternate.
"""

from __future__ import annotations

import argparse
import functools
import json
import re
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pairs

ROWS = {
    "wall": "lower, compile and account",
    "cpu": "the same in CPU seconds of all threads",
    "process": "whole process",
}
ALIAS = re.compile(r"\{(\d*)\}: \((\d+), \{\}, (?:may|must)-alias\)")


def program(leaves: int) -> tuple[Any, tuple[Any, ...]]:
    """The jitted step and its arguments as shapes."""
    import jax
    import jax.numpy as jnp

    def sgd(state: dict[str, Any], gradients: dict[str, Any]) -> dict[str, Any]:
        return {name: state[name] - 0.1 * gradients[name] for name in state}

    jax.devices()  # the backend starts before the clock does
    tree = {f"layer_{i}": jax.ShapeDtypeStruct((8, 16), jnp.float32) for i in range(leaves)}
    return jax.jit(sgd, donate_argnums=0), (tree, tree)


def by_hand(step: Any, arguments: tuple[Any, ...]) -> int:
    """The bytes that XLA aliases; the header's pairs must say the same."""
    compiled = step.lower(*arguments).compile()
    header = compiled.as_text().partition("\n")[0]
    aliases = {int(parameter): output for output, parameter in ALIAS.findall(header)}
    total = compiled.memory_analysis().alias_size_in_bytes
    if total != len(aliases) * 8 * 16 * 4:
        raise SystemExit("the alias map and the statistics differ")
    return total


def by_donatree(step: Any, arguments: tuple[Any, ...]) -> int:
    """The same bytes, leaf by leaf."""
    import donatree

    return donatree.audit(step, *arguments).kept_in_place


def measure(way: str, leaves: int) -> None:
    """Measures one way in this process and prints a JSON object."""
    step, arguments = program(leaves)
    start, cpu_start = time.perf_counter(), time.process_time()
    total = (by_hand if way == "hand" else by_donatree)(step, arguments)
    measured = {"wall": time.perf_counter() - start, "cpu": time.process_time() - cpu_start}
    if total != leaves * 8 * 16 * 4:
        raise SystemExit(f"{total} bytes are aliased, not all of them")
    print(json.dumps(measured))


class Stopwatch:
    """CPU seconds of named functions of one thread, each without the named ones inside it."""

    def __init__(self) -> None:
        self.spent: dict[str, float] = defaultdict(float)
        self._running: list[str] = ["JAX and all else"]
        self._since = time.thread_time()

    def _switch(self) -> None:
        now = time.thread_time()
        self.spent[self._running[-1]] += now - self._since
        self._since = now

    def watch(self, owner: Any, name: str, label: str) -> None:
        """Puts a timed function in the place of `owner.name`."""
        original = getattr(owner, name)

        @functools.wraps(original)
        def timed(*args: Any, **kwargs: Any) -> Any:
            self._switch()
            self._running.append(label)
            try:
                result = original(*args, **kwargs)
                return list(result) if isinstance(result, Iterator) else result
            finally:
                self._switch()
                self._running.pop()

        setattr(owner, name, timed)

    def stop(self) -> dict[str, float]:
        """What was spent until now."""
        self._switch()
        return dict(self.spent)


def break_down(leaves: int) -> None:
    """Prints what each part of an audit takes, as a JSON object of CPU seconds."""
    from donatree import gates
    from donatree._jax import hooks, inner, read, request

    step, arguments = program(leaves)
    watch = Stopwatch()
    for owner, name, label in (
        (hooks, "tell", "recorder: the rest"),
        (request, "request_of", "request: names and specs"),
        (inner, "donating_jits", "inner jits: walk of the jaxpr"),
        (read, "read_lowering", "lowering: attributes of @main"),
        (read, "observe", "observation: specs with shardings"),
        (read, "_module_text", "header: text (by hand: as_text)"),
        (read, "read_header", "header: parse (by hand: the expression)"),
        (read, "with_totals", "totals: memory_analysis (by hand likewise)"),
        (gates, "judge", "gates: walk and totals"),
        (gates.successor, "pair", "gates: successors"),
        (gates.causes, "explain", "gates: causes"),
        (gates.findings, "describe", "findings"),
    ):
        watch.watch(owner, name, label)
    by_donatree(step, arguments)
    print(json.dumps(watch.stop()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--leaves", type=int, default=1000)
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--way", choices=("hand", "donatree", "parts"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.way == "parts":
        return break_down(options.leaves)
    if options.way:
        return measure(options.way, options.leaves)

    command = [__file__, "--leaves", str(options.leaves), "--way"]
    runs = pairs.alternate([*command, "hand"], [*command, "donatree"], options.pairs)
    parts = [pairs.run([*command, "parts"]) for _ in range(2)]
    import jax

    about = [f"jax {jax.__version__}", f"{options.leaves:,} leaves", f"{options.pairs} pairs"]
    print(pairs.heading(about))
    print()
    print(pairs.table(ROWS, ("by hand", "audit"), runs))
    print("\nCPU time of one thread, part by part, the least of 2 processes:\n")
    for name in sorted(parts[0], key=lambda name: -parts[0][name]):
        if not name.startswith("process"):
            print(f"- {name}: {pairs.seconds(min(each[name] for each in parts))}")
    return None


if __name__ == "__main__":
    sys.exit(main())
