"""A dump of a compile, read: what stands for the executable."""

from __future__ import annotations

from donatree.errors import CannotBuild
from donatree.hlo.assignment_text import TextAssignment, read_assignment_text
from donatree.hlo.error import HloError
from donatree.hlo.live_text import LiveRanges, read_live_ranges
from donatree.ledger import Target
from donatree.targets.ahead import Ahead
from donatree.targets.dumped import Dumped
from donatree.targets.names import Wanted

_GPU_TEMPORARIES = (
    "temporaries on a GPU are an estimate: on the GPU itself XLA measures which of its "
    "algorithms is fastest, and some need more memory"
)


def target_of(wanted: Wanted, kind: str | None = None) -> Target:
    """A target as the ledger has it.

    Args:
        wanted: what the user named.
        kind: what the compiler calls its devices, where that is known.
    """
    return Target(
        name=wanted.name,
        platform=wanted.platform,
        kind=kind or wanted.kind,
        devices=wanted.devices,
        memory=wanted.memory,
        memory_source=wanted.memory_source,
    )


def read(dumped: Dumped, wanted: Wanted) -> Ahead:
    """Reads the files of a compile, which need not be there afterwards.

    Args:
        dumped: the compile.
        wanted: what it was for.

    Raises:
        CannotBuild: the module cannot be read.
    """
    try:
        text = dumped.module.read_text("utf-8", "replace")
    except OSError as error:
        raise CannotBuild(f"XLA's dump cannot be read: {error.strerror}") from error
    remarks = []
    if dumped.refused is not None:
        remarks.append(f"XLA refuses it: {dumped.refused}")
    if dumped.unfinished is not None:
        remarks.append(f"the compile did not come to its end, its dump did: {dumped.unfinished}")
    buffers, ranges = None, None
    try:
        buffers, ranges = _buffers(dumped)
    except (HloError, OSError) as error:
        remarks.append(f"gate in place was not checked: {error}")
    if wanted.platform == "gpu":
        remarks.append(_GPU_TEMPORARIES)
    return Ahead(target_of(wanted, dumped.kind), text, buffers, ranges, remarks)


def _buffers(dumped: Dumped) -> tuple[TextAssignment, LiveRanges | None]:
    with dumped.assignment.open(encoding="utf-8", errors="replace") as lines:
        buffers = read_assignment_text(lines)
    # XLA up to JAX 0.8 writes the live ranges at the end of the same file.
    with (dumped.live_ranges or dumped.assignment).open(encoding="utf-8", errors="replace") as file:
        return buffers, read_live_ranges(file)
