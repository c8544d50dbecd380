"""Tables of a TOML file that say in which line something is wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from donatree.baseline.record import BaselineError

_KNOWN = {
    "": {"version", "function"},
    "function": {"name", "file", "leaves", "signature"},
    "function.signature": {"arguments", "digest", "seen", "checked", "lost"},
}
_NAMES = {str: "a string", int: "an integer", list: "an array", dict: "a table"}


class Source:
    """The text, to find the line of what is wrong."""

    def __init__(self, text: str, name: str) -> None:
        self._lines = text.splitlines()
        self._name = name

    def error(self, line: int, message: str) -> BaselineError:
        """What to raise; the line is left out where it is 0."""
        return BaselineError(f"{self._name}{f':{line}' if line else ''}: {message}")

    def heading(self, name: str, number: int, after: int) -> int:
        """The line of the heading that is the `number`-th of its name after a line."""
        pattern = re.compile(rf"\s*\[\[\s*{re.escape(name)}\s*\]\]")
        found = (i for i, text in enumerate(self._lines, 1) if i > after and pattern.match(text))
        return next((line for i, line in enumerate(found) if i == number), 0)

    def key(self, name: str, after: int) -> int:
        """The line of the first key of this name after a line; that line where there is none."""
        pattern = re.compile(rf"\s*{re.escape(name)}\s*[.=]")
        found = (i for i, text in enumerate(self._lines, 1) if i > after and pattern.match(text))
        return next(found, after)


class Table:
    """A table of the file that says where in it something is wrong."""

    def __init__(self, data: Mapping[str, Any], source: Source, place: str, line: int = 0) -> None:
        self.data = data
        self._source = source
        self._place = place
        self._line = line
        for key in data:
            if key not in _KNOWN[place]:
                raise self.error(key, "is no key of a baseline")

    def error(self, key: str, message: str) -> BaselineError:
        """What to raise for a key of this table."""
        where = f"{self._place}.{key}".lstrip(".")
        return self._source.error(self._source.key(key, self._line), f"`{where}` {message}")

    def get(self, key: str, kind: type) -> Any:
        """The value of a key that must be there."""
        if key not in self.data:
            raise self._source.error(
                self._line, f"`{f'{self._place}.{key}'.lstrip('.')}` is missing"
            )
        return self.typed(self.data[key], kind, key)

    def typed(self, value: Any, kind: type, key: str) -> Any:
        """The value, which must be of a type."""
        if not isinstance(value, kind) or isinstance(value, bool):
            raise self.error(key, f"is {value!r:.60}, not {_NAMES[kind]}")
        return value

    def texts(self, value: Any, key: str) -> tuple[str, ...]:
        """The value, which must be an array of strings."""
        return tuple(self.typed(each, str, key) for each in self.typed(value, list, key))

    def each(self, key: str) -> Iterator[Table]:
        """The tables under `[[key]]`."""
        place = f"{self._place}.{key}".lstrip(".")
        for number, data in enumerate(self.typed(self.data.get(key, []), list, key)):
            line = self._source.heading(place, number, self._line)
            yield Table(self.typed(data, dict, key), self._source, place, line)
