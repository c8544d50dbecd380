"""The compiled modules that `data/modules/collect.py` saved."""

from __future__ import annotations

import base64
import zlib
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "data" / "modules"


@dataclass(frozen=True)
class Saved:
    """A module as JAX and XLA of some version gave it; no messages of one for a TPU."""

    text: str
    assignment: bytes
    module: bytes


def saved(version: str, name: str) -> Saved:
    """The module of a program of `programs_in_place.py`."""
    folder = FOLDER / f"jax-{version}"
    text = (folder / f"{name}.txt").read_text("utf-8")
    protos = folder / f"{name}.b64"
    if not protos.exists():
        return Saved(text, b"", b"")
    lines = protos.read_text("ascii").split()
    assignment, module = (zlib.decompress(base64.b64decode(line)) for line in lines)
    return Saved(text, assignment, module)


def all_saved() -> list[tuple[str, str]]:
    """The versions and names of all of them."""
    found = sorted(FOLDER.glob("jax-*/*.txt"))
    return [(path.parent.name.removeprefix("jax-"), path.stem) for path in found]
