"""Many paths in few patterns that stand for exactly these paths.

What lies at the same place of like subtrees is written once: a transformer's state of 300 leaves
takes about as many lines as one of its blocks has kinds of leaves.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from donatree import paths
from donatree.baseline import patterns

# What may stand between braces: no comma, no brace, nothing that looks like a range.
_PART = re.compile(r"""(\.|\['|\[|)((?:(?!\.\.)[^\[\]{},'"\\])+)('\]|\]|)""", re.DOTALL)
_CLOSINGS = {".": "", "[": "]", "['": "']", "": ""}
_BRACES = re.compile(r"\{[^{}]*\}")
_DIGITS = re.compile(r"([0-9]{1,18})")
_DEEPEST = 4
_LEAST = 3  # leaves of subtrees that are joined though they are at different depths

_Node = dict[str | None, "_Node"]  # None: a path ends here


class _Group(NamedTuple):
    """Like subtrees: the patterns of the ways to them, how many they are, which subtree it is."""

    ways: tuple[str, ...]
    number: int
    tree: int


def fold(leaves: Iterable[str]) -> list[str]:
    """The patterns of paths.

    Args:
        leaves: paths; one that is given twice counts once.

    Returns:
        Patterns that expand to exactly these paths, each to paths that no other has; the same for
        the same set of paths.

    Example:
        >>> fold(f"s.{tree}[{i}]['w']" for tree in ("mu", "nu") for i in range(12))
        ["s.{mu,nu}[{0..11}]['w']"]
    """
    root: _Node = {}
    for path in leaves:
        node = root
        for component in paths.split(path):
            node = node.setdefault(component, {})
        node[None] = {}
    folder = _Folder()
    return sorted(folder.patterns(folder.number(root)), key=natural)


def natural(text: str) -> list[str | int]:
    """What to sort paths by: numbers in them as numbers."""
    parts = _DIGITS.split(text)
    return [int(part) if i % 2 else part for i, part in enumerate(parts)]


class _Folder:
    """Gives like subtrees one number, so that each is folded once."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[object, ...], int] = {}
        self._groups: list[tuple[_Group, ...]] = []
        self._sizes: list[int] = []
        self._lines: dict[int, list[str]] = {}

    def number(self, node: _Node) -> int:
        """The number of a subtree."""
        below = sorted(
            (name, self.number(child)) for name, child in node.items() if name is not None
        )
        key = (None in node, *below)
        if key not in self._numbers:
            self._numbers[key] = len(self._sizes)
            self._sizes.append((None in node) + sum(self._sizes[tree] for _, tree in below))
            self._groups.append(_grouped(below))
        return self._numbers[key]

    def patterns(self, tree: int) -> list[str]:
        """The patterns of a subtree's leaves."""
        if tree not in self._lines:
            groups = self._joined(tree)
            inner = sum(each.number * self._sizes[each.tree] for each in groups)
            lines = [""] if inner < self._sizes[tree] else []  # a path ends at its root
            for each in groups:
                way = _rendered(each.ways)
                lines += [way + line for line in self.patterns(each.tree)]
            self._lines[tree] = lines
        return self._lines[tree]

    def _joined(self, tree: int) -> list[_Group]:
        """The groups below a subtree; where one lies deeper than its like, beside that."""
        groups = list(self._groups[tree])
        for _ in range(_DEEPEST):
            opened: list[_Group] = []
            for each in groups:
                like = {one.tree for one in groups if one.tree != each.tree}
                if self._to_open(each, {one for one in like if self._sizes[one] >= _LEAST}):
                    way = _rendered(each.ways)
                    opened += [
                        _Group((way + _rendered(one.ways),), each.number * one.number, one.tree)
                        for one in self._groups[each.tree]
                    ]
                else:
                    opened.append(each)
            if len(opened) == len(groups) and opened == groups:
                break
            groups = opened
        merged: dict[tuple[int, object], _Group] = {}
        for place, each in enumerate(groups):
            alike = self._sizes[each.tree] >= _LEAST and all(map(_fits_braces, each.ways))
            key = (each.tree, None if alike else place)
            known = merged.get(key, _Group((), 0, each.tree))
            merged[key] = _Group(known.ways + each.ways, known.number + each.number, each.tree)
        return list(merged.values())

    def _to_open(self, group: _Group, like: set[int]) -> bool:
        """Whether at least half of a group's leaves are in subtrees like others beside it."""
        size, groups = self._sizes[group.tree], self._groups[group.tree]
        if not like or sum(one.number * self._sizes[one.tree] for one in groups) < size:
            return False
        return 2 * self._alike(group.tree, like, _DEEPEST) >= size

    def _alike(self, tree: int, like: set[int], depth: int) -> int:
        if tree in like:
            return self._sizes[tree]
        if not depth:
            return 0
        return sum(
            one.number * self._alike(one.tree, like, depth - 1)
            for one in self._groups[tree]
            if all(map(_fits_braces, one.ways))
        )


def _grouped(below: Sequence[tuple[str, int]]) -> tuple[_Group, ...]:
    """Children of one kind that are like each other become one group."""
    groups: dict[tuple[object, ...], list[str]] = {}
    for component, tree in below:
        part = _part(component)
        key = (tree, part[0]) if part else (tree, None, component)
        groups.setdefault(key, []).append(patterns.escaped(component))
    return tuple(
        _Group(tuple(ways), len(ways), key[0])  # type: ignore[arg-type]
        for key, ways in groups.items()
    )


def _part(component: str) -> tuple[str, str, str] | None:
    """What opens a component, what may differ, what closes it; None where it stays as it is."""
    found = _PART.fullmatch(component)
    if found is None or _CLOSINGS[found[1]] != found[3]:
        return None
    return found[1], found[2], found[3]


def _rendered(ways: Sequence[str]) -> str:
    """Ways as one pattern."""
    if len(ways) == 1:
        return ways[0]
    parts = [_part(way) for way in ways]
    kinds = {part and (part[0], part[2]) for part in parts}
    if len(kinds) == 1 and None not in kinds:
        opening, closing = next(iter(kinds)) or ("", "")
        return opening + patterns.alternatives(part[1] for part in parts if part) + closing
    opening = "." if all(way.startswith(".") for way in ways) else ""
    return opening + patterns.alternatives(way.removeprefix(opening) for way in ways)


def _fits_braces(way: str) -> bool:
    """Whether a way may stand between braces."""
    before = None
    while way != before:
        before, way = way, _BRACES.sub("", way)
    return bool(way) and not {*"{},"} & {*way} and ".." not in way
