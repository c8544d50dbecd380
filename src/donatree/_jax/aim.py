"""Who compiles in XLA's stead on a thread, for other devices than those that JAX has here.

`hooks.elsewhere` says it, and the wrappers in `hooks` ask. It holds for the program that donatree
looks at (`hooks.aimed`), and not for what JAX runs on the same thread, while it traces that program
or otherwise.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any, Protocol


class Elsewhere(Protocol):
    """Who compiles in XLA's stead, for other devices than those that JAX has here."""

    platform: str
    """What JAX is to lower for: `tpu` or `cuda`."""

    def compile(self, computation: Any) -> Any:
        """What stands for the executable of a `MeshComputation` that was lowered for `platform`."""
        ...


class _Own(threading.local):
    said: Elsewhere | None = None
    holds: Elsewhere | None = None
    tracing: bool = False


_own = _Own()


@contextlib.contextmanager
def at(other: Elsewhere) -> Iterator[None]:
    """Says who compiles what donatree looks at on this thread."""
    before, _own.said = _own.said, other
    try:
        yield
    finally:
        _own.said = before


@contextlib.contextmanager
def holding() -> Iterator[None]:
    """What JAX lowers and compiles inside is what donatree looks at."""
    before = _own.holds, _own.tracing
    _own.holds, _own.tracing = _own.said, False
    try:
        yield
    finally:
        _own.holds, _own.tracing = before


class Tracing:
    """JAX traces inside: what it lowers meanwhile is run here.

    No generator, which would be in the way of an exception of the user's function.
    """

    def __enter__(self) -> None:
        self._before, _own.tracing = _own.tracing, True

    def __exit__(self, *error: object) -> None:
        _own.tracing = self._before


def platform() -> str | None:
    """The platform that was said on this thread; None where none was."""
    return None if _own.said is None else _own.said.platform


def lowering_for() -> str | None:
    """The platform that JAX is to lower for now; None for that of its own devices."""
    return None if _own.holds is None or _own.tracing else _own.holds.platform


def compiler_of(computation: Any) -> Elsewhere | None:
    """Who compiles a computation in XLA's stead; None where XLA does."""
    other = _own.holds
    return other if other is not None and other.platform in computation._platforms else None
