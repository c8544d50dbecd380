"""What a call statement does with the arguments that it passes: the strongest evidence."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from donatree.advice import elsewhere, rebinding
from donatree.advice.after import Follower
from donatree.advice.callers import CallFound
from donatree.advice.reads import Reads
from donatree.ledger import Location
from donatree.source.binding import bindings, prefixes
from donatree.source.scopes import binds, enclosing, parameters
from donatree.source.tree import Scope, Source

Fate = Literal["rebound", "not read", "read", "unknown"]

_MOST_CALLERS = 4


@dataclass(frozen=True, slots=True)
class Passing:
    """What becomes of one argument once the call has returned.

    Attributes:
        fate: ``rebound`` by the statement of the call, to the call's own result; ``not read`` again
            before it is bound anew, or ever; ``read`` again; ``unknown``.
        written: what the call passes, as it is written.
        at: where it is rebound or read again.
        through: another name, or a holder, through which it is read; None where it is its own.
        borrowed: what it was taken from and may still hold it, for example the list that a loop
            goes over; None where nothing is known to.
        fresh: whether it is passed without a name.
        twin: another argument of the call that may be the same arrays, as it is written.
    """

    fate: Fate
    written: str = ""
    at: Location | None = None
    through: str | None = None
    borrowed: str | None = None
    fresh: bool = False
    twin: str | None = None


@dataclass(frozen=True, slots=True)
class CallSite:
    """One call statement.

    Attributes:
        location: of the call.
        passings: by the argument's name.
        by_keyword: arguments that it passes by keyword.
    """

    location: Location | None
    passings: Mapping[str, Passing] = field(default_factory=dict)
    by_keyword: frozenset[str] = frozenset()


def site_of(found: CallFound, positional: Sequence[str], files: Sequence[Source] = ()) -> CallSite:
    """What a call in the source does with its arguments.

    Args:
        found: the call.
        positional: names of the function's positional parameters, static ones included.
        files: where functions that pass their own parameters on are called from.
    """
    source, call = found.source, found.call
    passings: dict[str, Passing] = {}
    starred = False
    for place, node in enumerate(call.args):
        starred = starred or isinstance(node, ast.Starred)
        number = place + found.shift
        if not starred and number < len(positional):
            passings[positional[number]] = passing(source, call, node, files)
    for keyword in call.keywords:
        if keyword.arg is not None:
            passings[keyword.arg] = passing(source, call, keyword.value, files)
    words = frozenset(each.arg for each in call.keywords if each.arg is not None)
    return CallSite(source.location(call), passings, words)


def passing(
    source: Source, call: ast.Call, node: ast.expr, files: Sequence[Source] = (), depth: int = 0
) -> Passing:
    """What becomes of one argument of a call; see `Passing`."""
    written = ast.unparse(node)
    if not _is_path(node):
        return Passing("not read", written, fresh=True)
    inner = bindings(source, call, written)
    if any(isinstance(source.parent(each.node), ast.comprehension) for each in inner):
        return Passing("not read", written, borrowed=elsewhere.borrowed(source, call, written))
    scope = _scope_of(source, call, prefixes(written)[-1])
    here = source.scope(call)
    rebound = rebinding.rebound(source, call, written)
    if rebound is not None:
        reader = Follower(Reads(source, here, written)).in_statement(call)
        if reader is not None:
            return Passing("read", written, source.location(reader))
    held = elsewhere.held(source, call, scope, written)
    if held is not None:
        return Passing("read", written, held[0], through=held[1])
    if rebound is not None:
        twin = elsewhere.twin(source, call, scope, written)
        return Passing("rebound", written, source.location(rebound), twin=twin)
    borrowed = elsewhere.borrowed(source, call, written)
    after = elsewhere.after(source, here, call, written)
    if after.read is not None:
        return Passing("read", written, _place(source, after.read))
    if not after.ends:
        return Passing("not read", written, borrowed=borrowed)
    if scope is not here:
        return Passing("read", written, source.location(call), through=f"the variable `{written}`")
    outer = _is_parameter(here, written)
    if outer is None and not elsewhere.is_outside(here, written):
        return Passing("not read", written, borrowed=borrowed)
    if outer is None:
        return Passing("read", written, source.location(call), through=f"`{written}` itself")
    return _of_callers(source, here, call, outer, written, files, depth)


def together(passings: Iterable[Passing]) -> Passing | None:
    """One verdict for an argument over all calls of the function: the keyword holds for all.

    Returns:
        None where there are none.
    """
    order: tuple[Fate, ...] = ("read", "rebound", "not read", "unknown")
    found = list(passings)
    worst = min(found, key=lambda each: order.index(each.fate), default=None)
    if worst is not None and worst.fate == "rebound":
        borrowed = [each for each in found if each.borrowed and each.fate == "not read"]
        return borrowed[0] if borrowed else worst
    return worst


def _is_path(node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return isinstance(node, ast.Name)


def _place(source: Source, node: ast.AST) -> Location:
    return source.location(node)


def _scope_of(source: Source, node: ast.AST, name: str) -> Scope:
    here = source.scope(node)
    while not binds(here, name):
        here = enclosing(source, here)
    return here


def _is_parameter(scope: Scope, path: str) -> ast.arg | None:
    """The parameter that a path is, of a function that does not keep it elsewhere."""
    return next((each for each in parameters(scope) if each.arg == path), None)


def _of_callers(
    source: Source,
    function: Scope,
    call: ast.Call,
    parameter: ast.arg,
    written: str,
    files: Sequence[Source],
    depth: int,
) -> Passing:
    """A parameter that is not read again: what its callers do with what they pass for it."""
    name = getattr(function, "name", None)
    if name is None or depth >= _MOST_CALLERS:
        return Passing("unknown", written)
    names = [each.arg for each in parameters(function)]
    method = isinstance(source.parent(function), ast.ClassDef)
    place = names.index(parameter.arg) - method
    found = []
    for file in dict.fromkeys([source, *files]):
        for node in ast.walk(file.module):
            if not isinstance(node, ast.Call) or _last_name(node.func) != name:
                continue
            given = next((k.value for k in node.keywords if k.arg == parameter.arg), None)
            if given is None and 0 <= place < len(node.args):
                given = node.args[place]
            if given is not None:
                found.append(passing(file, node, given, files, depth + 1))
    returned = isinstance(source.statement(call), ast.Return)
    whole = together(found)
    if whole is None:
        return Passing("unknown", written)
    if whole.fate == "rebound" and not returned:
        whole = dataclasses.replace(whole, fate="not read")
    return dataclasses.replace(whole, written=written)


def _last_name(node: ast.expr) -> str | None:
    return getattr(node, "attr", None) or getattr(node, "id", None)
