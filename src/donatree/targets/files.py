"""The files that XLA dumps while it compiles, and when they are complete.

They are written by several threads, in no order that can be relied on. One that exists and that
no thread holds open is complete.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

_SUFFIXES = {
    "module": "after_optimizations.txt",
    "assignment": "after_optimizations-buffer-assignment.txt",
    "memory_report": "after_optimizations-memory-usage-report.txt",
    "live_ranges": "after_optimizations-live-range.txt",
}
_PREFIX = {"tpu": ".", "gpu": "gpu_"}
_LAST = {
    # Written when the others have been; in libtpu before code generation begins.
    "tpu": ("after_optimizations_after_buffer_assignment.txt", "oom_intermediate_module.txt"),
    "gpu": (".debug_options", ".thunk_sequence.txt", ".ir-no-opt.ll"),
}
_GRACE = 0.3  # seconds for live ranges, which not every version writes


@dataclass(slots=True)
class DumpFolder:
    """A folder into which one program's compile is dumped.

    Attributes:
        path: the folder.
        platform: ``tpu`` or ``gpu``. The files of another platform are not found.
    """

    path: Path
    platform: str
    _sizes: Mapping[str, int] = field(default_factory=dict)
    _last_seen: float | None = None

    def files(self) -> dict[str, Path] | None:
        """The files by the names of `Dumped`'s fields; None where one that is needed lacks."""
        names = self._names()
        found = {key: self._one(names, _PREFIX[self.platform] + end) for key, end in _ENDS}
        found["before"] = self._one(names, ".before_optimizations.txt")
        there = {key: path for key, path in found.items() if path is not None}
        return there if {"module", "assignment", "memory_report", "before"} <= set(there) else None

    def is_complete(self, pid: int | None) -> bool:
        """Whether all that is read later is on disk, whole.

        Args:
            pid: the process that writes; None where it has ended.
        """
        names = self._names()  # listed before it is asked what is open
        if pid is None:
            return self.files() is not None
        last = [name for name in names if name.endswith(_LAST[self.platform])]
        if not last or self.files() is None or self._unsettled(names, pid):
            return False
        if self._last_seen is None:
            self._last_seen = time.monotonic()
        found = self.files() or {}
        return "live_ranges" in found or time.monotonic() - self._last_seen > _GRACE

    def _unsettled(self, names: list[str], pid: int) -> bool:
        if sys.platform == "linux":
            try:
                return bool(_open_files(pid) & {str(self.path / name) for name in names})
            except OSError:
                pass  # it has just ended, or may not be looked into
        sizes = {name: (self.path / name).stat().st_size for name in names}
        before, self._sizes = self._sizes, sizes
        return sizes != before

    def _names(self) -> list[str]:
        return sorted(entry.name for entry in os.scandir(self.path) if entry.is_file())

    def _one(self, names: list[str], end: str) -> Path | None:
        found = [name for name in names if name.endswith(end)]
        return self.path / found[-1] if found else None


_ENDS = tuple(_SUFFIXES.items())


def _open_files(pid: int) -> set[str]:
    folder = f"/proc/{pid}/fd"
    found = set()
    for number in os.listdir(folder):
        try:
            found.add(os.readlink(f"{folder}/{number}"))
        except OSError:
            continue  # closed meanwhile
    return found
