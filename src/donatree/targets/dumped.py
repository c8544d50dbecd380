"""What a compile for a target left on disk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Dumped:
    """The files of one compile and what was said beside them.

    The files are there until the compiler that made them is closed.

    Attributes:
        module: the module after optimisation, with XLA's alias map in its first line.
        before: the module as XLA was given it.
        assignment: the text of the buffer assignment.
        memory_report: what the memory is used for, largest first.
        live_ranges: what lives when memory is fullest; None where this XLA writes none.
        platform: ``tpu`` or ``gpu``: what it was compiled for.
        kind: what the compiler calls the device, ``TPU v5 lite``.
        complete: whether the compile ran to its end. Otherwise it was stopped, or refused, once
            these files were complete.
        refused: XLA's refusal of a program that does not fit, in one line.
        unfinished: why a compile that was to run to its end did not, though these files are
            complete: for example that there is no PTX compiler.
        statistics: XLA's own totals, bytes per device; None where the compile was stopped.
        seconds: from handing the program over to the end.
        log: the last lines that the compiler wrote on standard error.
    """

    module: Path
    before: Path
    assignment: Path
    memory_report: Path
    live_ranges: Path | None
    platform: str
    kind: str
    complete: bool = False
    refused: str | None = None
    unfinished: str | None = None
    statistics: Mapping[str, int] | None = None
    seconds: float = 0.0
    log: tuple[str, ...] = ()
