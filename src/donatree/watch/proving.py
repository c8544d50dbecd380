"""What `--prove` adds to a compile: further compiles of the same program, within a budget."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from donatree import fixes, gates
from donatree._jax import hooks, read, variant
from donatree.errors import CannotBuild
from donatree.ledger import Ledger, Live
from donatree.observation import Observation, Proof
from donatree.proof import saving
from donatree.proof.budget import Budget

_OF_PROOFS = 0.6  # part of the budget where there is something to cure as well


@dataclass(frozen=True, slots=True)
class Made:
    """One compile: JAX's `MeshComputation`, its `MeshExecutable`, and the seconds it took."""

    computation: Any
    executable: Any
    seconds: float


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

    def prove(self, ledger: Ledger, observation: Observation, made: Made) -> Ledger:
        """The ledger with XLA's totals and with what further compiles show.

        Args:
            ledger: after gate granted.
            observation: of the same compile, without totals.
            made: the compile.
        """
        observation = read.with_totals(observation, made.executable.xla_executable)
        again = self._again.pop(made.computation, None)
        if again is None:
            return gates.with_totals(ledger, observation)
        program = variant.Program(
            lowering=again,
            computation=made.computation,
            request=observation.request,
            slots=observation.slots,
            executable=made.executable,
            seconds=made.seconds,
        )
        if self.keep:
            self.kept = Examined(program, observation, gates.with_totals(ledger, observation))
        if observation.live is None or not ledger.entries:
            return gates.with_totals(ledger, observation)
        try:
            proof, note = None, None
            if self.twin:
                proof, note = self._proof(ledger, observation, program)
        except Exception as error:
            self._fault("prove", error)
            return gates.with_totals(ledger, observation)
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
                found = fixes.try_all(program, ledger, observation, deadline)
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
