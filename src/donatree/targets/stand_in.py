"""A process that has as many devices as a target, all of them virtual CPUs, to run the user's code.

It makes what a command line names: meshes, shardings, the jitted function, its abstract arguments.
JAX traces and lowers there; XLA compiles in another process (`compiler`).
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from donatree.errors import TargetError
from donatree.targets.environment import stand_in_environment
from donatree.targets.names import Wanted

_MAIN = "donatree.cli.stand_in"


def ask(order: Mapping[str, Any], wanted: Wanted) -> dict[str, Any]:
    """What a stand-in process answers to an order; its own output is kept from the user's.

    Args:
        order: plain data; `donatree.cli.stand_in` knows what to do with it.
        wanted: the target.

    Raises:
        TargetError: the process ended without an answer; one line with the last that it said.
    """
    with tempfile.TemporaryDirectory(prefix="donatree-") as folder:
        answer = Path(folder, "answer.json")
        child = subprocess.run(
            [sys.executable, "-m", _MAIN],
            input=json.dumps({**order, "for": wanted.name, "answer": str(answer)}),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=stand_in_environment(wanted),
            text=True,
            errors="replace",
            check=False,
        )
        try:
            return json.loads(answer.read_text("utf-8"))
        except (OSError, ValueError):
            said = [line for line in child.stderr.splitlines() if line.strip()]
            last = f": {said[-1].strip()}" if said else ""
            raise TargetError(
                f"the process that stands in for `{wanted.name}` ended with code "
                f"{child.returncode}{last}"
            ) from None
