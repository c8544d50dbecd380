"""Running small programs in a process of their own, with and without donatree."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any, NamedTuple

SOURCE = Path(__file__).resolve().parents[1] / "src"


class Ended(NamedTuple):
    """How a process ended and what it wrote."""

    code: int
    out: str
    err: str


def environment(**more: str) -> dict[str, str]:
    """The tests' own environment on the CPU, donatree importable, no colours."""
    path = os.pathsep.join(filter(None, [str(SOURCE), os.environ.get("PYTHONPATH")]))
    kept = {k: v for k, v in os.environ.items() if k not in ("FORCE_COLOR", "COLUMNS")}
    return {**kept, "PYTHONPATH": path, "JAX_PLATFORMS": "cpu", "NO_COLOR": "1", **more}


def python(*arguments: str, cwd: Path, input: str | None = None, **env: str) -> Ended:  # noqa: A002
    """Runs this interpreter."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env=environment(**env),
        input=input,
        capture_output=True,
        text=True,
        timeout=300,
    )
    return Ended(done.returncode, done.stdout, done.stderr)


def donatree(*arguments: str, cwd: Path, **env: str) -> Ended:
    """Runs the command line."""
    return python("-m", "donatree", *arguments, cwd=cwd, **env)


def write(folder: Path, text: str, name: str = "train.py") -> Path:
    """Writes a program."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    return path


def account(folder: Path, text: str, *options: str, **env: str) -> tuple[Ended, dict[str, Any]]:
    """Runs a program under donatree and reads the JSON report."""
    write(folder, text)
    ended = donatree("run", "--json", "report.json", *options, "train.py", cwd=folder, **env)
    return ended, json.loads((folder / "report.json").read_text())
