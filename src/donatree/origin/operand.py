"""The operand that brought another type in: `the other operand is float32 because of ...`."""

from __future__ import annotations

from collections.abc import Sequence

from donatree.ledger import Location
from donatree.origin.drift import Graph, What

# What JAX puts in to make operands go together, and the floating types it has.
_FITTING = frozenset(("convert_element_type", "broadcast_in_dim", "reshape"))
_FLOATING = ("float", "bfloat", "complex")

_OF_A_CONSTANT = "{} because of a constant of that type"
_CARRIED = "a loop converts what it carries to the type that its body returns"
_SOURCES = 60


def because(graph: Graph, path: Sequence[int], step: int, what: What) -> str | None:
    """What brought the new type in, where JAX converted the value to go with another one.

    Args:
        graph: the program.
        path: from the slot to the leaf.
        step: the place in it of the value that has another type.
        what: what of the type drifted.

    Returns:
        Words, or None where it cannot be known: a cast that somebody wrote, or several sources.
    """
    place = graph.place(path[step])
    if graph.kind(path[step]) not in _FITTING or place is None:
        return None
    while step and graph.kind(path[step - 1]) in _FITTING:
        if graph.place(path[step - 1]) != place:
            return None
        step -= 1
    if step == 0:
        return None
    value, consumer = path[step], path[step - 1]
    kind = graph.kind(consumer)
    if graph.place(consumer) != place or (what != "shape" and graph.is_cast(value)):
        return None
    if kind == "carry":
        return _CARRIED
    if kind == "cond" or graph.passes_on(consumer):
        return None
    old, new = graph.type_of(path[-1]), graph.type_of(consumer if what == "shape" else value)
    if kind == "div" and not old.dtype.startswith(_FLOATING):
        return None  # to divide integers makes floats, whatever they are divided by
    words = {
        _source(graph, other, what)
        for other in graph.everything(consumer)
        if other != value and getattr(graph.type_of(other), what) == getattr(new, what)
    }
    found = words.pop() if len(words) == 1 else None
    if found is None or (what == "weak_type" and new.weak_type):
        return None
    text = {"dtype": new.dtype, "shape": new.aval, "weak_type": "strongly typed"}[what]
    return f"the other operand is {found.format(text)}"


def _source(graph: Graph, value: int, what: What) -> str | None:
    """Where a value has its type from: words for the only source there is, or None.

    The words have a place for the type.
    """
    new = getattr(graph.type_of(value), what)
    sources: set[str] = set()
    seen, waiting = {value}, [value]
    while waiting:
        here = waiting.pop()
        kind = graph.kind(here)
        if kind in ("input", "literal", "constant"):
            words = graph.words(here)
            if kind == "literal" and words and what != "dtype":
                return None
            if kind == "input":
                sources.add("{} because of " + _braced(words or "an argument"))
            else:
                sources.add(_braced(words) if words else _OF_A_CONSTANT)
            continue
        place = graph.place(here)
        alike = [
            operand
            for operand in graph.everything(here)
            if getattr(graph.type_of(operand), what) == new
            and not (
                graph.kind(operand) in _FITTING
                and graph.place(operand) == place
                and graph.operands(operand)
            )
        ]
        alike = [each for each in alike if graph.kind(each) != "literal"] or alike
        strong = [each for each in alike if not graph.type_of(each).weak_type]
        if not alike:
            if place is None or place.user is None:
                return None
            sources.add("{} since " + _braced(_short(place.user)))
        waiting += [each for each in strong or alike if each not in seen]
        seen.update(strong or alike)
        if len(seen) > _SOURCES or len(sources) > 1:
            return None
    return sources.pop() if len(sources) == 1 else None


def _short(location: Location) -> str:
    return f"line {location.line} of `{location.file}`"


def _braced(words: str) -> str:
    """Words that `format` leaves as they are."""
    return words.replace("{", "{{").replace("}", "}}")
