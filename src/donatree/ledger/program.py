"""What concerns the program as a whole: its processes, rehearsals, donatree's own faults."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from donatree.ledger.place import Location


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that went wrong inside donatree itself; the user's program was not touched."""

    where: str
    error: str
    traceback: str

    def to_dict(self) -> dict[str, Any]:
        """The fault as plain data."""
        return {"where": self.where, "error": self.error, "traceback": self.traceback}


ProcessStatus = Literal["running", "ended", "died", "missing"]


@dataclass(frozen=True, slots=True)
class Process:
    """One of the processes of a program that called `jax.distributed.initialize`.

    Attributes:
        index: JAX's `process_id`.
        count: JAX's `num_processes`.
        host: the name of its machine; None where it left nothing.
        pid: its number there; None in a merged report, which is to be the same for the same run.
        status: ``ended`` where it came to its end, well or by an exception; ``died`` where it was
            killed; ``running`` where it had done neither when this was written; ``missing`` where
            it left no ledger.
        file: its own ledger, as the user would name it.
        ended: how its program ended, None where it ended well.
    """

    index: int
    count: int
    host: str | None = None
    pid: int | None = None
    status: ProcessStatus = "running"
    file: str | None = None
    ended: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """One element of ``processes`` in the JSON report."""
        return {
            "index": self.index,
            "count": self.count,
            "host": self.host,
            "pid": self.pid,
            "status": self.status,
            "file": self.file,
            "ended": self.ended,
        }


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """What `--before` learnt of one argument that is not donated yet, at one call site.

    Attributes:
        function: the name of the jitted function.
        argument: the argument; of what was named with ``--donate`` and not met, that text.
        why: why it was chosen; of what was not met, what there is instead.
        leaves: its leaves that donate nothing yet.
        bytes: their bytes per device.
        taken_bytes: those of them for which the result has an array of the same type.
        calls: how many calls were looked at; 0 for what was not met.
        confirmed_calls: after how many of them it was looked who still held a leaf.
        held_leaves: leaves that somebody was found to hold then.
        codes: codes of the findings about it.
        keyword: what to add to the jit: ``donate_argnums=0``.
        location: where the function is defined.
        call: the call site.
    """

    function: str
    argument: str
    why: str
    leaves: int = 0
    bytes: int = 0
    taken_bytes: int = 0
    calls: int = 0
    confirmed_calls: int = 0
    held_leaves: int = 0
    codes: tuple[str, ...] = ()
    keyword: str = ""
    location: Location | None = None
    call: Location | None = None

    def to_dict(self) -> dict[str, Any]:
        """One element of ``rehearsals`` in the JSON report."""
        return {
            "function": self.function,
            "argument": self.argument,
            "why": self.why,
            "leaves": self.leaves,
            "bytes": self.bytes,
            "taken_bytes": self.taken_bytes,
            "calls": self.calls,
            "confirmed_calls": self.confirmed_calls,
            "held_leaves": self.held_leaves,
            "codes": list(self.codes),
            "keyword": self.keyword,
            "defined_at": self.location and self.location.to_dict(),
            "called_at": self.call and self.call.to_dict(),
        }
