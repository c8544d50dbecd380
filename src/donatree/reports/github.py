"""Workflow commands of GitHub Actions: an annotation a problem, on the line of the cause."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, TextIO

from donatree.ledger import Account, Level, Location
from donatree.reports import changes, files, ignored, problems, streams
from donatree.reports.text import clean

if TYPE_CHECKING:
    from donatree.reports import Options

_COMMANDS: dict[Level, str] = {"error": "error", "warning": "warning", "note": "notice"}


def write(account: Account, stream: TextIO, options: Options) -> None:
    """Writes the annotations, errors first, then lines that the log shows as they are.

    GitHub shows ten of each kind a step; all of them are in the log. Files are named from
    the root of the repository. What is ignored has no annotation.

    Args:
        account: what was learnt of a program.
        stream: an open text stream.
        options: they do not matter.
    """
    del options
    streams.put("".join(f"{line}\n" for line in lines(account)), stream)


def lines(account: Account) -> Iterator[str]:
    """The annotations and the log's last lines, without their newlines."""
    for each in problems.of(account):
        title = f"donatree {problems.name(each.rule)}"
        yield command(_COMMANDS[each.level], each.message, title, each.location)
    for text in _warnings(account):
        yield command("warning", clean(text), "donatree")
    yield f"donatree: {problems.summary(account)}"
    if account.ledgers and account.comparison is not None:
        yield f"donatree: {changes.summary(account.comparison)}"
    told = ignored.summary(account)
    if told:
        yield f"donatree: {clean(told)}"


def _warnings(account: Account) -> Iterator[str]:
    """What concerns the account as a whole."""
    if account.ended:
        yield f"the program ended with {account.ended}; this is what was learnt until then"
    for fault in dict.fromkeys(account.faults):
        yield f"donatree itself failed in {fault.where}: {fault.error}"
    yield from problems.unmet(account)
    for each in account.unmatched:
        yield f"ignore that matched nothing: {each}"


def command(kind: str, message: str, title: str, location: Location | None = None) -> str:
    r"""One workflow command.

    Args:
        kind: ``error``, ``warning`` or ``notice``.
        message: what is said, of any number of lines.
        title: the annotation's title.
        location: the place; the columns are left out where it is of several lines, as GitHub
            takes none there.

    Example:
        >>> command("error", "50%\nlost", "a, b: c", Location("train.py", 7))
        '::error file=train.py,line=7,title=a%2C b%3A c::50%25%0Alost'
    """
    found: dict[str, object] = {}
    if location is not None:
        found["file"] = clean(files.relative(location.file, files.workspace()))
        found["line"] = max(location.line, 1)
        start, end, last = files.span(location)
        if last is not None and last > location.line:
            found["endLine"] = last
        elif start is not None:
            found["col"] = start
            if end is not None:
                found["endColumn"] = end
    found["title"] = title
    shown = ",".join(f"{name}={_property(str(value))}" for name, value in found.items())
    return f"::{kind} {shown}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
