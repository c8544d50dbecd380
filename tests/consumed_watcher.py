"""A watcher for the tests only: wraps one jitted function and remembers what its calls took."""

from __future__ import annotations

import inspect
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

import jax

from donatree._jax import buffers
from donatree._jax.frames import location_of_function
from donatree.consumed.calls import Call, Calls, Site, SiteLeaf, Taken

__donatree__ = True  # its frames are not the user's


def concrete(leaf: Any) -> Any:
    """The array under the tracers of an eager transform; None where there is none."""
    while not buffers.is_array(leaf):
        leaf = getattr(leaf, "primal", getattr(leaf, "_primal", None))
        if leaf is None:
            return None
    return leaf


def watched(calls: Calls, jitted: Callable[..., Any], first: int = 1_000) -> Callable[..., Any]:
    """Wraps a jitted function; its first calls are remembered, what later ones take expected."""
    names = list(inspect.signature(jitted).parameters)
    counted = 0

    def call(*args: Any, **kwargs: Any) -> Any:
        nonlocal counted
        counted += 1
        frame = sys._getframe(1)
        while "/jax/" in frame.f_code.co_filename:
            assert frame.f_back is not None
            frame = frame.f_back
        given = [*zip(names, args, strict=False), *kwargs.items()]
        before = [
            (name, jax.tree_util.keystr(path), concrete(leaf))
            for name, value in given
            for path, leaf in jax.tree_util.tree_flatten_with_path(value)[0]
        ]
        result = jitted(*args, **kwargs)
        taken = [
            (weakref.ref(leaf), name + path, name, path, aval(leaf), buffers.physical(leaf).nbytes)
            for name, path, leaf in before
            if leaf is not None and buffers.is_deleted(leaf)
        ]
        where = (jitted.__name__, location_of_function(jitted))
        if counted <= first:
            record = [Taken(*each) for each in taken]
            thread = threading.current_thread().name
            calls.remember(
                Call(*where, counted, frame.f_code, frame.f_lasti, thread, record, id(frame))
            )
        else:
            leaves = tuple(SiteLeaf(path, name, av, n) for _, path, name, _, av, n in taken)
            calls.expect(Site(*where, frame.f_code, frame.f_lasti, leaves, first))
        del before, frame
        return result

    call.__wrapped__ = jitted  # type: ignore[attr-defined]
    call.__name__ = jitted.__name__
    return call


def aval(leaf: Any) -> str:
    return f"{leaf.dtype}[{','.join(map(str, leaf.shape))}]"
