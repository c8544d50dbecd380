"""What was met, held against its record leaf by leaf."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from donatree.baseline.lookup import Base
from donatree.baseline.now import LeafNow, Met
from donatree.baseline.record import REUSED, code_of, gate_of
from donatree.ledger import Change, ChangeKind, Gate


@dataclass(slots=True)
class Judgement:
    """What came of one comparison.

    Attributes:
        met: what was met.
        base: what it was held against; None where the function is not recorded.
        kinds: the leaves that are not what they were.
        same: how many are.
        unjudged: those that were lost at a gate at which they were not looked at now.
        unasked: those that are lost at a gate at which nobody looked when they were recorded.
        ignored: those that are lost, newly, by a finding that is ignored, with where that is
            written.
    """

    met: Met
    base: Base | None
    kinds: dict[str, ChangeKind] = field(default_factory=dict)
    same: int = 0
    unjudged: list[str] = field(default_factory=list)
    unasked: list[str] = field(default_factory=list)
    ignored: dict[str, str] = field(default_factory=dict)

    @property
    def better(self) -> list[str]:
        """The leaves that were lost and are reused."""
        return [path for path, kind in self.kinds.items() if kind == "better"]

    @property
    def fails(self) -> bool:
        """Whether a leaf is lost that was not lost before."""
        return any(kind in ("worse", "new") for kind in self.kinds.values())

    def changes(self) -> Iterator[Change]:
        """The leaves that are not what they were, as a comparison has them."""
        for path, kind in self.kinds.items():
            leaf = self.met.leaves[path]
            before = self.base.before(path) if self.base and kind != "new" else None
            jax = self.met.environment.jax
            yield Change(
                kind,
                self.met.key.function,
                self.met.signature,
                path,
                file=self.met.key.file or None,
                bytes=leaf.bytes,
                platform=self.met.environment.platform,
                before=before and code_of(before),
                after=code_of(leaf.verdict) if leaf.verdict else REUSED,
                old_jax=self.base.jax_of(path, jax) if self.base and before else None,
                new_jax=jax or None,
                location=leaf.location,
            )


def judge(met: Met, base: Base | None, *, across: bool) -> Judgement:
    """Holds what was met against its record.

    Args:
        met: what was met.
        base: its record; None where the function is not recorded.
        across: whether a leaf that was lost on another platform alone has become better where it
            is reused on this one.
    """
    found = Judgement(met, base)
    for path, leaf in met.leaves.items():
        before = base.before(path) if base else None
        if leaf.verdict is None:
            _reused(found, path, leaf, before, across)
        elif before is None or before == REUSED:
            _lost(found, path, leaf, before)
        elif code_of(before) != code_of(leaf.verdict):
            found.kinds[path] = "other"
        else:
            found.same += 1
    return found


def _reused(found: Judgement, path: str, leaf: LeafNow, before: str | None, across: bool) -> None:
    if before is None:
        return
    assert found.base is not None
    if before == REUSED or not found.base.lost_in_all(path):
        found.same += 1
    elif not found.base.same_platform and not across:
        found.same += 1  # another platform may well do what this one does not
    elif _looked_again(leaf, gate_of(before), found.base, path):
        found.kinds[path] = "better"
    else:
        found.unjudged.append(path)
        found.same += 1


def _looked_again(leaf: LeafNow, gate: Gate | None, base: Base, path: str) -> bool:
    """Whether the loss at this gate would have been seen now."""
    if not leaf.looked.has(gate):
        return False
    if gate is not Gate.IN_PLACE:
        return True
    proved = any(checked.proved for checked in base.checked(path))
    return not leaf.copied and (leaf.looked.proved or not proved)


def _lost(found: Judgement, path: str, leaf: LeafNow, before: str | None) -> None:
    if leaf.ignored is not None:
        found.ignored[path] = leaf.ignored
        return
    asked = before is not None and _would_have_been_seen(leaf, found.base, path)
    if before is not None and not asked:
        found.unasked.append(path)
    found.kinds[path] = "worse" if asked else "new"


def _would_have_been_seen(leaf: LeafNow, base: Base | None, path: str) -> bool:
    """Whether this loss would have been seen when the leaf was recorded."""
    gate = leaf.gate or (gate_of(leaf.verdict) if leaf.verdict else None)
    checked = base.checked(path) if base else []
    if not all(each.has(gate) for each in checked):
        return False
    only_now = gate is Gate.IN_PLACE and leaf.looked.proved
    return not only_now or all(each.proved for each in checked)


def by_function(judgements: list[Judgement]) -> Mapping[tuple[str, str, str], list[Judgement]]:
    """The judgements of one function on one platform stand together."""
    together: dict[tuple[str, str, str], list[Judgement]] = {}
    for each in judgements:
        place = each.met.key.function, each.met.key.file, each.met.environment.platform
        together.setdefault(place, []).append(each)
    return together
