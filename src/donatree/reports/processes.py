"""What a merged report says of the processes that it was merged from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import PurePath

from donatree.ledger import Account, Process
from donatree.reports.text import BAD, HEAD, Line, clean, paragraph

_NAMED = 3


def named(indexes: Iterable[int], count: int) -> str:
    """Processes in words: `process 1 of 2`, `processes 0, 1, 2 and 5 more of 16`."""
    numbers = sorted(indexes)
    if len(numbers) == 1:
        return f"process {numbers[0]} of {count}"
    shown, rest = numbers[:_NAMED], len(numbers[_NAMED:])
    if rest:
        text = f"{', '.join(map(str, shown))} and {rest:,} more"
    else:
        text = f"{', '.join(map(str, shown[:-1]))} and {shown[-1]}"
    return f"processes {text} of {count}"


def lines(account: Account, width: int) -> Iterator[Line]:
    """How many processes there are, where their ledgers lie, and which of them are not whole.

    Args:
        account: what was learnt of a program.
        width: columns that the notes are wrapped to.

    Yields:
        Nothing where there is one process.
    """
    if not account.processes:
        return
    count = account.processes[0].count
    files = [process.file for process in account.processes if process.file]
    # Not by the machine's own rule: a report may be read elsewhere.
    folder = clean(PurePath(files[0]).parent.as_posix()) + "/" if files else None
    if len(account.processes) < count:
        text = f"{named([p.index for p in account.processes], count)}, not merged with the others"
    else:
        text = f"{count:,} processes, merged"
    yield [(text + (f"; ledgers in {folder}" if folder else ""), "")]
    for status, said in _SAID.items():
        indexes = [each.index for each in account.processes if each.status == status]
        if indexes:
            told = f"{named(indexes, count)} {said.format(folder=folder or 'the folder')}"
            yield from paragraph(told, width, [("  = ", "blue"), ("note: ", HEAD)], 10, BAD)
    ended: dict[str, list[Process]] = {}
    for process in account.processes:
        if process.ended:
            ended.setdefault(process.ended, []).append(process)
    for text, alike in ended.items():
        who = named([process.index for process in alike], count)
        told = f"{who} ended with {clean(text)}"
        yield from paragraph(told, width, [("  = ", "blue"), ("note: ", HEAD)], 10)


_SAID = {
    "died": "died; what had been learnt there until then is in this report",
    "running": "had not ended; what had been learnt there until then is in this report",
    "missing": "left no ledger in {folder}: not run by `donatree run`, or the folder is not shared",
}
