"""An object of a JSON document that knows its place there, so that a wrong value can be named."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from donatree.ledger import Location

T = TypeVar("T")
_WORDS = {
    dict: "an object",
    list: "an array",
    str: "a string",
    int: "an integer",
    bool: "true or false",
    float: "a number",
    type(None): "null",
}


class Item:
    """An object of the document, and where in the document it is.

    Every reader raises ``ValueError``, one line that names the place, where a key is missing or a
    value has the wrong type.

    Example:
        >>> Item({"bytes": "4"}, "ledgers[0]").get("bytes", int)
        Traceback (most recent call last):
        ValueError: not a donatree report: `ledgers[0].bytes` is a string, not an integer
    """

    def __init__(self, data: Any, place: str) -> None:
        self.place = place
        self.data: dict[str, Any] = typed(data, dict, place)

    def at(self, key: str) -> str:
        """The place of a key."""
        return f"{self.place}.{key}" if self.place else key

    def has(self, key: str) -> bool:
        """Whether there is such a key; what came with a later donatree is missing in old files."""
        return key in self.data

    def get(self, key: str, kind: type[T]) -> T:
        """The value of a key that must be there."""
        if key not in self.data:
            raise ValueError(f"not a donatree report: the key `{self.at(key)}` is missing")
        return typed(self.data[key], kind, self.at(key))

    def maybe(self, key: str, kind: type[T]) -> T | None:
        """The value of a key that must be there and may be null."""
        if self.data.get(key, "") is None:
            return None
        return self.get(key, kind)

    def each(self, key: str, make: Callable[[Any, str], T]) -> tuple[T, ...]:
        """The values of an array, each made by ``make`` from the value and its place."""
        values = self.get(key, list)
        return tuple(make(value, f"{self.at(key)}[{i}]") for i, value in enumerate(values))

    def one(self, key: str, make: Callable[[Any, str], T]) -> T | None:
        """An object made by ``make``, or None where it is null."""
        value = self.maybe(key, dict)
        return None if value is None else make(value, self.at(key))

    def texts(self, key: str) -> tuple[str, ...]:
        """An array of strings."""
        return self.each(key, lambda value, place: typed(value, str, place))

    def numbers(self, key: str) -> tuple[int, ...]:
        """An array of integers."""
        return self.each(key, lambda value, place: typed(value, int, place))

    def named(self, key: str) -> dict[str, str]:
        """An object whose values are strings."""
        values = self.get(key, dict)
        return {k: typed(v, str, f"{self.at(key)}.{k}") for k, v in values.items()}


def typed(value: Any, kind: type[T], place: str) -> T:
    """The value, if its type is ``kind``; else ``ValueError`` that names the place."""
    if type(value) is not kind:  # not isinstance: True is no number of bytes
        there = _WORDS.get(type(value), "something else")
        where = f"`{place}` is" if place else "it is"
        raise ValueError(f"not a donatree report: {where} {there}, not {_WORDS[kind]}")
    return value


def location(data: Any, place: str) -> Location:
    """A place in source code."""
    item = Item(data, place)
    return Location(
        file=item.get("file", str),
        line=item.get("line", int),
        column=item.maybe("column", int),
        end_line=item.maybe("end_line", int),
        end_column=item.maybe("end_column", int),
        function=item.maybe("function", str),
    )
