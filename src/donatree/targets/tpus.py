"""The TPUs that XLA's TPU compiler can be asked for, as data."""

from __future__ import annotations

from dataclasses import dataclass

GIB = 2**30


@dataclass(frozen=True, slots=True)
class Tpu:
    """One generation of TPUs.

    Attributes:
        generation: the name that XLA's TPU compiler knows it by.
        kind: JAX's ``device_kind``.
        memory: bytes that a program may use on one device.
        dimensions: how many numbers a shape has.
        devices_per_chip: JAX devices of one chip.
        shapes: shapes that are known to compile, smallest first.
        chip_config: the compiler's ``chip_config_name`` where the default is not what is rented.
    """

    generation: str
    kind: str
    memory: int
    dimensions: int
    devices_per_chip: int
    shapes: tuple[str, ...]
    chip_config: str | None = None

    @property
    def examples(self) -> tuple[str, str]:
        """Two targets as a user would write them."""
        return f"tpu:{self.generation}:{self.shapes[1]}", f"tpu:{self.generation}:{self.shapes[2]}"


MEMORY_SOURCE = "XLA's TPU compiler refuses more"

_SQUARE = ("1x1", "2x2", "2x4", "4x4", "4x8", "8x8", "8x16", "16x16")
_CUBE = ("1x1x1", "2x2x1", "2x2x2", "2x2x4", "2x4x4", "4x4x4", "4x4x8", "8x8x8", "8x8x16")

TPUS: dict[str, Tpu] = {
    each.generation: each
    for each in (
        Tpu("v2", "TPU v2", int(7.48 * GIB), 2, 2, ("1x1", "2x2", "4x4", "16x16")),
        Tpu("v3", "TPU v3", int(15.48 * GIB), 2, 2, ("1x1", "2x2", "4x4", "16x16", "32x32")),
        Tpu("v4", "TPU v4", int(30.75 * GIB), 3, 1, (*_CUBE, "8x16x32"), "megacore"),
        Tpu("v5e", "TPU v5 lite", int(15.75 * GIB), 2, 1, _SQUARE),
        Tpu("v5p", "TPU v5", int(95.73 * GIB), 3, 1, (*_CUBE, "16x16x16", "16x16x24")),
        Tpu("v6e", "TPU v6 lite", int(31.24 * GIB), 2, 1, _SQUARE),
        Tpu("tpu7x", "TPU7x", int(94.74 * GIB), 3, 2, (*_CUBE, "8x16x16")),
    )
}
"""By generation. A v4 chip is one device, as it is rented, and not two."""

OTHER_NAMES: dict[str, str] = {
    "v5": "v5p",
    "v5lite": "v5e",
    "v5 lite": "v5e",
    "v5litepod": "v5e",
    "v6": "v6e",
    "v6lite": "v6e",
    "v6 lite": "v6e",
    "trillium": "v6e",
    "v7": "tpu7x",
    "v7x": "tpu7x",
    "7x": "tpu7x",
    "ironwood": "tpu7x",
}
"""What else people call a generation, and the name to write."""


def chips_per_host(shape: tuple[int, ...]) -> tuple[int, int, int] | None:
    """Chips of a host where the compiler's own 2x2x1 do not divide the shape.

    Libtpu before 0.0.50 refuses ``1x1`` and ``1x2`` unless it is told.

    Example:
        >>> chips_per_host((1, 2)), chips_per_host((4, 4))
        ((1, 2, 1), None)
    """
    if min(shape[:2]) >= 2:
        return None
    bounds = (*shape, 1, 1)[:3]
    return bounds[0], bounds[1], bounds[2]


def keywords(generation: str, shape: tuple[int, ...]) -> dict[str, object]:
    """What the compiler is told beside the name of a topology.

    Example:
        >>> keywords("v4", (2, 2, 1)), keywords("v5e", (1, 1))
        ({'chip_config_name': 'megacore'}, {'chips_per_host_bounds': (1, 1, 1)})
    """
    told: dict[str, object] = {}
    config = TPUS[generation].chip_config
    if config is not None:
        told["chip_config_name"] = config
    bounds = chips_per_host(shape)
    if bounds is not None:
        told["chips_per_host_bounds"] = bounds
    return told
