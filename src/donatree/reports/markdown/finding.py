"""A finding in Markdown: its source, its facts, and its leaves closed until they are opened."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from donatree.reports import diagnostic, fixes, sizes
from donatree.reports.findings import Shown
from donatree.reports.markdown.markup import code, fence, folded, plain, prose
from donatree.reports.text import UNICODE, clean

_LEAVES = 40
_EXPANDED = 4_000  # more of them have no room
_MARKS = {"error": "❌", "warning": "⚠️", "note": "ℹ️"}  # noqa: RUF001


def text(
    shown: Shown, functions: Iterable[str] = (), targets: str | None = None, *, expand: bool = False
) -> str:
    """A finding as a block of Markdown.

    Args:
        shown: the finding, with its ledgers.
        functions: names of the functions that it concerns, where the reader cannot tell.
        targets: the targets on which it was found, where there are others.
        expand: more of its leaves.
    """
    finding = shown.finding
    blocks = [f"#### {_MARKS[finding.level]} {plain(finding.code)}: {prose(finding.headline)}"]
    _, source = diagnostic.drawn(finding, UNICODE)
    if source:
        blocks.append(fence("".join(piece for piece, _ in line) for line in source))
    facts = [*diagnostic.attached(finding, tuple(functions), targets)]
    facts += [("verified", text) for text in _held(shown)]
    items = [_fact(word, text) for word, text in facts]
    if items:
        blocks.append("\n".join(items))
    if len(finding.leaves) > 1:
        paths = finding.leaves[: _EXPANDED if expand else _LEAVES]
        more = len(finding.leaves) - len(paths)
        listed = [*map(clean, paths), *([f"and {more:,} more"] if more else [])]
        blocks.append(folded(sizes.leaves(len(finding.leaves)), fence(listed)))
    return "\n\n".join(blocks)


def _fact(word: str, text: str) -> str:
    shown = prose(text) if word in ("note", "help", "verified") else plain(text)
    if word in ("leaf", "leaves", "largest"):
        path, comma, size = text.rpartition(", ")
        shown = f"{code(path)}{comma}{plain(size)}" if comma else code(text)
    return f"- {word}: {shown}"


def _held(shown: Shown) -> Iterator[str]:
    tried = (fix for ledger in shown.ledgers for fix in ledger.fixes)
    devices = max((each.devices for each in shown.ledgers), default=1)
    for fix in fixes.of_finding(tried, shown.finding):
        if fix.held:
            yield fixes.sentence(fix, devices)
