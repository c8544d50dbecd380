"""Advice from a jitted function and its arguments: all steps in their order."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from donatree._jax import variant
from donatree.advice import replaced
from donatree.advice.advice import AdviceList
from donatree.advice.callers import Callers
from donatree.advice.conclusion import conclude
from donatree.advice.opinion import Opinion, opinions, passings
from donatree.advice.recording import UNSEEN, Recorded, record
from donatree.advice.search import Measured, Search
from donatree.advice.statement import CallSite, site_of
from donatree.errors import CannotBuild
from donatree.observation import Request
from donatree.proof.budget import Budget
from donatree.source.tree import Source, source_of


def advice_on(
    step: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    files: Sequence[Source] = (),
    budget: Budget | None = None,
) -> AdviceList:
    """The advice on a jitted function for these arguments.

    Args:
        step: what `jax.jit` returned.
        args: its positional arguments.
        kwargs: its keyword arguments.
        files: where its calls are looked for, besides the file that defines the function.
        budget: of compiles; None to compile nothing.

    Raises:
        TargetError: `step` is not jitted, or JAX refuses the arguments.
    """
    recorded = record(step, args, kwargs)
    sites = call_sites(recorded.request, files)
    return advice_from(recorded, sites, budget)


def call_sites(request: Request, files: Sequence[Source]) -> list[CallSite]:
    """The call statements of a function, in the files given and in its own.

    Args:
        request: tells its name, where it is defined, and its parameters.
        files: where to look.
    """
    own = source_of(request.location.file) if request.location is not None else None
    every = {os.path.abspath(each.file): each for each in (*files, *([own] if own else []))}
    looked_in = list(every.values())
    home = Callers(own, request.function, request.location) if own else None
    searches = [
        home
        if home is not None and source is every[os.path.abspath(home.file)]
        else Callers(source, request.function, request.location, home)
        for source in looked_in
    ]
    return [
        site_of(found, request.positional, looked_in)
        for search in searches
        for found in search.find()
    ]


def advice_from(
    recorded: Recorded,
    sites: Sequence[CallSite],
    budget: Budget | None,
    most_leaves: int | None = None,
) -> AdviceList:
    """The advice on a recorded program.

    Args:
        recorded: the program.
        sites: its call statements; none where they are not known.
        budget: of compiles; None to compile nothing.
        most_leaves: the program is not walked where it has more; then only what the call statement
            rebinds, or the call writes in place, is advised.
    """
    request = recorded.request
    passed = passings(sites)
    first = {name for name, each in passed.items() if each.fate == "rebound"}
    graph, inputs, outputs = None, [], []
    if most_leaves is None or len(request.leaves) <= most_leaves:
        graph, inputs, outputs = recorded.graph()
    found = replaced.find(graph, inputs, outputs, request.leaves, recorded.slots, first)
    thought = opinions(recorded.slots, found, passed)
    measured, notes = None, []
    if budget is not None and recorded.program is None:
        notes.append(UNSEEN)
    elif budget is not None and recorded.program is not None:
        measured = measure(recorded.program, request, thought, budget)
    return conclude(request, thought, sites, measured, recorded.dialect, notes)


def measure(
    program: variant.Program, request: Request, thought: Sequence[Opinion], budget: Budget
) -> Measured:
    """Measures what each argument saves that could be donated, or is.

    Args:
        program: to be compiled with other donations.
        request: its leaves.
        thought: what the evidence says.
        budget: of compiles.
    """
    leaves: dict[str, list[int]] = {}
    for leaf in request.leaves:
        leaves.setdefault(leaf.argument, []).append(leaf.flat_index)
    donated = {leaf.argument for leaf in request.leaves if leaf.flat_index in request.asked}
    as_it_is = frozenset(donated)
    platforms: set[str | None] = set()

    def live(names: frozenset[str]) -> int:
        wanted = {index for name in names for index in leaves[name]}
        changed = program
        if names != as_it_is or wanted != set(request.asked):
            changed = program.with_(donated=wanted)
        built = changed.compile()
        platforms.add(built.observation.platform)
        totals = built.live
        if totals is None:
            raise CannotBuild("this backend keeps no totals")
        return totals.total

    wanted = [each.argument for each in thought if each.stance == "donate"]
    others = [
        each.argument
        for each in thought
        if each.stance == "undecided"
        or (each.stance == "keep" and each.argument in donated and not each.read_again)
    ]
    weight = {each.argument: each.sure + each.replaced.share for each in thought}
    found = Search(live, budget).run(sorted(donated), wanted, others, weight)
    found.platform = next(iter(platforms), None)
    return found
