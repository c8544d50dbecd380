"""What changed against a baseline or an older account, as rows of the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from donatree.ledger import Comparison
from donatree.reports import changes, sizes
from donatree.reports.changes import Turn
from donatree.reports.places import place

_MOST_NAMED = 200
_KINDS = {
    "worse": ("no longer reused", "bad"),
    "new": ("lost anew", "bad"),
    "better": ("now reused", "good"),
    "other": ("lost for another reason", "care"),
    "gone": ("gone", "dim"),
}


@dataclass(frozen=True, slots=True)
class Change:
    """Leaves of one function that changed alike.

    Attributes:
        kind: ``worse``, ``new``, ``better``, ``other`` or ``gone``.
        word: the same in words.
        style: the CSS class of the words.
        fails: whether a check fails for it.
        headline: what happened.
        place: where in the user's code; empty where that is not known.
        facts: each with its word.
        leaves: the leaves by name with their bytes, where there are several; the first of many.
        more: how many leaves are left out.
        told: the leaves folded, with their bytes.
        function: the function, and its file.
        verdicts: before and after.
        since: since which JAX; empty where there is nothing to say.
    """

    kind: str
    word: str
    style: str
    fails: bool
    headline: str
    place: str
    facts: Sequence[tuple[str, str]]
    leaves: Sequence[tuple[str, str]]
    more: int
    told: str
    function: str
    verdicts: str
    since: str


def rows(comparison: Comparison) -> list[Change]:
    """The changes, those alike together, what fails first."""
    return [_row(turn) for turn in changes.turns(comparison)]


def _row(turn: Turn) -> Change:
    several = turn.changes if len(turn.changes) > 1 else ()
    word, style = _KINDS[turn.kind]
    return Change(
        turn.kind,
        word,
        style,
        turn.first.fails,
        changes.headline(turn),
        place(turn.location) if turn.location else "",
        list(changes.facts(turn)),
        [(each.path, sizes.short(each.bytes)) for each in several[:_MOST_NAMED]],
        max(len(several) - _MOST_NAMED, 0),
        changes.leaves(turn),
        changes.function(turn) + (f" on {', '.join(turn.platforms)}" if turn.platforms else ""),
        changes.verdicts(turn),
        changes.since(turn) or "",
    )
