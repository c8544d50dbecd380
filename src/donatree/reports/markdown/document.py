"""A report in Markdown: for the summary of a job, or a comment on a pull request.

A comment may have 65,536 characters and a summary 1 MiB. The report stays below the first, and with
``expand`` below the second: what does not fit is left out, and counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, TextIO

from donatree.ledger import Account
from donatree.reports import advice as advised
from donatree.reports import (
    changes,
    ignored,
    problems,
    processes,
    rehearsals,
    sizes,
    streams,
)
from donatree.reports import findings as found
from donatree.reports.group import groups
from donatree.reports.markdown import finding, ledgers, sections
from donatree.reports.markdown.markup import code, fence, plain, prose
from donatree.reports.text import Line

if TYPE_CHECKING:
    from donatree.reports import Options

COMMENT = 60_000
"""Bytes of a report: some less than a comment on GitHub may have."""
SUMMARY = 1_000_000
"""Bytes with ``expand``: some less than the summary of a job's step may have."""

_ROWS = 40
_WIDTH = 100


def write(account: Account, stream: TextIO, options: Options) -> None:
    """Writes the report.

    Args:
        account: what was learnt of a program.
        stream: an open text stream.
        options: ``expand`` allows for more bytes, and for each leaf a line.
    """
    most = SUMMARY if options.expand else COMMENT
    streams.put(text(account, most, expand=options.expand), stream)


def text(account: Account, most: int = COMMENT, *, expand: bool = False) -> str:
    """The report as text.

    Args:
        account: what was learnt of a program.
        most: so many bytes of UTF-8 it has at most.
        expand: tell every leaf and function, as far as there is room.

    Returns:
        Blocks of Markdown, the most important first, ended by a newline.
    """
    shown: list[str] = []
    room = most - 200  # for the last line
    left_out = 0
    for block in _blocks(account, expand):
        size = len(block.encode("utf-8", "backslashreplace")) + 2
        if size > room:
            left_out += 1
            continue
        room -= size
        shown.append(block)
    if left_out:
        parts = sizes.count(left_out, "part")
        shown.append(f"_{parts} left out for want of room; the other formats have everything._")
    return "\n\n".join(shown) + "\n"


def _blocks(account: Account, expand: bool) -> Iterator[str]:
    yield f"## {'❌' if _fails(account) else '✅'} {_title(account)}"
    about = [account.program and code(account.program)]
    versions = account.versions
    about += [versions.get("jax") and f"jax {plain(versions['jax'])}"]
    about += [account.platform and plain(account.platform)]
    if any(about):
        yield ", ".join(filter(None, about))
    if account.ended:
        ended = plain(account.ended)
        yield f"❌ the program ended with {ended}; this is what was learnt until then"
    if account.comparison is not None:
        yield from sections.comparison(account.comparison, expand=expand)
    yield from ledgers.blocks(account.ledgers, expand=expand)
    shown = list(found.told(account))
    if shown:
        yield "### Findings"
    for each, functions, targets in shown:
        yield finding.text(each, functions, targets, expand=expand)
    for lines in (
        rehearsals.lines(account, _WIDTH),
        *(advised.lines(a, _WIDTH) for a in account.advice),
    ):
        told = list(map(_joined, lines))
        if told:
            yield fence(told)
    for ledger in account.ledgers:
        yield from sections.too_large(ledger)
    yield from _rest(account)
    for group in groups(account.ledgers):
        if len(group.ledgers) > 1:
            yield from sections.side_by_side(group, expand=expand)
    signatures = ledgers.signatures(account.ledgers)
    for ledger, signature in zip(account.ledgers, signatures, strict=True):
        yield sections.leaves(ledger, signature, expand=expand)


def _fails(account: Account) -> bool:
    compared = account.comparison is not None and account.comparison.fails
    told = any(s.finding.level != "note" for s in found.ranked(account))
    return bool(compared or told or account.ended or account.faults)


def _title(account: Account) -> str:
    if account.comparison is not None and not account.ledgers:
        return f"donatree: {plain(changes.title(account.comparison))}"
    return f"donatree: {problems.summary(account)}"


def _joined(line: Line) -> str:
    return "".join(piece for piece, _ in line)


def _rest(account: Account) -> Iterator[str]:
    """What concerns the account as a whole, an item each."""
    items = [plain(_joined(line).strip()) for line in processes.lines(account, 10_000)]
    refused = dict.fromkeys((each.function, each.target, each.why) for each in account.refusals)
    for function, target, why in refused:
        items.append(f"not compiled: {code(function)} for {code(target)}: {prose(why)}")
    items += [plain(told) for told in filter(None, (ignored.summary(account),))]
    items += [f"⚠️ ignore that matched nothing: {prose(each)}" for each in account.unmatched]
    items += [prose(note) for note in account.notes]
    for fault in dict.fromkeys(account.faults):
        items.append(f"❌ donatree itself failed in {plain(fault.where)}: {plain(fault.error)}")
    if items:
        yield "\n".join(f"- {item}" for item in items)
