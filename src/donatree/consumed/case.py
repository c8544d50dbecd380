"""All that is known of one reading of a dead array."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from donatree.consumed import callee
from donatree.consumed.calls import Call, Calls, Site, SiteLeaf, Taken
from donatree.consumed.dead import Reading, reading
from donatree.consumed.leaves import aval_of
from donatree.consumed.origin import Origin, origin
from donatree.consumed.steps import Step
from donatree.source.tree import Source, node_at


@dataclass(slots=True)
class Case:
    """All that is known of one reading of a dead array.

    Attributes:
        reading: the array and where it was read.
        calls: the book in which its taker was looked up.
        taker: the call that took it, and as which leaf; None where none was watched.
        sites: the sites whose later calls can have taken it, where `taker` is None.
        origin: where the name that read it got it.
        thread: the thread that read it.
        captured: the function that has it as a constant, where it is no expression of the user's
            that read it.
    """

    reading: Reading
    calls: Calls
    taker: tuple[Call, Taken] | None
    sites: list[tuple[Site, list[SiteLeaf]]]
    origin: Origin | None
    thread: str
    captured: callee.Captured | None = None

    @property
    def step(self) -> Step | None:
        """The user's frame that read the array."""
        return self.reading.steps[-1] if self.reading.steps else None

    @property
    def written(self) -> str:
        """The array as the user would write it, in backticks."""
        used = self.reading.used
        if used is not None:
            return f"`{used.path}`"
        if self.captured is not None:
            return f"`{self.captured.path}`, which `{self.captured.function}` captured,"
        if self.taker is not None:
            return f"`{self.taker[1].path}`"
        return f"an array `{aval_of(self.reading.array)}`"

    @property
    def taken_by(self) -> str | None:
        """The one function that can have taken it."""
        if self.taker is not None:
            return self.taker[0].function
        return self.sites[0][0].function if len(self.sites) == 1 else None


def look(
    error: BaseException, calls: Calls | Sequence[Calls], thread: str | None = None
) -> Case | None:
    """All that is known of the dead array that an error is about; None if it is about none."""
    books = [calls] if isinstance(calls, Calls) else list(calls)
    if not books:
        return None
    read = reading(error, lambda array: any(book.taker_of(array) for book in books))
    if read is None:
        return None
    book, taker = books[0], None
    for each in books:
        taker = each.taker_of(read.array)
        if taker is not None:
            book = each
            break
    sites: list[tuple[Site, list[SiteLeaf]]] = []
    if taker is None:
        aval = aval_of(read.array)
        for each in books:
            sites += each.sites_for(aval)
        sites = _likely(sites, read)
    used = read.used
    came = origin(read.steps, used, read.array) if used is not None else None
    name = thread or threading.current_thread().name
    constant = None
    if used is None and read.steps:
        constant = callee.captured(read.steps[-1], read.array)
    return Case(read, book, taker, sites, came, name, constant)


def _likely(
    sites: list[tuple[Site, list[SiteLeaf]]], read: Reading
) -> list[tuple[Site, list[SiteLeaf]]]:
    """Of several sites those that take a leaf at the path by which the array was read."""
    inside = read.used.inside if read.used is not None else ""
    if not inside:
        return sites
    narrowed = [
        (site, [leaf for leaf in leaves if leaf.path.endswith(inside)]) for site, leaves in sites
    ]
    return [each for each in narrowed if each[1]] or sites


def is_donated_again(case: Case) -> bool:
    """Whether the dead array was passed as a donated argument."""
    step, used = case.step, case.reading.used
    if step is None or case.taker is None:
        return False
    call = case.taker[0]
    if step.code is call.code and step.lasti == call.lasti:
        return True
    defined = callee.defined_at(step)
    if defined is None or used is None:
        return False
    donated = case.calls.donated_arguments(defined)
    return bool(donated) and callee.argument_of(step, used) in donated


def in_loop(case: Case) -> bool:
    """Whether the array was taken in an earlier turn of a loop that it is read in now."""
    step = case.step
    if step is None or case.taker is None or step.place is None:
        return False
    call = case.taker[0]
    if step.code is not call.code or call.activation not in (0, id(step.frame)):
        return False
    source, node = step.place
    taker = node_at(call.code, call.lasti)
    loop = source.loop(node)
    if taker is None or loop is None or not _inside(source, loop, taker[1]):
        return False
    return call.lasti >= step.lasti


def _inside(source: Source, loop: Any, node: Any) -> bool:
    return any(each is loop for each in source.outwards(node))


def unbound_in_loop(case: Case) -> str | None:
    """The name that the loop reads in each turn and never binds; None where it binds it."""
    step, found = case.step, case.origin
    if step is None or step.place is None or found is None or found.step is not step:
        return None
    source, node = step.place
    loop = source.loop(node)
    if loop is None or any(_inside(source, loop, each.node) for each in found.bindings):
        return None
    return found.used.text
