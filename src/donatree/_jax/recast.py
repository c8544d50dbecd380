"""Casts at the end of a program left out: what another dtype in `x.astype(t)` would make of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from donatree._jax import hooks
from donatree._jax.variant import Program


def can_leave_out(program: Program, slots: Mapping[int, str]) -> bool:
    """Whether each slot had its wanted dtype just before a cast of its own.

    Args:
        program: as it is.
        slots: for the index of each slot the dtype that it should have.
    """
    return len(_casts(program, slots)) == len(slots) > 0


def leave_out(program: Program, slots: Mapping[int, str]) -> Program:
    """The program with the last cast of each slot left out.

    A value that the program uses elsewhere as well keeps its dtype there.

    Args:
        program: one of which `can_leave_out` says yes.
        slots: for the index of each slot the dtype that it should have.
    """
    closed = program.lowering.args[0]
    inner = getattr(closed, "jaxpr", closed)  # one class since JAX 0.11
    outvars = list(inner.outvars)
    for slot, before in _casts(program, slots).items():
        outvars[slot] = before
    changed = inner.replace(outvars=outvars)
    changed = changed if inner is closed else closed.replace(jaxpr=changed)
    lowering = program.lowering
    again = hooks.Lowering(lowering.function, (changed, *lowering.args[1:]), lowering.kwargs)
    return dataclasses.replace(program, lowering=again, executable=None, changed=True)


def _casts(program: Program, slots: Mapping[int, str]) -> dict[int, Any]:
    """What each slot was before its cast, where that has the wanted dtype."""
    closed = program.lowering.args[0]
    inner = getattr(closed, "jaxpr", closed)
    made = {
        id(equation.outvars[0]): equation.invars[0]
        for equation in inner.eqns
        if equation.primitive.name == "convert_element_type"
    }
    found = {slot: made.get(id(inner.outvars[slot])) for slot in slots}
    return {
        slot: before
        for slot, before in found.items()
        if before is not None and str(before.aval.dtype) == slots[slot]
    }
