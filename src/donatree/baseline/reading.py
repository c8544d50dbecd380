"""A baseline from the text of its file, with one clear line where it is none."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from donatree import paths
from donatree.baseline import patterns, selectors
from donatree.baseline.record import Baseline, BaselineError, Checked, Environment, Key, Record
from donatree.baseline.table import Source, Table
from donatree.baseline.toml import ALONE, PROVED, VERSION
from donatree.ledger import GATES, Gate

_PLACE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")
_COMMENT = re.compile(r"\A(?:[ \t]*#[^\n]*\n|[ \t]*\r?\n)*(?=[^#\s]|\Z)")


def loads(text: str, name: str) -> Baseline:
    """A baseline from its text.

    Args:
        text: what ``toml.dumps`` wrote, perhaps edited.
        name: of the file, for errors.

    Raises:
        BaselineError: the text is no TOML, of another version, lacks a key or has one of the
            wrong type; one line that names the file and, where it is found, the line.
    """
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = _PLACE.search(str(error))
        message = _PLACE.sub("", str(error))
        line = int(found[1]) if found and found[1] else len(text.splitlines())
        raise BaselineError(f"{name}:{line}: no TOML: {message[:1].lower()}{message[1:]}") from None
    except RecursionError:
        raise BaselineError(f"{name}: nested too deep") from None
    table = Table(data, Source(text, name), "")
    version = table.get("version", int)
    if version != VERSION:
        raise table.error("version", f"is {version}; this donatree reads {VERSION}")
    records: dict[Key, Record] = {}
    for function in table.each("function"):
        for record in _records(function):
            known = records.get(record.key)
            for environment, checked in record.seen.items() if known else ():
                assert known is not None
                known = known.having(environment, checked, record.lost.get(environment, {}))
            records[record.key] = known or record
    return Baseline.of(records.values(), leading_comment(text))


def leading_comment(text: str) -> str:
    """The lines of comment at the top of a file, with their ends."""
    found = _COMMENT.match(text)
    return found[0].strip("\n") + "\n" if found and found[0].strip() else ""


def _records(function: Table) -> Iterator[Record]:
    name, file = function.get("name", str), function.get("file", str)
    leaves: set[str] = set()
    for pattern in function.texts(function.get("leaves", list), "leaves"):
        try:
            leaves.update(patterns.expand(pattern))
        except BaselineError as error:
            raise function.error("leaves", f"has a pattern that is none: {error}") from None
    below = _below(leaves)
    for table in function.each("signature"):
        key = Key(file, name, table.get("arguments", str), table.get("digest", str))
        yield _record(table, key, frozenset(leaves), below)


def _record(
    table: Table, key: Key, leaves: frozenset[str], below: Mapping[str, list[str]]
) -> Record:
    seen = [
        Environment(platform, "" if jax == selectors.UNKNOWN else jax)
        for platform, found in table.get("seen", dict).items()
        for jax in table.texts(found, "seen")
    ]
    checked: dict[Environment, Checked] = dict.fromkeys(seen, Checked(()))
    for environment, value in _by_environment(table, "checked", table.get("checked", object), seen):
        words = table.texts(value, "checked")
        for word in words:
            if word != PROVED and word not in set(Gate):
                raise table.error("checked", f"has `{word}`, which is no gate")
        gates = tuple(gate for gate in GATES if gate in words)
        checked[environment] = Checked(gates, PROVED in words)
    lost: dict[Environment, dict[str, str]] = {}
    entries = table.typed(table.data.get("lost", {}), dict, "lost").items()
    # A longer path says more exactly which leaf is meant.
    for pattern, value in sorted(entries, key=lambda each: (len(paths.split(each[0])), each[0])):
        place = f"lost.{pattern}"
        for leaf in _leaves_of(table, pattern, leaves, below):
            for environment, verdict in _by_environment(table, "lost", value, seen):
                if not isinstance(verdict, str) or not verdict.strip():
                    raise table.error("lost", f"`{place}` is {verdict!r:.60}, not a code")
                lost.setdefault(environment, {})[leaf] = verdict.strip()
    return Record(key, leaves, checked, lost)


def _by_environment(
    table: Table, key: str, value: Any, seen: Iterable[Environment]
) -> Iterator[tuple[Environment, Any]]:
    if not isinstance(value, dict):
        yield from ((each, value) for each in seen)
        return
    for selector, part in value.items():
        try:
            chosen = selectors.expand(selector, seen)
        except BaselineError as error:
            raise table.error(key, f"has a condition that never holds: {error}") from None
        yield from ((each, part) for each in chosen)


def _leaves_of(
    table: Table, pattern: str, leaves: frozenset[str], below: Mapping[str, list[str]]
) -> Iterator[str]:
    alone = pattern.endswith(ALONE)
    try:
        starts = patterns.expand(pattern.removesuffix(ALONE))
    except BaselineError as error:
        raise table.error("lost", f"has a pattern that is none: {error}") from None
    for start in starts:
        if start not in (leaves if alone else below):
            raise table.error("lost", f"names `{start}`, which is none of the function's `leaves`")
        yield from [start] if alone else below[start]


def _below(leaves: Iterable[str]) -> dict[str, list[str]]:
    """The leaves of each subtree."""
    found: dict[str, list[str]] = {}
    for path in leaves:
        start = ""
        for component in paths.split(path):
            start += component
            found.setdefault(start, []).append(path)
    return found
