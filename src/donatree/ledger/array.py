"""What is known of an array without holding it: its type, as a leaf, as a slot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ArraySpec:
    """What is known of one array without holding it.

    Attributes:
        dtype: JAX's name of the type, for example ``float32`` or ``key<fry>``.
        shape: the global shape.
        local_shape: the shape of one device's shard; equal to ``shape`` on one device.
        bytes: bytes per device (of the local shard).
        global_bytes: bytes of the whole array.
        weak_type: whether JAX treats the type as weak.
        sharding: the sharding as text, or None on one device or where it is not known.
        memory_kind: ``device``, ``pinned_host``, ...; None where not known.
        layout: the layout as text where it is not the default one, else None.
    """

    dtype: str
    shape: tuple[int, ...]
    local_shape: tuple[int, ...]
    bytes: int
    global_bytes: int
    weak_type: bool = False
    sharding: str | None = None
    memory_kind: str | None = None
    layout: str | None = None

    @property
    def aval(self) -> str:
        """Type and global shape in JAX's short form, for example ``float32[4,4]``."""
        return f"{self.dtype}[{','.join(map(str, self.shape))}]"

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain data."""
        return {
            "dtype": self.dtype,
            "shape": list(self.shape),
            "local_shape": list(self.local_shape),
            "bytes": self.bytes,
            "global_bytes": self.global_bytes,
            "weak_type": self.weak_type,
            "sharding": self.sharding,
            "memory_kind": self.memory_kind,
            "layout": self.layout,
        }


@dataclass(frozen=True, slots=True)
class Leaf:
    """One array of an argument.

    Attributes:
        path: as the user writes it, ``state.opt_state[0].mu['dense']['kernel']``.
        argument: the name of the argument that the path starts with.
        flat_index: place among the leaves of all dynamic arguments in JAX's flatten order.
        spec: type, shape, bytes.
    """

    path: str
    argument: str
    flat_index: int
    spec: ArraySpec

    @property
    def bytes(self) -> int:
        """Bytes per device."""
        return self.spec.bytes


@dataclass(frozen=True, slots=True)
class Slot:
    """One array of the result; ``flat_index`` counts the result's leaves in flatten order."""

    path: str
    flat_index: int
    spec: ArraySpec

    @property
    def bytes(self) -> int:
        """Bytes per device."""
        return self.spec.bytes

    def to_dict(self) -> dict[str, Any]:
        """Everything but the path as plain data."""
        return {"flat_index": self.flat_index, **self.spec.to_dict()}
