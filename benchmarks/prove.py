"""`--prove`: is its budget kept, and what do further compiles cost, as ratios to the program's own.

    python benchmarks/prove.py --layers 12 --budgets 0 5 20 60

One training step of a decoder with `optax.adamw`, from shapes. For each budget a process of its
own audits it; printed are the seconds of the program's own compile, the further compiles that were
made, their seconds, how far they went over the budget in compiles of the program, for how many
bytes the gate in place is still open, and what donation saves.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path


def measure(layers: int, budget: float) -> None:
    """Audits the step within a budget and prints what it took, as JSON."""
    sys.path.insert(0, str(Path(__file__).parent))
    import jax
    import jax.numpy as jnp
    import transformer_step

    import donatree
    from donatree._jax import variant

    compiles: list[float] = []

    def timed(method: str) -> None:
        original = getattr(variant.Program, method)

        def wrapped(self: variant.Program, *args: object) -> variant.Built:
            start = time.monotonic()
            try:
                return original(self, *args)
            finally:
                compiles.append(time.monotonic() - start)

        setattr(variant.Program, method, wrapped)

    timed("compile")
    timed("compile_without")
    transformer_step.LAYERS = layers
    state = jax.eval_shape(transformer_step.make_state, jax.random.key(0))
    tokens = jax.ShapeDtypeStruct((transformer_step.BATCH, transformer_step.LENGTH), jnp.int32)
    step = jax.jit(transformer_step.train_step, donate_argnums=0)
    args = (state, tokens, tokens)
    start = time.monotonic()
    step.lower(*args).compile()
    own = time.monotonic() - start
    start = time.monotonic()
    ledger = donatree.prove(step, *args, prove_budget=budget)
    whole = time.monotonic() - start
    open_ = sum(
        entry.bytes
        for entry in ledger.entries
        if entry.stopped_at is None and "not known" in entry.evidence.get("in_place", "")
    )
    print(json.dumps([own, whole, compiles, ledger.promised, open_, ledger.saved]))


def main() -> None:
    """Runs one process a budget and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--budgets", type=float, nargs="+", default=[0, 5, 20, 60])
    parser.add_argument("--child", type=float, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child is not None:
        measure(options.layers, options.child)
        return
    print("budget  own compile  further  their seconds  over budget  open bytes  saved")
    for budget in options.budgets:
        command = [sys.executable, __file__, "--layers", str(options.layers)]
        done = subprocess.run(
            [*command, "--child", str(budget)], capture_output=True, text=True, check=True
        )
        own, _, compiles, promised, open_, saved = json.loads(done.stdout.splitlines()[-1])
        spent = sum(compiles)
        print(
            f"{budget:6g}  {own:10.1f}s  {len(compiles):7}  {spent:12.1f}s  "
            f"{max(spent - budget, 0) / max(own, 0.01):9.2f}x  {open_ / promised:10.1%}  "
            f"{'-' if saved is None else format(saved / promised, '.1%')}"
        )


if __name__ == "__main__":
    main()
