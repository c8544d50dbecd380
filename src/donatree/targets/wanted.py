"""A target that a user named."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Platform = Literal["cpu", "gpu", "tpu"]


@dataclass(frozen=True, slots=True)
class Wanted:
    """A target that a user named.

    Attributes:
        name: as the user wrote it.
        platform: ``tpu``, ``gpu`` or ``cpu``, as JAX calls it.
        model: ``v5e``, ``h100``; the file of a description; empty for the host.
        shape: chips per dimension (TPU); slices, hosts and GPUs of a host (CUDA); devices (host).
        devices: how many JAX devices it has.
        memory: bytes that a program may use on one of them; None where that is not known.
        memory_source: where that number is from.
        kind: what the device is called, where that is known beforehand.
        description: of a GPU, as XLA reads it.
    """

    name: str
    platform: Platform
    model: str
    shape: tuple[int, ...]
    devices: int
    memory: int | None = None
    memory_source: str | None = None
    kind: str | None = None
    description: str | None = None

    @property
    def topology(self) -> str:
        """The shape as the compilers want it, ``2x2``."""
        return "x".join(map(str, self.shape))
