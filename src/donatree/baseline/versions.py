"""The order of versions of JAX."""

from __future__ import annotations

import re
from collections.abc import Iterable

_PARTS = re.compile(r"([0-9]+)|([a-z]+)")
_RANKS = {"dev": -4, "a": -3, "alpha": -3, "b": -2, "beta": -2, "rc": -1, "post": 1}

Order = tuple[tuple[tuple[int, int], ...], str]


def order(version: str) -> Order:
    """What to sort versions by: numbers as numbers, what was tried before a release before it.

    Example:
        >>> sorted(["0.10.2", "0.9.2", "0.10.0rc1", "0.10.0"], key=order)
        ['0.9.2', '0.10.0rc1', '0.10.0', '0.10.2']
    """
    parts = [
        (0, int(number)) if number else (_RANKS.get(word, 1), 0)
        for number, word in _PARTS.findall(version.lower())
    ]
    # The end of a version stands between `rc`, which comes before it, and any further number.
    return (*parts, (0, -1)), version


def nearest(version: str, among: Iterable[str]) -> str | None:
    """The highest that is not above ``version``, else the lowest; None where there are none.

    Example:
        >>> nearest("0.9.0", ["0.5.3", "0.8.3", "0.12.0"]), nearest("0.4", ["0.8.3", "0.5.3"])
        ('0.8.3', '0.5.3')
    """
    known = sorted(among, key=order)
    below = [each for each in known if order(each) <= order(version)]
    return below[-1] if below else next(iter(known), None)
