"""From objects up to the roots that hold them, level by level through the heap."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from types import (
    AsyncGeneratorType,
    CoroutineType,
    FrameType,
    FunctionType,
    GeneratorType,
    ModuleType,
)
from typing import Any

from donatree._jax.frames import locals_of
from donatree.holders import heap, roots
from donatree.holders.roots import Root
from donatree.holders.stacks import Stacks
from donatree.holders.steps import DICT, edges

_GENERATORS = (GeneratorType, CoroutineType, AsyncGeneratorType)
# Of JAX's own objects only these are the user's: the others are caches.
_JAX_ALLOWED = frozenset({"Partial", "Shard", "PjitFunction", "_HashableByObjectId"})
_JAXPRS = frozenset({"Jaxpr", "ClosedJaxpr"})
_SKIPPED = frozenset({"managedbuffer", "Pickler", "WeakrefLRUCache"})


class Search:
    """The objects above some targets, and the roots met.

    Args:
        stacks: the frames as they stand.
        hidden: the `id` of objects that are no holders: the tree's own containers, donatree's.

    Attributes:
        seen: every object met, by `id`: the only place where the search holds them.
        up: who refers to an object and how, by `id`.
        roots: the roots that name an object directly, by `id`.
    """

    def __init__(self, stacks: Stacks, hidden: Iterable[int]) -> None:
        self._stacks = stacks
        self.seen: dict[int, Any] = {}
        self.up: dict[int, dict[tuple[int, str], None]] = {}
        self.roots: dict[int, list[Root]] = {}
        self._dicts: set[int] = set()
        self._climbed: set[int] = set()
        self._hidden: set[int] = {
            *hidden,
            *map(id, (self.seen, self.up, self.roots, self.__dict__)),
        }

    def hide(self, *values: Any) -> None:
        """Takes objects for no holders."""
        self._hidden.update(map(id, values))

    def climb(self, targets: Iterable[Any], depth: int = 12, width: int = 30_000) -> None:
        """Goes up from `targets` until roots are met, at most `depth` references."""
        level = [each for each in targets if id(each) not in self._climbed]
        for each in level:
            self.seen[id(each)] = each
            self._climbed.add(id(each))
        for _ in range(depth):
            if not level or len(level) > width:
                return
            for each in level:
                self.name(each)
            self.hide(level)
            found = heap.referrers(level)
            wanted = set(map(id, level))
            self.hide(found)
            following: list[Any] = []
            self.hide(following)
            for each in found:
                if (
                    id(each) not in self._hidden
                    and self._take(each, wanted)
                    and id(each) not in self._climbed
                ):
                    self._climbed.add(id(each))
                    following.append(each)
            found.clear()
            level = following

    def clear(self) -> None:
        """Lets go of every object."""
        self.seen.clear()
        self.up.clear()
        self.roots.clear()

    def take(self, holder: Any, held: Any) -> bool:
        """Notes that one object refers to another; whether to go on above the holder."""
        self.seen.setdefault(id(held), held)
        if id(holder) in self._hidden:
            return False
        return self._take(holder, {id(held)})

    def name(self, value: Any) -> None:
        """Notes the local variables that name an object."""
        self.seen.setdefault(id(value), value)
        for slot in self._stacks.of(value):
            if not slot.inner:
                self._root(value, roots.of_slot(slot))

    def _root(self, value: Any, root: Root) -> None:
        known = self.roots.setdefault(id(value), [])
        if all(root.text != each.text or root.thread != each.thread for each in known):
            known.append(root)

    def _take(self, holder: Any, wanted: set[int]) -> bool:
        kind = type(holder)
        if kind.__name__ in _SKIPPED or issubclass(kind, ModuleType):
            return False
        room = kind.__module__ if isinstance(kind.__module__, str) else ""
        if room.startswith("donatree."):
            return False
        if room.startswith(("jax._src", "jaxlib")):
            if kind.__name__ in _JAXPRS:
                for value in self._constants(holder):
                    self._root(value, roots.of_jaxpr(holder))
                return False
            if kind.__name__ not in _JAX_ALLOWED:
                return False
        if self._is_root(holder):
            return kind in (FunctionType, *_GENERATORS)
        self.seen[id(holder)] = holder
        self._link(holder, wanted)
        return True

    def _constants(self, jaxpr: Any) -> Iterator[Any]:
        """What was met of a trace's constants: their list stands between them and it."""
        for each in gc.get_referents(jaxpr):
            if isinstance(each, (list, tuple)):
                yield from (value for value in each if id(value) in self.seen)

    def _link(self, holder: Any, wanted: set[int]) -> None:
        """Notes how `holder` refers to what was met."""
        left = {id(each) for each in gc.get_referents(holder)} & wanted
        for step, value in edges(holder):
            key = id(value)
            if step == DICT:
                self._dicts.add(key)
            elif key in self.seen and not _is_past(holder, step):
                self.up.setdefault(key, {})[id(holder), step] = None
            left.discard(key)
        for key in left:
            self.up.setdefault(key, {})[id(holder), ""] = None

    def above(self, key: int) -> list[tuple[int, str]]:
        """The holders of an object and how each refers to it; instances stand for their dicts."""
        return [edge for edge in self.up.get(key, ()) if edge[0] not in self._dicts]

    def _is_root(self, holder: Any) -> bool:
        """Notes the roots that `holder` makes; whether it is one."""
        kind = type(holder)
        if kind is FrameType:
            if not self._stacks.runs(holder):
                self._roots_of_names(locals_of(holder), lambda n: roots.of_traceback(holder, n))
            return True
        if id(holder) in self._stacks.namespaces:
            module = self._stacks.namespaces[id(holder)]
            if module.partition(".")[0] not in ("jax", "jaxlib", "donatree"):
                self._roots_of_names(holder, lambda n: roots.of_global(holder, module, n))
            return True
        if kind is FunctionType:
            self._roots_of_function(holder)
            return True
        if issubclass(kind, type):
            self._roots_of_names(dict(vars(holder)), lambda n: roots.of_class(holder, n))
            return True
        if kind in _GENERATORS:
            frame = _frame_of(holder)
            if frame is not None and not self._stacks.runs(frame):
                self._roots_of_names(
                    locals_of(frame), lambda n: roots.of_generator(holder, frame, n)
                )
            self.seen[id(holder)] = holder
            return True
        if kind.__name__ == "_lru_cache_wrapper":
            for each in gc.get_referents(holder):
                for value in each.values() if type(each) is dict else (each,):
                    if id(value) in self.seen and type(value) is not dict:
                        self._root(value, roots.of_cache(holder))
            return True
        return False

    def _roots_of_function(self, function: FunctionType) -> None:
        self.seen[id(function)] = function
        cells = function.__closure__ or ()
        names = function.__code__.co_freevars
        for name, cell in zip(names, cells, strict=False):
            if id(cell) in self.seen:
                self._root(cell, roots.of_function(function, "closure variable", name))
        code = function.__code__
        arguments = code.co_varnames[: code.co_argcount]
        defaults = function.__defaults__ or ()
        named = dict(zip(arguments[-len(defaults) :], defaults, strict=False)) if defaults else {}
        for where, what in (
            (named | (function.__kwdefaults__ or {}), "default argument"),
            (function.__dict__, "attribute"),
        ):
            self._roots_of_names(where, lambda n, what=what: roots.of_function(function, what, n))

    def _roots_of_names(self, names: dict[str, Any], make: Any) -> None:
        for name, value in list(names.items()):
            if id(value) in self.seen and not issubclass(type(value), (type, ModuleType)):
                self._root(value, make(str(name)))


def _frame_of(generator: Any) -> FrameType | None:
    for name in ("gi_frame", "cr_frame", "ag_frame"):
        if hasattr(generator, name):
            return getattr(generator, name)
    return None


def _is_past(holder: Any, step: str) -> bool:
    """Whether a reference is one of a thread to the arguments that it was started with."""
    import threading

    if issubclass(type(holder), threading.Thread):
        return holder.ident is not None and step in ("._args", "._kwargs", "._target")
    return False
