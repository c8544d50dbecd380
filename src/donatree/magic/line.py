"""The line of the magic: the options above a cell, or the call that is to be audited."""

from __future__ import annotations

import argparse
import ast
import keyword
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

from donatree.errors import DonatreeError
from donatree.targets.names import Wanted
from donatree.watch.level import CHECKS, FEWEST_CALLS, Check

_BEGINS = "# %%donatree"  # in place of the magic's own line, so that lines keep their numbers
_TARGET = re.compile(r"--target(?:=|\s+)(\S+)\s+")


@dataclass(frozen=True, slots=True)
class Options:
    """What a cell is run with.

    Attributes:
        check: as for `watch`.
        calls: likewise.
        expand: show every leaf.
        targets: hardware to compile for as well.
        name: what the account is bound to; None for nothing.
    """

    check: Check
    calls: int
    expand: bool
    targets: Sequence[Wanted]
    name: str | None


def options(line: str) -> Options:
    """The options in the line above a cell.

    Raises:
        UsageError: one line that says what is wrong.

    Example:
        >>> options("--check names learnt").name
        'learnt'
    """
    parser = _Parser("%%donatree", add_help=False, allow_abbrev=False)
    parser.add_argument("--check", default="calls", choices=CHECKS)
    parser.add_argument("--calls", default=3, type=int)
    parser.add_argument("--expand", action="store_true")
    parser.add_argument("--target", default=[], action="append")
    parser.add_argument("name", nargs="?")
    try:
        found = parser.parse_args(shlex.split(line))
    except ValueError as error:  # a quotation mark without its other
        refuse(str(error))
    if found.calls < FEWEST_CALLS:
        refuse(f"--calls must be {FEWEST_CALLS} or more, not {found.calls}")
    if found.name and (not found.name.isidentifier() or keyword.iskeyword(found.name)):
        refuse(f"`{found.name}` is no name for a variable")
    return Options(found.check, found.calls, found.expand, _wanted(found.target), found.name)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        refuse(message)


def _wanted(names: Sequence[str]) -> Sequence[Wanted]:
    if not names:
        return ()
    from donatree.targets import packages
    from donatree.targets.several import wanted_of

    try:
        wanted = wanted_of(names)
    except DonatreeError as error:
        refuse(str(error))
    for why in filter(None, (packages.why_not(each.platform) for each in wanted)):
        refuse(why)
    return wanted


def body(cell: str) -> str:
    """The cell as it is run: with as many lines as its reader sees, where that can be.

    Example:
        >>> body("step(state)").splitlines()[1]
        'step(state)'
    """
    return cell if cell.lstrip().startswith("%%") else f"{_BEGINS}\n{cell}"


@dataclass(frozen=True, slots=True)
class Call:
    """A call that is to be audited.

    Attributes:
        source: the line without its options.
        node: the call in it.
        target: the hardware to compile for; None for what is here.
    """

    source: str
    node: ast.Call
    target: str | None = None

    def with_function(self, name: str) -> ast.Expression:
        """The call of another function with this one's function and arguments."""
        made = ast.Call(
            ast.Name(name, ast.Load()), [self.node.func, *self.node.args], self.node.keywords
        )
        return ast.fix_missing_locations(ast.Expression(ast.copy_location(made, self.node)))


def call(line: str) -> Call:
    """The call in a line like ``step(state, batch)`` or ``state = step(state, batch)``.

    Raises:
        UsageError: it is none.

    Example:
        >>> ast.unparse(call("state = step(state)").with_function("audit"))
        'audit(step, state)'
    """
    source = line.strip()
    found = _TARGET.match(source)
    if found:
        source = source[found.end() :]
    try:
        statements = ast.parse(source).body
    except SyntaxError:
        statements = []
    first = statements[0] if len(statements) == 1 else None
    node = first.value if isinstance(first, (ast.Expr, ast.Assign)) else None
    if not isinstance(node, ast.Call):
        refuse("write the call that is to be audited: `%donatree step(state, batch)`")
    return Call(source, node, found[1] if found else None)


def refuse(message: str) -> NoReturn:
    """Ends the magic with one line and no traceback.

    Raises:
        UsageError: always.
    """
    from IPython.core.error import UsageError

    raise UsageError(f"donatree: {message}")
