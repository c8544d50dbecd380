"""Changes tried by compiling: what held, what did not, and what did not fit the budget."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from donatree import gates
from donatree._jax.variant import Built
from donatree.errors import CannotBuild
from donatree.fixes.change import Candidate, Change, together
from donatree.gates.in_place import ALIGNMENT
from donatree.ledger import Fix, FixStatus, Gate, Ledger, Tally
from donatree.observation import Observation

Tried = tuple[Candidate, Fix]

_BUDGET = "the budget of seconds was spent"


@dataclass(slots=True)
class Trial:
    """Tries changes of one program, one compile each.

    Attributes:
        program: a `Program` of `_jax.variant`.
        ledger: of the program as it is, judged by what is known of the changed ones as well.
        observation: the evidence.
        deadline: the reading of `time.monotonic()` after which nothing is begun.
        longest: seconds of the longest compile so far, the program's own to begin with; one that
            may take as long is not begun where the deadline is nearer.
    """

    program: Any
    ledger: Ledger
    observation: Observation
    deadline: float
    longest: float = 0.0
    _built: list[tuple[Change, Built]] = field(default_factory=list)

    def try_(self, candidate: Candidate) -> Fix:
        """Compiles the changed program and holds it against the one as it is."""
        built = next((each for change, each in self._built if change == candidate.change), None)
        if built is None and time.monotonic() + self.longest >= self.deadline:
            return self._fix(candidate, "untried", _BUDGET, None)
        try:
            built = built or candidate.change.of(self.program).compile()
        except CannotBuild as error:
            return self._fix(candidate, "untried", str(error), None)
        self._built.append((candidate.change, built))
        self.longest = max(self.longest, built.seconds)
        after = gates.judge(built.observation)
        keeps = candidate.change.keep_unused
        tally = tally_of(after, built.observation, with_dropped=keeps)
        why_not = self._worse(after, tally, candidate) or self._no_better(after, tally, candidate)
        return self._fix(candidate, "failed" if why_not else "held", why_not, tally)

    def try_together(self, tried: Sequence[Tried]) -> Fix:
        """Compiles the program with all of these changes at once.

        Args:
            tried: changes that held, each by itself.
        """
        candidates = [candidate for candidate, _ in tried]
        codes = dict.fromkeys(code for each in candidates for code in each.codes)
        leaves = dict.fromkeys(path for each in candidates for path in each.leaves)
        fix = self.try_(
            Candidate(
                together(each.change for each in candidates),
                tuple(codes),
                tuple(leaves),
                sum(each.bytes for each in candidates),
                f"with {_all(len(candidates))} changes together",
                frozenset(path for each in candidates for path in each.cures),
            )
        )
        least = min((_rank(each)[0] for _, each in tried if each.held), default=_rank(fix)[0])
        if fix.held and _rank(fix)[0] > least:
            why = f"one of them alone needs {least:,} bytes"
            return dataclasses.replace(fix, status="failed", why_not=why)
        return fix

    def in_company(self, tried: Sequence[Tried]) -> list[Tried]:
        """Tries all casts at once where one of them does not hold alone.

        A leaf that is given its own slot back can take it from another one that drifted as well.
        """
        casts = [each for each in tried if each[0].change.kind == "cast"]
        failed = [each for each in casts if each[1].status == "failed"]
        if not failed or len({each.leaves for each, _ in casts}) < 2:
            return list(tried)
        all_of_them = self.try_together(casts)
        if not all_of_them.held:
            return list(tried)
        return [
            (each, self._fix(_in_company(each), "held", None, all_of_them.after))
            if (each, fix) in failed
            else (each, fix)
            for each, fix in tried
        ]

    def _before(self, candidate: Candidate) -> Tally:
        keeps = candidate.change.keep_unused
        return tally_of(self.ledger, self.observation, with_dropped=keeps)

    def _worse(self, after: Ledger, tally: Tally, candidate: Candidate) -> str | None:
        """What the change makes worse, in words."""
        before = self._before(candidate)
        old, new = before.live, tally.live
        # XLA rounds every buffer up: a little more is nothing where more than that is kept.
        slack = min(ALIGNMENT, max(tally.in_place - before.in_place, 0))
        if old is not None and new is not None and new > old + slack:
            return f"live memory {old:,} -> {new:,} bytes"
        # Which leaf a copy protects can change; where less memory is needed, that decides.
        saves = old is not None and new is not None and new < old
        aside = saves and tally.in_place >= before.in_place
        keeps = (None, Gate.IN_PLACE) if aside else (None,)
        entries = {entry.leaf.flat_index: entry for entry in after.entries}
        lost = [
            entry.path
            for entry in self.ledger.entries
            if entry.stopped_at is None
            and entry.leaf.flat_index in entries
            and entries[entry.leaf.flat_index].stopped_at not in keeps
        ]
        if lost:
            more = f" and {len(lost) - 1:,} more" if lost[1:] else ""
            return f"`{lost[0]}`{more} would be lost"
        return None

    def _no_better(self, after: Ledger, tally: Tally, candidate: Candidate) -> str | None:
        """Why nothing is gained, in words; None where something is."""
        before = self._before(candidate)
        old, new = before.live, tally.live
        if old is not None and new is not None and new < old:
            return None
        if candidate.change.undonate:
            if new is None:
                return "XLA keeps no totals by which to tell what the donation saves"
            saves_nothing = any(_is_of_a_loss(code) for code in candidate.codes)
            return None if saves_nothing else "nothing is gained"
        if tally.in_place > before.in_place:
            return None
        if candidate.cures:
            still = {entry.path for entry in after.entries if entry.finding in candidate.codes}
            if not candidate.cures & still:
                return None
        return "nothing is gained"

    def _fix(
        self, candidate: Candidate, status: FixStatus, why_not: str | None, after: Tally | None
    ) -> Fix:
        drift = set(candidate.codes) & {"DT402", "DT403", "DT404", "DT405"}
        return Fix(
            kind=candidate.change.kind,
            codes=candidate.codes,
            leaves=candidate.leaves,
            change=candidate.words,
            status=status,
            why_not=why_not,
            before=self._before(candidate),
            after=after,
            compiles_again=bool(drift) and bool(candidate.cures),
            grade=candidate.grade,
            edit=candidate.edit,
            notes=candidate.notes,
        )


def without_worse(tried: Sequence[Tried]) -> list[Tried]:
    """Tells of what another change of the same leaves does better.

    That is a promise to take back where that change saves more, and a sketch of a cast where there
    is an edit that saves as much.
    """
    return [(candidate, _beaten(candidate, fix, tried) or fix) for candidate, fix in tried]


def _beaten(candidate: Candidate, fix: Fix, tried: Sequence[Tried]) -> Fix | None:
    drops = bool(candidate.change.undonate)
    if not fix.held or not (drops or (fix.kind == "cast" and fix.edit is None)):
        return None
    for other, better in tried:
        if not better.held or other.concerns.isdisjoint(candidate.concerns):
            continue
        mine, its = _rank(fix)[0], _rank(better)[0]
        if drops and better.kind != "drop_argument" and its < mine:
            why = f"{better.change} saves more"
        elif not drops and better.edit is not None and better.kind == "cast" and its <= mine:
            why = f"{better.change} saves as much"
        else:
            continue
        return dataclasses.replace(fix, status="failed", why_not=why)
    return None


def best(tried: Sequence[Tried]) -> list[Tried]:
    """Of the changes that held those to be made together: of two for one leaf only the better."""
    held = [(candidate, fix) for candidate, fix in tried if fix.held and fix.after]
    held.sort(key=lambda pair: _rank(pair[1]))
    chosen: list[Tried] = []
    seen: set[str] = set()
    for candidate, fix in held:
        if seen.isdisjoint(candidate.concerns):
            chosen.append((candidate, fix))
            seen |= candidate.concerns
    return chosen


def _in_company(candidate: Candidate) -> Candidate:
    return dataclasses.replace(candidate, words=f"{candidate.words} and the other casts")


def _all(number: int) -> str:
    return "both" if number == 2 else f"all {number:,}"


def _rank(fix: Fix) -> tuple[int, bool, int]:
    """What saves most first; a promise is taken back where nothing else does as much."""
    if fix.after is None:
        return 0, False, 0
    return fix.after.live or 0, fix.kind == "drop_argument", -fix.after.in_place


def in_order(fix: Fix) -> tuple[bool, tuple[int, bool, int]]:
    """The key by which fixes are told: those that held first, and of these what saves most."""
    return not fix.held, _rank(fix) if fix.held else (0, False, 0)


def _is_of_a_loss(code: str) -> bool:
    """Whether a finding says that a donation saves nothing."""
    return code in ("DT301", "DT302") or code.startswith("DT5")


def tally_of(ledger: Ledger, observation: Observation, *, with_dropped: bool = False) -> Tally:
    """What a program keeps and needs.

    Args:
        ledger: what was judged.
        observation: the evidence, with XLA's totals.
        with_dropped: count in the leaves that JAX drops: they are not among the program's
            arguments, and yet their memory stays taken beside it.
    """
    live = observation.live
    if live is None:
        return Tally(ledger.promised, ledger.kept_in_place)
    kept = observation.parameter_of or {}
    dropped = [leaf.bytes for leaf in observation.request.leaves if leaf.flat_index not in kept]
    more = sum(dropped) if with_dropped else 0
    return Tally(ledger.promised, ledger.kept_in_place, live.total + more)
