"""Who else holds what a call is about to take, and which leaves are one buffer."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from types import FrameType
from typing import Any

from donatree._jax import buffers, calls, frames
from donatree.consumed.roots import got_here
from donatree.findings import dt701, dt702, dt703
from donatree.holders import Fault, find
from donatree.holders.twins import Twins, find_twins
from donatree.ledger import Entry, Finding, Label, Leaf, Location

_SHOWN = 3


def arguments_by_name(
    parameters: Sequence[str], donated: Sequence[str], frame: FrameType
) -> dict[str, Any]:
    """The caller's own objects behind the donated arguments, by the names of the parameters.

    All of the caller's arguments where the names do not fit: a bound method's `self`, `*args`.

    Args:
        parameters: names of the function's positional parameters.
        donated: names of the donated arguments.
        frame: a frame below the call.
    """
    found = calls.callers_arguments(frame)
    if found is None:
        return {}
    values, words = found
    names = [*parameters, *(f"argument {place}" for place in range(len(parameters), len(values)))]
    named: dict[str, Any] = {**dict(zip(names, values, strict=False)), **words}
    fitting = {name: named[name] for name in donated if name in named}
    return fitting if len(fitting) == len(donated) else named


def held(
    function: str,
    granted: Sequence[Entry],
    named: Mapping[str, Any],
    arguments: Sequence[Any],
    frame: FrameType,
    in_place: bool,
    fault: Fault,
) -> list[Finding]:
    """What else will hold a leaf once the call has returned.

    A view is left to gate honoured, which sees whether it really made the run copy.

    Args:
        function: the name of the donating function.
        granted: the entries whose memory the call takes.
        named: the caller's own donated objects.
        arguments: the call's flat arguments.
        frame: a frame below the call.
        in_place: whether the call updates the caller's objects.
        fault: told where the search itself went wrong.
    """
    if not granted:
        return []
    leaves = [(entry.path, arguments[entry.leaf.flat_index]) for entry in granted]
    user = frames.user_frame(frame)
    own = [arguments, *calls.lists_of_the_call(frame)]
    found = find(named, leaves, user, own=own, in_place=in_place, views=False, fault=fault)
    finding = dt701.about(found, function, frames.location_of_frame(user))
    return [] if finding is None else [finding]


def shared(
    function: str,
    leaves: Sequence[Leaf],
    taken: frozenset[int],
    kept: frozenset[int],
    arguments: Sequence[Any],
    frame: FrameType,
    is_first: bool,
) -> list[Finding]:
    """The leaves of a call that are one buffer, of which the call takes at least one.

    Args:
        function: the name of the donating function.
        leaves: of all dynamic arguments.
        taken: flat indices of the leaves that the executable takes.
        kept: flat indices of the leaves that it has as parameters.
        arguments: the call's flat arguments.
        frame: a frame below the call.
        is_first: whether addresses are asked for; in later calls one array in two places is found.
    """
    rows = [
        (leaf.path, arguments[leaf.flat_index], leaf.flat_index in taken)
        for leaf in leaves
        if leaf.flat_index in kept and buffers.is_array(arguments[leaf.flat_index])
    ]
    twins = find_twins(rows, by_address=is_first)
    if not twins:
        return []
    user = frames.user_frame(frame)
    place = frames.location_of_frame(user)
    labels = _origins(twins, leaves, user)
    answer = []
    for file in (dt702, dt703):
        found = file.about(twins, function, place)
        if found is not None:
            answer.append(dataclasses.replace(found, labels=(*labels, *_call(place, function))))
    return answer


def _origins(twins: Sequence[Twins], leaves: Sequence[Leaf], user: FrameType | None) -> list[Label]:
    """Where the leaves of the largest group got their buffer, as far as the source says it."""
    if user is None:
        return []
    by_path = {leaf.path: leaf for leaf in leaves}
    found = []
    for path in twins[0].paths[:_SHOWN]:
        leaf = by_path[path]
        label = got_here(user, user.f_lasti, leaf.argument, path.removeprefix(leaf.argument))
        if label is not None and label not in found:
            found.append(label)
    return found


def _call(place: Location | None, function: str) -> list[Label]:
    if place is None:
        return []
    return [Label(place, f"both are passed to `{function}` here", primary=True)]
