"""`whole`: a broken promise is an error, at the compile that breaks it."""

from __future__ import annotations

import threading
import weakref
from typing import Any, TypeVar

from donatree.errors import TargetError

F = TypeVar("F")

_lock = threading.Lock()
_guard: Any = None


def whole(step: F, /) -> F:
    """Makes an unusable donation an error.

    Returns `step` itself. At the first call of each signature, after the compile and before
    anything runs, the ledger is looked at; where a donated leaf was lost, `DonationError` is
    raised and the arguments are untouched. A call of a signature that is compiled already passes
    through JAX's own fast path, so it costs nothing.

    Args:
        step: a jitted function: `jax.jit`, `equinox.filter_jit` or `flax.nnx.jit`.

    Raises:
        TargetError: `step` is not jitted.

    Example:
        >>> import functools, jax, jax.numpy as jnp
        >>> @whole
        ... @functools.partial(jax.jit, donate_argnums=0)
        ... def step(x):
        ...     return x + 1
        >>> step(jnp.zeros(2)).tolist()
        [1.0, 1.0]
    """
    from donatree._jax import stages

    inner = stages.jitted_inside(step)
    if inner is None:
        raise TargetError(
            f"`{getattr(step, '__name__', step)}` is not jitted: put `whole` above `jax.jit`"
        )
    _watch_over(inner)
    return step


def _watch_over(inner: Any) -> None:
    global _guard
    with _lock:
        if _guard is None:
            _guard = _make_guard()
            _guard.start()
        _guard.add(inner)


def _make_guard() -> Any:
    from donatree._jax import stages
    from donatree.audit import require
    from donatree.ledger import Ledger
    from donatree.watch.recorder import Recorder

    class Guard(Recorder):
        """A recorder that raises for the functions it watches over and forgets the rest."""

        follows_transforms = False
        places = False  # a copy beside a granted leaf is no unusable donation

        def __init__(self) -> None:
            super().__init__(catch_warning=False)
            self._functions: dict[int, Any] = {}

        def add(self, inner: Any) -> None:
            key = id(stages.function_of(inner))
            self._functions[key] = weakref.ref(inner, lambda _: self._functions.pop(key, None))

        def wants(self, fun: Any, info: Any) -> bool:
            return id(fun) in self._functions

        def declared(self, fun: Any, info: Any) -> None:
            pass

        def refuse(self, info: Any, ledger: Ledger) -> None:
            self.forget()
            require(ledger)

    return Guard()
