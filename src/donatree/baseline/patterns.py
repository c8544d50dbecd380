r"""Sets of paths in few lines, as a shell's braces write them: ``state.{mu,nu}[{0..11}]``.

A pattern stands for exactly the paths that it expands to, so it is known of each path whether it
is one of them. ``{a,b}`` is either, ``{0..11}`` each number of a range, and braces may hold
braces. A brace that is part of a path is written ``{{}`` or ``{}}``.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator

from donatree import paths
from donatree.baseline.record import BaselineError

MOST = 1_000_000
"""A pattern that stands for more paths is refused."""

_NUMBERED = re.compile(r"(|.*?[^0-9])(0|[1-9][0-9]{0,8})([^0-9]*)", re.DOTALL)
_RANGE = re.compile(r"(0|[1-9][0-9]{0,8})\.\.(0|[1-9][0-9]{0,8})")


def escaped(text: str) -> str:
    """Text as a pattern that stands for itself."""
    return re.sub(r"[{}]", lambda found: "{" + found[0] + "}", text)


def expand(pattern: str) -> list[str]:
    """The paths that a pattern stands for.

    Raises:
        BaselineError: a brace is not closed, or it stands for too many; one line.

    Example:
        >>> expand("x[{0..1,4}].{mu,nu}")
        ['x[0].mu', 'x[0].nu', 'x[1].mu', 'x[1].nu', 'x[4].mu', 'x[4].nu']
    """
    found, end = _sequence(pattern, 0, closing="")
    assert end == len(pattern)
    return found


def _sequence(pattern: str, start: int, closing: str) -> tuple[list[str], int]:
    """Reads up to one of the characters `closing`, or to the end; returns what it expands to."""
    parts: list[list[str]] = []
    i = literal = start
    while i < len(pattern) and pattern[i] not in closing:
        if pattern[i] != "{":
            i += 1
            continue
        parts.append([pattern[literal:i]])
        if pattern.startswith(("{{}", "{}}"), i):
            parts.append([pattern[i + 1]])
            i += 3
        else:
            alternatives, i = _group(pattern, i)
            parts.append(alternatives)
        literal = i
    parts.append([pattern[literal:i]])
    return list(map("".join, _product(pattern, parts))), i


def _group(pattern: str, start: int) -> tuple[list[str], int]:
    found: list[str] = []
    i = start
    while True:
        begin = i + 1
        alternatives, i = _sequence(pattern, begin, closing=",}")
        if i == len(pattern):
            raise BaselineError(f"`{pattern}`: a `{{` is not closed")
        span = _RANGE.fullmatch(pattern, begin, i)
        if span is not None:
            first, last = int(span[1]), int(span[2])
            if last - first >= MOST:
                raise BaselineError(f"`{pattern}` stands for too many leaves")
            alternatives = list(map(str, range(first, last + 1)))
        found += alternatives
        if pattern[i] == "}":
            return found, i + 1


def _product(pattern: str, parts: list[list[str]]) -> Iterator[tuple[str, ...]]:
    total = 1
    for part in parts:
        total *= len(part)
        if total > MOST:
            raise BaselineError(f"`{pattern}` stands for too many leaves")
    return itertools.product(*parts)


def alternatives(texts: Iterable[str]) -> str:
    """Braces around alternatives; the alternative itself where there is only one.

    Args:
        texts: patterns in which a comma stands in braces only.

    Example:
        >>> alternatives(["block_0", "block_1", "block_2", "head"]), alternatives(["0", "2", "1"])
        ('{block_{0..2},head}', '{0..2}')
    """
    alike: dict[tuple[str, str], list[int]] = {}
    shown: list[tuple[str, str]] = []
    for text in dict.fromkeys(texts):
        found = None if "{" in text else _NUMBERED.fullmatch(text)
        if found is None:
            shown.append((text, text))
        else:
            alike.setdefault((found[1], found[3]), []).append(int(found[2]))
    bare = False
    for (head, tail), numbers in alike.items():
        runs = _runs(numbers)
        bare = not (head or tail)
        if len(numbers) == 1 or bare:
            shown += [(head, f"{head}{run}{tail}") for run in runs]
        else:
            shown.append((head, f"{head}{{{','.join(runs)}}}{tail}"))
    if len(shown) == 1 and not (bare and ".." in shown[0][1]):
        return shown[0][1]
    return "{" + ",".join(text for _, text in sorted(shown)) + "}"


def _runs(numbers: Iterable[int]) -> list[str]:
    return [str(run[0]) if len(run) == 1 else f"{run[0]}..{run[-1]}" for run in paths.runs(numbers)]
