"""What a tree holds itself: its containers and leaves, and who has more references than that."""

from __future__ import annotations

import functools
import gc
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, ModuleType
from typing import Any

from donatree.holders.steps import label

_NOT_ENTERED = (type, ModuleType, FunctionType, BuiltinFunctionType, CodeType, FrameType)
_NOT_ENTERED_ROOMS = ("jax._src", "jaxlib", "threading", "logging", "_thread", "donatree")
_LIMIT = 1_000_000


class Tree:
    """The objects given away and every container on the way from them to a leaf.

    The garbage collector says what an object refers to, so every kind of container is met alike:
    dicts, named tuples, dataclasses, flax and equinox modules.

    Args:
        roots: the objects by name, containers or leaves.
        leaves: path and leaf, in flatten order.

    Attributes:
        leaves: the leaves by `id`.
        paths: their paths by `id`; of a leaf met twice the first.
        visited: the `id` of every container met; none of them is a holder.
        containers: the containers that lead to a leaf, by `id`.
    """

    def __init__(self, roots: Mapping[str, Any], leaves: Sequence[tuple[str, Any]]) -> None:
        self.leaves: dict[int, Any] = {}
        self.paths: dict[int, str] = {}
        self._known: dict[int, int] = {}
        for path, leaf in leaves:
            key = id(leaf)
            self._known[key] = self._known.get(key, 0) + 1
            self.leaves.setdefault(key, leaf)
            self.paths.setdefault(key, path)
        self.roots = {id(root): name for name, root in roots.items()}
        self._inside: dict[int, int] = {}
        self._parents: dict[int, list[int]] = {}
        visited = self._visit([each for each in roots.values() if id(each) not in self.leaves])
        self.visited = frozenset(visited)
        leads = set(self.roots)
        climbing = [key for key in self.leaves if key in self._parents]
        while climbing:
            for parent in self._parents.get(climbing.pop(), ()):
                if parent not in leads:
                    leads.add(parent)
                    climbing.append(parent)
        self.containers = {key: visited[key] for key in visited if key in leads}

    def _visit(self, stack: list[Any]) -> dict[int, Any]:
        leaves, inside, parents = self.leaves, self._inside, self._parents
        visited = {id(each): each for each in stack}
        while stack:
            node = stack.pop()
            here = id(node)
            for child in gc.get_referents(node):
                key = id(child)
                if key in leaves or key in visited:
                    inside[key] = inside.get(key, 0) + 1
                    parents.setdefault(key, []).append(here)
                elif gc.is_tracked(child) and _is_entered(child) and len(visited) < _LIMIT:
                    inside[key] = 1
                    parents[key] = [here]
                    visited[key] = child
                    stack.append(child)
        return visited

    def surplus(self) -> dict[int, int]:
        """How many references more than the tree's own each leaf and container has, by `id`.

        Roots are left out: who called with them is not known.
        """
        return _subtract(self.leaf_counts(), _baseline()[0]) | _subtract(
            self.container_counts(), _baseline()[1]
        )

    def leaf_counts(self) -> Iterator[tuple[int, int]]:
        """The `id` of each leaf, and how many references it has beside the tree's own."""
        count, inside, known = sys.getrefcount, self._inside, self._known
        for key, leaf in self.leaves.items():
            yield key, count(leaf) - inside.get(key, 0) - known[key]

    def container_counts(self) -> Iterator[tuple[int, int]]:
        """The same of each container but the roots."""
        count, inside, roots = sys.getrefcount, self._inside, self.roots
        for key, node in self.containers.items():
            if key not in roots:
                yield key, count(node) - inside.get(key, 0)

    def object(self, key: int) -> Any:
        """The leaf or container with this `id`."""
        return self.leaves[key] if key in self.leaves else self.containers[key]

    def below(self, key: int) -> list[int]:
        """The leaves under a container, by `id`, in flatten order; a leaf is under itself."""
        if key in self.leaves:
            return [key]
        found, seen, stack = set(), {key}, [self.containers[key]]
        while stack:
            for child in gc.get_referents(stack.pop()):
                here = id(child)
                if here in self.leaves:
                    found.add(here)
                elif here in self.containers and here not in seen:
                    seen.add(here)
                    stack.append(child)
        return [leaf for leaf in self.leaves if leaf in found]

    def path(self, key: int) -> str:
        """The path of a leaf or container as the user writes it."""
        if key in self.paths:
            return self.paths[key]
        steps: list[str] = []
        here, seen = key, {key}
        while here not in self.roots:
            above = next((p for p in self._parents.get(here, ()) if p in self.containers), None)
            if above is None or above in seen:
                return ""
            seen.add(above)
            steps.append(label(self.containers[above], self.object(here)))
            here = above
        return self.roots[here] + "".join(join(reversed(steps)))

    def clear(self) -> None:
        """Lets go of everything."""
        self.leaves.clear()
        self.containers.clear()


def join(steps: Iterable[str]) -> list[str]:
    """Steps with an instance's dict and the attribute in it made one: ``.__dict__`` vanishes."""
    made: list[str] = []
    for step in steps:
        if made and made[-1] == ".__dict__" and step.startswith("['"):
            made[-1] = "." + step[2:-2]
        elif made and made[-1] in (".args", ".keywords") and step.startswith("["):
            made[-1] += step
        elif step:
            made.append(step)
    return made


def _is_entered(value: Any) -> bool:
    kind = type(value)  # `isinstance` would ask the object itself, which may run its code
    if issubclass(kind, _NOT_ENTERED):
        return False
    room = kind.__module__
    return not (isinstance(room, str) and room.startswith(_NOT_ENTERED_ROOMS)) or issubclass(
        kind, functools.partial
    )


def _subtract(counts: Iterator[tuple[int, int]], usual: int) -> dict[int, int]:
    return {key: number - usual for key, number in counts if number > usual}


class _Leaf:
    """Stands for an array."""


@functools.cache
def _baseline() -> tuple[int, int]:
    """The references that are this module's own: they differ between versions of CPython."""
    root = {"a": [_Leaf()]}
    given = [("root['a'][0]", root["a"][0])]
    tree = Tree({"root": root}, given)
    leaves = [number for _, number in tree.leaf_counts()]
    containers = [number for _, number in tree.container_counts()]
    return min(leaves) if given else 0, min(containers)  # `given` lives as a caller's would
