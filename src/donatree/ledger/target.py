"""The hardware that a program was compiled for, and what was learnt of it there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from donatree.ledger.place import Location


@dataclass(frozen=True, slots=True)
class Target:
    """The hardware that a program was compiled for on purpose, here or not.

    Attributes:
        name: as the user writes it: ``tpu:v5e:4x4``, ``cuda:h100``, ``host``.
        platform: ``cpu``, ``gpu`` or ``tpu``.
        kind: the name that its maker's compiler gives a device, for example ``TPU v5 lite``.
        devices: how many of them the target has; a program may span fewer.
        memory: bytes that a program may use on one device; None where that is not known.
        memory_source: where that number is from, for example ``XLA refuses more``.
    """

    name: str
    platform: str
    kind: str | None = None
    devices: int = 1
    memory: int | None = None
    memory_source: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The target as plain data."""
        return {
            "name": self.name,
            "platform": self.platform,
            "kind": self.kind,
            "devices": self.devices,
            "memory_bytes": self.memory,
            "memory_source": self.memory_source,
        }


@dataclass(frozen=True, slots=True)
class MadeCopy:
    """A copy by which XLA takes back what the donation of some leaves would save.

    Attributes:
        instruction: its name in the compiled module.
        bytes: per device.
        leaves: paths of the leaves that it is for.
        protects: what it keeps, in words.
        readers: the operations that still read it, as JAX names them.
        costs: whether it makes the program need more memory; None where that is not known.
        location: the user's expression that it is for.
    """

    instruction: str
    bytes: int
    leaves: tuple[str, ...]
    protects: str
    readers: tuple[str, ...] = ()
    costs: bool | None = None
    location: Location | None = None

    def to_dict(self) -> dict[str, Any]:
        """The copy as plain data."""
        return {
            "instruction": self.instruction,
            "bytes": self.bytes,
            "leaves": list(self.leaves),
            "protects": self.protects,
            "readers": list(self.readers),
            "costs": self.costs,
            "location": self.location and str(self.location),
            "place": self.location and self.location.to_dict(),
        }


@dataclass(frozen=True, slots=True)
class Holding:
    """One of the largest buffers that a compiled program needs at once.

    Attributes:
        what: the path of the leaf or slot that it is, else the operation that computes it.
        bytes: per device, as the target lays it out.
        shape: XLA's text of its type, ``f32[1024,512]``.
        role: ``argument``, ``output``, ``argument and output`` or ``temporary``.
        location: the user's expression that a temporary is from.
    """

    what: str
    bytes: int
    shape: str
    role: str
    location: Location | None = None

    def to_dict(self) -> dict[str, Any]:
        """The buffer as plain data."""
        return {
            "what": self.what,
            "bytes": self.bytes,
            "shape": self.shape,
            "role": self.role,
            "location": self.location and str(self.location),
            "place": self.location and self.location.to_dict(),
        }


@dataclass(frozen=True, slots=True)
class Refusal:
    """A function that could not be compiled for a target, and why, in one line."""

    function: str
    signature: str
    target: str
    why: str

    def to_dict(self) -> dict[str, Any]:
        """The refusal as plain data."""
        return {
            "function": self.function,
            "signature": self.signature,
            "target": self.target,
            "why": self.why,
        }
