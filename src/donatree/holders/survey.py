"""One search for all that holds some leaves: who holds them, folded to one holder a place."""

from __future__ import annotations

import gc
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any

from donatree.holders import handles, roots, views
from donatree.holders.folding import arranged, common, fits, merged, sizes_of
from donatree.holders.holder import Holder, Kind
from donatree.holders.outlive import Judge, Trail
from donatree.holders.search import Search
from donatree.holders.stacks import Stacks
from donatree.holders.tree import Tree, join

_NOT_PLAIN = ("builtins", "jax", "jaxlib", "numpy", "functools", "collections")


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """An object whose holders are looked for.

    Attributes:
        value: the object.
        kind: what a reference to it is.
        leaves: the leaves that it holds, by `id`.
        what: the object in words, where it is no leaf or container.
    """

    value: Any
    kind: Kind
    leaves: tuple[int, ...]
    what: str | None = None


class Survey:
    """Looks for what else holds the leaves of some objects.

    Args:
        arguments: the objects by name.
        leaves: path and array, in flatten order.
        frame: the user's frame that makes the call.
        outliving: whether only what outlives the call counts.
        excused: see `Judge`.
        own: lists, tuples and dicts of the caller's machinery that hold the leaves too.
        in_place: whether the call updates the objects: then who holds one sees its new arrays.
        views: whether memory that is looked at without JAX is searched, which takes the longest.
    """

    def __init__(
        self,
        arguments: Mapping[str, Any],
        leaves: Sequence[tuple[str, Any]],
        frame: FrameType | None,
        outliving: bool,
        excused: frozenset[tuple[int, str]] = frozenset(),
        own: Sequence[Any] = (),
        in_place: bool = False,
        views: bool = True,
    ) -> None:
        self._tree = Tree(arguments, leaves)
        self._stacks = Stacks(frame)
        self._outliving = outliving
        self._excused = excused
        self._arguments = arguments
        self._given = leaves
        self._own = own
        self._in_place = in_place
        self._views = views
        self._searches: list[Search] = []
        self.found: list[Holder] = []

    def run(self) -> list[Holder]:
        """The holders, most bytes first. Nothing of the program is held once this returns."""
        try:
            collected = not self._outliving
            if collected or self._unexplained():
                gc.collect()
                collected = True
            by_reference = self._by_reference()
            if not collected and any("local `" not in each.root for each in by_reference):
                gc.collect()
                by_reference = self._by_reference()
            self.found += by_reference
            self.found += self._by_handle()
            if self._views:
                self.found += self._by_view()
        finally:
            self._clear()
        return arranged(self.found)

    def _clear(self) -> None:
        for each in (self._stacks, self._tree, *self._searches):
            each.clear()
        self._arguments, self._given, self._own = {}, (), ()

    def run_views(self, spans: views.Spans) -> list[Holder]:
        """The views alone; `spans` as for `views.views_of`."""
        try:
            return arranged(self._by_view(spans))
        finally:
            self._clear()

    def _unexplained(self) -> list[int]:
        """Leaves and containers with more references than the tree and local variables have."""
        surplus = self._tree.surplus()
        for each in self._own:
            for held in gc.get_referents(each):
                if id(held) in surplus:
                    surplus[id(held)] -= 1
        answer = []
        for key, number in surplus.items():
            plain = sum(
                slot.name in slot.frame.f_code.co_varnames
                and slot.name not in slot.frame.f_code.co_cellvars
                for slot in self._stacks.slots.get(key, ())
            )
            if number > plain and key not in self._tree.roots:
                answer.append(key)
        return answer

    def _search(self) -> Search:
        tree = self._tree
        search = Search(self._stacks, {*tree.visited, *tree.leaves})
        self._searches.append(search)
        search.hide(self, self.__dict__, tree.__dict__, self._arguments, self._given, *self._own)
        search.hide(tree.leaves, tree.containers, *self._given, self._stacks.slots)
        return search

    def _by_reference(self) -> list[Holder]:
        tree, search = self._tree, self._search()
        named = [key for key in (*tree.leaves, *tree.containers) if key in self._stacks.slots]
        held = {*tree.roots, *self._unexplained()}
        if self._in_place:
            named = [key for key in named if key in tree.leaves]
            held = {key for key in held if key in tree.leaves}
        search.climb(
            tree.object(key) for key in held if key in tree.leaves or key in tree.containers
        )
        for key in named:
            search.name(tree.object(key))
        targets = [
            Target(
                tree.object(key),
                "leaf" if key in tree.leaves else "container",
                tuple(tree.below(key)),
            )
            for key in dict.fromkeys((*named, *held))
        ]
        return self._holders(targets, search, self._judge(search, self._outliving))

    def _by_handle(self) -> list[Holder]:
        found = handles.handles_of(self._tree.leaves)
        if not found:
            return []
        search = self._search()
        search.hide(found, *found)
        arrays = [array for array, _ in found]
        search.hide(arrays)
        search.climb(arrays)
        targets = [Target(each, "handle", (key,), "another `jax.Array`") for each, key in found]
        search.hide(targets)
        return self._holders(targets, search, self._judge(search, self._outliving))

    def _by_view(self, spans: views.Spans | None = None) -> list[Holder]:
        found = views.views_of(self._tree.leaves, self._stacks, spans or {})
        if not found:
            return []
        search = self._search()
        search.hide(found, *found)
        for value, _, _ in found:
            search.name(value)
        search.climb(views.link(found, search.take))
        targets = [Target(each, "view", (key,), what) for each, key, what in found]
        return self._holders(targets, search, self._judge(search, outliving=False))

    def _judge(self, search: Search, outliving: bool) -> Judge:
        return Judge(self._stacks, search, outliving, self._excused)

    def _holders(self, targets: Sequence[Target], search: Search, judge: Judge) -> list[Holder]:
        answer = []
        groups: dict[int, list[tuple[Target, str]]] = {}
        for target in targets:
            key = id(target.value)
            for root in judge.in_order(key):
                counted, read_at = judge.counts(root, search.seen.get(key, target.value))
                if counted and not judge.is_told(root, key):
                    answer.append(self._holder([target], Trail(root, (), read_at), ()))
            for above, step in search.above(key):
                if judge.holds(above, step):
                    groups.setdefault(above, []).append((target, step))
        for above, members in groups.items():
            holder = search.seen[above]
            trail = judge.trail(holder)
            if trail is None and not self._outliving and _is_instance_of_user(holder):
                trail = Trail(roots.of_instance(holder))
            if trail is not None:
                step = merged([step for _, step in members])
                answer.append(self._holder([t for t, _ in members], trail, step))
        return answer

    def _holder(self, targets: Sequence[Target], trail: Trail, last: tuple[str, ...]) -> Holder:
        keys = list(dict.fromkeys(key for target in targets for key in target.leaves))
        sizes = dict(zip(keys, sizes_of([self._tree.leaves[key] for key in keys]), strict=True))
        keys.sort(key=lambda key: -sizes[key])
        one = targets[0] if len(targets) == 1 else None
        held = self._tree.path(id(one.value)) if one and one.what is None else ""
        names = tuple(self._tree.paths[key] for key in keys)
        kind = targets[0].kind if one or targets[0].kind in ("handle", "view") else "container"
        return Holder(
            held=held if held and fits(held, names) else common(names),
            kind=kind,
            root=trail.root.text,
            location=trail.root.location,
            steps=tuple(join((*trail.steps, *last))),
            leaves=names,
            bytes=sum(sizes.values()),
            what=targets[0].what,
            read_at=trail.read_at,
            thread=trail.root.thread,
        )


def _is_instance_of_user(value: Any) -> bool:
    room = str(type(value).__module__).partition(".")[0]
    return room not in _NOT_PLAIN and hasattr(value, "__dict__")
