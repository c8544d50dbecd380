"""A cursor over the first line of a compiled module."""

from __future__ import annotations

import re

from donatree.hlo.error import HeaderError, HloError

# Patterns of single tokens only: what nests is followed with a stack.
_WORD = re.compile(r'(?:[^\s,={}()\[\]"/]|/(?!\*))*')
_NUMBER = re.compile(r"[0-9]+")
_BLANK = re.compile(r"[ \t]*")
_OUTSIDE_BRACKETS = re.compile(r'[\[\](){}",]')
_INSIDE_BRACKETS = re.compile(r'[\[\](){}"]')
_INSIDE_STRING = re.compile(r'["\\]')
_FOUND = re.compile(r"[A-Za-z0-9_]{1,24}")

_SKIPPED = (" ", "/", "\t")
_CLOSERS = {"(": ")", "[": "]", "{": "}"}
_INT64_DIGITS = 19


class Scanner:
    """Reads tokens off one line; every step moves forward, so reading is linear in its length.

    Blanks and ``/*...*/`` comments are skipped before a token.

    Attributes:
        text: the line.
        position: column of what is read next.
    """

    __slots__ = ("position", "text")

    def __init__(self, text: str, position: int = 0) -> None:
        self.text = text
        self.position = position

    def error(self, problem: str, position: int | None = None) -> HloError:
        """The error for ``problem`` at ``position``, by default here: a HeaderError."""
        return HeaderError.at(self.text, self.position if position is None else position, problem)

    def expected(self, what: str) -> HloError:
        """The error that says what was expected here and what is here instead."""
        found = _FOUND.match(self.text, self.position)
        word = found[0] if found else self.text[self.position : self.position + 1]
        return self.error(
            f"expected {what}, found {f'`{word}`' if word else 'the end of the line'}"
        )

    def skip(self) -> None:
        """Moves over blanks and comments.

        Raises:
            HeaderError: for a comment without an end.
        """
        # Most tokens follow the one before directly.
        if self.text[self.position : self.position + 1] not in _SKIPPED:
            return
        while True:
            blank = _BLANK.match(self.text, self.position)
            self.position = blank.end() if blank else self.position
            if not self.text.startswith("/*", self.position):
                return
            end = self.text.find("*/", self.position + 2)
            if end < 0:
                raise self.error("comment without its closing `*/`")
            self.position = end + 2

    def done(self) -> bool:
        """Whether nothing but blanks and comments is left."""
        self.skip()
        return self.position >= len(self.text)

    def accept(self, token: str) -> bool:
        """Moves over ``token`` if it comes next."""
        if not self.text.startswith(token, self.position):
            self.skip()
            if not self.text.startswith(token, self.position):
                return False
        self.position += len(token)
        return True

    def expect(self, token: str, where: str) -> None:
        """Moves over ``token``, or raises a HeaderError that says ``where`` it was expected."""
        if not self.accept(token):
            raise self.expected(f"`{token}` {where}")

    def number(self, what: str) -> int:
        """Reads an unsigned integer of 64 bits at most; ``what`` names it in the error."""
        match = _NUMBER.match(self.text, self.position)
        if match is None:
            self.skip()
            match = _NUMBER.match(self.text, self.position)
            if match is None:
                raise self.expected(what)
        if match.end() - match.start() > _INT64_DIGITS:
            raise self.error(f"{what} has more than {_INT64_DIGITS} digits")
        self.position = match.end()
        return int(match[0])

    def numbers(self, what: str, closer: str) -> tuple[int, ...]:
        """Reads ``1,0}``: integers up to and including ``closer``, perhaps none."""
        if self.accept(closer):
            return ()
        found = [self.number(what)]
        while not self.accept(closer):
            if not self.accept(","):
                raise self.expected(f"`,` or `{closer}` after {what}")
            found.append(self.number(what))
        return tuple(found)

    def word(self, what: str) -> str:
        """Reads a name; ``what`` names it in the error."""
        self.skip()
        match = _WORD.match(self.text, self.position)
        if not match or not match[0]:
            raise self.expected(what)
        self.position = match.end()
        return match[0]

    def value(self, name: str) -> str:
        """Reads the raw value of an attribute: all up to the next ``,`` outside brackets.

        Raises:
            HeaderError: for no value, a bracket without its partner or an open string.
        """
        self.skip()
        start = self.position
        while match := _OUTSIDE_BRACKETS.search(self.text, self.position):
            self.position = match.start()
            if match[0] == ",":
                break
            if match[0] == '"':
                self._string()
            elif match[0] not in _CLOSERS:
                raise self.error(f"`{match[0]}` closes nothing")
            elif match[0] == "{" and match.end() == len(self.text):
                # A table that goes on in the next lines, as `origin_recovery_table={` does.
                self.position = match.end()
            else:
                self.bracketed()
        else:
            self.position = len(self.text)
        value = self.text[start : self.position].rstrip()
        if not value:
            raise self.expected(f"a value of the attribute `{name}`")
        return value

    def bracketed(self) -> None:
        """Moves from an opening bracket to just after its partner, over all that is between.

        Raises:
            HeaderError: for a bracket without its partner or an open string.
        """
        opened: list[int] = []
        while match := _INSIDE_BRACKETS.search(self.text, self.position):
            self.position = match.start()
            if match[0] == '"':
                self._string()
                continue
            if match[0] in _CLOSERS:
                opened.append(self.position)
            elif match[0] == _CLOSERS[self.text[opened[-1]]]:
                opened.pop()
            else:
                break
            self.position += 1
            if not opened:
                return
        else:
            self.position = len(self.text)
        opener = self.text[opened[-1]]
        raise self.expected(f"`{_CLOSERS[opener]}` for the `{opener}` at column {opened[-1]}")

    def _string(self) -> None:
        """Moves over a quoted string.

        Raises:
            HeaderError: where it does not end.
        """
        start = self.position
        self.position += 1
        while match := _INSIDE_STRING.search(self.text, self.position):
            self.position = match.end()
            if match[0] == '"':
                return
            self.position += 1  # whatever follows a backslash
        raise self.error("string without its closing quote", start)
