"""The largest buffers of a program that does not fit, joined to its leaves."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from donatree._jax import placement
from donatree.hlo.assignment_text import TextAllocation, TextAssignment, TextValue
from donatree.hlo.error import HloError
from donatree.hlo.instructions import EntryComputation, read_entry
from donatree.ledger import Holding
from donatree.observation import Observation

MOST = 10


def find(
    text: str,
    buffers: TextAssignment,
    observation: Observation,
    peak: Collection[int] | None = None,
) -> tuple[Holding, ...]:
    """The largest buffers, the largest first.

    Args:
        text: the module after optimisation.
        buffers: its buffer assignment.
        observation: knows which parameter and which output is whose.
        peak: XLA's numbers of the temporaries that are live when most of them are; None where that
            is not known.

    Returns:
        At most 10. Where the peak is not known, temporaries that take the same memory at different
        times are one, by the largest of them.
    """
    try:
        entry = read_entry(text)
    except HloError:
        entry = None
    found = [each for part in buffers.allocations for each in _of(part, entry, observation, peak)]
    return tuple(sorted(found, key=lambda each: (-each.bytes, each.what))[:MOST])


def _of(
    part: TextAllocation,
    entry: EntryComputation | None,
    observation: Observation,
    peak: Collection[int] | None,
) -> Iterator[Holding]:
    if part.memory_space != 0 or not part.values:
        return
    if part.parameter is not None:
        role = "argument and output" if part.is_output else "argument"
        place = part.parameter_index[0] if part.parameter_index else part.parameter
        first = part.values[0]
        yield Holding(_leaf(place, observation), part.size, _type(first), role)
        return
    role = "output" if part.is_output else "temporary"
    for value in _apart(part, peak if part.is_temp else None):
        instruction = None
        if entry is not None and value.instruction in entry:
            instruction = entry[value.instruction]
        what, location = f"`{value.instruction}`", None
        if instruction is not None:
            what = placement.name_of(instruction)
            location = placement.location_of([instruction])
        yield Holding(what, value.size, _type(value), role, location)


def _apart(part: TextAllocation, peak: Collection[int] | None) -> list[TextValue]:
    """The largest values of an allocation that do not overlap in memory."""
    chosen: list[TextValue] = []
    values = (each for each in part.values if peak is None or each.id in peak)
    for value in sorted(values, key=lambda each: (-each.size, each.offset)):
        if len(chosen) == MOST:
            break
        end = value.offset + value.size
        if all(end <= each.offset or each.offset + each.size <= value.offset for each in chosen):
            chosen.append(value)
    return chosen


def _leaf(number: int, observation: Observation) -> str:
    for index, parameter in (observation.parameter_of or {}).items():
        if parameter == number:
            return observation.request.leaves[index].path
    return f"parameter {number}"


def _type(value: TextValue) -> str:
    return value.shape.partition("{")[0]
