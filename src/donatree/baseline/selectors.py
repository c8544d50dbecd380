"""What holds in some environments, in few words: ``cpu``, ``cpu >=0.10.2``, ``tpu:v5e:4x4``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

from donatree.baseline import versions
from donatree.baseline.record import BaselineError, Environment

UNKNOWN = "?"
"""How a version of JAX that is not known is written."""

_SELECTOR = re.compile(r"(?s)(.+?)(?: ((?:==|>=|<=)[^\s,]+)(?:,(<=[^\s,]+))?)?")

V = TypeVar("V")


def ordered(environments: Iterable[Environment]) -> list[Environment]:
    """Environments by platform, then in the order of their versions."""
    return sorted(environments, key=lambda each: (each.platform, versions.order(each.jax)))


def fold(values: Mapping[Environment, V], seen: Iterable[Environment]) -> V | dict[str, V]:
    """Values of environments by selectors that stand for them.

    Args:
        values: the value of each environment that has one.
        seen: all environments; a value of which none has is left out.

    Returns:
        The value itself where all environments have it, else each value by its selectors.

    Example:
        >>> seen = [Environment("cpu", jax) for jax in ("0.5.3", "0.9.2", "0.12.0")]
        >>> fold({seen[0]: "DT501"}, seen), fold(dict.fromkeys(seen, "DT402"), seen)
        ({'cpu <=0.5.3': 'DT501'}, 'DT402')
    """
    every = ordered(seen)
    found = [values.get(each) for each in every]
    if found and found[0] is not None and all(each == found[0] for each in found):
        return found[0]
    folded: dict[str, V] = {}
    for platform in dict.fromkeys(each.platform for each in every):
        mine = [each for each in every if each.platform == platform]
        for first, last, value in _runs([values.get(each) for each in mine]):
            if value is not None:
                folded[platform + _span(mine, first, last)] = value
    return folded


def _runs(found: list[V | None]) -> Iterator[tuple[int, int, V | None]]:
    start = 0
    for end in range(1, len(found) + 1):
        if end == len(found) or found[end] != found[start]:
            yield start, end - 1, found[start]
            start = end


def _span(mine: list[Environment], first: int, last: int) -> str:
    at_start, at_end = first == 0, last == len(mine) - 1
    low, high = mine[first].jax or UNKNOWN, mine[last].jax or UNKNOWN
    if at_start and at_end:
        return ""
    if at_start:
        return f" <={high}"
    if at_end:
        return f" >={low}"
    return f" =={low}" if first == last else f" >={low},<={high}"


def expand(selector: str, seen: Iterable[Environment]) -> list[Environment]:
    """The environments that a selector stands for.

    Raises:
        BaselineError: it stands for none; one line.

    Example:
        >>> seen = [Environment("cpu", "0.5.3"), Environment("cpu", "0.9.2")]
        >>> expand("cpu >=0.8", seen)
        [Environment(platform='cpu', jax='0.9.2')]
    """
    every = list(seen)
    chosen = [each for each in every if each.platform == selector]
    found = _SELECTOR.fullmatch(selector)
    if not chosen and found is not None:
        limits = [limit for limit in found.groups()[1:] if limit]
        chosen = [
            each
            for each in every
            if each.platform == found[1] and all(_holds(each.jax, limit) for limit in limits)
        ]
    if not chosen:
        raise BaselineError(f"`{selector}` is none of what `seen` names")
    return chosen


def _holds(jax: str, limit: str) -> bool:
    sign, version = limit[:2], limit[2:]
    mine, other = versions.order(jax), versions.order("" if version == UNKNOWN else version)
    if sign == "==":
        return mine[0] == other[0]
    return mine[0] <= other[0] if sign == "<=" else mine[0] >= other[0]
