"""The advice on one function, for people: each argument with what it saves, and what to write."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TextIO

from donatree.reports import sizes, streams
from donatree.reports.console import Document, put
from donatree.reports.text import BAD, CARE, DIM, GOOD, HEAD, Line, clean, paragraph

STYLES = {
    "donate": f"bold {GOOD}",
    "take back": BAD,
    "undecided": CARE,
    "saves nothing": CARE,
    "donated already": GOOD,
    "keep": "",
}


def write(advice: Mapping[str, Any], stream: TextIO) -> None:
    """Writes the section of one function to a stream, with colours where it takes them.

    Args:
        advice: what `AdviceList.to_dict` gives.
        stream: an open text stream.
    """
    width = streams.width(stream)
    put(Document(tuple(lines(advice, width))), stream, width, streams.wants_color(stream))


def lines(advice: Mapping[str, Any], width: int) -> Iterator[Line]:
    """The section of one function.

    Args:
        advice: what `AdviceList.to_dict` gives.
        width: columns.
    """
    header: Line = [(clean(advice["function"]), "bold cyan")]
    place = advice["defined_at"]
    if place:
        header.append((clean(f" ({place['file']}:{place['line']})"), ""))
    if advice.get("target"):
        header.append((f" for {clean(advice['target'])}", "bold"))
    yield header
    calls: Sequence[str] = advice["calls"]
    if calls:
        shown = ", ".join(calls[:3]) + (f" and {len(calls) - 3:,} more" if len(calls) > 3 else "")
        yield [(clean(f"  called at {shown}"), DIM)]
    yield [("", "")]
    rows = advice["advice"]
    name = max((len(clean(each["argument"])) for each in rows), default=0)
    verdict = max((len(each["verdict"]) for each in rows), default=0)
    for each in rows:
        yield [
            ("  ", ""),
            (clean(each["argument"]).ljust(name), HEAD),
            ("  ", ""),
            (each["verdict"].ljust(verdict), STYLES[each["verdict"]]),
            (f"  {figure(each)}", ""),
        ]
        for reason in each["reasons"]:
            yield from paragraph(clean(reason), width, [("    = ", "blue"), ("why: ", HEAD)], 11)
        if each["help"]:
            yield from paragraph(
                clean(each["help"]), width, [("    = ", "blue"), ("help: ", HEAD)], 12
            )
    yield [("", "")]
    yield from paragraph(conclusion(advice), width, [("  ", "")], 2, HEAD)
    for note in advice["notes"]:
        yield from paragraph(clean(note), width, [("  = ", "blue"), ("note: ", HEAD)], 10)


def figure(each: Mapping[str, Any]) -> str:
    """What an argument has and what donating it saves: ``saves 2.00 of 4.00 MiB (measured)``."""
    size, saved = sizes.short(each["bytes"]), each["saved_bytes"]
    if saved is None or (each["verdict"] == "keep" and not each["measured"]):
        return size
    how = "measured" if each["measured"] else "estimated"
    if saved < 0:
        return f"costs {sizes.short(-saved)} ({how}), has {size}"
    less = sizes.short(saved)
    if less.endswith(" bytes") and size.endswith(" bytes"):
        less = less.removesuffix(" bytes")
    return f"saves {less} of {size} ({how})"


def conclusion(advice: Mapping[str, Any]) -> str:
    """What to write, and live memory before and after."""
    if not any(each["verdict"] in ("donate", "take back") for each in advice["advice"]):
        return "nothing to change"
    text = f"write `{advice['keyword']}`" if advice["keyword"] else "donate nothing"
    before, after = advice["live_bytes_before"], advice["live_bytes_after"]
    if before is None or after is None:
        return text
    return f"{text}: live memory {sizes.short(before)} -> {sizes.short(after)} per device"
