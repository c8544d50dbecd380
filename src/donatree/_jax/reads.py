"""Reads of arrays that are marked, seen from inside JAX.

`ArrayImpl._check_if_deleted()`
    is asked in Python before an array is read: by `_value` (`float`, `print`, `repr`, `tolist`),
    `__array__` (`jax.device_get`), `__iter__`, `__dlpack__`, by the handler that passes arrays to
    a compiled function (`pxla.shard_args`), by copies, slices and pickles.
`ArrayImpl.item()`, `ArrayImpl.block_until_ready()`
    are C++ and ask nobody; they are wrapped beside it.
`pjit._get_fastpath_data(...)`
    tells C++ how to dispatch a function on its own. As long as it says None each call comes
    through Python, and so through the check. What C++ knows already, or has given up on, is
    forgotten by `PjitFunctionCache.clear_all()`, as `jax.clear_caches()` does: nothing is traced
    or compiled again for it.

Measured on JAX 0.5.3, 0.7.2, 0.10.2 and 0.12.0.1 with 50 ways to read: the same ones are missed on
all. Not seen is what goes through Python's buffer protocol (`np.asarray`, `np.array`, `np.save`,
`memoryview`), `jax.block_until_ready` of several arrays, and `jax.device_put` and `jnp.asarray`
where they return the array itself.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import weakref
from collections.abc import Callable
from types import FrameType
from typing import Any

Told = Callable[[Any, FrameType], None]

_CHECKED = ("_check_if_deleted", "item", "block_until_ready")


class Reads:
    """Watches for reads of the arrays that are marked, until the last of them is dead.

    Args:
        told: called with the array and a frame below the read. What it raises is a fault.
        fault: told of donatree's own faults.
    """

    def __init__(self, told: Told, fault: Callable[[str, BaseException], None]) -> None:
        self._told = told
        self._fault = fault
        self._marked: dict[int, weakref.ref[Any]] = {}
        self._originals: list[tuple[Any, str, Any]] = []
        self._inside = threading.local()
        self._lock = threading.RLock()

    def mark(self, array: Any) -> None:
        """Watches for reads of an array until it dies. It is held weakly."""
        key, marked = id(array), self._marked
        marked[key] = weakref.ref(array, lambda _: marked.pop(key, None))
        self._install_once()

    def _install_once(self) -> None:
        with self._lock:
            if self._originals:
                return
            from jax._src import traceback_util

            traceback_util.register_exclusion(__file__)
            try:
                self._install()
            except Exception as error:  # a name is gone: its reads are not seen
                self._fault("reads", error)
            forget_dispatch()

    def _install(self) -> None:
        from jax._src import pjit
        from jax._src.array import ArrayImpl

        for name in _CHECKED:
            self._replace(ArrayImpl, name, self._checked(getattr(ArrayImpl, name)))
        self._replace(pjit, "_get_fastpath_data", _none)

    def _replace(self, owner: Any, name: str, made: Any) -> None:
        original = getattr(owner, name)
        setattr(owner, name, made)
        self._originals.append((owner, name, original))

    def remove(self) -> None:
        """Gives JAX its own functions back, and C++ its dispatch."""
        with self._lock:
            if not self._originals:
                return
            while self._originals:
                setattr(*self._originals.pop())
            self._marked.clear()
            forget_dispatch()

    def _checked(self, original: Any) -> Any:
        marked, note = self._marked, self._note

        def checked(array: Any, *args: Any, **kwargs: Any) -> Any:
            if id(array) in marked:
                note(array)
            elif not marked:
                self.remove()
            return original(array, *args, **kwargs)

        for attribute in ("__name__", "__doc__"):  # the rest is missing where it is C++
            setattr(checked, attribute, getattr(original, attribute, None))
        return checked

    def _note(self, array: Any) -> None:
        if getattr(self._inside, "busy", False):
            return
        self._inside.busy = True
        try:
            self._told(array, sys._getframe(2))
        except Exception as error:
            with contextlib.suppress(Exception):
                self._fault("read", error)
        finally:
            self._inside.busy = False


def _none(*_: Any, **__: Any) -> None:
    return None


def forget_dispatch() -> None:
    """Makes C++ ask again how to dispatch; see `_get_fastpath_data`."""
    with contextlib.suppress(Exception):
        from jax._src import pjit

        cache: Any = pjit._cpp_pjit_cache_fun_only
        type(cache).clear_all()
