"""Two ways to do one thing, in fresh processes that alternate, compared within one run."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
Measured = dict[str, float]


def run(arguments: Sequence[str]) -> Measured:
    """Runs Python with `arguments` in a fresh process and returns what it measured.

    The process prints a JSON object as its last line. Its wall and CPU seconds from start to end
    are added as `process` and `process cpu`. Nothing is compiled ahead of it: JAX's persistent
    cache is off.

    Raises:
        RuntimeError: the process failed; with what it wrote.
    """
    environment = {k: v for k, v in os.environ.items() if k != "JAX_COMPILATION_CACHE_DIR"}
    environment |= {"JAX_ENABLE_COMPILATION_CACHE": "false"}
    environment.setdefault("JAX_PLATFORMS", "cpu")
    start, before = time.perf_counter(), os.times()
    done = subprocess.run(
        [sys.executable, *arguments], env=environment, cwd=HERE, capture_output=True, text=True
    )
    wall, after = time.perf_counter() - start, os.times()
    if done.returncode:
        raise RuntimeError(f"{' '.join(arguments)} failed:\n{done.stdout}{done.stderr}")
    measured: Measured = json.loads(done.stdout.splitlines()[-1])
    cpu = after.children_user + after.children_system
    cpu -= before.children_user + before.children_system
    return {**measured, "process": wall, "process cpu": cpu}


def alternate(
    first: Sequence[str], second: Sequence[str], pairs: int
) -> tuple[list[Measured], list[Measured]]:
    """Runs both commands `pairs` times; who begins changes from pair to pair."""
    runs: tuple[list[Measured], list[Measured]] = ([], [])
    for pair in range(pairs):
        for which in (0, 1) if pair % 2 == 0 else (1, 0):
            runs[which].append(run((first, second)[which]))
        print(f"pair {pair + 1} of {pairs}, load {os.getloadavg()[0]:.1f}", file=sys.stderr)
    return runs


def table(
    rows: Mapping[str, str], names: tuple[str, str], runs: tuple[list[Measured], list[Measured]]
) -> str:
    """A Markdown table: the least and the median of both ways, and their ratios.

    Args:
        rows: the text of each row by the key of what was measured, in seconds.
        names: of the two ways.
        runs: what `alternate` returned.
    """
    lines = [
        f"| | {names[0]} min | {names[1]} min | ratio of min "
        f"| {names[0]} median | {names[1]} median | ratio of median |",
        "| --- " + "| ---: " * 6 + "|",
    ]
    for key, text in rows.items():
        cells: list[str] = []
        for least in (min, statistics.median):
            one, two = (least(each[key] for each in side) for side in runs)
            cells += [seconds(one), seconds(two), f"**{two / one:.3f}**"]
        lines.append(f"| {text} | {' | '.join(cells)} |")
    return "\n".join(lines)


def seconds(value: float) -> str:
    """A duration with three digits or so: `8.32 s`, `45.6 ms`, `15.2 us`."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if value >= size or unit == "us":
            return f"{value / size:.{2 if value / size < 100 else 0}f} {unit}"
    return ""


def heading(parts: Iterable[str]) -> str:
    """One line that says where the numbers below it were made."""
    python = ".".join(map(str, sys.version_info[:3]))
    return ", ".join([*parts, f"Python {python}, {os.cpu_count()} cores"])
