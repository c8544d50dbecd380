"""What the reader of a comparison should know beside the changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from donatree.baseline.judgement import Judgement
from donatree.baseline.lookup import Finder, Place
from donatree.baseline.missing import Missing
from donatree.baseline.record import ANYWHERE, gate_of

_MOST = 3


def remarks(
    judgements: Sequence[Judgement],
    finder: Finder,
    absent: Missing,
    old_name: str,
    *,
    explicit: bool,
) -> Iterator[str]:
    """Facts on what was held against what.

    Args:
        judgements: what was met.
        finder: the records.
        absent: the functions that were not met.
        old_name: what the records are called.
        explicit: whether two accounts are compared, which are of two environments mostly.
    """
    yield from _unknown(judgements, finder, absent, old_name)
    yield from _elsewhere(judgements, finder)
    yield from _other_signature(judgements, old_name)
    if not explicit:
        yield from _other_environment(judgements, old_name)
    yield from _not_looked_at(judgements)
    for why, number in Counter(why for each in judgements for why in each.ignored.values()).items():
        yield f"{_leaves(number, 'is', 'are')} lost and ignored: {why}"
    if absent.elsewhere:
        files = dict.fromkeys(f"`{place.file}`" for place in absent.elsewhere)
        number = len(absent.elsewhere)
        what = "1 recorded function was" if number == 1 else f"{number:,} recorded functions were"
        yield f"{what} not met, of other files: {_listed(files)}"


def _unknown(
    judgements: Sequence[Judgement], finder: Finder, absent: Missing, old_name: str
) -> Iterator[str]:
    unknown = {_label(each): each for each in judgements if each.base is None}
    if unknown:
        names = _listed(f"`{label}`" for label in sorted(unknown))
        yield f"{names} {'is' if len(unknown) == 1 else 'are'} not in {old_name}"
    for label, each in sorted(unknown.items()):
        every = (*absent.expected, *absent.elsewhere)
        moved = [place for place in every if _may_be(finder, place, each)]
        if len(moved) == 1:
            there = moved[0].label
            yield f"`{label}` has the leaves of `{there}`, which was not met: it may have moved"


def _elsewhere(judgements: Sequence[Judgement], finder: Finder) -> Iterator[str]:
    told: dict[str, str] = {}
    for each in judgements:
        place = finder.function(each.met)
        if place is not None and place.file != each.met.key.file:
            told[_label(each)] = place.label
    for now, before in told.items():
        yield f"`{now}` is taken for `{before}`"


def _may_be(finder: Finder, place: Place, each: Judgement) -> bool:
    """Whether a function that was met is one that was not: its file or its name changed."""
    key, leaves = each.met.key, frozenset(each.met.leaves)
    like = any(record.leaves == leaves for record in finder.functions[place])
    return bool(leaves) and like and (place.function == key.function or place.file == key.file)


def _other_signature(judgements: Sequence[Judgement], old_name: str) -> Iterator[str]:
    other: dict[str, str] = {}
    for each in judgements:
        if each.base is not None and not each.base.same_signature:
            nearest = dict.fromkeys(f"`{key.arguments}`" for key in each.base.keys)
            other.setdefault(
                f"`{each.met.key.function}` with `{each.met.signature}` is not in {old_name}",
                f"it is held against {_listed(nearest)}",
            )
    for what, against in list(other.items())[:_MOST]:
        yield f"{what}: {against}"
    if len(other) > _MOST:
        yield f"so are {len(other) - _MOST:,} more signatures, each held against the nearest one"


def _other_environment(judgements: Sequence[Judgement], old_name: str) -> Iterator[str]:
    told: dict[str, list[str]] = {}
    for each in judgements:
        platform, jax = each.met.environment.platform, each.met.environment.jax
        if each.base is None or ANYWHERE in (platform, *each.base.platforms):
            continue
        if not each.base.same_platform:
            told.setdefault(f"`{platform}` is not in {old_name}", []).extend(each.base.platforms)
        elif each.base.jax != [jax]:
            told.setdefault(f"jax {jax} on {platform} is not in {old_name}", []).extend(
                f"jax {version}" for version in each.base.jax
            )
    for what, against in told.items():
        yield f"{what}: held against {_listed(dict.fromkeys(against))}"


def _not_looked_at(judgements: Sequence[Judgement]) -> Iterator[str]:
    before: Counter[str] = Counter()
    now: Counter[str] = Counter()
    for each in judgements:
        for path in each.unjudged:
            gate = gate_of(each.base.before(path) or "") if each.base else None
            before[gate.label if gate else ""] += 1
        for path in each.unasked:
            gate = each.met.leaves[path].gate
            now[gate.label if gate else ""] += 1
    for gate, number in before.items():
        yield (
            f"{_leaves(number, 'was', 'were')} lost at gate {gate}, which was not checked as "
            "closely now: no change is counted"
        )
    for gate, number in now.items():
        yield (
            f"{_leaves(number, 'is', 'are')} lost at gate {gate}, which was not checked as closely "
            "when this was recorded"
        )


def _label(each: Judgement) -> str:
    return Place(each.met.key.file, each.met.key.function).label


def _leaves(number: int, one: str, many: str) -> str:
    return f"1 leaf {one}" if number == 1 else f"{number:,} leaves {many}"


def _listed(names: Iterable[str]) -> str:
    found = list(names)
    if len(found) > _MOST:
        found = [*found[:_MOST], f"{len(found) - _MOST:,} more"]
    return " and ".join(filter(None, [", ".join(found[:-1]), found[-1]]))
