"""Every way to write an account down, one small file a format.

The formats are data: ``FORMATS`` names them, and a format's module is imported when something is
written in it, so that rich is not imported for JSON, nor by ``import donatree``.

========== ====================================================================================
terminal   for people, with colour where the stream takes it
plain      the same report without colour
json       for programs; its JSON Schema is ``reports/schema/ledger-1.json``
html       one page for a browser, which needs no network
markdown   for a pull request, or the summary of a job
sarif      SARIF 2.1.0, for code scanning
github     annotations of a GitHub workflow, on the line of the cause
gitlab     GitLab's code quality report
junit      a test suite: one test case a ledger
csv        one row a leaf
========== ====================================================================================

Example:
    >>> import sys
    >>> from donatree.ledger import Account
    >>> write(Account(versions={"donatree": "0.1.0"}), sys.stdout, "json")  # doctest: +SKIP
"""

from __future__ import annotations

import importlib
import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TextIO

from donatree.ledger import Account

DEFAULT_WIDTH = 100


@dataclass(frozen=True, slots=True)
class Options:
    """How a report for people is written. What is None is read from the stream and environment.

    Attributes:
        width: columns; those of the terminal, or 100 where the stream is none.
        color: whether to write colours; ``NO_COLOR``, ``FORCE_COLOR``, then whether the stream
            is a terminal.
        unicode: whether to write marks outside ASCII; whether the stream's encoding has them.
        expand: show every leaf, and nothing in short.
        evidence: show under each leaf what was read for each gate.
    """

    width: int | None = None
    color: bool | None = None
    unicode: bool | None = None
    expand: bool = False
    evidence: bool = False


Writer = Callable[[Account, TextIO, Options], None]

FORMATS: Mapping[str, str] = {
    "terminal": "donatree.reports.terminal:write",
    "plain": "donatree.reports.terminal:write_plain",
    "json": "donatree.reports.json:write",
    "html": "donatree.reports.html:write",
    "markdown": "donatree.reports.markdown:write",
    "sarif": "donatree.reports.sarif:write",
    "github": "donatree.reports.github:write",
    "gitlab": "donatree.reports.gitlab:write",
    "junit": "donatree.reports.junit:write",
    "csv": "donatree.reports.csv:write",
}


def write(
    account: Account,
    stream: TextIO,
    format: str = "terminal",  # noqa: A002 - the word that users know
    options: Options | None = None,
) -> None:
    """Writes an account to a stream.

    The same account and options give the same text. What the stream's encoding does not have is
    written as an escape, so that writing never fails for a name in the user's program.

    Args:
        account: what was learnt of a program.
        stream: an open text stream; it is not closed.
        format: one of ``FORMATS``.
        options: how to write a report for people; formats for programs ignore them.

    Raises:
        ValueError: there is no such format.
    """
    if format not in FORMATS:
        raise ValueError(f"no report format `{format}`; there are {', '.join(FORMATS)}")
    module, name = FORMATS[format].split(":")
    writer: Writer = getattr(importlib.import_module(module), name)
    writer(account, stream, options or Options())


def render(
    account: Account,
    format: str = "plain",  # noqa: A002 - as above
    options: Options | None = None,
) -> str:
    """An account as text, as ``write`` would write it to a stream that is no terminal.

    Args:
        account: what was learnt of a program.
        format: one of ``FORMATS``.
        options: how to write a report for people.

    Returns:
        The report, ended by a newline.

    Raises:
        ValueError: there is no such format.
    """
    stream = io.StringIO()
    write(account, stream, format, options)
    return stream.getvalue()
