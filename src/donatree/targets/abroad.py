"""Compiling a watched program for a target, at once or when it has ended."""

from __future__ import annotations

from typing import Any

from donatree._jax import abroad
from donatree.targets import reading
from donatree.targets.ahead import Ahead
from donatree.targets.compiler import Compiler
from donatree.targets.names import Wanted


class Abroad:
    """Compiles in XLA's stead what this thread lowers: see `donatree._jax.hooks.elsewhere`.

    Attributes:
        platform: what JAX is to lower for.
        compiled: how many programs were compiled.
        refused: why the first program could not be compiled, in one line; None where it could.
            Those after it are changed ones.

    Args:
        wanted: the target.
        compiler: of the same target.
    """

    def __init__(self, wanted: Wanted, compiler: Compiler) -> None:
        self.platform = abroad.platform_of(wanted.platform)
        self.refused: str | None = None
        self._wanted = wanted
        self._compiler = compiler
        self.compiled = 0

    def compile(self, computation: Any) -> Ahead:
        """What stands for the executable of a computation.

        Raises:
            DonatreeError: it cannot be compiled for the target; one line.
        """
        try:
            shipment = abroad.shipment_of(computation, self.platform)
            dumped = self._compiler.compile(shipment)
            found = reading.read(dumped, self._wanted)
        except Exception as error:
            if not self.compiled:
                self.refused = str(error)
            raise
        self.compiled += 1
        return found
