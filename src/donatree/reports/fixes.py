"""Fixes that were tried, as lines below the finding that they cure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from donatree.ledger import Finding, Fix, Tally
from donatree.reports.text import DIM, GOOD, HEAD, Line, paragraph

_GRADES = {
    "sure": "`--patch` makes this edit",
    "maybe": "`--patch` makes this edit; look at it first",
    "sketch": None,
}
_SHOWN = 3


def of_finding(fixes: Iterable[Fix], finding: Finding) -> list[Fix]:
    """The fixes that are for a finding, each once.

    Args:
        fixes: of the ledgers in which it stands.
        finding: the finding.
    """
    single = (fix for fix in fixes if fix.kind != "together")
    return [fix for fix in dict.fromkeys(single) if _is_for(fix, finding)]


def _is_for(fix: Fix, finding: Finding) -> bool:
    return finding.code in fix.codes and not set(fix.leaves).isdisjoint(finding.leaves)


def lines(
    fixes: Sequence[Fix], devices: int, width: int, gutter: int = 1, *, evidence: bool = False
) -> Iterator[Line]:
    """The lines of some fixes: ``= verified:`` and, as evidence, ``= tried:``.

    Args:
        fixes: those of one finding.
        devices: how many devices the program spans.
        width: columns.
        gutter: columns of the finding's line numbers.
        evidence: whether to tell what did not hold as well, and all that held.
    """
    held = [fix for fix in fixes if fix.held]
    shown = list(fixes) if evidence else held[:_SHOWN]
    for fix in shown:
        word, style = ("verified", GOOD) if fix.held else ("tried", DIM)
        head: Line = [(" " * (gutter + 1) + "= ", "blue"), (f"{word}: ", HEAD)]
        indent = gutter + 3 + len(word) + 2
        yield from paragraph(sentence(fix, devices), width, head, indent, style)
        for note in notes(fix):
            start: Line = [(" " * indent, ""), ("note: ", HEAD)]
            yield from paragraph(note, width, start, indent + 6)
    if len(held) > _SHOWN and not evidence:
        more = f"{len(held) - _SHOWN:,} more held; `--show-evidence` shows them"
        yield from paragraph(more, width, [(" " * (gutter + 3), "")], gutter + 3, DIM)


def together(
    fixes: Iterable[Fix], devices: int, width: int, *, evidence: bool = False
) -> Iterator[Line]:
    """What all changes of one ledger do together; nothing where there are not two.

    Args:
        fixes: of the ledger.
        devices: how many devices the program spans.
        width: columns.
        evidence: whether to tell it where it did not hold.
    """
    found = [fix for fix in fixes if fix.kind == "together"]
    yield from lines(found, devices, width, evidence=evidence)


def sentence(fix: Fix, devices: int = 1) -> str:
    """What came of a fix, in one sentence.

    Args:
        fix: the fix.
        devices: how many devices the program spans.

    Returns:
        The sentence, which does not say whether it held: that is the word before it.

    Example:
        >>> sentence(Fix("keep_unused", ("DT201",), ("s",), "with `keep_unused=True`", "held",
        ...     before=Tally(84, 80, 148), after=Tally(84, 84, 144)))
        'with `keep_unused=True` 84 of 84 bytes, live memory 148 -> 144 bytes'
    """
    if fix.status == "untried":
        return f"{fix.change}: not tried, {fix.why_not}"
    if fix.status == "failed" or fix.after is None:
        return f"{fix.change}: it does not hold, {fix.why_not}"
    if fix.kind == "copy_twins":
        return f"{fix.change} {_kept(fix.after)}"
    where = " on each device" if devices > 1 else ""
    where = where if fix.after.promised else ""
    text = f"{fix.change} {_kept(fix.after)}{where}{_live(fix.before, fix.after)}"
    if fix.compiles_again:
        text += ", and the next call does not compile again"
    return text


def _kept(tally: Tally) -> str:
    if not tally.promised:
        return "nothing is donated"
    noun = "byte" if tally.promised == 1 else "bytes"
    return f"{tally.in_place:,} of {tally.promised:,} {noun}"


def _live(before: Tally, after: Tally) -> str:
    if before.live is None or after.live is None:
        return ""
    return f", live memory {before.live:,} -> {after.live:,} bytes"


def notes(fix: Fix) -> Iterator[str]:
    """The facts of a fix that held, and what `--patch` does with it."""
    if not fix.held:
        return
    yield from fix.notes
    grade = _GRADES[fix.grade] if fix.edit else None
    if grade:
        yield grade
