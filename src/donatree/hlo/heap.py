"""The events of XLA's simulated heap, and what is live in it when most is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from donatree.hlo.wire import Message, nested, number

# Fields of HeapSimulatorTrace and its Event in XLA's `hlo.proto`.
_EVENTS = 1
_KIND, _BUFFER, _CANONICAL = 1, 2, 5
ALLOC, FREE, SHARE_WITH = range(3)


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happens to a buffer.

    Attributes:
        kind: `ALLOC`, `FREE`, or `SHARE_WITH`: takes the memory of another buffer.
        buffer: id of the buffer.
        canonical: id of the buffer whose memory it takes.
    """

    kind: int
    buffer: int
    canonical: int = 0


def read_events(trace: Message) -> Iterator[Event]:
    """Reads the events of a ``HeapSimulatorTrace``.

    Raises:
        ProtoError: it is malformed.
    """
    for field, value in trace:
        if field != _EVENTS:
            continue
        event = nested(trace, field, value)
        found = {_KIND: 0, _BUFFER: 0, _CANONICAL: 0}
        for inner, each in event:
            if inner in found:
                found[inner] = number(inner, each)
        if found[_KIND] not in (ALLOC, FREE, SHARE_WITH):
            raise event.error(f"event of the unknown kind {found[_KIND]}")
        yield Event(found[_KIND], found[_BUFFER], found[_CANONICAL])


def live_at_peak(events: Iterable[Event], sizes: Mapping[int, int]) -> frozenset[int]:
    """The buffers that are live when their sizes have the largest sum, the first time.

    It counts as XLA does (``ComputePeakMemoryLogicalBuffers``): a buffer that takes the memory of
    one that is still live adds nothing.

    Args:
        events: in their order.
        sizes: bytes of the buffers by id; events of others are passed over.

    Example:
        >>> events = [Event(ALLOC, 1), Event(ALLOC, 2), Event(FREE, 1), Event(SHARE_WITH, 3, 1)]
        >>> sorted(live_at_peak(events, {1: 8, 2: 4, 3: 8}))
        [1, 2]
    """
    known = [event for event in events if event.buffer in sizes]
    total = most = peak = 0
    for step, live in enumerate(_replay(known), 1):
        total += sizes[known[step - 1].buffer] * live
        if total > most:
            most, peak = total, step
    alive: set[int] = set()
    for event, live in zip(known[:peak], _replay(known), strict=False):
        if live:
            (alive.add if live > 0 else alive.discard)(event.buffer)
    return frozenset(alive)


def _replay(events: Iterable[Event]) -> Iterator[int]:
    """For each event 1 where its buffer comes to take memory of its own, -1 where that ends."""
    holders: Counter[int] = Counter()
    canonical: dict[int, int] = {}
    own: set[int] = set()
    for event in events:
        buffer = event.buffer
        if event.kind == FREE:
            holders[canonical.get(buffer, buffer)] -= 1
            yield -1 if buffer in own else 0
            own.discard(buffer)
            continue
        canonical[buffer] = event.canonical if event.kind == SHARE_WITH else buffer
        holders[canonical[buffer]] += 1
        if event.kind == ALLOC or holders[canonical[buffer]] == 1:
            own.add(buffer)
            yield 1
        else:
            yield 0
