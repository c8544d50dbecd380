"""What a watched program compiles, compiled for other hardware too, after its end."""

from __future__ import annotations

import dataclasses
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from donatree import gates
from donatree._jax import abroad, hooks, read, variant
from donatree.errors import DonatreeError, in_one_line
from donatree.ledger import Account, Ledger, Refusal, Slot
from donatree.observation import Observation, Request
from donatree.origin.drift import Origin
from donatree.shipment import Shipment
from donatree.targets import reading
from donatree.targets.compiler import Compiler
from donatree.targets.names import Wanted


@dataclass(frozen=True, slots=True)
class _Lowered:
    """One program for one platform: plain data, or why it cannot be lowered for it."""

    place: int
    platform: str
    observation: Observation | None = None
    shipment: Shipment | None = None
    origins: Mapping[int, Origin] = field(default_factory=dict)
    refused: str | None = None


class Targets:
    """The programs of a run, to be compiled for the targets that were asked for.

    A program is lowered again where it is compiled, on the same thread, so that meshes and options
    are as it has them: the devices of the run stand in for those of the target. Of that the text of
    the module is kept, and neither its arguments nor its jaxpr.

    Args:
        wanted: the targets; `host` is what the run is on, and adds nothing.
        full: whether to compile to the end.
        fault: told of donatree's own faults.
    """

    def __init__(
        self,
        wanted: Sequence[Wanted],
        full: bool,
        fault: Callable[[str, BaseException], None],
    ) -> None:
        self._wanted = tuple(each for each in wanted if each.platform != "cpu")
        self._full = full
        self._fault = fault
        self._again: weakref.WeakKeyDictionary[Any, hooks.Lowering] = weakref.WeakKeyDictionary()
        self._lowered: list[_Lowered] = []

    def lowered(self, computation: Any, again: hooks.Lowering) -> None:
        """A computation may turn out to be one to compile for the targets."""
        self._again[computation] = again

    def compiled(
        self,
        place: int,
        computation: Any,
        request: Request,
        slots: tuple[Slot, ...],
        origins: Mapping[int, Origin],
    ) -> None:
        """A computation was compiled and has a new ledger.

        Args:
            place: of the ledger among the ledgers.
            computation: JAX's `MeshComputation`.
            request: what was asked.
            slots: leaves of its result.
            origins: where leaves stopped being of their type, by the index of the slot.
        """
        again = self._again.pop(computation, None)
        if again is None:
            return
        program = variant.Program(again, computation, request, slots)
        for platform in dict.fromkeys(abroad.platform_of(each.platform) for each in self._wanted):
            try:
                observation, shipment = program.shipped(platform)
                self._lowered.append(_Lowered(place, platform, observation, shipment, origins))
            except Exception as error:
                why = str(error) if isinstance(error, DonatreeError) else in_one_line(error)
                self._lowered.append(_Lowered(place, platform, refused=why))

    def added(self, account: Account) -> Account:
        """The account with a ledger, or a refusal, for each program and target.

        An interrupt from the keyboard ends it and loses nothing that was learnt.

        Args:
            account: of the run.
        """
        ledgers: list[Ledger] = []
        refusals: list[Refusal] = []
        interrupted = False
        for wanted in self._wanted:
            platform = abroad.platform_of(wanted.platform)
            with Compiler(wanted, full=self._full) as compiler:
                for each in self._lowered:
                    if each.platform != platform or each.place >= len(account.ledgers):
                        continue
                    here = account.ledgers[each.place]
                    found: Ledger | str = "interrupted"
                    try:
                        if not interrupted:
                            found = _ledger(each, wanted, compiler, here)
                    except KeyboardInterrupt:
                        interrupted = True
                    except Exception as error:
                        self._fault(f"target {wanted.name}", error)
                        continue
                    if isinstance(found, str):
                        refusals.append(Refusal(here.function, here.signature, wanted.name, found))
                    else:
                        ledgers.append(found)
        return dataclasses.replace(
            account,
            ledgers=(*account.ledgers, *ledgers),
            refusals=(*account.refusals, *refusals),
        )


def _ledger(lowered: _Lowered, wanted: Wanted, compiler: Compiler, here: Ledger) -> Ledger | str:
    """The ledger of a program on a target, or why there is none."""
    if lowered.shipment is None or lowered.observation is None:
        return lowered.refused or "it was not lowered"
    try:
        executable = reading.read(compiler.compile(lowered.shipment), wanted)
    except DonatreeError as error:
        return str(error)
    observation = read.completed(lowered.observation, executable)
    ledger = gates.judge(observation, lambda _: lowered.origins)
    return dataclasses.replace(
        ledger,
        signature=here.signature,
        location=here.location,
        call=here.call,
    )
