"""Seconds to a verdict, and memory, for decoders of 1, 70 and 405 billion parameters.

    python benchmarks/targets.py                     # what this environment can compile for
    python benchmarks/targets.py --page docs/tpu.md  # the same, into the page's table

The real command line, `python -m donatree audit examples/decoder.py::NAME --target TARGET`, in a
process of its own; nothing is kept between two. Time is that of the whole process. Memory is the
most that it and all its children had at once, shared pages counted once (Linux: PSS, sampled). A
target whose compiler is not installed is skipped, and the rows that a page has of it stay.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import json
import os
import platform
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = "examples/decoder.py"
MARK = "<!-- made by benchmarks/targets.py -->"
HEAD = [
    "| function | target | devices | compile | verdict after | CPU | memory | granted "
    "| live memory | load |",
    "| --- | --- | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
]
CASES = [
    ("one_billion", "tpu:v5e:4x4"),
    ("seventy_billion", "tpu:v5p:8x8x8"),
    ("four_hundred_five_billion", "tpu:v5p:8x8x16"),
    ("one_billion", "cuda:h100:1x1x8"),
    ("seventy_billion", "cuda:h100:1x64x8"),
    ("four_hundred_five_billion", "cuda:h100:1x128x8"),
]
NEEDS = {"tpu": ("libtpu",), "cuda": ("jax_plugins.xla_cuda12", "jax_plugins.xla_cuda13")}
GIB = 2**30


@dataclass(frozen=True)
class Measured:
    """One run: seconds of the whole command, most bytes of all its processes, and its report.

    `cpu` are the seconds of all its processes on a core, `load` is that of the machine before it.
    """

    seconds: float
    cpu: float
    memory: int
    load: float
    ledger: dict[str, Any]


def why_not(target: str) -> str | None:
    """Why a target cannot be compiled for here; None where it can."""
    needed = (*NEEDS[target.split(":")[0]],)
    if not any(installed(name) for name in needed):
        return f"{' or '.join(needed)} is not installed"
    return None if installed("optax") else "optax is not installed"


def installed(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def run(name: str, target: str, full: bool, limit: float) -> Measured | str:
    """Audits once; says in one line why there is no verdict where there is none."""
    load, before = os.getloadavg()[0], cpu_of_children()
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        command = [sys.executable, "-m", "donatree", "audit", f"{EXAMPLE}::{name}"]
        command += ["--target", target, "--json", str(report), *(["--full"] if full else [])]
        with Path(folder, "said").open("w+") as said:
            start = time.perf_counter()
            process = subprocess.Popen(
                command, cwd=ROOT, env=environment(), stdout=said, stderr=subprocess.STDOUT
            )
            family, most = {process.pid}, 0
            while process.poll() is None:
                family |= descendants(family)
                most = max(most, sum(map(pss, family)))
                if time.perf_counter() - start > limit:
                    process.kill()
                    process.wait()
                    return f"no verdict after {limit:.0f} s"
                time.sleep(0.05)
            seconds = time.perf_counter() - start
            said.seek(0)
            last = said.read().strip().splitlines()[-1:]
        if not report.exists():
            return f"exit {process.returncode}: {''.join(last)}"
        account = json.loads(report.read_text("utf-8"))
    for each in account["refusals"]:
        return each["why"]
    for each in account["faults"]:
        return each["error"].splitlines()[0]
    spent = cpu_of_children() - before
    return Measured(seconds, spent, most, load, account["ledgers"][-1])


def environment() -> dict[str, str]:
    path = [str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONPATH": os.pathsep.join(path)}


def cpu_of_children() -> float:
    """Seconds on a core of the processes that have ended, and of those that they waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def descendants(family: set[int]) -> set[int]:
    """The children of some processes, and theirs."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(entry.name)] = int(
                (entry / "stat").read_text().rpartition(")")[2].split()[1]
            )
        except (OSError, ValueError, IndexError):
            continue
    found: set[int] = set()
    new = set(family)
    while new:
        new = {pid for pid, parent in parents.items() if parent in new} - found - family
        found |= new
    return found


def pss(pid: int) -> int:
    """Bytes of a process in memory, its part of what it shares; 0 of one that has ended."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0
    found = re.search(r"^Pss: +(\d+) kB", text, re.MULTILINE)
    return int(found[1]) * 1024 if found else 0


def row(name: str, target: str, full: bool, runs: list[Measured]) -> str:
    """The table's row of a case: the least seconds, the most memory."""
    ledger = runs[0].ledger
    granted = ledger["leaves_after"]["granted"]
    live, memory = ledger["live"], (ledger["target"] or {}).get("memory_bytes")
    needed = f"{live['total'] / GIB:.2f} GiB" if live else "not read"
    if live and memory:
        needed = f"{live['total'] / GIB:.2f} of {memory / GIB:.2f} GiB"
    return (
        f"| `{name}` | `{target}` | {ledger['devices']:,} | {'whole' if full else 'stopped early'} "
        f"| {min(each.seconds for each in runs):.1f} s "
        f"| {min(each.cpu for each in runs):.1f} s "
        f"| {max(each.memory for each in runs) / GIB:.2f} GiB "
        f"| {granted} of {ledger['promised_leaves']} leaves | {needed} "
        f"| {max(each.load for each in runs):.1f} |"
    )


def key(line: str) -> tuple[str, ...]:
    """What a row is about: function, target, kind of compile."""
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    return cells[0], cells[1], cells[3]


def merged(old: Iterable[str], new: Iterable[str]) -> list[str]:
    """The rows of two tables, the newer one of two about the same, in the order of the cases."""
    rows = {key(line): line for line in [*old, *new]}
    order = [
        (f"`{name}`", f"`{target}`", how)
        for name, target in CASES
        for how in ("stopped early", "whole")
    ]
    return [rows[each] for each in order if each in rows]


def write_into(page: Path, rows: list[str], about: str) -> None:
    """Puts the rows into the table of a page that the marks enclose."""
    text = page.read_text("utf-8")
    before, inside, after = text.split(MARK)
    old = [line for line in inside.splitlines() if line.startswith("| `")]
    table = "\n".join([*HEAD, *merged(old, rows)])
    page.write_text(f"{before}{MARK}\n{about}\n\n{table}\n{MARK}{after}", "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1, help="of each case; the least time counts")
    parser.add_argument("--only", default="", help="cases whose function or target holds this")
    parser.add_argument("--no-full", action="store_true", help="leave out the whole compiles")
    parser.add_argument("--limit", type=float, default=600, help="seconds for one audit")
    parser.add_argument("--page", type=Path, help="a page whose table is to be made anew")
    options = parser.parse_args()

    rows: list[str] = []
    for name, target in CASES:
        if options.only not in f"{name} {target}":
            continue
        reason = why_not(target)
        if reason is not None:
            print(f"skipped {name} on {target}: {reason}", file=sys.stderr)
            continue
        for full in (False,) if options.no_full else (False, True):
            runs = [run(name, target, full, options.limit) for _ in range(options.runs)]
            good = [each for each in runs if isinstance(each, Measured)]
            if not good:
                print(f"no verdict on {name}, {target}: {runs[0]}", file=sys.stderr)
                continue
            rows.append(row(name, target, full, good))
            print(rows[-1], file=sys.stderr)
    jax = importlib.metadata.version("jax") if installed("jax") else "none"
    about = (
        f"JAX {jax}, Python {platform.python_version()}, {os.cpu_count()} cores, "
        "the machine's load before each run beside it:"
    )
    print("\n".join([about, "", *HEAD, *rows]))
    if options.page:
        write_into(options.page, rows, about)


if __name__ == "__main__":
    main()
