"""Which record of a baseline something that was met is held against."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from donatree.baseline import versions
from donatree.baseline.now import Met
from donatree.baseline.record import (
    ANYWHERE,
    REUSED,
    Baseline,
    Checked,
    Environment,
    Key,
    Record,
    code_of,
)

Pair = tuple[Record, Environment]


class Place(NamedTuple):
    """A function: its file and its name."""

    file: str
    function: str

    @property
    def label(self) -> str:
        """The function and its file, for people."""
        return f"{self.function} ({self.file})" if self.file else self.function


@dataclass(frozen=True, slots=True)
class Base:
    """What something that was met is held against.

    Attributes:
        pairs: records, each with an environment in which it was seen; mostly one. A leaf counts as
            reused where it was in all of them.
        same_signature: whether that is the signature that was met; else it is the nearest one.
        same_platform: whether it was seen on the platform that was met; else all are held up.
    """

    pairs: Sequence[Pair]
    same_signature: bool
    same_platform: bool

    @property
    def keys(self) -> list[Key]:
        """The keys of the records, each once."""
        return list(dict.fromkeys(record.key for record, _ in self.pairs))

    @property
    def platforms(self) -> list[str]:
        """The platforms that are held up, each once."""
        return list(dict.fromkeys(environment.platform for _, environment in self.pairs))

    @property
    def jax(self) -> list[str]:
        """The versions of JAX that are held up, each once, in their order."""
        found = {environment.jax for _, environment in self.pairs}
        return sorted(found, key=versions.order)

    @property
    def leaves(self) -> frozenset[str]:
        """All leaves of the records."""
        return frozenset().union(*(record.leaves for record, _ in self.pairs))

    def before(self, path: str) -> str | None:
        """``reused``, or what was written of the loss; None where there was no such leaf."""
        found = [record.verdict(path, environment) for record, environment in self.pairs]
        known = [each for each in found if each is not None]
        return next((each for each in known if each != REUSED), known[0] if known else None)

    def lost_in_all(self, path: str) -> bool:
        """Whether the leaf was lost in all records that have it."""
        found = [record.verdict(path, environment) for record, environment in self.pairs]
        return all(each != REUSED for each in found)

    def checked(self, path: str) -> list[Checked]:
        """How much was looked at for a leaf when it was recorded."""
        return [
            record.seen[environment] for record, environment in self.pairs if path in record.leaves
        ]

    def jax_of(self, path: str, now: str) -> str | None:
        """The newest version not above ``now`` under which the leaf was what ``before`` says.

        Args:
            path: the leaf's.
            now: the version of JAX that was met.

        Returns:
            The version; the lowest above where there is none below; None where none is known.
        """
        before = self.before(path)
        if before is None:
            return None
        found = [
            environment.jax
            for record in {record.key: record for record, _ in self.pairs}.values()
            for environment in record.seen
            if environment.platform in self.platforms
            and environment.jax
            and code_of(record.verdict(path, environment) or "") == code_of(before)
        ]
        return versions.nearest(now, found) if now else max(found, key=versions.order, default=None)


class Finder:
    """Finds records.

    Args:
        old: the baseline.
        beside: where `old` is an account, the functions of the other one, which may be of another
            machine or of a copy of the program: a function of which there is one of its name that
            is in neither under the other's file is that one. Empty for a baseline.
    """

    def __init__(self, old: Baseline, beside: Iterable[Place] = ()) -> None:
        self._functions: dict[Place, list[Record]] = {}
        self._beside = frozenset(beside)
        for record in old.records.values():
            place = Place(record.key.file, record.key.function)
            self._functions.setdefault(place, []).append(record)

    @property
    def functions(self) -> Mapping[Place, Sequence[Record]]:
        """The records of each function."""
        return self._functions

    def function(self, of: Met) -> Place | None:
        """The function that was met, as the baseline has it."""
        mine = Place(of.key.file, of.key.function)
        if mine in self._functions:
            return mine
        named = [each for each in self._functions if each.function == mine.function]
        alike = [each for each in named if of.outside and each.file.endswith("/" + mine.file)]
        if len(alike) == 1:
            return alike[0]
        left = [each for each in named if each not in self._beside]
        rivals = [
            each
            for each in self._beside
            if each.function == mine.function and each not in self._functions
        ]
        return left[0] if len(left) == len(rivals) == 1 else None

    def find(self, of: Met) -> Base | None:
        """What is held against something that was met; None where the function is not there."""
        place = self.function(of)
        if place is None:
            return None
        records = self._functions[place]
        mine = (of.key.arguments, of.key.digest)
        exact = [each for each in records if (each.key.arguments, each.key.digest) == mine]
        chosen = exact or _nearest(records, of)
        if not chosen:
            return None
        pairs = [
            (record, environment)
            for record in chosen
            for environment in _environments(record, of.environment)
        ]
        wanted = of.environment.platform
        known = [pair for pair in pairs if _fits(pair[1].platform, wanted)]
        return Base(known or pairs, bool(exact), bool(known))


def _fits(platform: str, wanted: str) -> bool:
    return platform == wanted or ANYWHERE in (platform, wanted)


def _nearest(records: Iterable[Record], of: Met) -> list[Record]:
    """Those with the same donated arguments and the most leaves in common; several where equal."""
    leaves = frozenset(of.leaves)
    donated = Record(of.key, leaves, {}).donated

    def rank(record: Record) -> tuple[bool, int, bool]:
        seen = any(_fits(each.platform, of.environment.platform) for each in record.seen)
        return record.donated == donated, len(record.leaves & leaves), seen

    ranks = [(rank(record), record) for record in records if record.leaves & leaves]
    best = max((each for each, _ in ranks), default=None)
    return [record for each, record in ranks if each == best]


def _environments(record: Record, wanted: Environment) -> list[Environment]:
    """That one, else the nearest version of its platform, else all that there are."""
    if wanted in record.seen:
        return [wanted]
    of: dict[str, list[str]] = {}
    for each in record.seen:
        of.setdefault(each.platform, []).append(each.jax)
    platforms = [wanted.platform] if wanted.platform in of else []
    platforms = platforms or [each for each in of if _fits(each, wanted.platform)]
    found = []
    for platform in platforms or of:
        jax = versions.nearest(wanted.jax, of[platform]) if wanted.jax else None
        newest = max(of[platform], key=versions.order)
        found.append(Environment(platform, newest if jax is None else jax))
    return found
