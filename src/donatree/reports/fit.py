"""Live memory against what a device of the target has, and the largest buffers where it is more."""

from __future__ import annotations

from collections.abc import Iterator

from donatree.ledger import Holding, Ledger
from donatree.reports import sizes
from donatree.reports.hardware import name_of
from donatree.reports.text import (
    BAD,
    CARE,
    DIM,
    GOOD,
    HEAD,
    Line,
    Marks,
    cells,
    clean,
    elide,
    paragraph,
)

_LEAST = 24


def verdict(ledger: Ledger) -> Line:
    """Live memory per device, what the device has, and whether that is enough.

    Returns:
        For example ``13.20 of 15.75 GiB, fits``; empty where live memory was not read.
    """
    if ledger.live is None:
        return []
    total = ledger.live.total
    memory = ledger.target and ledger.target.memory
    if memory is None:
        return [(f"{sizes.short(total)}, ", ""), ("device memory not known", CARE)]
    fits = ("fits", GOOD) if ledger.fits else ("does not fit", BAD)
    return [(f"{sizes.of(total, memory)}, ", ""), fits]


def lines(ledger: Ledger, marks: Marks, width: int = 100) -> Iterator[Line]:
    """What is needed, what there is and the largest buffers; nothing where the program fits.

    Args:
        ledger: of a target.
        marks: the signs to use.
        width: columns; what a buffer is gets shortened in its middle to fit.

    Example:
        >>> from donatree.reports.text import ASCII
        >>> list(lines(Ledger("step", "()", (), ()), ASCII))
        []
    """
    if ledger.fits is not False or ledger.live is None or ledger.target is None:
        return
    total, memory = ledger.live.total, ledger.target.memory or 0
    yield [
        (f"does not fit {name_of(ledger)}: ", BAD),
        (f"{sizes.size(total - memory)} per device too much", HEAD),
    ]
    source = f", {ledger.target.memory_source}" if ledger.target.memory_source else ""
    text = f"needs {sizes.short(total)} ({total:,}), a device has {sizes.short(memory)} ({memory:,}"
    yield from paragraph(f"{text}{source})", width, [("  ", "")], 2)
    if ledger.largest:
        yield [("  its largest buffers:", "")]
    figures = [sizes.short(each.bytes) for each in ledger.largest]
    roles = [clean(each.role) for each in ledger.largest]
    figure, role = (max(map(cells, column), default=0) for column in (figures, roles))
    for each, shown, as_what in zip(ledger.largest, figures, roles, strict=True):
        start = f"    {' ' * (figure - cells(shown))}{shown}  "
        start += f"{as_what}{' ' * (role - cells(as_what))}  "
        room = max(width - cells(start), _LEAST)
        yield [(start, ""), *_what(each, room, marks)]


def _what(each: Holding, room: int, marks: Marks) -> Line:
    """The buffer's name, then its type and its place as far as there is room."""
    name = elide(clean(each.what), room, marks)
    line: Line = [(name, HEAD)]
    rest = room - cells(name)
    place = f" ({clean(str(each.location))})" if each.location else ""
    for text in (f": {clean(each.shape)}", place):
        if text and cells(text) <= rest:
            line.append((text, DIM))
            rest -= cells(text)
    return line
