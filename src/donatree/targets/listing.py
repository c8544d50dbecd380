"""What `donatree targets` lists: every target that has a name, and whether it can be used here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from donatree.targets import packages
from donatree.targets.gpus import GPUS
from donatree.targets.tpus import MEMORY_SOURCE, TPUS
from donatree.targets.wanted import Platform


@dataclass(frozen=True, slots=True)
class Row:
    """One kind of device.

    Attributes:
        target: what to write, as an example: ``tpu:v5e:2x2``.
        kind: what JAX calls the device.
        memory: bytes that a program may use on one device.
        memory_source: where that number is from.
        shapes: shapes that are known to compile; empty where any will.
        devices_per_chip: JAX devices of one chip.
    """

    target: str
    kind: str
    memory: int
    memory_source: str
    shapes: tuple[str, ...] = ()
    devices_per_chip: int = 1


@dataclass(frozen=True, slots=True)
class Family:
    """The targets of one platform.

    Attributes:
        platform: ``tpu``, ``gpu`` or ``cpu``.
        title: a headline.
        why_not: why they cannot be used here; None where they can.
        notes: what is to be known of the installed versions.
        rows: its targets.
    """

    platform: Platform
    title: str
    why_not: str | None
    notes: tuple[str, ...]
    rows: tuple[Row, ...]

    def to_dict(self) -> dict[str, Any]:
        """The family as plain data."""
        return {
            "platform": self.platform,
            "usable": self.why_not is None,
            "why_not": self.why_not,
            "notes": list(self.notes),
            "targets": [
                {
                    "target": row.target,
                    "kind": row.kind,
                    "memory_bytes": row.memory,
                    "memory_source": row.memory_source,
                    "shapes": list(row.shapes),
                    "devices_per_chip": row.devices_per_chip,
                }
                for row in self.rows
            ],
        }


def families() -> tuple[Family, ...]:
    """All targets by platform. No JAX is imported for it."""
    titles: tuple[tuple[Platform, str, Iterator[Row]], ...] = (
        ("tpu", "TPU: `tpu:GENERATION:SHAPE`, the chips per dimension", _tpus()),
        ("gpu", "NVIDIA GPU: `cuda:NAME`, `cuda:NAME:SLICESxHOSTSxGPUS`, `cuda:FILE`", _gpus()),
        ("cpu", "this machine's CPU: `host`, `host:8` for eight virtual devices", iter(())),
    )
    return tuple(
        Family(platform, title, packages.why_not(platform), packages.notes(platform), tuple(rows))
        for platform, title, rows in titles
    )


def _tpus() -> Iterator[Row]:
    for tpu in TPUS.values():
        yield Row(
            tpu.examples[0], tpu.kind, tpu.memory, MEMORY_SOURCE, tpu.shapes, tpu.devices_per_chip
        )


def _gpus() -> Iterator[Row]:
    for gpu in GPUS.values():
        yield Row(f"cuda:{gpu.name}", gpu.description, gpu.memory, gpu.memory_source)
