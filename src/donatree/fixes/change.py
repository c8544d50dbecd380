"""What a fix changes in the compiled program."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from donatree.ledger import Edit, FixKind, Grade


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a program; slots are counted before `order` is applied.

    Attributes:
        kind: what is changed.
        undonate: flat indices of leaves that are donated no more.
        cast: a dtype's name for the index of each slot to cast as the last thing.
        uncast: likewise, for each slot whose own last cast is to be left out.
        out_shardings: for the index of a slot the flat index of the leaf whose sharding it gets.
        order: the slots in the order in which they are to be returned.
        keep_unused: whether arguments that are not used become parameters all the same.
    """

    kind: FixKind
    undonate: frozenset[int] = frozenset()
    cast: Mapping[int, str] = field(default_factory=dict)
    uncast: Mapping[int, str] = field(default_factory=dict)
    out_shardings: Mapping[int, int] = field(default_factory=dict)
    order: tuple[int, ...] | None = None
    keep_unused: bool = False

    def of(self, program: Any) -> Any:
        """The changed program.

        Args:
            program: a `Program` of `_jax.variant`.

        Raises:
            CannotBuild: the change is not one of this program.
        """
        from donatree._jax import recast

        donated = None
        if self.undonate:
            flags = enumerate(program.donated)
            donated = [index for index, flag in flags if flag and index not in self.undonate]
        program = program.with_(
            donated=donated,
            out_shardings=self.out_shardings or None,
            keep_unused=True if self.keep_unused else None,
        )
        if self.uncast:
            program = recast.leave_out(program, self.uncast)
        return program.with_(cast=self.cast or None, order=self.order)


def together(changes: Iterable[Change]) -> Change:
    """Several changes as one; of two orders the first counts."""
    undonate: frozenset[int] = frozenset()
    cast: dict[int, str] = {}
    uncast: dict[int, str] = {}
    shardings: dict[int, int] = {}
    order: tuple[int, ...] | None = None
    keep = False
    for each in changes:
        undonate |= each.undonate
        cast |= each.cast
        uncast |= each.uncast
        shardings |= each.out_shardings
        order = order or each.order
        keep = keep or each.keep_unused
    return Change("together", undonate, cast, uncast, shardings, order, keep)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A change that is worth trying.

    Attributes:
        change: the change.
        codes: of the findings that it is for.
        leaves: their leaves, largest bytes first.
        bytes: bytes per device that it is about, for the order in which changes are tried.
        words: what is changed, in words that go on from there.
        cures: leaves whose finding must be gone for the change to have cured anything; empty
            where fewer bytes are the only gain.
        grade: how far the edit is certain.
        edit: what to write where.
        notes: facts.
        touches: leaves that it is about beside these: all of an argument that is donated no more.
    """

    change: Change
    codes: tuple[str, ...]
    leaves: tuple[str, ...]
    bytes: int
    words: str
    cures: frozenset[str] = frozenset()
    grade: Grade = "sketch"
    edit: Edit | None = None
    notes: tuple[str, ...] = ()
    touches: frozenset[str] = frozenset()

    @property
    def concerns(self) -> frozenset[str]:
        """All leaves that it is about."""
        return self.touches.union(self.leaves)
