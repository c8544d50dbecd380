"""The tables of a buffer assignment, each read when it is asked for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import cached_property

from donatree.hlo.allocation import (
    Allocation,
    Buffer,
    is_temp,
    read_allocation,
    read_assigned,
    read_location,
    stretches,
)
from donatree.hlo.heap import live_at_peak, read_events
from donatree.hlo.shape import Index
from donatree.hlo.wire import Message, nested, number, repeated

# Fields of BufferAssignmentProto, LogicalBufferProto and BufferAlias in XLA's `hlo.proto`. That of
# the peaks is in no source that was found: measured on JAX 0.10.2, 0.11.2 and 0.12.
_BUFFERS, _ALIASES, _ALLOCATIONS, _TRACES, _PEAKS = 1, 2, 3, 4, 5
_ID, _DEFINED_AT = 1, 3
_SOURCE, _LOCATION = 1, 2
_PEAK_ALLOCATION, _PEAK_BUFFERS = 1, 2


class Tables:
    """What a ``BufferAssignmentProto`` says.

    Args:
        proto: its bytes.

    Raises:
        ProtoError: the bytes are no message; by every property, where a part of it is malformed.
    """

    def __init__(self, proto: bytes) -> None:
        self._parts: dict[int, list[Message]] = defaultdict(list)
        message = Message(proto)
        for field, value in message:
            self._parts[field].append(nested(message, field, value))

    @cached_property
    def allocations(self) -> tuple[Allocation, ...]:
        """All allocations."""
        return tuple(map(read_allocation, self._parts[_ALLOCATIONS]))

    @cached_property
    def temps(self) -> Mapping[int, tuple[Buffer, ...]]:
        """The buffers in the temporary allocations, by the index of the allocation."""
        parts = filter(is_temp, self._parts[_ALLOCATIONS])
        return {read_allocation(part).index: read_assigned(part, self.places) for part in parts}

    @cached_property
    def temporary(self) -> Mapping[int, Buffer]:
        """The buffers in the temporary allocations, by their ids."""
        return {each.id: each for buffers in self.temps.values() for each in buffers}

    @cached_property
    def peaks(self) -> Mapping[int, frozenset[int]]:
        """Ids of the buffers that are live when they have most bytes together, the first time.

        By the index of the temporary allocation; one of which the message does not tell is left
        out.
        """
        answer = dict(self._simulated)
        for part in self._parts[_PEAKS]:
            allocation, listed = 0, []
            for field, value in part:
                if field == _PEAK_ALLOCATION:
                    allocation = number(field, value)
                elif field == _PEAK_BUFFERS:
                    listed += repeated(value)
            if allocation in self.temps:
                answer[allocation] = frozenset(listed)
        for allocation, buffers in self.temps.items():
            if len(buffers) == 1:
                answer.setdefault(allocation, frozenset((buffers[0].id,)))
        return answer

    @cached_property
    def places(self) -> Mapping[int, tuple[int, Index]]:
        """Where each logical buffer is defined, by its id: an instruction, a place in its value."""
        answer: dict[int, tuple[int, Index]] = {}
        for part in self._parts[_BUFFERS]:
            id_, place = 0, (0, ())
            for field, value in part:
                if field == _ID:
                    id_ = number(field, value)
                elif field == _DEFINED_AT:
                    place = read_location(nested(part, field, value))
            answer[id_] = place
        return answer

    @cached_property
    def ids(self) -> Mapping[tuple[int, Index], int]:
        """The ids of the logical buffers by where they are defined."""
        return {place: id_ for id_, place in self.places.items()}

    def sharing(self, buffer: int) -> frozenset[int]:
        """Ids of the logical buffers that must be at the same address as this one."""
        found = map(self.ids.get, self._aliases.get(buffer, ()))
        return frozenset(each for each in found if each is not None)

    @cached_property
    def _aliases(self) -> Mapping[int, list[tuple[int, Index]]]:
        answer: dict[int, list[tuple[int, Index]]] = defaultdict(list)
        for part in self._parts[_ALIASES]:
            source, place = 0, (0, ())
            for field, value in part:
                if field == _SOURCE:
                    source = number(field, value)
                elif field == _LOCATION:
                    place = read_location(nested(part, field, value))
            answer[source].append(place)
        return answer

    @cached_property
    def _simulated(self) -> Mapping[int, frozenset[int]]:
        """The peaks by the traces of the simulated heap.

        XLA combines allocations after the simulation and numbers them anew: one may have several
        traces, and buffers in no trace, which stay where they are. The number of an allocation in
        a trace is the old one.
        """
        peaks: dict[int, frozenset[int]] = defaultdict(frozenset)
        untraced = set(self.temporary)
        for trace in self._parts[_TRACES]:
            events = list(read_events(trace))
            traced = {event.buffer for event in events}
            untraced -= traced
            for allocation, buffers in self.temps.items():
                sizes = {each.id: each.size for each in buffers if each.id in traced}
                if sizes:
                    peaks[allocation] |= live_at_peak(events, sizes)
        for allocation in peaks:
            others = (each for each in self.temps[allocation] if each.id in untraced)
            for stretch in stretches(others):
                peaks[allocation] |= {max(stretch.buffers, key=lambda each: each.size).id}
        return peaks
