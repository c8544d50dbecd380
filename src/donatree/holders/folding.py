"""Many references made few: one holder for a list of leaves, one for a tree of its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from donatree import paths
from donatree._jax import specs
from donatree.holders.holder import Holder

MOST = 64


def merged(steps: Sequence[str]) -> tuple[str, ...]:
    """The last steps to several things in one place as one step."""
    distinct = list(dict.fromkeys(steps))
    if len(distinct) <= 1:
        return tuple(step for step in distinct if step)
    kinds = {step[:2] if step.startswith("['") else step[:1] for step in distinct}
    return (paths.merge(distinct),) if len(kinds) == 1 and "" not in kinds else ("[...]",)


def fits(held: str, names: Iterable[str]) -> bool:
    """Whether `held` is a path that all of `names` go through."""
    return all(name.startswith(held) for name in names)


def common(names: Sequence[str]) -> str:
    """The longest path that all of `names` begin with.

    Example:
        >>> common(["state.params['a']", "state.params['b']"])
        'state.params'
    """
    columns = zip(*map(paths.split, names), strict=False)
    shared: list[str] = []
    for column in columns:
        if len(set(column)) > 1:
            break
        shared.append(column[0])
    return "".join(shared)


def sizes_of(leaves: Sequence[Any]) -> list[int]:
    """Bytes per device of each of some arrays."""
    try:
        known = specs.specs_of([x.aval for x in leaves], [x.sharding for x in leaves])
    except Exception:
        return [int(getattr(leaf, "nbytes", 0)) for leaf in leaves]
    return [spec.bytes for spec in known]


def arranged(found: Iterable[Holder]) -> list[Holder]:
    """Holders folded and without repetitions, most bytes first, at most `MOST`."""
    return sorted(folded(found), key=_order)[:MOST]


def folded(found: Iterable[Holder]) -> list[Holder]:
    """Three and more references from one root made one: it holds a tree of its own.

    Args:
        found: holders; repetitions are dropped.
    """
    groups: dict[tuple[Any, ...], list[Holder]] = {}
    for each in dict.fromkeys(found):
        whole = (each.steps, each.held) if each.kind in ("handle", "view") else ()
        key = each.root, each.location, each.thread, each.kind in ("leaf", "container"), whole
        groups.setdefault(key, []).append(each)
    answer = []
    for group in groups.values():
        if len(group) < 3:
            answer += group
            continue
        answer.append(
            replace(
                group[0],
                held=common([each.held for each in group]),
                kind="container",
                steps=(*_shared([each.steps for each in group]), "[...]"),
                leaves=tuple(dict.fromkeys(leaf for each in group for leaf in each.leaves)),
                bytes=sum(each.bytes for each in group),
            )
        )
    return answer


def _shared(rows: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    shared: list[str] = []
    for column in zip(*rows, strict=False):
        if len(set(column)) > 1:
            break
        shared.append(column[0])
    return tuple(shared)


def _order(holder: Holder) -> tuple[int, str, str]:
    return -holder.bytes, holder.held, str(holder)
