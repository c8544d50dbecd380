"""How quick the HTML page is with many leaves, in headless Chromium.

Makes the page of a made-up train state, opens it from a file several times and reports medians:
first paint, the time until the table is there, and then searching, sorting, filtering and zooming,
each until the browser has laid out the result. Sizes are told beside them.
"""

from __future__ import annotations

import argparse
import io
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from donatree import reports
from donatree.ledger import Account, ArraySpec, Entry, Finding, Gate, Leaf, Ledger, Slot

AIMS = {"first paint": 2000, "search": 200}  # milliseconds


def account(leaves: int) -> Account:
    """A state of layers whose second moments come back as another type."""
    rows = []
    for number in range(leaves):
        tree = ("params", "opt_state[0].mu", "opt_state[0].nu")[number % 3]
        layer, part = divmod(number // 3, 6)
        name = f"{tree}['layer_{layer}']['part_{part}']['kernel']"
        size = 4 * 128 * (1 + number % 61)
        spec = ArraySpec("float32", (size // 4,), (size // 4,), size, size)
        lost = tree.endswith("nu")
        slot = Slot(f"result[0].{name}", number, spec)
        rows.append(
            Entry(
                Leaf(f"state.{name}", "state", number, spec),
                slot=None if lost else slot,
                successor=slot,
                stopped_at=Gate.GRANTED if lost else None,
                finding="DT402" if lost else None,
                evidence={
                    "asked": "args_info: donated=True",
                    "kept": f"kept_var_idx: parameter {number} of the module",
                    "matched": f"@main argument {number}: tf.aliasing_output = {number}",
                    "granted": f"input_output_alias {{{number}}}: ({number}, {{}}, may-alias)",
                },
            )
        )
    lost_rows = [row for row in rows if row.stopped_at]
    finding = Finding(
        "DT402",
        "leaves come back with another dtype",
        leaves=tuple(row.path for row in lost_rows),
        bytes=sum(row.bytes for row in lost_rows),
    )
    ledger = Ledger(
        "train_step", "(state, batch)", ("state",), tuple(rows), (finding,), platform="cpu"
    )
    return Account((ledger,), versions={"donatree": "0", "jax": "0"}, platform="cpu")


def browser(folder: str) -> Any:
    """Headless Chromium, as Debian has it."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or "chromium"
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic"):
        options.add_argument(argument)
    options.add_argument(f"--user-data-dir={folder}")
    made = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))
    made.set_window_size(1280, 900)
    return made


# Each sets things going and waits for the layout that they cause.
STEPS = {
    "search": """
        const box = document.querySelector("input[type=search]");
        box.value = arguments[0]; box.dispatchEvent(new Event("input"));
    """,
    "sort by path": "document.querySelectorAll('.every thead button')[0].click();",
    "sort by bytes": "document.querySelectorAll('.every thead button')[2].click();",
    "filter": """
        const gate = document.querySelector("select");
        gate.value = gate.value ? "" : "lost"; gate.dispatchEvent(new Event("change"));
    """,
    "zoom": "document.querySelector('.map .cell').dispatchEvent(new Event('click'));",
    "zoom back": "document.querySelector('.crumbs button').click();",
}
TIMED = """
    const start = performance.now();
    {step}
    document.body.getBoundingClientRect();
    return performance.now() - start;
"""
OPENED = """
    const done = arguments[0];
    const look = () => {
      const paint = performance.getEntriesByName("first-contentful-paint")[0];
      if (!paint || !document.querySelector(".explored")) { setTimeout(look, 5); return; }
      done([paint.startTime, performance.now()]);
    };
    look();
"""


def measured(driver: Any, address: str, runs: int) -> dict[str, list[float]]:
    """Milliseconds of each step, one figure a run."""
    found: dict[str, list[float]] = {}
    for run in range(runs):
        driver.get(address)
        paint, ready = driver.execute_async_script(OPENED)
        found.setdefault("first paint", []).append(paint)
        found.setdefault("table and treemap", []).append(ready)
        for word in ("l", "layer_7", f"nu layer_{run} part_3", ""):
            name = "search" if word else "clear the search"
            script = TIMED.replace("{step}", STEPS["search"])
            found.setdefault(name, []).append(driver.execute_script(script, word))
        for name, step in STEPS.items():
            if name != "search":
                found.setdefault(name, []).append(
                    driver.execute_script(TIMED.replace("{step}", step))
                )
    return found


def timed(what: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds, and what came of it."""
    start = time.perf_counter()
    made = what()
    return time.perf_counter() - start, made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--leaves", type=int, nargs="+", default=[1000, 50_000])
    parser.add_argument("--runs", type=int, default=5)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        driver = browser(folder + "/profile")
        try:
            for leaves in arguments.leaves:
                made = account(leaves)
                seconds, text = timed(lambda made=made: reports.render(made, "html"))
                plain, _ = timed(lambda made=made: reports.write(made, io.StringIO(), "json"))
                file = Path(folder, f"{leaves}.html")
                file.write_text(text, encoding="ascii")
                print(f"{leaves:,} leaves: {len(text) / 2**20:.2f} MiB of page")
                ratio = seconds / plain
                print(f"  made in {seconds:.2f} s, {ratio:.2f} of the time of the JSON report")
                for name, each in measured(driver, file.as_uri(), arguments.runs).items():
                    aim = f", {max(each) / AIMS[name]:.2f} of the aim" if name in AIMS else ""
                    middle, least = statistics.median(each), min(each)
                    print(f"  {name:<18} {middle:7.0f} ms ({least:.0f} to {max(each):.0f}){aim}")
        finally:
            driver.quit()


if __name__ == "__main__":
    main()
