"""Copies what is needed of a dump folder, without the paths of the machine that made it.

    python collect.py DUMP FOLDER

DUMP is what XLA wrote under ``xla_dump_to`` for a small program, on the platform and with the JAX
that FOLDER is named after; most are of `programs_in_place.py`, for a TPU with its matrices of 8192
rows and columns. `saved_dumps.py` reads them.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

KEPT = re.compile(
    r"before_optimizations\.txt|after_optimizations(-buffer-assignment|-live-range"
    r"|-memory-usage-report)?\.txt"
)
PATH = re.compile(r'"/[^"\n]*/([^/"\n]+\.py)"')


def main(dump: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for file in sorted(dump.iterdir()):
        if file.is_file() and KEPT.search(file.name):
            text = file.read_text("utf-8")
            (folder / file.name).write_text(PATH.sub(r'"\1"', text), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
