"""A lowered program on its way to the process that compiles it for a target: plain data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Shipment:
    """What a compile child needs of one program; nothing in it is the user's code or arrays.

    Attributes:
        name: the function's name.
        module: StableHLO as MLIR bytecode, lowered for the target's platform.
        options: XLA's ``CompileOptions``, serialised.
        devices: which devices the program spans, in the order of its assignment; each number is
            the place of a device among the target's.
        tupled: whether the arguments are one tuple, as JAX passes more than 2,000 to a TPU.
        memory_kinds: the memory kinds that its arguments and results name, other than the default.
        callbacks: whether it calls back into Python.
    """

    name: str
    module: bytes
    options: bytes
    devices: tuple[int, ...]
    tupled: bool = False
    memory_kinds: tuple[str, ...] = ()
    callbacks: bool = False
