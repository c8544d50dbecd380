"""``# donatree: ignore[DT402] reason`` in the source of the functions that were compiled."""

from __future__ import annotations

import ast
import io
import linecache
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from donatree.ledger import Finding, Ledger, Location
from donatree.policy.ignore import Ignore

_COMMENT = re.compile(r"#\s*donatree:\s*ignore(?:\[(?P<codes>[^\]]*)\])?(?P<reason>.*)")


@dataclass(frozen=True, slots=True)
class Comment:
    """One such comment.

    Attributes:
        line: the line of code that it is for, counted from 1: its own, or the next one with code
            where it stands alone.
        ignore: what it ignores; without codes it ignores nothing.
    """

    line: int
    ignore: Ignore


@dataclass(frozen=True, slots=True)
class Commented:
    """The comments of one file, and where its functions stand."""

    comments: tuple[Comment, ...]
    functions: tuple[tuple[int, int, int], ...]  # first line with decorators, of `def`, last

    def function_at(self, line: int) -> tuple[int, int, int] | None:
        """The innermost function whose head or body has this line."""
        around = [each for each in self.functions if each[0] <= line <= each[2]]
        return max(around, default=None)

    def for_finding(self, finding: Finding, ledger: Ledger | None, file: str) -> Iterator[Comment]:
        """The comments on the place of a finding, or on the head of the function it is about."""
        lines: set[int] = set()
        place = place_of(finding)
        if place is not None and place.file == file:
            lines |= set(range(place.line, (place.end_line or place.line) + 1))
        if ledger is not None and ledger.location and ledger.location.file == file:
            defined = self.function_at(ledger.location.line)
            lines.add(ledger.location.line)
            if defined is not None:
                lines |= set(range(defined[0], defined[1] + 1))
        yield from (each for each in self.comments if each.line in lines)

    def within(self, line: int) -> Iterator[Comment]:
        """The comments in the function that stands at a line."""
        found = self.function_at(line)
        if found is not None:
            yield from (each for each in self.comments if found[0] <= each.line <= found[2])


def place_of(finding: Finding) -> Location | None:
    """The place that a finding is about."""
    primary = (label.location for label in reversed(finding.labels) if label.primary)
    return finding.location or next(primary, None)


def of_file(file: str) -> Commented:
    """The comments of a file; none where it cannot be read."""
    lines = linecache.getlines(file)
    return _read(file, "".join(lines)) if any("donatree" in line for line in lines) else _NONE


_NONE = Commented((), ())


@lru_cache(maxsize=64)
def _read(file: str, text: str) -> Commented:
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
        module = ast.parse(text)
    except (SyntaxError, tokenize.TokenError, ValueError, RecursionError):
        return _NONE
    code = sorted({token.start[0] for token in tokens if token.type not in _NO_CODE})
    found = []
    for token in tokens:
        match = _COMMENT.match(token.string) if token.type == tokenize.COMMENT else None
        if match is None:
            continue
        line = token.start[0]
        alone = not token.line[: token.start[1]].strip()
        on = next((each for each in code if each > line), line) if alone else line
        codes = tuple(filter(None, map(str.strip, (match["codes"] or "").split(","))))
        reason = match["reason"].strip(" \t:-")
        found.append(Comment(on, Ignore(codes, reason=reason, where=f"{file}:{line}")))
    functions = [
        (min([node.lineno, *(each.lineno for each in node.decorator_list)]), node.lineno, last)
        for node in ast.walk(module)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (last := node.end_lineno or node.lineno)
    ]
    return Commented(tuple(found), tuple(functions))


_NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}
