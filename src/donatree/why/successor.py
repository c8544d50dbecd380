"""The successor of a leaf: the slot at the same path inside the tree that replaces it."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from donatree import paths
from donatree.ledger import Leaf, Slot

Path = tuple[str, ...]


def pair(leaves: Sequence[Leaf], slots: Sequence[Slot]) -> dict[int, Slot]:
    """Pairs the leaves of donated arguments with slots by path.

    Arguments whose own name stands in the result choose first. For each the place in the result
    that repeats most of its inner paths is taken for its replacement; what does not fit there is
    tried one level down. An argument that is a bare array has no inner path: it is paired with a
    slot of its own type, or of its shape.

    Args:
        leaves: of the donated arguments.
        slots: of the result.

    Returns:
        The successor by the leaf's flat index; leaves without one are absent.

    Example:
        >>> from donatree.ledger import ArraySpec
        >>> spec = ArraySpec("float32", (4,), (4,), 16, 16)
        >>> leaf = Leaf("state.w", "state", 0, spec)
        >>> pair([leaf], [Slot("result[1]", 0, spec), Slot("result[0].w", 1, spec)])[0].path
        'result[0].w'
    """
    by_path = {paths.split(slot.path): slot for slot in slots}
    free = dict(by_path)
    groups: dict[str, dict[Path, Leaf]] = defaultdict(dict)
    for leaf in leaves:
        groups[leaf.argument][paths.split(leaf.path)[1:]] = leaf
    found: dict[int, Slot] = {}
    bare: list[Leaf] = []
    named = {_bare_name(piece) for path in by_path for piece in path}
    for name, group in sorted(groups.items(), key=lambda item: item[0] not in named):
        if set(group) == {()}:
            bare.extend(group.values())
        else:
            _pair_tree(name, group, free, found)
    for leaf in bare:
        _pair_bare(leaf, free, found, alone=len(slots) == 1)
    return found


def _pair_tree(
    name: str, group: Mapping[Path, Leaf], free: dict[Path, Slot], found: dict[int, Slot]
) -> None:
    """Finds the best replacement of one tree, then of what is left of it, one level down."""
    prefix = _best_prefix(name, group, free)
    rest: dict[str, dict[Path, Leaf]] = defaultdict(dict)
    for inner, leaf in group.items():
        slot = free.pop(prefix + inner, None) if prefix is not None else None
        if slot is not None:
            found[leaf.flat_index] = slot
        elif len(inner) > 1:
            rest[inner[0]][inner[1:]] = leaf
    for step, smaller in rest.items():
        _pair_tree(_bare_name(step), smaller, free, found)


def _best_prefix(name: str, group: Mapping[Path, Leaf], free: Mapping[Path, Slot]) -> Path | None:
    """The prefix under which most inner paths occur.

    A place counts only where some of its leaves are credible: by a name in the path or by their
    type. Between equals: more leaves of the same type, then a place that bears the argument's name,
    then the earliest in the result.
    """
    hits: Counter[Path] = Counter()
    alike: Counter[Path] = Counter()
    credible: Counter[Path] = Counter()
    order: dict[Path, int] = {}
    for path, slot in free.items():
        for cut in range(len(path)):
            leaf = group.get(path[cut:])
            if leaf is None:
                continue
            prefix = path[:cut]
            hits[prefix] += 1
            alike[prefix] += _same_aval(leaf, slot)
            credible[prefix] += _is_named(path[cut:]) or _likeness(leaf, path, slot) > 0
            order.setdefault(prefix, len(order))
    possible = [prefix for prefix in hits if credible[prefix]]
    return max(
        possible,
        key=lambda p: (credible[p], hits[p], alike[p], _bears(p, name), -order[p]),
        default=None,
    )


def _is_named(path: Path) -> bool:
    """Whether a path holds a name; that two tuples both have a place 0 says nothing."""
    return any(not piece.strip("[]").isdecimal() for piece in path)


def _same_aval(leaf: Leaf, slot: Slot) -> bool:
    return leaf.spec.dtype == slot.spec.dtype and leaf.spec.shape == slot.spec.shape


def _bears(prefix: Path, name: str) -> bool:
    return bool(prefix) and _bare_name(prefix[-1]) == name


def _bare_name(piece: str) -> str:
    """`params` of `.params` and of `['params']`."""
    return piece.strip(".[]'\"")


def _pair_bare(leaf: Leaf, free: dict[Path, Slot], found: dict[int, Slot], *, alone: bool) -> None:
    """A bare array: its own type first, then its shape or type with an equal name or rank.

    A result that is one array and nothing else needs only the leaf's rank or element count.
    """
    scored = [(_likeness(leaf, path, slot), path) for path, slot in free.items()]
    scored = [each for each in scored if each[0] > 0]
    if not scored and alone:
        scored = [(1, path) for path, slot in free.items() if _same_rank_or_size(leaf, slot)]
    best = _first_best(scored)
    if best is not None:
        found[leaf.flat_index] = free.pop(best)


def _same_rank_or_size(leaf: Leaf, slot: Slot) -> bool:
    mine, its = leaf.spec.shape, slot.spec.shape
    return len(mine) == len(its) or math.prod(mine) == math.prod(its)


def _likeness(leaf: Leaf, path: Path, slot: Slot) -> int:
    score = 0
    if _same_aval(leaf, slot):
        score = 8
    elif slot.spec.shape == leaf.spec.shape and leaf.spec.shape:
        score = 4
    elif slot.spec.dtype == leaf.spec.dtype and len(slot.spec.shape) == len(leaf.spec.shape) > 0:
        score = 2
    return score * 2 + _bears(path, leaf.argument) if score else 0


def _first_best(scored: Iterable[tuple[int, Path]]) -> Path | None:
    best: tuple[int, Path] | None = None
    for score, path in scored:
        if best is None or score > best[0]:
            best = (score, path)
    return best[1] if best else None
