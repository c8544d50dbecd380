"""What the processes of one run have in common, and which of them is alive."""

from __future__ import annotations

import contextlib
import os
import platform
import uuid
from dataclasses import dataclass
from functools import cache
from typing import Any

from donatree.watch import witness

_LOOPBACK = ("localhost:", "127.", "[::1]:", "0.0.0.0:")  # the same text on every machine


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a program, as its process 0 wrote it down.

    Attributes:
        id: tells it from every other run.
        address: the coordinator's address, which every process of the run knows.
        count: how many processes it has.
        pid: process 0.
        namespace: where that number means something; see `namespace`.
    """

    id: str
    address: str
    count: int
    pid: int
    namespace: str | None

    @classmethod
    def new(cls, address: str, count: int) -> Run:
        """The run that this process leads."""
        return cls(uuid.uuid4().hex, address, count, os.getpid(), namespace())

    @classmethod
    def of(cls, data: Any) -> Run | None:
        """A run from what `vars_of` made; None where the data is no such thing."""
        try:
            run = cls(**{name: data[name] for name in cls.__slots__})
        except (KeyError, TypeError):
            return None
        return run if isinstance(run.address, str) and isinstance(run.pid, int) else None

    def to_dict(self) -> dict[str, Any]:
        """The run as plain data."""
        return {name: getattr(self, name) for name in type(self).__slots__}

    def is_of(self, address: str, count: int) -> bool:
        """Whether a process that met others at `address` may belong to this run.

        An earlier run may have used the address: its process 0 is gone by now.
        """
        if (self.address, self.count) != (address, count):
            return False
        if address.startswith(_LOOPBACK) and self.namespace != namespace():
            return False
        return is_alive(self.pid, self.namespace) is not False


@cache
def namespace() -> str | None:
    """What tells this machine's, or container's, process numbers from others; None if unknown."""
    if os.name != "posix":
        return None
    parts = [platform.node()]
    with contextlib.suppress(OSError):
        parts.append(os.readlink("/proc/self/ns/pid"))
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            parts.append(file.read().strip())
    return " ".join(parts)


def is_alive(pid: int | None, where: str | None) -> bool | None:
    """Whether a process lives; None where it cannot be seen from here.

    Args:
        pid: its number.
        where: the namespace that it wrote down.
    """
    if pid is None or where is None or where != namespace():
        return None
    return witness.is_running(pid)
