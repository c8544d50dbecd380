"""What donating saves, measured: live memory of the compiled program with and without."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from donatree.errors import CannotBuild
from donatree.proof.budget import Budget

Measure = Callable[[frozenset[str]], int]


@dataclass(slots=True)
class Measured:
    """What compiles showed of the arguments that could be donated.

    Attributes:
        before: live bytes per device of the program as it is; None where that is not known.
        after: the same with `chosen` donated.
        chosen: the arguments of which each saves something beside the others.
        saved: bytes per device that each argument saves: those chosen when taken out, the others
            when added.
        useless: arguments that save nothing, or cost, beside those chosen.
        compiles: how many programs were compiled.
        platform: what they were compiled for.
        left: why it ended before everything was known; None where it did not.
    """

    before: int | None = None
    after: int | None = None
    chosen: tuple[str, ...] = ()
    saved: dict[str, int] = field(default_factory=dict)
    useless: tuple[str, ...] = ()
    compiles: int = 0
    platform: str | None = None
    left: str | None = None


class OutOfBudget(Exception):  # noqa: N818, nothing went wrong
    """The time for compiles is used up, or one could not be made; the text says which."""


class Search:
    """Looks for the arguments that are worth to be donated together.

    Every argument may pay alone, only together with another, or only if another is left out. So the
    search begins with all of them and takes out, one by one, what saves nothing where the others
    are donated.

    Args:
        measure: live bytes per device of the program that donates just these arguments; raises
            `CannotBuild` where there is no such program.
        budget: of all compiles.
    """

    def __init__(self, measure: Measure, budget: Budget) -> None:
        self._measure = measure
        self._budget = budget
        self._longest = 0.0
        self._known: dict[frozenset[str], int] = {}
        self.compiles = 0

    def live(self, names: Collection[str]) -> int:
        """Live bytes per device with these donated.

        Raises:
            OutOfBudget: it is not known and cannot be.
        """
        key = frozenset(names)
        if key not in self._known:
            if not self._budget.allows(self._longest):
                raise OutOfBudget("the budget was used up")
            try:
                with self._budget.spent() as one:
                    total = self._measure(key)
            except CannotBuild as error:
                raise OutOfBudget(f"a changed program could not be compiled ({error})") from error
            self._longest = max(self._longest, one.seconds)
            self.compiles += 1
            self._known[key] = total
        return self._known[key]

    def run(
        self,
        now: Collection[str],
        wanted: Sequence[str],
        others: Sequence[str] = (),
        weight: Mapping[str, float] | None = None,
    ) -> Measured:
        """Finds what is worth donating of `wanted`.

        Args:
            now: the arguments that the program donates.
            wanted: those that could be.
            others: those of which it is asked what they would save besides.
            weight: how strong the evidence for each is: of two that save as little the weaker one
                is taken out.
        """
        found = Measured()
        chosen = list(wanted)
        strength = weight or {}
        try:
            found.before = self.live(now)
            while chosen:
                whole = self.live(chosen)
                without = {name: self.live([n for n in chosen if n != name]) for name in chosen}
                gain = {name: without[name] - whole for name in chosen}
                out = [name for name in chosen if gain[name] <= 0]
                if not out:
                    break
                worst = min(out, key=lambda n: (gain[n], strength.get(n, 0), -wanted.index(n)))
                chosen.remove(worst)
                found.useless = (*found.useless, worst)
            found.chosen = tuple(chosen)
            found.after = self.live(chosen)
            for name in chosen:
                found.saved[name] = self.live([n for n in chosen if n != name]) - found.after
            for name in (*found.useless, *others):
                found.saved[name] = found.after - self.live([*chosen, name])
        except OutOfBudget as error:
            found.left = str(error)
            if not found.chosen:
                found.chosen = tuple(chosen)
        found.compiles = self.compiles
        return found
