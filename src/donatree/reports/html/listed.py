"""Pieces of the lists that donatree returns: who else holds a tree, its twins, the advice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from donatree.reports import advice as words
from donatree.reports import sharing, sizes
from donatree.reports.html import templates
from donatree.reports.html.spans import prose

Column = tuple[str, str]

_STYLES = {
    "donate": "good strong",
    "donated already": "good",
    "take back": "bad",
    "undecided": "care",
    "saves nothing": "care",
}


def holders(data: Mapping[str, Any]) -> str:
    """The piece of what `Holders.to_dict` gives: a row a holder.

    Example:
        >>> "nothing else holds" in holders({"of": "state", "holders": []})
        True
    """
    rows = [
        (
            prose(each["held"]),
            sizes.short(each["bytes"]),
            prose(each["chain"]),
            prose(sharing.what(each)),
            _place(each["read_at"]),
        )
        for each in data["holders"]
    ]
    columns = [("held", ""), ("bytes per device", "figure"), ("by", "path"), ("as", "")]
    if any(each["read_at"] for each in data["holders"]):
        columns.append(("read again at", "place"))
    rows = [row[: len(columns)] for row in rows]
    return _piece(sharing.holders_title(data), columns, rows)


def twins(data: Mapping[str, Any]) -> str:
    """The piece of what `TwinsList.to_dict` gives: a row a buffer.

    Example:
        >>> "no two leaves are one buffer" in twins({"twins": []})
        True
    """
    rows = [
        (
            Markup("<br>").join(map(prose, each["paths"])),
            prose(each["aval"]),
            sizes.short(each["bytes"]),
            sharing.one(each),
        )
        for each in data["twins"]
    ]
    columns = [("leaves", ""), ("type", ""), ("bytes per device", "figure"), ("they are", "")]
    return _piece(sharing.twins_title(data), columns, rows)


def advice(data: Mapping[str, Any]) -> str:
    """The piece of what `AdviceList.to_dict` gives: a row an argument, then what to write."""
    rows = [
        (
            prose(each["argument"]),
            Markup('<span class="{}">{}</span>').format(
                _STYLES.get(each["verdict"], ""), each["verdict"]
            ),
            prose(words.figure(each)),
            _reasons(each),
        )
        for each in data["advice"]
    ]
    columns = [("argument", ""), ("verdict", ""), ("bytes per device", ""), ("why", "")]
    place = data["defined_at"]
    where = f" ({place['file']}:{place['line']})" if place else ""
    calls = ", ".join(data["calls"][:3])
    told = [("", words.conclusion(data)), *(("note", note) for note in data["notes"])]
    called = f", called at {calls}" if calls else ""
    return _piece(f"`{data['function']}`{where}{called}", columns, rows, told)


def _reasons(each: Mapping[str, Any]) -> Markup:
    lines = [prose(reason) for reason in each["reasons"]]
    if each["help"]:
        lines.append(Markup("<b>help</b> ") + prose(each["help"]))
    return Markup("<br>").join(lines)


def _place(place: Mapping[str, Any] | None) -> str:
    return f"{place['file']}:{place['line']}" if place else ""


def _piece(
    title: str,
    columns: Sequence[Column],
    rows: Sequence[Sequence[Any]],
    told: Sequence[tuple[str, str]] = (),
) -> str:
    return templates.render(
        "listed.html.j2",
        style=templates.style("base.css"),
        title=title,
        columns=columns,
        rows=rows,
        told=told,
    )
