"""The dry run's part of the report: each argument that was rehearsed, and what to add."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from donatree.ledger import Account, Rehearsal
from donatree.reports import sizes
from donatree.reports.text import BAD, CARE, DIM, GOOD, HEAD, Line, clean, paragraph


def lines(account: Account, width: int) -> Iterator[Line]:
    """The section; nothing where nothing was rehearsed.

    Args:
        account: what was learnt of a program.
        width: columns.
    """
    if not account.rehearsals:
        return
    yield [("dry run: ", HEAD), ("nothing was donated that the program does not donate itself", "")]
    sites: dict[object, list[Rehearsal]] = {}
    for each in account.rehearsals:
        if each.calls:
            sites.setdefault((each.function, each.location, each.call), []).append(each)
        else:
            yield from _missed(each, width)
    for group in sites.values():
        yield [("", "")]
        yield from _site(group, width)
    text = (
        "`--donate NAME:ARGUMENT` rehearses another argument, `--donate NAME:0` one by its number"
    )
    yield from paragraph(text, width, [("  = ", "blue"), ("help: ", HEAD)], 10)


def _missed(rehearsal: Rehearsal, width: int) -> Iterator[Line]:
    if rehearsal.function:
        text = f"`--donate {rehearsal.argument}` matches nothing: {rehearsal.why}"
        yield from paragraph(text, width, [("warning: ", f"bold {CARE}")], 9)
    else:
        yield from paragraph(rehearsal.why, width, [("  = ", "blue"), ("note: ", HEAD)], 10)


def _site(group: Sequence[Rehearsal], width: int) -> Iterator[Line]:
    first = group[0]
    header: Line = [(clean(first.function), "bold cyan")]
    if first.location:
        header.append((f" ({clean(str(first.location))})", ""))
    yield header
    called = f"called at {clean(str(first.call))}, " if first.call else ""
    yield [(f"  {called}{sizes.count(first.calls, 'call')} looked at", DIM)]
    for each in group:
        rest = f"{sizes.leaves(each.leaves)}, {sizes.size(each.bytes)}; {each.why}"
        yield [("  ", ""), (clean(each.argument), HEAD), (f"  {clean(rest)}", "")]
        for text in _facts(each):
            yield from paragraph(text, width, [("    = ", "blue"), ("note: ", HEAD)], 12)
        style, text = _verdict(each)
        yield from paragraph(text, width, [("    = ", "blue"), ("help: ", HEAD)], 12, style)


def _facts(each: Rehearsal) -> Iterator[str]:
    one = each.leaves == 1
    if each.held_leaves:
        held = "it" if one else f"{each.held_leaves:,} of the {sizes.leaves(each.leaves)}"
        yield f"after the call somebody still held {held}"
    elif each.confirmed_calls:
        yield f"after the call nobody held {'it' if one else f'any of its {each.leaves:,} leaves'}"
    if each.taken_bytes < each.bytes:
        missing = sizes.size(each.bytes - each.taken_bytes)
        yield f"{missing} could not be reused: no output of the same type is left for them"


def _verdict(each: Rehearsal) -> tuple[str, str]:
    if each.codes:
        codes = ", ".join(each.codes)
        return BAD, f"mend what is found below ({codes}) before you add `{each.keyword}`"
    if not each.taken_bytes:
        return CARE, "donating it would save nothing"
    return GOOD, f"nothing else holds it: add `{each.keyword}`"
