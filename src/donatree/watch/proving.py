"""What `--prove` adds to a compile: further compiles of the same program, within a budget."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from donatree import gates
from donatree._jax import hooks, read, variant
from donatree.errors import CannotBuild
from donatree.fixes import attempts
from donatree.ledger import Ledger, Live
from donatree.observation import Observation, Proof
from donatree.proof import saving
from donatree.proof.budget import Budget

_OF_PROOFS = 0.6  # part of the budget where there is something to cure as well


@dataclass(frozen=True, slots=True)
class Examined:
    """One program, all that is known of it, and how it is changed and compiled again.

    Attributes:
        program: holds arrays that the function closed over; not to be kept.
        observation: with XLA's totals.
        ledger: after every gate that could be checked.
    """

    program: variant.Program
    observation: Observation
    ledger: Ledger


class Proving:
    """Proves the ledgers of a program at their compile.

    That is where meshes, precision and options are still as the program had them. Nothing that
    JAX was asked to lower is held longer than the computation that came of it.

    Attributes:
        keep: whether the newest program is kept in `kept`.

    Args:
        budget: of all further compiles together.
        twin: whether the program is compiled without its donation.
        fault: told of donatree's own faults.
    """

    def __init__(
        self, budget: Budget, twin: bool, fault: Callable[[str, BaseException], None]
    ) -> None:
        self.budget = budget
        self.twin = twin
        self.keep = False
        self.kept: Examined | None = None
        self._fault = fault
        self._again: weakref.WeakKeyDictionary[Any, hooks.Lowering] = weakref.WeakKeyDictionary()

    def lowered(self, computation: Any, again: hooks.Lowering) -> None:
        """A computation may be proved when it is compiled."""
        self._again[computation] = again

    def prove(
        self,
        ledger: Ledger,
        observation: Observation,
        computation: Any,
        executable: Any,
        seconds: float,
    ) -> Ledger:
        """The ledger with XLA's totals and with what further compiles show.

        Args:
            ledger: after gate granted.
            observation: of the same compile, without totals.
            computation: JAX's `MeshComputation`.
            executable: its `MeshExecutable`.
            seconds: what the compile took.
        """
        observation = read.with_totals(observation, executable.xla_executable)
        plain = gates.with_totals(ledger, observation)
        again = self._again.pop(computation, None)
        if again is None:
            return plain
        program = variant.Program(
            again, computation, observation.request, observation.slots, executable, seconds
        )
        if self.keep:
            self.kept = Examined(program, observation, plain)
        if observation.live is None or not ledger.entries:
            return plain
        if not self.twin:
            return self._with_fixes(plain, observation, program)
        try:
            proof, note = self._proof(ledger, observation, program)
        except Exception as error:
            self._fault("prove", error)
            return plain
        observation = replace(observation, proof=proof)
        proved = gates.with_totals(ledger, observation)
        if note:
            proved = replace(proved, notes=(*proved.notes, note))
        return self._with_fixes(proved, observation, program)

    def _with_fixes(
        self, ledger: Ledger, observation: Observation, program: variant.Program
    ) -> Ledger:
        """The ledger with the cures of its findings that could be tried."""
        if not ledger.findings:
            return ledger
        try:
            with self.budget.spent():
                deadline = time.monotonic() + self.budget.left
                found = attempts.try_all(program, ledger, observation, deadline)
        except Exception as error:
            self._fault("fixes", error)
            return ledger
        return replace(ledger, fixes=found)

    def _proof(
        self, ledger: Ledger, observation: Observation, program: variant.Program
    ) -> tuple[Proof | None, str | None]:
        assert observation.live is not None
        entries = ledger.entries
        copied = frozenset(
            each.leaf.flat_index
            for each in entries
            if observation.costly_copies(each.leaf.flat_index)
        )

        def without(leaves: frozenset[int]) -> Live:
            built = program.compile_without(leaves)
            if built.live is None:
                raise CannotBuild("this backend keeps no totals")
            return built.live

        try:
            # What is left of it is for the cures.
            budget = self.budget.part(_OF_PROOFS) if ledger.findings else self.budget
            proof = saving.prove(
                entries, observation.live, without, program.seconds, budget, copied
            )
        except CannotBuild as error:
            return None, f"the program without its donation could not be compiled: {error}"
        if proof is None:
            return None, (
                f"the program without its donation was not compiled: that takes about "
                f"{program.seconds:.1f} s, and {self.budget.left:.1f} s of the budget of "
                f"{self.budget.seconds:g} s are left"
            )
        return proof, None
