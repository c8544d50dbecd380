"""The frames of all threads and the objects that their local variables name."""

from __future__ import annotations

import inspect
import os
import sys
import sysconfig
import threading
from collections import ChainMap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import FrameType
from typing import Any

from donatree._jax.frames import locals_of

_OWN_ROOM = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_NO_ROOTS = ("jax", "jaxlib")


@dataclass(frozen=True, slots=True)
class Slot:
    """A local variable of a running frame.

    Attributes:
        frame: the frame.
        name: the variable.
        thread: the thread's name; None for the main thread.
        inner: whether the frame is below the user's call, or is no place that a user reads from.
    """

    frame: FrameType
    name: str
    thread: str | None
    inner: bool


class Stacks:
    """All frames of all threads, as they stand.

    Args:
        frame: the user's frame that makes the call; what it called is not the user's. None where
            every frame outside donatree counts.

    Attributes:
        chain: frames of the calling thread from `frame` outwards.
        slots: local variables by the `id` of what they name.
        namespaces: name of the module by the `id` of its namespace.
    """

    def __init__(self, frame: FrameType | None) -> None:
        self.chain: list[FrameType] = []
        self.slots: dict[int, list[Slot]] = {}
        self.namespaces: dict[int, str] = {}
        self._names: dict[int, Mapping[str, Any]] = {}
        self._running: set[int] = set()
        for name, module in list(sys.modules.items()):
            namespace = _namespace_of(module)
            if namespace is not None:
                self.namespaces.setdefault(id(namespace), name)
        threads = {each.ident: each.name for each in threading.enumerate()}
        main, here = threading.main_thread().ident, threading.get_ident()
        running = sys._current_frames()
        for ident in list(running):
            name = None if ident == main else threads.get(ident, str(ident))
            # Popped: a frame that names itself in a local variable would never be freed.
            self._add(running.pop(ident), name, frame if ident == here else None)

    def _add(self, frame: FrameType | None, thread: str | None, caller: FrameType | None) -> None:
        below = caller is not None
        while frame is not None:
            below = below and frame is not caller
            self._running.add(id(frame))
            own = frame.f_code.co_filename.startswith(_OWN_ROOM)
            if caller is not None and not below and not own:
                self.chain.append(frame)
            if id(frame.f_globals) not in self.namespaces:  # what `exec` runs is no module
                name = _module_of(frame)
                called = frame.f_code.co_filename if name in sys.modules else name
                self.namespaces[id(frame.f_globals)] = called
            if frame.f_code.co_flags & inspect.CO_OPTIMIZED:
                inner = below or own or _holds_for_others(frame)
                for name, value in locals_of(frame).items():
                    # pytest's `@py_assert1` and a comprehension's `.0` are no names of the user's.
                    unseen = inner or not name.isidentifier()
                    self.slots.setdefault(id(value), []).append(Slot(frame, name, thread, unseen))
            frame = frame.f_back

    def runs(self, frame: FrameType) -> bool:
        """Whether a frame is on a stack."""
        return id(frame) in self._running

    def of(self, value: Any) -> list[Slot]:
        """The local variables that name an object. Each is looked at again: threads go on."""
        found = []
        for slot in self.slots.get(id(value), ()):
            if slot.thread is None or locals_of(slot.frame).get(slot.name) is value:
                found.append(slot)
        return found

    def values(self) -> Iterator[Any]:
        """What the local variables of all frames name, where no module's namespace has them."""
        frames = {id(s.frame): s.frame for slots in self.slots.values() for s in slots}
        for frame in frames.values():
            yield from locals_of(frame).values()

    def names(self, frame: FrameType) -> Mapping[str, Any]:
        """The variables of a frame by name, globals included, as they stood."""
        if id(frame) not in self._names:
            self._names[id(frame)] = ChainMap(locals_of(frame), frame.f_globals)
        return self._names[id(frame)]

    def clear(self) -> None:
        """Lets go of every frame and value."""
        self.chain.clear()
        self.slots.clear()
        self._names.clear()


def _namespace_of(module: Any) -> dict[str, Any] | None:
    """A module's namespace, read so that no lazy module loads."""
    try:
        namespace = object.__getattribute__(module, "__dict__")
    except Exception:
        return None
    return namespace if type(namespace) is dict else None


def _module_of(frame: FrameType) -> str:
    name = frame.f_globals.get("__name__")
    return name if isinstance(name, str) else "?"


@cache
def _standard_library() -> tuple[str, ...]:
    folders = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib")}
    return tuple(os.path.abspath(folder) + os.sep for folder in folders if folder)


def _holds_for_others(frame: FrameType) -> bool:
    """Whether a frame only passes on what it holds: Python's library, JAX itself."""
    if _module_of(frame).partition(".")[0] in _NO_ROOTS:
        return True
    file = frame.f_code.co_filename
    if file.startswith("<frozen"):
        return True
    return file.startswith(_standard_library()) and "site-packages" not in file
