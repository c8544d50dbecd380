"""What `donatree run` costs a program: `transformer_step.py` with and without it.

    python benchmarks/run_overhead.py --pairs 5

Fresh processes alternate between `python transformer_step.py` and
`python -m donatree run transformer_step.py`. The program times itself.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import Any

import pairs

PROGRAM = "transformer_step.py"
ROWS = {
    "first": "first call: trace, lower, compile, run",
    "first cpu": "the same in CPU seconds of all threads",
    "steady": "steady call of the transformer",
    "small": "steady call of a 4-leaf function",
    "process": "whole process",
    "process cpu": "the same in CPU seconds",
}


def own_part() -> None:
    """Runs the program in this process and prints what donatree itself spent, hook by hook."""
    from donatree._jax import hooks
    from donatree.watch.runner import Program
    from donatree.watch.session import Session

    original, spent = hooks.tell, {}

    def tell(method: str, *arguments: Any) -> None:
        start = time.thread_time()
        try:
            original(method, *arguments)
        finally:
            calls, seconds = spent.get(method, (0, 0.0))
            spent[method] = calls + 1, seconds + time.thread_time() - start

    hooks.tell = tell
    session = Session(Program("script", PROGRAM, ("--calls", "3")))
    session.run()
    session.account()
    session.close()
    print(json.dumps({f"{name} ({calls} calls)": cpu for name, (calls, cpu) in spent.items()}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--calls", type=int, default=200, help="steady calls in each process")
    parser.add_argument("--own-part", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.own_part:
        return own_part()

    program = [PROGRAM, "--calls", str(options.calls)]
    runs = pairs.alternate(program, ["-m", "donatree", "run", *program], options.pairs)
    own = [pairs.run([__file__, "--own-part"]) for _ in range(3)]
    first = runs[0][0]
    print(
        pairs.heading(
            [f"jax {first['jax']}", f"{first['leaves']} leaves", f"{options.pairs} pairs"]
        )
    )
    print()
    print(pairs.table(ROWS, ("plain", "run"), runs))
    print("\ndonatree's own CPU time in JAX's hooks, the least of 3 processes:\n")
    for name in own[0]:
        if not name.startswith("process"):
            print(f"- {name}: {pairs.seconds(min(each[name] for each in own))}")
    return None


if __name__ == "__main__":
    sys.exit(main())
