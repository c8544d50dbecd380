"""A baseline as TOML: small, sorted, one line for one change."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from donatree import paths
from donatree.baseline import folding, patterns, selectors
from donatree.baseline.record import Baseline, Checked, Environment, Key, Record

VERSION = 1
COMMENT = """\
# What becomes of donated memory, as donatree saw it: it fails on a leaf that is lost and not
# listed here. `donatree run --write-baseline` writes this file anew.
"""
PROVED = "proved"
ALONE = "{$}"
"""Ends the pattern of a leaf below whose path there are other leaves, which it does not mean."""

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_ESCAPES = {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}
_SPECIAL = re.compile('["\\\\\x00-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]')


def dumps(baseline: Baseline) -> str:
    """A baseline as the text of its file.

    Args:
        baseline: what is expected.

    Returns:
        TOML, ended by a newline; the same for equal baselines. ``reading.loads`` gives the
        baseline back.

    Example:
        >>> print(dumps(Baseline(comment="# ours")), end="")
        # ours
        version = 1
    """
    comment = baseline.comment or COMMENT
    lines = [comment if comment.endswith("\n") else comment + "\n", f"version = {VERSION}\n"]
    for records in _by_tree(baseline.records):
        lines += _function(records)
    return "".join(lines)


def _by_tree(records: Mapping[Key, Record]) -> list[list[Record]]:
    """The records of one function that have the same leaves stand together."""
    together: dict[tuple[object, ...], list[Record]] = {}
    for key in sorted(records):
        record = records[key]
        together.setdefault((key.file, key.function, record.leaves), []).append(record)
    return list(together.values())


def _function(records: Sequence[Record]) -> Iterator[str]:
    key, leaves = records[0].key, records[0].leaves
    yield f"\n[[function]]\nname = {quoted(key.function)}\nfile = {quoted(key.file)}\n"
    yield f"leaves = [  # {len(leaves):,}\n"
    for pattern in folding.fold(leaves):
        yield f"  {quoted(pattern)},\n"
    yield "]\n"
    for record in records:
        yield from _signature(record)


def _signature(record: Record) -> Iterator[str]:
    yield f"\n[[function.signature]]\narguments = {quoted(record.key.arguments)}\n"
    yield f"digest = {quoted(record.key.digest)}\n"
    of: dict[str, list[str]] = {}
    for each in selectors.ordered(record.seen):
        of.setdefault(each.platform, []).append(each.jax or selectors.UNKNOWN)
    for platform, found in of.items():
        yield f"seen.{_key(platform)} = [{', '.join(map(quoted, found))}]\n"
    folded = selectors.fold({k: _words(v) for k, v in record.seen.items()}, record.seen)
    yield from _value("checked", folded)
    for pattern, folded, number in _lost(record):
        beside = "" if number == 1 else f"  # {number:,} leaves"
        for line in _value(f"lost.{quoted(pattern)}", folded):
            yield line.removesuffix("\n") + f"{beside}\n"


def _lost(record: Record) -> list[tuple[str, str | dict[str, str], int]]:
    """Subtrees that are lost as a whole and alike, by their pattern, with their leaves."""
    verdicts: dict[str, dict[Environment, str]] = {}
    for environment, lost in record.lost.items():
        for path, verdict in lost.items():
            verdicts.setdefault(path, {})[environment] = verdict
    alike: dict[tuple[object, ...], list[str]] = {}
    for path, found in verdicts.items():
        alike.setdefault(tuple(sorted(found.items())), []).append(path)
    every = _below(record.leaves) if alike else {}
    rows = []
    for found, lost in alike.items():
        folded = selectors.fold(dict(found), record.seen)  # type: ignore[arg-type]
        sizes, alone = _subtrees(lost, every)
        for pattern in folding.fold(sizes):
            rows.append((pattern, folded, sum(sizes[each] for each in patterns.expand(pattern))))
        rows += [(patterns.escaped(path) + ALONE, folded, 1) for path in alone]
    return sorted(rows, key=lambda row: folding.natural(row[0]))


def _subtrees(lost: Iterable[str], every: Mapping[str, int]) -> tuple[dict[str, int], list[str]]:
    """The largest subtrees of which all leaves are lost, and what is lost beside them.

    Args:
        lost: the leaves.
        every: how many leaves each subtree of the function has.

    Returns:
        The number of leaves of each subtree; leaves with others below their own path, not all of
        which are lost.
    """
    mine = _below(lost)
    found: dict[str, int] = {}
    alone: list[str] = []
    for path in lost:
        start = ""
        for component in paths.split(path):
            start += component
            if mine[start] == every[start]:
                # The whole path says more than that of a subtree which has no other leaf.
                found[start if mine[start] > 1 else path] = mine[start]
                break
        else:
            alone.append(path)
    return found, alone


def _below(leaves: Iterable[str]) -> dict[str, int]:
    """How many leaves each subtree has."""
    found: dict[str, int] = {}
    for path in leaves:
        start = ""
        for component in paths.split(path):
            start += component
            found[start] = found.get(start, 0) + 1
    return found


def _words(checked: Checked) -> tuple[str, ...]:
    return (*(gate.value for gate in checked.gates), *([PROVED] if checked.proved else []))


def _value(name: str, folded: object) -> Iterator[str]:
    if not isinstance(folded, Mapping):
        yield f"{name} = {_plain(folded)}\n"
        return
    pairs = ", ".join(f"{_key(selector)} = {_plain(value)}" for selector, value in folded.items())
    yield f"{name} = {{ {pairs} }}\n"


def _plain(value: object) -> str:
    if isinstance(value, str):
        return quoted(value)
    assert isinstance(value, tuple)
    return f"[{', '.join(map(quoted, value))}]"


def _key(text: str) -> str:
    return text if _BARE.fullmatch(text) else quoted(text)


def quoted(text: str) -> str:
    r"""Text as a string of TOML; what an editor or a review would not show is escaped.

    Example:
        >>> print(quoted('state["a\n"]'))
        "state[\"a\n\"]"
    """
    return '"' + _SPECIAL.sub(_escape, text) + '"'


def _escape(found: re.Match[str]) -> str:
    char = found[0]
    if char in '"\\':
        return "\\" + char
    return _ESCAPES.get(char) or f"\\u{ord(char):04x}"
