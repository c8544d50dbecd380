"""One program on several targets, in one table: what became of each leaf on each of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from donatree.reports import fit, fixes, made_copies, per_device, verdicts
from donatree.reports.group import Group
from donatree.reports.hardware import listed, name_of
from donatree.reports.text import DIM, HEAD, Line, Marks, clean, elide, paragraph


def lines(
    group: Group, marks: Marks, width: int = 100, *, expand: bool = False, evidence: bool = False
) -> Iterator[Line]:
    """The section of a program that was compiled for several targets.

    Args:
        group: its ledgers, each of another target.
        marks: the signs to use.
        width: columns.
        expand: show every leaf on a line of its own, and signatures whole.
        evidence: show under each leaf what was read on each target.

    Yields:
        The heading; the table of leaves; bytes in place and live memory of each target; copies;
        where it does not fit, the largest buffers; notes, each with its targets.
    """
    first = group.first
    header: Line = [(clean(first.function), "bold cyan")]
    if first.location:
        header.append((f" ({clean(str(first.location))})", ""))
    header.append((f"  {len(group.ledgers):,} targets", DIM))
    yield header
    yield from _signatures(group, marks, width, expand)
    for call in dict.fromkeys(str(each.call) for each in group.ledgers if each.call):
        yield [(f"  called at {clean(call)}", DIM)]
    parts = [
        verdicts.lines(group, marks, width - 2, expand=expand, evidence=evidence)
        if any(ledger.entries for ledger in group.ledgers)
        else (),
        per_device.lines(group, width - 2),
        made_copies.lines(group, width - 2),
        *(fit.lines(ledger, marks, width - 2) for ledger in group.ledgers),
    ]
    for part in parts:
        yield from _indented(part)
    for ledger in group.ledgers:
        yield from fixes.together(ledger.fixes, ledger.devices, width, evidence=evidence)
    for note in notes(group):
        yield from paragraph(note, width, [("  = ", "blue"), ("note: ", HEAD)], 10)


def _signatures(group: Group, marks: Marks, width: int, expand: bool) -> Iterator[Line]:
    """The signature; of each target its own where they differ."""
    found: dict[str, list[str]] = {}
    for ledger in group.ledgers:
        if ledger.signature:
            found.setdefault(clean(ledger.signature), []).append(name_of(ledger))
    for signature, names in found.items():
        start = f"  {', '.join(names)}: " if len(found) > 1 else "  "
        room = max(width - len(start), 24)
        yield [(start, HEAD), (signature if expand else elide(signature, room, marks), DIM)]


def _indented(part: Iterable[Line]) -> Iterator[Line]:
    """The lines of a part below a blank one; nothing where the part is empty."""
    for number, line in enumerate(part):
        if number == 0:
            yield [("", "")]
        yield [("  ", ""), *line]


def notes(group: Group) -> Iterator[str]:
    """What the reader should know, each text once; of some targets only, with their names."""
    found: dict[str, list[str]] = {}
    for ledger in group.ledgers:
        for note in dict.fromkeys(ledger.notes):
            found.setdefault(note, []).append(name_of(ledger))
    for note, names in found.items():
        where = f"on {listed(names)}: " if len(names) < len(group.ledgers) else ""
        yield where + note
