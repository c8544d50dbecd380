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
    that of two processes. The hooks of the whole process are counted, not only those of the call.
    """
    from donatree._jax import hooks
    from donatree.watch.runner import Program
    from donatree.watch.session import Session

    original = hooks.tell
    spent: dict[str, list[float]] = {}

    def tell(method: str, *arguments: Any) -> None:
        start, cpu_start = time.perf_counter(), time.thread_time()
        try:
            original(method, *arguments)
        finally:
            row = spent.setdefault(method, [0, 0.0, 0.0])
            row[0] += 1
            row[1] += time.perf_counter() - start
            row[2] += time.thread_time() - cpu_start

    hooks.tell = tell
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        session = Session(Program("script", PROGRAM, ("--calls", "3")))
        session.run()
        session.close()
    program = json.loads(said.getvalue().splitlines()[-1])
    wall, cpu = (sum(row[i] for row in spent.values()) for i in (1, 2))
    measured = {
        "ratio": 1 + wall / (program["first"] - wall),
        "ratio cpu": 1 + cpu / (program["first cpu"] - cpu),
    }
    measured |= {f"{name}, {row[0]:,} calls": row[2] for name, row in sorted(spent.items())}
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
        "\nWithin one process, first call with donatree's hooks to the same call without them, "
        f"median of {options.pairs}:\n"
    )
    for name in own[0]:
        values = [each[name] for each in own]
        if name.startswith("ratio"):
            what = "CPU seconds" if name.endswith("cpu") else "wall seconds"
            low, middle, high = min(values), statistics.median(values), max(values)
            print(f"- {what}: **{middle:.4f}** ({low:.4f} to {high:.4f})")
        elif not name.startswith("process"):
            print(f"- of that in `{name}`: {pairs.seconds(min(values))} of CPU time at the least")
    return None


if __name__ == "__main__":
    sys.exit(main())
