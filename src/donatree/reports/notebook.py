"""A record as a notebook shows it: HTML, and the report for people as text beside it."""

from __future__ import annotations

import io
import sys
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from donatree.ledger import Account, Finding, Ledger
from donatree.reports import DEFAULT_WIDTH, Options, cell_names, streams

Record = Ledger | Finding | Account | Mapping[str, Any]
"""What can be shown. Plain data says by its ``kind`` what it is: holders, twins or advice."""

PLAIN, HTML = "text/plain", "text/html"


def text(record: Record, options: Options | None = None) -> str:
    """A record as the report for people, without colours, 100 columns wide.

    Args:
        record: what to show.
        options: how to write it.

    Returns:
        Its lines, without a newline at the end. What standard output cannot take is written as an
        escape, so that printing it never fails for a name in the user's program.

    Raises:
        TypeError: there is no such record.

    Example:
        >>> print(text(Finding("DT704", "`old` is used", help="copy it")))
        error[DT704]: `old` is used
          = help: copy it
    """
    encoding = streams.encoding(sys.stdout)
    marks = streams.has_marks(sys.stdout)
    made = _text(record, replace(options or Options(), unicode=marks))
    return cell_names.named(made).encode(encoding, "backslashreplace").decode(encoding)


def _text(record: Record, options: Options) -> str:
    from donatree.reports import advice, diagnostic, sharing, terminal
    from donatree.reports.console import Document

    width = options.width or DEFAULT_WIDTH
    match record:
        case Account():
            return _written(terminal.document(record, options), width)
        case Ledger():
            # Without the title, which speaks of a program that was run.
            whole = terminal.document(Account(ledgers=(record,)), options)
            start = next((i for i, line in enumerate(whole.lines) if not line), 0)
            return _written(Document(whole.lines[start:]), width)
        case Finding():
            return diagnostic.text(record, width)
        case {"kind": "holders"}:
            return _written(Document(tuple(sharing.holders(record, width))), width)
        case {"kind": "twins"}:
            return _written(Document(tuple(sharing.twins(record, width))), width)
        case {"kind": "advice"}:
            return _written(Document(tuple(advice.lines(record, width))), width)
    raise TypeError(f"cannot show {type(record).__name__}")


def _written(document: Any, width: int) -> str:
    from donatree.reports.console import put

    stream = io.StringIO()
    put(document, stream, width, color=False)
    return stream.getvalue().strip("\n")


def html(record: Record, *, expand: bool = False) -> str:
    """A record as a piece of HTML that needs nothing else: no script, no file, no network.

    Args:
        record: what to show.
        expand: show every leaf.

    Raises:
        TypeError: there is no such record.
    """
    from donatree.reports.html import listed, pieces

    match record:
        case Account():
            made = pieces.account(record, expand=expand)
        case Ledger():
            made = pieces.account(Account(ledgers=(record,)), expand=expand)
        case Finding():
            made = pieces.finding(record)
        case {"kind": "holders"}:
            made = listed.holders(record)
        case {"kind": "twins"}:
            made = listed.twins(record)
        case {"kind": "advice"}:
            made = listed.advice(record)
        case _:
            raise TypeError(f"cannot show {type(record).__name__}")
    return cell_names.named(made)


def bundle(
    record: Record,
    include: Collection[str] | None = None,
    exclude: Collection[str] | None = None,
    *,
    expand: bool = False,
) -> dict[str, str]:
    """A record in every form that a front end may choose from.

    Args:
        record: what to show.
        include: MIME types to make; all if None or empty.
        exclude: MIME types to leave out.
        expand: show every leaf.

    Returns:
        The texts by MIME type, ``text/html`` and ``text/plain``.
    """

    def wanted(kind: str) -> bool:
        return (not include or kind in include) and kind not in (exclude or ())

    made: dict[str, str] = {}
    if wanted(PLAIN):
        made[PLAIN] = text(record, Options(expand=expand))
    if wanted(HTML):
        made[HTML] = html(record, expand=expand)
    return made
