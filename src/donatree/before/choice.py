"""Which arguments of a call are rehearsed, and why these."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any

from donatree import paths
from donatree._jax import calls, objects
from donatree.before.fate import Fate, call_of, expression_of, fate
from donatree.before.wish import Wish
from donatree.ledger import Leaf, Slot
from donatree.observation import Request
from donatree.why import successor


@dataclass(frozen=True, slots=True)
class Passed:
    """An argument as the user passed it.

    Attributes:
        name: as the function calls it.
        place: its number as the callee counts it, or the keyword.
        value: the object.
    """

    name: str
    place: int | str
    value: Any


@dataclass(frozen=True, slots=True)
class Chosen:
    """An argument that is rehearsed.

    Attributes:
        argument: its name.
        leaves: its leaves that donate nothing yet.
        why: why it was chosen.
        number: of the argument, as `donate_argnums` counts; None where it is passed by keyword.
        written: what the call passes, as it is written.
        in_place: whether the call writes new arrays into the very object, as nnx does.
    """

    argument: str
    leaves: tuple[Leaf, ...]
    why: str
    number: int | None
    written: str
    in_place: bool = False


def passed_to(frame: FrameType, request: Request, flat: Sequence[Any]) -> dict[str, Passed]:
    """The arguments of the running call by name, found by the arrays in them.

    Args:
        frame: a frame below the call.
        request: the function's leaves.
        flat: the call's flat arguments.
    """
    found = calls.callers_arguments(frame)
    if found is None:
        return {}
    values, words = found
    objects_at: list[tuple[int | str, Any]] = [*enumerate(values), *words.items()]
    at: dict[int, list[int | str]] = {}
    for place, value in objects_at:
        for key in objects.paths_by_identity([("", value)]):
            at.setdefault(key, []).append(place)
    places = dict(objects_at)
    votes: dict[str, Counter[int | str]] = {}
    for leaf in request.leaves:
        if leaf.flat_index < len(flat):
            for place in at.get(id(flat[leaf.flat_index]), ()):
                votes.setdefault(leaf.argument, Counter())[place] += 1
    answer = {}
    for name, counted in votes.items():
        # `self` may hold them too, and two arguments may share them: the name decides.
        own = [p for p in counted if p == name or _name_at(request, p) == name]
        place = own[0] if own else counted.most_common(1)[0][0]
        answer[name] = Passed(name, place, places[place])
    return answer


def _name_at(request: Request, place: int | str) -> str | None:
    if isinstance(place, int) and place < len(request.positional):
        return request.positional[place]
    return None


def choose(
    request: Request,
    slots: Sequence[Slot],
    passed: Mapping[str, Passed],
    positional_passed: int,
    user: FrameType,
    wishes: Sequence[Wish],
    elsewhere: Collection[str] = (),
) -> list[Chosen]:
    """The arguments to rehearse at one call site.

    Args:
        request: the function's leaves and what it donates already.
        slots: leaves of the result.
        passed: the arguments as they were passed.
        positional_passed: how many positional arguments the callee got.
        user: the user's frame that makes the call.
        wishes: what was asked for of this function; the candidates where this is empty.
        elsewhere: arguments chosen at other calls of the function, for the keyword holds for all.
    """
    free = [leaf for leaf in request.leaves if leaf.flat_index not in request.promised]
    by_argument: dict[str, list[Leaf]] = {}
    for leaf in free:
        by_argument.setdefault(leaf.argument, []).append(leaf)
    wanted: dict[str, str] = {}
    for wish in wishes:
        name = wish.argument_of(request.positional, list(by_argument))
        if name is not None:
            wanted[name] = f"named with `--donate {wish}`"
    if not wishes or any(wish.is_open for wish in wishes):
        pairs = successor.pair(free, slots)
        for name, leaves in by_argument.items():
            became = _fate(passed.get(name), positional_passed, user)
            why = _reason(name, leaves, pairs, slots, became)
            if why is not None:
                wanted.setdefault(name, why)
    for name in by_argument:
        if name in elsewhere:
            wanted.setdefault(name, "another call of the function would donate it")
    return [
        Chosen(
            name,
            tuple(by_argument[name]),
            wanted[name],
            _number(request, passed.get(name), name),
            _written(passed.get(name), positional_passed, user) or name,
            _is_in_place(by_argument[name], slots),
        )
        for name in by_argument
        if name in wanted
    ]


def _number(request: Request, passed: Passed | None, name: str) -> int | None:
    if passed is not None and isinstance(passed.place, str):
        return None
    return request.positional.index(name) if name in request.positional else None


def _written(passed: Passed | None, count: int, user: FrameType) -> str | None:
    place = call_of(user)
    if passed is None or place is None:
        return None
    node = expression_of(place[1], passed.place, count)
    simple = isinstance(node, ast.Name | ast.Attribute | ast.Subscript)
    return ast.unparse(node) if node is not None and simple else None


def _fate(passed: Passed | None, count: int, user: FrameType) -> Fate:
    place = call_of(user)
    if passed is None or place is None:
        return "unknown"
    node = expression_of(place[1], passed.place, count)
    return "unknown" if node is None else fate(user, node, passed.value)


def _reason(
    name: str,
    leaves: Sequence[Leaf],
    pairs: Mapping[int, Slot],
    slots: Sequence[Slot],
    became: Fate,
) -> str | None:
    """Why an argument is a candidate; None where it is none."""
    if _is_in_place(leaves, slots):
        return "the call writes its arrays back into it"
    if became == "rebound":
        types = {(slot.spec.dtype, slot.spec.shape) for slot in slots}
        if any((leaf.spec.dtype, leaf.spec.shape) in types for leaf in leaves):
            return "the statement of the call rebinds it"
        return None
    if became == "read":
        return None
    alike = [leaf for leaf in leaves if _is_alike(leaf, pairs.get(leaf.flat_index), name)]
    if not alike or len(alike) * 2 < len(leaves):
        return None
    same = "the result has arrays of the same types at the same paths"
    return f"{same}, and it is not read again" if became == "not read" else same


def _is_in_place(leaves: Sequence[Leaf], slots: Sequence[Slot]) -> bool:
    """Whether most leaves come back under their own paths, not as the result's."""
    paths_back = {slot.path for slot in slots}
    return sum(leaf.path in paths_back for leaf in leaves) * 2 >= max(len(leaves), 1)


def _is_alike(leaf: Leaf, slot: Slot | None, argument: str) -> bool:
    """Whether a leaf's successor has its type and stands where a name says so."""
    if slot is None or (slot.spec.dtype, slot.spec.shape) != (leaf.spec.dtype, leaf.spec.shape):
        return False
    inner = paths.split(leaf.path)[1:]
    last = paths.split(slot.path)
    named = any(not piece.strip("[]").isdecimal() for piece in inner)
    if named and last[-len(inner) :] == inner:
        return True
    return any(piece.strip(".[]'\"") == argument for piece in last)


def taken(chosen: Sequence[Leaf], slots: Sequence[Slot], kept: frozenset[int]) -> frozenset[int]:
    """The leaves that a donation would take: those with an output of their type left.

    Args:
        chosen: the leaves that would be donated, in flatten order.
        slots: leaves of the result.
        kept: flat indices of the leaves that the compiled program uses at all.

    Returns:
        Their flat indices.
    """
    left = Counter((slot.spec.dtype, slot.spec.shape) for slot in slots)
    found = set()
    for leaf in chosen:
        kind = leaf.spec.dtype, leaf.spec.shape
        if leaf.flat_index in kept and left[kind] > 0:
            left[kind] -= 1
            found.add(leaf.flat_index)
    return frozenset(found)
