"""How fast `donatree hlo` reads a folder of compiled modules, against `grep -c` over its texts.

A real dump, or one that is made here by a small training step, is copied `--copies` times into one
folder. The two take turns on it, each in a process of its own; the folder is in the page cache.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROGRAM = """
import jax, jax.numpy as jnp

def step(state, x):
    def layer(x, w):
        return jnp.tanh(x @ w), None
    def loss(state):
        return jnp.sum(jax.lax.scan(layer, x, state["w"])[0] ** 2)
    g = jax.grad(loss)(state)
    return {"w": state["w"] - 0.1 * g["w"], "m": (0.9 * state["m"] + g["w"]).astype(jnp.bfloat16)}

w = jnp.ones((8, 64, 64))
jax.jit(step, donate_argnums=0)({"w": w, "m": w + 0}, jnp.ones((16, 64)))
"""


def dump(folder: Path) -> None:
    """Makes a dump with the JAX that is installed."""
    flags = f"--xla_dump_to={folder} --xla_dump_hlo_module_re=jit_step"
    env = {**os.environ, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": flags}
    subprocess.run([sys.executable, "-c", PROGRAM], env=env, check=True)


def copied(source: Path, folder: Path, copies: int) -> tuple[int, int]:
    """Fills a folder; gives the number of modules and the bytes of their texts."""
    files = [each for each in source.iterdir() if each.is_file() and each.suffix == ".txt"]
    size = 0
    for number in range(copies):
        for file in files:
            name = f"module_{number:04d}." + file.name.partition(".")[2]
            shutil.copy(file, folder / name)
            size += file.stat().st_size
    return copies, size


def measured(command: list[str]) -> tuple[float, float, float]:
    """The wall seconds, the CPU seconds and the peak memory in MiB of a process."""
    start = time.perf_counter()
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(command, stdout=quiet, stderr=quiet)
    _, _, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    return wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def main() -> None:
    """Prints a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dump", type=Path, help="a folder of --xla_dump_to to copy")
    parser.add_argument("--copies", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        source, folder = Path(name, "made"), Path(name, "many")
        folder.mkdir()
        if options.dump is None:
            dump(source)
        modules, size = copied(options.dump or source, folder, options.copies)
        hlo = [sys.executable, "-m", "donatree", "hlo", str(folder)]
        grep = ["grep", "-r", "-c", "input_output_alias", str(folder)]
        start, _, _ = measured([sys.executable, "-m", "donatree", "hlo", str(folder / "nothing")])
        pairs = [(measured(hlo), measured(grep)) for _ in range(options.runs)]
    megabytes = size / 1e6
    print(f"{modules:,} modules, {megabytes:,.1f} MB of text; starting up takes {start:.2f} s")
    print()
    print("| | wall s | CPU s | MB per CPU s | modules per CPU s | peak MiB |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for what, runs in zip(("donatree hlo", "grep -c"), zip(*pairs, strict=True), strict=True):
        wall, cpu, peak = (statistics.median(each) for each in zip(*runs, strict=True))
        rates = f"{megabytes / cpu:,.0f} | {modules / cpu:,.0f}"
        print(f"| `{what}` | {wall:.2f} | {cpu:.2f} | {rates} | {peak:,.0f} |")
    ratio = statistics.median(mine[1] / its[1] for mine, its in pairs)
    print()
    print(f"ratio of CPU seconds, median of {options.runs}: {ratio:.0f}")


if __name__ == "__main__":
    main()
