"""Who else holds the leaves of a tree, and which of its leaves are one buffer, for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from donatree.reports import sizes
from donatree.reports.text import CARE, DIM, GOOD, HEAD, Line, clean, paragraph

KINDS = {
    "leaf": "the array itself",
    "container": "what it is in",
    "handle": "another array over its buffer",
    "view": "reads its memory without JAX",
}
"""The kinds of holder in words."""


def holders(data: Mapping[str, Any], width: int) -> Iterator[Line]:
    """The holders of a tree, each with what it holds.

    Args:
        data: what `Holders.to_dict` gives.
        width: columns.

    Example:
        >>> for line in holders({"of": "state", "holders": []}, 80):
        ...     print("".join(text for text, _ in line))
        nothing else holds `state`
    """
    yield from paragraph(holders_title(data), width, [], 2, HEAD if data["holders"] else GOOD)
    for each in data["holders"]:
        about = f"{sizes.short(each['bytes'])}, {what(each)}"
        yield [("  ", ""), (clean(each["held"]), HEAD), (f"  {clean(about)}", DIM)]
        yield from paragraph(clean(each["chain"]), width, [("    ", "")], 6)
        if each["read_at"]:
            place = f"{each['read_at']['file']}:{each['read_at']['line']}"
            yield [("    ", ""), (clean(f"read again at {place}"), CARE)]


def holders_title(data: Mapping[str, Any]) -> str:
    """How many holders there are of what."""
    name, found = clean(data["of"]), len(data["holders"])
    if not found:
        return f"nothing else holds `{name}`"
    return f"{sizes.count(found, 'other holder')} of `{name}`"


def what(holder: Mapping[str, Any]) -> str:
    """What a holder is, in words."""
    kind = KINDS[holder["kind"]]
    return f"{holder['what']}: {kind}" if holder["what"] else kind


def twins(data: Mapping[str, Any], width: int) -> Iterator[Line]:
    """The leaves that are one buffer, a group a buffer.

    Args:
        data: what `TwinsList.to_dict` gives.
        width: columns.

    Example:
        >>> for line in twins({"twins": []}, 80):
        ...     print("".join(text for text, _ in line))
        no two leaves are one buffer
    """
    yield from paragraph(twins_title(data), width, [], 2, HEAD if data["twins"] else GOOD)
    for each in data["twins"]:
        about = f"{each['aval']}, {sizes.short(each['bytes'])}, {one(each)}"
        yield [("  ", ""), (clean(about), DIM)]
        for path in each["paths"]:
            yield [("    ", ""), (clean(path), HEAD)]


def twins_title(data: Mapping[str, Any]) -> str:
    """How many buffers are shared."""
    found = len(data["twins"])
    if not found:
        return "no two leaves are one buffer"
    what = "1 buffer is" if found == 1 else f"{found:,} buffers are"
    return f"{what} shared by several leaves: to donate them is an error"


def one(twins: Mapping[str, Any]) -> str:
    """In which way the leaves are one."""
    return "one array" if twins["same_object"] else "several arrays over one buffer"
