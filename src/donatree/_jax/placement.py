"""Where XLA put the leaves that it granted, read from the compiled module.

The module's text has the copies. The buffer assignment, which the CPU's compiler hands out since
JAX 0.6.2 in `CompiledMemoryStats.serialized_buffer_assignment_proto`, tells whether a copy is alive
when most temporaries are. Neither is read where no temporary is as large as a leaf.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from donatree._jax import frames
from donatree.hlo.assignment import read_assignment
from donatree.hlo.copies import Copy, at_peak, find_copies
from donatree.hlo.error import HloError
from donatree.hlo.frames import Frame
from donatree.hlo.instruction import Instruction
from donatree.hlo.instructions import read_entry
from donatree.ledger import Location
from donatree.observation import Observation, Placement, Protection

_UNNAMED = ("fusion", "call")


def read(observation: Observation, loaded: Any, statistics: Any) -> Placement | str | None:
    """The copies that stand by the granted leaves of a compiled program.

    Args:
        observation: of the same compile, with its totals.
        loaded: jaxlib's loaded executable.
        statistics: its `CompiledMemoryStats`.

    Returns:
        Why nothing could be read, in words, where that is so; None where nothing was granted.
    """
    header, live = observation.header, observation.live
    if header is None or live is None or not observation.parameter_of:
        return None
    proto = getattr(statistics, "serialized_buffer_assignment_proto", None)
    leaves = {
        observation.parameter_of[leaf.flat_index]: leaf
        for leaf in observation.request.leaves
        if leaf.flat_index in observation.request.promised
        and leaf.flat_index in observation.parameter_of
    }
    granted = [leaves[alias.input] for alias in header.aliases if alias.input in leaves]
    if not any(0 < leaf.bytes <= live.temp for leaf in granted):
        return Placement({}) if granted else None
    try:
        module = loaded.hlo_modules()[0]
        entry = read_entry(str(module.to_string()))
        copies = find_copies(entry, header.aliases)
        assignment = None
        if copies and proto:
            assignment = read_assignment(proto, module.as_serialized_hlo_module_proto(), entry)
        elif copies and hasattr(loaded, "assignment"):  # of a dump, for other hardware
            assignment = loaded.assignment(entry)
        protections: dict[int, list[Protection]] = defaultdict(list)
        leaf_of_output = {alias.output: leaves.get(alias.input) for alias in header.aliases}
        for copy, peak in zip(copies, at_peak(copies, assignment), strict=True):
            told = _protection(copy, peak)
            of = [leaves.get(number) for number in copy.of_parameters]
            of += [leaf_of_output.get(number) for number in copy.into_outputs]
            for leaf in filter(None, of):
                protections[leaf.flat_index].append(told)
    except HloError as error:
        return str(error)
    return Placement({leaf: tuple(each) for leaf, each in protections.items()})


def _protection(copy: Copy, peak: bool | None) -> Protection:
    if copy.of_parameters:
        protects = "the leaf's value, which is written over"
        if copy.overwritten_by is not None:
            protects = f"the leaf's value, which {name_of(copy.overwritten_by)} writes over"
    else:
        by = f" by {name_of(copy.computed_by)}" if copy.computed_by is not None else ""
        protects = f"the new value, computed{by} beside the leaf"
    # What writes the memory reads the value as well; the copy is for the others.
    writer = copy.overwritten_by.name if copy.overwritten_by is not None else None
    readers = sorted(copy.readers, key=lambda each: each.name == writer)
    return Protection(
        instruction=copy.name,
        bytes=copy.bytes,
        at_peak=peak,
        protects=protects,
        readers=tuple(dict.fromkeys(map(name_of, readers))),
        location=location_of(
            [each for each in readers if each.name != writer]
            or readers
            or filter(None, [copy.computed_by])
        ),
    )


def name_of(instruction: Instruction) -> str:
    """The operation as JAX names it: `dot_general`, of which XLA keeps the path in `op_name`."""
    name = instruction.op_name.split(";")[0].rpartition("/")[2]
    if not name or name.endswith(")"):
        name = instruction.name if instruction.opcode in _UNNAMED else instruction.opcode
    return f"`{name}`"


def location_of(instructions: Iterable[Instruction]) -> Location | None:
    """The innermost place of the user's own among those that the instructions came from."""
    for instruction in instructions:
        found = _users(instruction.frames)
        if found is not None:
            return found
    return None


def _users(stack: Sequence[Frame]) -> Location | None:
    for frame in stack:
        if frame.file and frames.is_user_file(frame.file):
            return Location(
                frames.shown(frame.file),
                frame.line,
                frame.column,
                frame.end_line,
                frame.end_column,
                frame.function or None,
            )
    return None
