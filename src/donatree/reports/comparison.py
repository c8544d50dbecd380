"""What changed against a baseline or an older account, for people: what fails first."""

from __future__ import annotations

from collections.abc import Iterator

from donatree.ledger import Account, Comparison
from donatree.reports import changes, sizes
from donatree.reports.changes import Turn
from donatree.reports.places import place
from donatree.reports.text import BAD, CARE, DIM, GOOD, HEAD, Line, clean, paragraph

_SHORT = {
    "better": ("now reused", GOOD),
    "other": ("lost for another reason", CARE),
    "gone": ("gone", DIM),
}


def sections(account: Account, width: int, *, expand: bool = False) -> Iterator[list[Line]]:
    """The comparison of an account: a section for what it was compared with, one for each failure.

    Args:
        account: what was learnt of a program.
        width: columns.
        expand: name every leaf.

    Yields:
        Nothing where nothing was compared. Each failure in the form of a finding, then what does
        not fail on a line each, what was not met, and what is the same.
    """
    comparison = account.comparison
    if comparison is None:
        return
    turns = changes.turns(comparison)
    for turn in turns:
        if turn.first.fails:
            yield list(_failure(turn, width, expand))
    yield list(_rest(comparison, turns, width, expand))


def _failure(turn: Turn, width: int, expand: bool) -> Iterator[Line]:
    yield [(f"error[{turn.kind}]", BAD), (f": {clean(changes.headline(turn))}", HEAD)]
    if turn.location:
        yield [(" --> ", "blue"), (clean(place(turn.location)), "")]
    for word, text in changes.facts(turn):
        head: Line = [("  = ", "blue"), (f"{word}: ", HEAD)]
        yield from paragraph(text, width, head, len(word) + 6)
    if expand and len(turn.changes) > 1:
        yield from _each(turn)


def _each(turn: Turn) -> Iterator[Line]:
    for change in turn.changes:
        yield [(f"      {clean(change.path)}", ""), (f"  {sizes.short(change.bytes)}", DIM)]


def _rest(comparison: Comparison, turns: list[Turn], width: int, expand: bool) -> Iterator[Line]:
    style = BAD if comparison.fails else f"bold {GOOD}"
    yield [(clean(changes.title(comparison)), HEAD)]
    yield from paragraph(changes.summary(comparison), width, [("  ", "")], 2, style)
    for turn in turns:
        if turn.kind not in _SHORT:
            continue
        words, style = _SHORT[turn.kind]
        head: Line = [(f"  {words}: ", style)]
        yield from paragraph(_short(turn), width, head, len(words) + 4)
        if expand and len(turn.changes) > 1:
            yield from _each(turn)
    for name in comparison.missing:
        yield from paragraph(name, width, [("  not met: ", CARE)], 11)
    for note in comparison.notes:
        yield from paragraph(note, width, [("  = ", "blue"), ("note: ", HEAD)], 10)


def _short(turn: Turn) -> str:
    """What does not fail, on one line."""
    on = f" on {', '.join(turn.platforms)}" if len(turn.platforms) > 1 else ""
    text = f"{changes.leaves(turn)}, in {changes.function(turn)}{on}: {changes.verdicts(turn)}"
    told = changes.since(turn)
    return f"{text}; {told}" if told else text
