"""Paths of leaves as text: taking one apart, and folding many into one pattern.

A path is written as the user would type it, ``state.opt_state[0].mu['dense']['kernel']``: the
name of an argument, then ``.name``, ``[0]`` or ``['key']`` for each step into the tree.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_NUMBER = re.compile(r"([0-9]{1,18})")
_INDEX = re.compile(r"\[[0-9]{1,18}\]")
# What nearly every component looks like; anything else is walked character by character.
_COMMON = re.compile(
    r"""\.[^.\[]*                                   # .name
      | \[[^\[\](){}'"]*\]                          # [0], [<flat index 0>]
      | \['[^'\\]*(?:\\.[^'\\]*)*'\]                # ['key'], as repr() writes it
      | \["[^"\\]*(?:\\.[^"\\]*)*"\]
    """,
    re.VERBOSE | re.DOTALL,
)
_LATER_END = re.compile(r"\](?=[.\[]|\Z)")
_OPEN, _CLOSE = "[({", "])}"


def split(path: str) -> tuple[str, ...]:
    """Takes a path apart into its components.

    Args:
        path: a leaf's path. Keys may hold dots, brackets, quotes and escapes as ``repr`` makes
            them. A path that is not well formed is taken apart as far as it goes.

    Returns:
        The name of the argument, then one component for each step, with its punctuation, so that
        ``"".join(split(path)) == path``.

    Example:
        >>> split("state.params['a.b'][0]")
        ('state', '.params', "['a.b']", '[0]')
    """
    end = min((i for i in (path.find("."), path.find("[")) if i >= 0), default=len(path))
    parts = [path[:end]]
    while end < len(path):
        start = end
        found = _COMMON.match(path, start)
        end = found.end() if found else _end_of_bracket(path, start)
        parts.append(path[start:end])
    return tuple(parts)


def _end_of_bracket(path: str, start: int) -> int:
    """Where the bracket that opens at ``start`` ends: the place after its ``]``."""
    depth, quote, i = 0, "", start
    while i < len(path):
        char = path[i]
        if quote:
            if char == "\\":
                i += 1
            elif char == quote:
                quote = ""
        elif char in "'\"":
            quote = char
        elif char in _OPEN:
            depth += 1
        elif char in _CLOSE:
            depth -= 1
            if depth == 0:
                return i + 1
        i += 1
    # Some object's own repr, with a quote or a bracket that nothing closes.
    found = _LATER_END.search(path, start)
    return found.end() if found else len(path)


def fold(paths: Iterable[str]) -> str:
    """Folds many paths into the pattern that they have in common.

    Args:
        paths: paths of leaves; the order does not change the patterns, only which of two comes
            first, and a path given twice counts once.

    Returns:
        The path itself where there is one. Else a pattern with the number of leaves: ``[0..11]``
        for a range, ``.{mu,nu}`` for up to three names, ``*`` for anything, ``...`` where the
        paths have different lengths. Empty for no paths.

    Example:
        >>> fold(f"state.layers[{i}].kernel" for i in range(12))
        'state.layers[0..11].kernel (12 leaves)'
    """
    parts = list(dict.fromkeys(map(split, paths)))
    groups: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    for components in parts:
        groups.setdefault(tuple(map(_kind, components)), []).append(components)
    if len(groups) <= 2:
        return " and ".join(_fold_alike(group) for group in groups.values())
    shared = []
    for column in zip(*parts, strict=False):
        if len(set(column)) > 1:
            shared += [] if shared else [merge(column)]
            break
        shared.append(column[0])
    return f"{''.join(shared)}... ({len(parts):,} leaves)"


def _fold_alike(parts: Sequence[tuple[str, ...]]) -> str:
    if len(parts) == 1:
        return "".join(parts[0])
    pattern = "".join(merge(column) for column in zip(*parts, strict=True))
    return f"{pattern} ({len(parts):,} leaves)"


def _kind(component: str) -> str:
    if component.startswith("["):
        return "index" if _INDEX.fullmatch(component) else "key"
    return "name"


def merge(components: Iterable[str]) -> str:
    """Folds components that stand at the same place in like paths into one.

    Args:
        components: components as ``split`` makes them, all of one kind.

    Returns:
        One component that stands for all of them.

    Example:
        >>> merge(["['layer_0']", "['layer_1']", "['layer_2']"])
        "['layer_0..2']"
    """
    distinct = sorted(set(components))
    if len(distinct) == 1:
        return distinct[0]
    numbered = _merge_numbers(distinct)
    if numbered is not None:
        return numbered
    if all(component.startswith("[") for component in distinct):
        return "[*]"
    dot = "." if all(component.startswith(".") for component in distinct) else ""
    names = "{" + ",".join(c.removeprefix(dot) for c in distinct) + "}"
    return dot + (names if len(distinct) <= 3 else "*")


def _merge_numbers(distinct: Sequence[str]) -> str | None:
    """One component for those that differ in one number only; None where they do not."""
    rows = [_NUMBER.split(component) for component in distinct]
    if any("\\" in component for component in distinct) or len({len(row) for row in rows}) > 1:
        return None
    varying = [i for i, column in enumerate(zip(*rows, strict=True)) if len(set(column)) > 1]
    if len(varying) != 1 or varying[0] % 2 == 0:
        return None
    place = varying[0]
    texts = {int(row[place]): row[place] for row in rows}
    if len(texts) != len(distinct):
        return None
    numbers = _ranges(texts)
    name = _kind(distinct[0]) == "name"
    braced = "{" + numbers + "}" if name and "," in numbers else numbers
    return "".join([*rows[0][:place], braced, *rows[0][place + 1 :]])


def _ranges(texts: dict[int, str]) -> str:
    """Numbers in short: ``0..4,6..11``, and ``0,2,...,22`` where that gets long."""
    shown = [
        texts[run[0]] if len(run) == 1 else f"{texts[run[0]]}..{texts[run[-1]]}"
        for run in runs(texts)
    ]
    return ",".join(shown if len(shown) <= 4 else [*shown[:2], "...", shown[-1]])


def runs(numbers: Iterable[int]) -> list[list[int]]:
    """Numbers in order, those that follow each other together.

    Example:
        >>> runs([7, 0, 2, 1])
        [[0, 1, 2], [7]]
    """
    found: list[list[int]] = []
    for number in sorted(numbers):
        if found and number == found[-1][-1] + 1:
            found[-1].append(number)
        else:
            found.append([number])
    return found
