"""The dumps that `data/dumps/collect.py` saved."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "data" / "dumps"
_ENDING = "after_optimizations-buffer-assignment.txt"


@dataclass(frozen=True)
class Dump:
    """What XLA wrote of one module.

    Attributes:
        assignment: the text of the buffer assignment.
        ranges: the text that has the live ranges: the same one until JAX 0.9.2.
        report: the memory usage report.
        text: of the compiled module.
    """

    assignment: str
    ranges: str
    report: str
    text: str

    @property
    def totals(self) -> dict[int, int]:
        """The bytes of each memory space, by the report; -1 stands for all where it has no more."""
        found = re.findall(r"\(color=([0-9]+)\)\nTotal bytes: ([0-9]+)", self.report)
        if not found:
            found = [("-1", each) for each in re.findall("Total bytes used: ([0-9]+)", self.report)]
        return {int(space): int(size) for space, size in found}


def dump(folder: str, module: str) -> Dump:
    """The dump of a module, by a part of its file's name."""
    (path,) = (each for each in (FOLDER / folder).glob(f"*{_ENDING}") if module in each.name)
    stem = str(path).removesuffix("-buffer-assignment.txt")
    ranges = Path(f"{stem}-live-range.txt")
    return Dump(
        path.read_text("utf-8"),
        (ranges if ranges.exists() else path).read_text("utf-8"),
        Path(f"{stem}-memory-usage-report.txt").read_text("utf-8"),
        Path(f"{stem}.txt").read_text("utf-8"),
    )


def all_dumps() -> list[tuple[str, str]]:
    """The folders and modules of all of them."""
    found = sorted(FOLDER.glob(f"*/*{_ENDING}"))
    return [(each.parent.name, ".".join(each.name.split(".")[:2])) for each in found]
