"""A function of JAX's that is another one on one thread, while all others have the original."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator
from typing import Any

_lock = threading.Lock()
_swaps: dict[tuple[int, str], _Swap] = {}


class _Swap:
    """What stands in an owner's attribute while at least one thread has it swapped."""

    def __init__(self, owner: Any, name: str) -> None:
        self.original: Any = getattr(owner, name)
        self.of_thread: dict[int, list[Callable[..., Any]]] = {}

        @functools.wraps(self.original, updated=())
        def called(*args: Any, **kwargs: Any) -> Any:
            mine = self.of_thread.get(threading.get_ident())
            return (mine[-1] if mine else self.original)(*args, **kwargs)

        setattr(owner, name, called)


@contextlib.contextmanager
def swapped(owner: Any, name: str, make: Callable[[Any], Callable[..., Any]]) -> Iterator[None]:
    """Inside, and on this thread only, `owner.name` is what `make` gives for the original.

    Threads may be inside at the same time, in any order: the last one to leave puts the original
    back.

    Args:
        owner: a module or class.
        name: of a function, or of a class that is only called.
        make: gets the original.
    """
    key, thread = (id(owner), name), threading.get_ident()
    with _lock:
        swap = _swaps.get(key)
        if swap is None:
            swap = _swaps[key] = _Swap(owner, name)
        swap.of_thread.setdefault(thread, []).append(make(swap.original))
    try:
        yield
    finally:
        with _lock:
            swap.of_thread[thread].pop()
            if not swap.of_thread[thread]:
                del swap.of_thread[thread]
            if not swap.of_thread:
                setattr(owner, name, swap.original)
                del _swaps[key]
