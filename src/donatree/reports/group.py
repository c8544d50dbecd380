"""Which ledgers are of one program on several targets, and so are read side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from donatree.ledger import Ledger
from donatree.reports.hardware import name_of


@dataclass(frozen=True, slots=True)
class Group:
    """The ledgers of one function and signature, each of another target.

    Attributes:
        ledgers: at least one, in the order in which they came; no target twice.
    """

    ledgers: tuple[Ledger, ...]

    @property
    def first(self) -> Ledger:
        """The ledger that stands for what they have in common."""
        return self.ledgers[0]

    @property
    def promised(self) -> int:
        """Bytes per device, all targets together."""
        return sum(ledger.promised for ledger in self.ledgers)

    @property
    def kept_in_place(self) -> int:
        """Bytes per device that passed every gate checked, all targets together."""
        return sum(ledger.kept_in_place for ledger in self.ledgers)

    def holds(self, ledger: Ledger) -> bool:
        """Whether this very ledger, and not one that is equal, is among them."""
        return any(each is ledger for each in self.ledgers)


def groups(ledgers: Iterable[Ledger]) -> list[Group]:
    """Puts the ledgers of one function together that differ in their target alone.

    Signatures are told apart where every target has the same ones. A function whose arguments
    follow the number of devices has others on each target: then the first of each target belong
    together, then the second.

    Args:
        ledgers: of one account.

    Returns:
        The groups, in the order of their first ledger. A target that comes twice in a signature
        gives two groups.

    Example:
        >>> step = Ledger("step", "(x)", (), ())
        >>> [len(group.ledgers) for group in groups([step, step])]
        [1, 1]
    """
    functions: dict[object, list[Ledger]] = {}
    ledgers = list(ledgers)
    for ledger in ledgers:
        functions.setdefault((ledger.function, ledger.location), []).append(ledger)
    found = [group for each in functions.values() for group in _of_function(each)]
    order: dict[int, int] = {}
    for number, ledger in enumerate(ledgers):
        order.setdefault(id(ledger), number)
    return sorted(found, key=lambda group: order[id(group.first)])


def targets(ledgers: Iterable[Ledger]) -> list[str]:
    """The names of the targets, each once, in the order in which they came."""
    return list(dict.fromkeys(map(name_of, ledgers)))


def _of_function(ledgers: Sequence[Ledger]) -> Iterator[Group]:
    signatures: dict[str, list[str]] = {}
    for ledger in ledgers:
        signatures.setdefault(name_of(ledger), []).append(ledger.signature)
    counted = [sorted(each) for each in signatures.values()]
    alike = all(each == counted[0] for each in counted)
    paired = not alike and len({len(each) for each in counted}) == 1
    seen: dict[object, int] = {}
    made: dict[object, list[Ledger]] = {}
    for ledger in ledgers:
        what = None if paired else ledger.signature
        place = name_of(ledger), what
        number = seen[place] = seen.get(place, 0) + 1
        made.setdefault((what, number), []).append(ledger)
    for group in made.values():
        yield Group(tuple(group))
