"""What is wrong, one record a finding or failed comparison, as the formats for programs tell it."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from donatree import findings as rules
from donatree.ledger import Account, Finding, Label, Level, Location
from donatree.reports import changes, diagnostic, files, findings, fixes, hardware, sizes
from donatree.reports.changes import Turn
from donatree.reports.findings import Shown
from donatree.reports.places import place
from donatree.reports.text import clean

LEVELS: tuple[Level, ...] = ("error", "warning", "note")

BASELINE = {
    "baseline-worse": "A leaf that was reused no longer is",
    "baseline-new": "A leaf is lost that was not there before",
}
"""Rules of what a comparison finds: the one kind of problem that is no finding."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A finding, or leaves that are lost and were not in what the account was compared with.

    Attributes:
        rule: the finding's code, or one of ``BASELINE``.
        level: its level.
        headline: one line that stands alone.
        facts: the lines below it: leaves, notes, help, fixes that held.
        location: the place of the cause; else where the function is defined or called.
        labels: further places, and what is said of them.
        leaves: paths of the leaves.
        bytes: theirs, per device.
        functions: names of the functions.
        fingerprint: the same for the same problem, however lines move; no two of an account alike.
        ignored: why it is not to be told; None where it is.
        shown: the finding; None for a comparison.
    """

    rule: str
    level: Level
    headline: str
    facts: tuple[str, ...]
    location: Location | None
    labels: tuple[Label, ...]
    leaves: tuple[str, ...]
    bytes: int
    functions: tuple[str, ...]
    fingerprint: str
    ignored: str | None = None
    shown: Shown | None = None

    @property
    def message(self) -> str:
        """Headline and facts, a line each."""
        return "\n".join((self.headline, *self.facts))


def of(account: Account, *, ignored: bool = False) -> list[Problem]:
    """What an account has to tell: errors first, and of these what a comparison found.

    Args:
        account: what was learnt of a program.
        ignored: what is ignored as well, last.

    Returns:
        The problems, all their texts clean: one line each, nothing that a terminal acts on.
    """
    made = [*_compared(account), *_found(account, ignored=False)]
    made.sort(key=lambda problem: LEVELS.index(problem.level))
    return list(_distinct([*made, *(_found(account, ignored=True) if ignored else ())]))


def summary(account: Account) -> str:
    """The outcome of an account in one line, without names of the program's.

    Example:
        >>> summary(Account())
        'no function that was compiled asked for donation'
    """
    targets = {hardware.name_of(ledger) for ledger in account.ledgers}
    if targets:
        leaves = sum(len(ledger.entries) for ledger in account.ledgers)
        lost = sum(len(ledger.lost) for ledger in account.ledgers)
        reused = f"{leaves - lost:,} of {sizes.leaves(leaves)} reused"
        if len(targets) > 1:  # bytes of several targets are no sum of anything
            return f"{len(targets):,} targets, {reused}"
        return f"{sizes.of(account.kept_in_place, account.promised)}, {reused}"
    if account.comparison is not None:
        return changes.summary(account.comparison)
    return "no function that was compiled asked for donation"


def unmet(account: Account) -> Iterator[str]:
    """What could not be compiled for a target, and what was not met, a line each."""
    refused = dict.fromkeys((each.function, each.target, each.why) for each in account.refusals)
    for function, target, why in refused:
        yield f"`{function}` was not compiled for {target}: {why}"
    if account.comparison is not None:
        for missing in account.comparison.missing:
            yield f"in {account.comparison.old} and not met: {missing}"


def name(rule: str) -> str:
    """A rule with its short name.

    Example:
        >>> name("DT402"), name("baseline-new")
        ('DT402 dtype-drift', 'baseline-new')
    """
    return f"{rule} {rules.rule(rule).name}" if rule in rules.CODES else rule


def _found(account: Account, *, ignored: bool) -> Iterator[Problem]:
    for shown, functions, targets in findings.told(account, ignored=ignored):
        finding = shown.finding
        told = [*diagnostic.attached(finding, functions, targets), *_held(shown)]
        first = next(iter(shown.ledgers), None)
        places = [finding.location, *(label.location for label in finding.labels if label.primary)]
        places += [each for ledger in shown.ledgers for each in (ledger.location, ledger.call)]
        location = next(filter(None, places), None)
        about = [first.function, first.signature] if first else []
        file = first.location.file if first and first.location else None
        yield Problem(
            rule=clean(finding.code),
            level=finding.level,
            headline=clean(finding.headline),
            facts=(*_places(finding, location), *_lines(told)),
            location=location,
            labels=finding.labels,
            leaves=tuple(map(clean, finding.leaves)),
            bytes=finding.bytes,
            functions=tuple(dict.fromkeys(clean(each.function) for each in shown.ledgers)),
            fingerprint=_digest(
                finding.code, file, about, sorted(finding.leaves) or finding.headline
            ),
            ignored=finding.ignored and clean(finding.ignored),
            shown=shown,
        )


def _compared(account: Account) -> Iterator[Problem]:
    if account.comparison is None:
        return
    for turn in changes.turns(account.comparison):
        if turn.first.fails:
            yield _of_turn(turn, changes.title(account.comparison))


def _of_turn(turn: Turn, title: str) -> Problem:
    first = turn.first
    about = [first.function, first.signature, first.before, first.after, *turn.platforms]
    return Problem(
        rule=f"baseline-{turn.kind}",
        level="error",
        headline=clean(changes.headline(turn)),
        facts=(*_lines(changes.facts(turn)), clean(title)),
        location=turn.location or (Location(first.file, 1) if first.file else None),
        labels=(),
        leaves=tuple(map(clean, turn.leaves)),
        bytes=turn.bytes,
        functions=(clean(first.function),),
        fingerprint=_digest(f"baseline-{turn.kind}", first.file, about, sorted(turn.leaves)),
    )


def _lines(told: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    return tuple(f"{word}: {clean(text)}" for word, text in told)


def _places(finding: Finding, location: Location | None) -> Iterator[str]:
    """What is said of places other than the one that leads."""
    for label in finding.labels:
        where = "here: " if label.location == location else f"{clean(place(label.location))}: "
        yield where + clean(label.text)


def _held(shown: Shown) -> Iterator[tuple[str, str]]:
    """The fixes that were tried for a finding and held."""
    tried = (fix for ledger in shown.ledgers for fix in ledger.fixes)
    devices = max((each.devices for each in shown.ledgers), default=1)
    for fix in fixes.of_finding(tried, shown.finding):
        if fix.held:
            yield "verified", fixes.sentence(fix, devices)


def _digest(rule: str, file: str | None, about: object, leaves: object) -> str:
    where = file and files.relative(file)
    text = json.dumps([rule, where, about, leaves])
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _distinct(problems: Iterable[Problem]) -> Iterator[Problem]:
    """Numbers those that have a fingerprint in common, in their order."""
    seen: dict[str, int] = {}
    for each in problems:
        number = seen[each.fingerprint] = seen.get(each.fingerprint, 0) + 1
        if number > 1:
            each = dataclasses.replace(each, fingerprint=f"{each.fingerprint}:{number}")
        yield each
