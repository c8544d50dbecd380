"""Names of a function's parameters as JAX writes them in the paths of leaves."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Mapping, Sequence
from typing import Any


class Parameters:
    """What the arguments of a call of `function` are called.

    Args:
        function: any callable; where its signature cannot be read, names are made up.

    Example:
        >>> def step(state, *rest, **more): ...
        >>> known = Parameters(step)
        >>> known.by_position(0), known.by_position(2), known.by_keyword("lr")
        ('state', 'rest[1]', "more['lr']")
    """

    def __init__(self, function: Any) -> None:
        try:
            parameters = list(inspect.signature(function).parameters.values())
        except (ValueError, TypeError):
            parameters = []
        positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        self.positional = [each.name for each in parameters if each.kind in positional]
        self._known = {each.name for each in parameters if each.kind is not each.VAR_KEYWORD}
        stars = [each.name for each in parameters if each.kind is each.VAR_POSITIONAL]
        self._star = stars[0] if stars else "args"
        words = [each.name for each in parameters if each.kind is each.VAR_KEYWORD]
        self._words = words[0] if words else None

    def by_position(self, place: int) -> str:
        """The name of a positional argument, counted from 0."""
        extra = place - len(self.positional)
        return self.positional[place] if extra < 0 else f"{self._star}[{extra}]"

    def by_keyword(self, name: str) -> str:
        """The name of a keyword argument."""
        if self._words is None or name in self._known:
            return name
        return f"{self._words}[{name!r}]"


def in_flatten_order(
    names: Sequence[str], function: Any, kwargs: Mapping[str, Any], static: Collection[str]
) -> list[str]:
    """JAX's names of all leaves, with those of keyword arguments in the order of the leaves.

    Keyword arguments are flattened sorted by name. Up to 0.5 JAX gives their names in the order
    of the signature, so that `step(b=..., a=...)` gets them the wrong way round.

    Args:
        names: JAX's names of the leaves, those of keyword arguments last.
        function: the function that was called.
        kwargs: its keyword arguments, static ones included.
        static: names of the static ones.
    """
    import jax

    dynamic = sorted(name for name in kwargs if name not in static)
    if len(dynamic) < 2:
        return list(names)
    known = Parameters(function)
    made: list[str] = []
    for name in dynamic:
        paths, _ = jax.tree_util.tree_flatten_with_path(kwargs[name])
        made += [known.by_keyword(name) + jax.tree_util.keystr(path) for path, _ in paths]
    return [*names[: len(names) - len(made)], *made]
