"""What stands for an executable that was compiled for other hardware: what its dump says of it.

Where the JAX room asks an executable of JAX's, this answers in its stead: the module's text, the
totals in bytes per device, the buffer assignment. The totals are those of the device's main memory
(XLA's memory space 0). A TPU pads every array to tiles: what is counted is what it takes there.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from donatree.hlo.assignment_text import TextAssignment
from donatree.hlo.header import Header
from donatree.hlo.instructions import EntryComputation
from donatree.hlo.live_text import LiveRanges, TimedAssignment
from donatree.hlo.padding import padded_size_in_bytes
from donatree.hlo.shape import EntryShape
from donatree.ledger import Holding, Target
from donatree.observation import Observation
from donatree.targets import largest

_HOST_MEMORY = 5


@dataclass(frozen=True, slots=True)
class Totals:
    """XLA's `CompiledMemoryStats` in its names: bytes per device of the device's main memory."""

    argument_size_in_bytes: int
    output_size_in_bytes: int
    alias_size_in_bytes: int
    temp_size_in_bytes: int


class Ahead:
    """Stands for a `MeshExecutable`, its `LoadedExecutable` and the module in it.

    Args:
        target: what it was compiled for.
        text: the module after optimisation.
        buffers: its buffer assignment; None where the dump has none that can be read.
        ranges: when its values live; None where the dump does not tell.
        remarks: what is to be said of the compile.
    """

    def __init__(
        self,
        target: Target,
        text: str,
        buffers: TextAssignment | None,
        ranges: LiveRanges | None = None,
        remarks: Sequence[str] = (),
    ) -> None:
        self.target = target
        self.text = text
        self.buffers = buffers
        self.ranges = ranges
        self.remarks = tuple(remarks)

    @property
    def xla_executable(self) -> Ahead:
        """As `MeshExecutable` has it."""
        return self

    def hlo_modules(self) -> list[Ahead]:
        """As `LoadedExecutable` has it."""
        return [self]

    def to_string(self, options: Any = None) -> str:
        """As `HloModule` has it; always the whole text."""
        return self.text

    def get_compiled_memory_stats(self) -> Totals:
        """As `LoadedExecutable` has it.

        Raises:
            LookupError: the dump has no buffer assignment.
        """
        return self._totals

    def assignment(self, entry: EntryComputation | None = None) -> TimedAssignment | None:
        """The buffer assignment, if it is known when its values live."""
        if self.buffers is None or self.ranges is None:
            return None
        return TimedAssignment(self.buffers, self.ranges, entry)

    @cached_property
    def _totals(self) -> Totals:
        buffers = self.buffers
        if buffers is None:
            raise LookupError("the dump has no buffer assignment")
        return Totals(buffers.arguments(), buffers.outputs(), buffers.alias(), buffers.temp())

    def finish(self, observation: Observation) -> Observation:
        """The observation as the target has it: its platform, shards and bytes.

        Args:
            observation: read on the stand-in devices.
        """
        changed = dataclasses.replace(
            observation, platform=self.target.platform, target=self.target, remarks=self.remarks
        )
        header = observation.header
        if header is None or observation.parameter_of is None:
            return changed
        inputs, results = header.inputs or (), header.results or ()
        devices = observation.devices
        leaves = tuple(
            _laid_out(leaf, inputs, observation.parameter_of.get(leaf.flat_index), devices)
            for leaf in observation.request.leaves
        )
        slots = tuple(
            _laid_out(slot, results, place + observation.output_offset, devices)
            for place, slot in enumerate(observation.slots)
        )
        apart = _in_other_memory(observation, header)
        changed = dataclasses.replace(
            changed,
            request=dataclasses.replace(observation.request, leaves=leaves),
            slots=slots,
            elsewhere=apart,
            host_alias=self._host_alias(
                leaf.spec.bytes for leaf in leaves if leaf.flat_index in apart
            ),
        )
        return dataclasses.replace(changed, largest=self._largest(changed))

    def _host_alias(self, false: Iterable[int]) -> int:
        """Bytes in host memory that arguments and results share, without those that they do not."""
        return 0 if self.buffers is None else self.buffers.alias(_HOST_MEMORY) - sum(false)

    def _largest(self, observation: Observation) -> tuple[Holding, ...]:
        memory = self.target.memory
        if self.buffers is None or memory is None or self.buffers.total() <= memory:
            return ()
        timed = self.assignment()
        peak = None if timed is None else frozenset(each.id for each in timed.peak_values())
        return largest.find(self.text, self.buffers, observation, peak)


def _laid_out(each: Any, shapes: Sequence[EntryShape], place: int | None, devices: int) -> Any:
    """A leaf or slot with the shard, the bytes and the memory that the compiled module has for it.

    Which sharding XLA chose for a result is in no dump; that of a replicated one is plain.
    """
    if place is None or not 0 <= place < len(shapes):
        return each
    shape, spec = shapes[place], each.spec
    size = padded_size_in_bytes(shape)
    local = shape.shape if len(shape.shape) == len(spec.shape) else spec.local_shape
    sharding = spec.sharding
    if sharding is None and devices > 1 and local == spec.shape:
        sharding = f"replicated on {devices} devices"
    in_host = shape.memory_space == _HOST_MEMORY
    changed = dataclasses.replace(
        spec,
        bytes=shape.size_in_bytes if size is None else size,
        local_shape=local,
        sharding=sharding,
        memory_kind="pinned_host" if in_host else "device",
    )
    return dataclasses.replace(each, spec=changed)


def _in_other_memory(observation: Observation, header: Header) -> Mapping[int, str]:
    """Leaves whose alias is false: the slot is in another memory.

    Measured on a TPU: a donated leaf in `pinned_host` whose result is on the device, with no
    `out_shardings` given, on one device: JAX pairs the two without a look at their memory.
    """
    inputs, results = header.inputs or (), header.results or ()
    leaf_of = {number: index for index, number in (observation.parameter_of or {}).items()}
    found = {}
    for alias in header.aliases:
        leaf = leaf_of.get(alias.input)
        if leaf is None or alias.input >= len(inputs) or alias.output >= len(results):
            continue
        spaces = inputs[alias.input].memory_space, results[alias.output].memory_space
        if spaces[0] != spaces[1]:
            here, there = ("host" if space == _HOST_MEMORY else "device" for space in spaces)
            found[leaf] = (
                f"input_output_alias pairs parameter {alias.input} with output {alias.output}, but "
                f"the one is in {here} memory and the other in {there} memory"
            )
    return found
