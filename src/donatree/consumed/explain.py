"""The finding for an error about a dead array: where it came from, what took it, what read it."""

from __future__ import annotations

from collections.abc import Sequence

from donatree import paths
from donatree._jax.frames import location_at
from donatree.consumed import remedy
from donatree.consumed.calls import Call, Calls, Site, SiteLeaf
from donatree.consumed.case import Case, in_loop, is_donated_again, look, unbound_in_loop
from donatree.ledger import Finding, Label, Location
from donatree.source.binding import Binding


def explain(
    error: BaseException, calls: Calls | Sequence[Calls], thread: str | None = None
) -> Finding | None:
    """Says why an array that an error is about is dead.

    Args:
        error: what the program raised; what it is chained to, and the members of a group, are
            looked at as well.
        calls: what donating calls took; of several books the innermost watch's first.
        thread: the name of the thread that raised it; the current one if None.

    Returns:
        DT704 where the array was used, DT705 where it was donated again; None where the error is
        about something else.
    """
    found = look(error, calls, thread)
    return None if found is None else describe(found)


def describe(case: Case) -> Finding:
    """The finding of a case."""
    again = is_donated_again(case)
    step = case.step
    labels = [*_came(case), *_donated(case), *_constant(case)]
    primary = _used_at(case)
    if primary is not None:
        labels.append(Label(primary, _said(case, again), primary=True))
    size = case.taker[1].bytes if case.taker else 0
    return Finding(
        code="DT705" if again else "DT704",
        headline=_headline(case, again),
        leaves=(case.taker[1].path,) if case.taker else (),
        bytes=size,
        location=primary or (step.location if step else None),
        notes=tuple(_notes(case)),
        help=remedy.help_for(case, again),
        labels=tuple(merged(labels)),
    )


def _headline(case: Case, again: bool) -> str:
    by = case.taken_by
    if again:
        return f"{case.written} is donated to `{by}` a second time"
    if by is None:
        return f"{case.written} is used after its buffer was deleted"
    return f"{case.written} is used after it was donated to `{by}`"


def _used_at(case: Case) -> Location | None:
    step, used = case.step, case.reading.used
    if step is None:
        return None
    if used is not None and step.place is not None:
        return step.place[0].location(used.node, step.code.co_qualname)
    return step.location


def _said(case: Case, again: bool) -> str:
    if again:
        return "donated again here"
    if case.captured is not None:
        return "traced here, after the donation"
    after = "deletion" if case.taken_by is None else "donation"
    return f"used here, after the {after}"


def _came(case: Case) -> list[Label]:
    found = case.origin
    bindings = found.bindings if found is not None else []
    if case.captured is not None:
        bindings = case.captured.bindings()[:3]
    return came(bindings, found.passed if found is not None else ())


def came(bindings: Sequence[Binding], passed: Sequence[tuple[Location, str]]) -> list[Label]:
    """Where names got an array, and where it was passed on from there.

    Args:
        bindings: of the names; of several one was the array's.
        passed: the calls and the names of the parameters, the innermost first.
    """
    got = "got" if len(bindings) == 1 else "can have got"
    labels = [Label(each.location, f"`{each.name}` {got} this array here") for each in bindings]
    further = [Label(place, f"passed on here, as `{name}`") for place, name in passed]
    return [*labels, *reversed(further)]


def _donated(case: Case) -> list[Label]:
    if case.taker is None:
        return [
            Label(location_at(site.code, site.lasti), _later(site, leaves, len(case.sites)))
            for site, leaves in case.sites[:3]
        ]
    call, taken = case.taker
    place = location_at(call.code, call.lasti)
    turn = " in an earlier turn of the loop" if in_loop(case) else ""
    within = f", inside `{call.within}`" if call.within else ""
    text = (
        f"donated here{turn}: `{taken.path}` {taken.aval}, "
        f"to `{call.function}` (call {call.number}){within}"
    )
    return [Label(place, text)]


def _later(site: Site, leaves: Sequence[SiteLeaf], sites: int) -> str:
    leaf = f", as `{leaves[0].path}`" if len(leaves) == 1 else ""
    can = "can have been taken" if sites > 1 else "taken"
    return (
        f"{can} here{leaf}, by a later call of `{site.function}` than the "
        f"{'one' if site.watched_calls == 1 else f'{site.watched_calls:,}'} watched"
    )


def _constant(case: Case) -> list[Label]:
    found = case.captured
    if found is None:
        return []
    text = f"`{found.function}` reads `{found.path}` here: a constant of its trace, no argument"
    return [Label(found.location, text)]


def merged(labels: Sequence[Label]) -> list[Label]:
    """The labels; two at one place become one, which tells both."""
    kept: list[Label] = []
    for label in labels:
        same = next((each for each in kept if each.location == label.location), None)
        if same is None:
            kept.append(label)
            continue
        text = f"{same.text}; {label.text}"
        kept[kept.index(same)] = Label(label.location, text, same.primary or label.primary)
    return kept


def _notes(case: Case) -> list[str]:
    notes = []
    read, used = case.reading, case.reading.used
    if used is not None and len(used.leaves) > 1:
        dead = [used.text + leaf.path for leaf in used.leaves if leaf.dead]
        alive = [used.text + leaf.path for leaf in used.leaves if not leaf.dead]
        if alive:
            verb = "is" if len(alive) == 1 else "are"
            notes.append(
                f"{len(dead)} of the {len(used.leaves)} leaves of `{used.text}` "
                f"{'is' if len(dead) == 1 else 'are'} gone; `{paths.fold(alive)}` {verb} alive"
            )
    if read.library is not None:
        place = read.library
        line = place.location.line
        notes.append(f"read by `{place.code.co_name}` at {place.package}:{line}")
    if case.taker is not None:
        notes += _of_taker(case, case.taker[0])
    elif not case.sites:
        notes.append(
            "no call that donatree watched took this array: it was deleted by hand, or it shared "
            "its buffer with an array that was donated or deleted"
        )
    elif len(case.sites) == 1:
        notes.append("only the first calls are watched; this is told by the array's type and shape")
    else:
        names = " or ".join(f"`{site.function}`" for site, _ in case.sites)
        notes.append(f"only the first calls are watched; a later one of {names} took it")
    return notes


def _of_taker(case: Case, call: Call) -> list[str]:
    notes = []
    if case.reading.pool:
        notes.append(f"donated in thread `{call.thread}`, used in a worker thread of a pool")
    elif call.thread != case.thread:
        notes.append(f"donated in thread `{call.thread}`, used in thread `{case.thread}`")
    if in_loop(case):
        name = unbound_in_loop(case)
        if name is not None:
            notes.append(f"`{name}` is not rebound in the loop")
    if remedy.transform_of(call) is not None:
        notes.append(
            f"`{remedy.transform_of(call)}` calls `{call.function}`, which takes its arguments "
            "then too"
        )
    return notes
