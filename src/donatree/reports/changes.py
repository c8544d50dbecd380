"""What changed against a baseline or an older account: leaves that changed alike, in words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import get_args

from donatree import findings, paths
from donatree.ledger import Change, ChangeKind, Comparison, Location
from donatree.reports import sizes

KINDS: tuple[ChangeKind, ...] = get_args(ChangeKind)
"""In the order in which they are told: what fails first."""

_REUSED = "reused"
_FEW = 3


@dataclass(frozen=True, slots=True)
class Turn:
    """Leaves of one function that changed in the same way.

    Attributes:
        changes: one a leaf, of the platform that comes first; at least one.
        platforms: on which all of these leaves changed so; empty where none is known.
        signatures: how many signatures of the function changed at all.
    """

    changes: tuple[Change, ...]
    platforms: tuple[str, ...] = ()
    signatures: int = 1

    @property
    def first(self) -> Change:
        """The change that stands for what they have in common."""
        return self.changes[0]

    @property
    def kind(self) -> ChangeKind:
        """What happened to the leaves."""
        return self.first.kind

    @property
    def leaves(self) -> tuple[str, ...]:
        """Their paths."""
        return tuple(change.path for change in self.changes)

    @property
    def bytes(self) -> int:
        """Their bytes per device, on the platform that comes first."""
        return sum(change.bytes for change in self.changes)

    @property
    def location(self) -> Location | None:
        """Where in the user's code the leaves are lost now."""
        return next((change.location for change in self.changes if change.location), None)


def turns(comparison: Comparison) -> list[Turn]:
    """The changes of a comparison, those alike together, what fails first.

    Args:
        comparison: what changed.

    Returns:
        One for each kind, function, signature, verdict before and after, versions of JAX and place;
        platforms on which the same leaves changed so are one.
    """
    found: dict[object, list[Change]] = {}
    for change in comparison.changes:
        found.setdefault((_about(change), change.platform), []).append(change)
    merged: dict[object, tuple[list[Change], list[str]]] = {}
    for those in found.values():
        key = _about(those[0]), frozenset(change.path for change in those)
        _, platforms = merged.setdefault(key, (those, []))
        platforms += [those[0].platform] if those[0].platform else []
    signatures: dict[object, set[str]] = {}
    for change in comparison.changes:
        signatures.setdefault((change.function, change.file), set()).add(change.signature)
    made = [
        Turn(tuple(those), tuple(platforms), len(signatures[those[0].function, those[0].file]))
        for those, platforms in merged.values()
    ]
    return sorted(made, key=lambda turn: KINDS.index(turn.kind))


def _about(change: Change) -> tuple[object, ...]:
    return (
        change.kind,
        change.function,
        change.file,
        change.signature,
        change.before,
        change.after,
        change.old_jax,
        change.new_jax,
        change.location,
    )


def title(comparison: Comparison) -> str:
    """What was compared, ``compared with donation.toml`` or ``old.json -> new.json``."""
    if comparison.new is None:
        return f"compared with {comparison.old}"
    return f"{comparison.old} -> {comparison.new}"


def summary(comparison: Comparison) -> str:
    """How many leaves changed and how, what fails first.

    Example:
        >>> summary(Comparison("donation.toml", same=3))
        'nothing changed, 3 leaves as they were'
    """
    words = {
        "worse": "no longer reused",
        "new": "lost anew",
        "better": "now reused",
        "other": "lost for another reason",
        "gone": "gone",
    }
    told = []
    for kind in KINDS:
        number = len(comparison.of_kind(kind))
        if number:
            told.append(f"{sizes.leaves(number)} {words[kind]}")
    if comparison.missing:
        told.append(f"{sizes.count(len(comparison.missing), 'function')} not met")
    same = [f"{sizes.leaves(comparison.same)} as before"] if comparison.same else []
    if told:
        return ", ".join(told + same)
    return f"nothing changed, {sizes.leaves(comparison.same)} as they were"


def headline(turn: Turn) -> str:
    """What happened, as a sentence that stands alone."""
    name, number = turn.first.function, len(turn.changes)
    many = number > 1
    what = sizes.leaves(number) if many else "a leaf"
    return {
        "worse": f"`{name}` no longer reuses {what}",
        "new": f"`{name}` loses {what} that {'were' if many else 'was'} not there before",
        "better": f"`{name}` now reuses {what}",
        "other": f"`{name}` loses {what} for another reason",
        "gone": f"`{name}` no longer has {what}",
    }[turn.kind]


def verdicts(turn: Turn) -> str:
    """Before and after, ``reused -> DT402``."""
    change = turn.first
    return f"{change.before or 'not there'} -> {change.after or 'not there'}"


def since(turn: Turn) -> str | None:
    """Since which JAX; None where there is nothing to say.

    Example:
        >>> since(Turn((Change("worse", "step", "()", "x", before="reused", after="DT402",
        ...     old_jax="0.10.2", new_jax="0.12.0.1"),)))
        'reused on JAX 0.10.2, not on JAX 0.12.0.1'
    """
    change = turn.first
    old, new = change.old_jax, change.new_jax
    if change.before is None or change.after is None or new is None or old is None:
        return None
    if old == new:
        return f"JAX is the same, {new}"
    if change.before == _REUSED:
        return f"reused on JAX {old}, not on JAX {new}"
    if change.after == _REUSED:
        return f"lost on JAX {old}, reused on JAX {new}"
    return f"JAX {old} -> {new}"


def leaves(turn: Turn) -> str:
    """The leaves folded, with their bytes: ``state.step, 4 bytes``."""
    return f"{paths.fold(turn.leaves)}, {sizes.size(turn.bytes)}"


def function(turn: Turn) -> str:
    """The function, its file where known, and its signature where several changed."""
    change = turn.first
    place = f" ({change.file})" if change.file else ""
    signature = f" {change.signature}" if turn.signatures > 1 and change.signature else ""
    return f"{change.function}{signature}{place}"


def facts(turn: Turn) -> Iterable[tuple[str, str]]:
    """What is to be told of a turn below its headline, each with the word before it."""
    yield ("leaves" if len(turn.changes) > 1 else "leaf"), leaves(turn)
    folded = paths.fold(turn.leaves)
    if len(turn.changes) > 1 and ("*" in folded or "..." in folded):
        yield "largest", max(turn.changes, key=lambda change: change.bytes).path
    yield "in", function(turn)
    if turn.platforms:
        more = len(turn.platforms) - _FEW
        yield "on", ", ".join(turn.platforms[:_FEW]) + (f" and {more:,} more" if more > 0 else "")
    yield "was", verdicts(turn) + _meaning(turn.first.after)
    told = since(turn)
    if told:
        yield "since", told


def _meaning(code: str | None) -> str:
    """What a code says, in parentheses; empty where it is none that is known."""
    if code not in findings.CODES:
        return ""
    title = findings.rule(code).title
    return f" ({title[:1].lower()}{title[1:]})"
