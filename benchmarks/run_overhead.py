"""What `donatree run` costs a program: `transformer_step.py` with and without it.

    python benchmarks/run_overhead.py --pairs 5

Fresh processes alternate between `python transformer_step.py` and
`python -m donatree run transformer_step.py`. The program times itself.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import statistics
import sys
import time
from collections import Counter, defaultdict
from typing import Any

import pairs

PROGRAM = "transformer_step.py"
ROWS = {
    "first": "first call: trace, lower, compile, run",
    "first cpu": "the same in CPU seconds of all threads",
    "steady": "steady call of the transformer",
    "steady cpu": "the same in CPU seconds",
    "small": "steady call of a 4-leaf function",
    "small cpu": "the same in CPU seconds",
    "process": "whole process",
    "process cpu": "the same in CPU seconds",
}


def own_part() -> None:
    """Runs the program in this process and times donatree's hooks and the first call together.

    Both are slowed alike by whatever else the machine does, so their ratio is far steadier than
    that of two processes. The hooks of the whole process are counted, not only those of the call,
    and reading the clock twice a hook is counted with them.
    """
    from donatree._jax import hooks
    from donatree.watch.runner import Program
    from donatree.watch.session import Session

    original = hooks.tell
    spent: dict[str, float] = defaultdict(float)
    calls: Counter[str] = Counter()

    def tell(method: str, *arguments: Any) -> None:
        start = time.perf_counter()
        try:
            original(method, *arguments)
        finally:
            spent[method] += time.perf_counter() - start
            calls[method] += 1

    hooks.tell = tell
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        session = Session(Program("script", PROGRAM, ("--calls", "3")))
        session.run()
        session.close()
    first = json.loads(said.getvalue().splitlines()[-1])["first"]
    own = sum(spent.values())
    measured = {"ratio": first / (first - own), "first": first}
    measured |= {f"{name}, {calls[name]:,} calls": spent[name] for name in sorted(spent)}
    print(json.dumps(measured))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--calls", type=int, default=60, help="steady calls in each process")
    parser.add_argument("--own-part", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.own_part:
        return own_part()

    program = [PROGRAM, "--calls", str(options.calls)]
    runs = pairs.alternate(program, ["-m", "donatree", "run", *program], options.pairs)
    own = [pairs.run([__file__, "--own-part"]) for _ in range(options.pairs)]
    one = runs[0][0]
    about = [f"jax {one['jax']}", f"{one['leaves']} leaves", f"{options.pairs} pairs"]
    print(pairs.heading(about))
    print()
    print(pairs.table(ROWS, ("plain", "run"), runs))
    print(
        "\nWithin one process, first call with donatree's hooks to the same call less them, "
        f"median of {options.pairs}:\n"
    )
    for name in own[0]:
        values = [each[name] for each in own]
        low, middle, high = min(values), statistics.median(values), max(values)
        if name == "ratio":
            print(f"- **{middle:.4f}** ({low:.4f} to {high:.4f})")
        elif name == "first":
            print(f"- the call: {pairs.seconds(middle)}")
        elif not name.startswith("process"):
            print(f"- `{name}`: {pairs.seconds(middle)}, {pairs.seconds(low)} at the least")
    return None


if __name__ == "__main__":
    sys.exit(main())
