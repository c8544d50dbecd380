"""Five functions of JAX, wrapped while somebody is watching.

All of donatree's interception is here, and each hook is named:

`pjit._parse_jit_arguments(fun, ...)`
    runs once where a function is jitted. It tells that donation was declared, which is all that
    can be known of a function that never meets JAX's own machinery.
`api.disable_jit()`
    the public context manager under which jitted functions run as plain Python.
`pjit._infer_params(fun, ji, args, kwargs)`
    runs when a jitted function meets arguments that the C++ fast path does not know: before the
    trace, with the caller's own objects. It tells what was asked.
`pxla.lower_sharding_computation(closed_jaxpr, ...)`
    turns a jaxpr into a `MeshComputation`. It joins the request to what is compiled.
`pxla.MeshComputation.compile()`
    compiles it. It runs for `jit`, `vmap` or `grad` of a jit and ahead-of-time alike.

None of them runs again for a signature that is already compiled, so a steady call costs nothing,
and the function that the user holds stays JAX's own object. The names and their leading
parameters are the same from JAX 0.5.3 to 0.12 (measured); `facts.py` says so for the installed
JAX, and `tests/test_jax_room.py` fails when one of them goes.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from donatree._jax import aim
from donatree._jax.swapped import swapped
from donatree.errors import DonationError


@dataclass(frozen=True, slots=True)
class Lowering:
    """A call of `lower_sharding_computation`: the function and what it was given.

    Holds the jaxpr, and with it arrays that the function closed over: not to be kept.
    """

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


class Observer(Protocol):
    """Somebody who watches; every method is called on the thread that traces or compiles.

    A class that inherits from it does nothing where it does not say otherwise.
    """

    def declared(self, fun: Any, info: Any) -> None:
        """A function was jitted; `info` is JAX's `PjitInfo`."""

    def disabled(self) -> None:
        """`jax.disable_jit()` was entered."""

    def requested(
        self, fun: Any, info: Any, args: tuple[Any, ...], kwargs: dict[str, Any], params: Any
    ) -> None:
        """A jitted function met a signature; `params` is what JAX made of it."""

    def lowered(self, jaxpr: Any, computation: Any, again: Lowering) -> None:
        """A jaxpr became a computation; `again` lowers it, or a changed one, once more."""

    def compiled(
        self, computation: Any, executable: Any, error: BaseException | None, seconds: float
    ) -> None:
        """It was compiled in so many seconds, or `error` ended the attempt."""

    def fault(self, where: str, error: BaseException) -> None:
        """The observer itself failed in `where`; the program goes on."""


class _Nobody(Observer):
    """Watches nothing."""


_lock = threading.Lock()
_observers: tuple[Observer, ...] = ()
_originals: list[tuple[Any, str, Any]] = []
_gone: dict[str, Exception] = {}
_own = threading.local()


def attach(observer: Observer) -> None:
    """Start telling `observer`; the first one wraps JAX's functions.

    A function that this JAX does not have is told as a fault; the others are wrapped all the same.
    """
    global _observers
    with _lock:
        if not _observers:
            _install()
        _observers = (*_observers, observer)
    for name, error in _gone.items():
        _blame(observer, f"hook {name}", error)


def detach(observer: Observer) -> None:
    """Stop telling `observer`; the last one puts JAX's own functions back."""
    global _observers
    with _lock:
        _observers = tuple(each for each in _observers if each is not observer)
        if not _observers:
            _uninstall()


@contextlib.contextmanager
def unheard() -> Iterator[None]:
    """What this thread does with JAX inside is donatree's own: no observer is told of it."""
    before = getattr(_own, "unheard", False)
    _own.unheard = True
    try:
        yield
    finally:
        _own.unheard = before


@contextlib.contextmanager
def afresh() -> Iterator[None]:
    """On this thread JAX finds no lowering in its cache: what is lowered inside is lowered anew.

    The cache's key holds a `mlir.LoweringParameters` (measured on JAX 0.5.3 to 0.12); those made
    inside are equal to no other. JAX's trace is not done again.
    """
    from jax._src.interpreters import mlir

    with swapped(mlir, "LoweringParameters", _unlike):
        yield


def _unlike(original: Any) -> Any:
    class Unlike(original):
        __slots__ = ()

        def __eq__(self, other: object) -> bool:
            return self is other

        __hash__ = object.__hash__

    return Unlike


@contextlib.contextmanager
def elsewhere(other: aim.Elsewhere) -> Iterator[None]:
    """What donatree lowers on this thread is lowered for other devices and compiled by `other`.

    What the user's code runs meanwhile runs here; see `aimed`. JAX lowers for a platform that it
    has no device of, with the devices that it has as stand-ins (`lowering_platforms`, the way of
    `jax.export`); the StableHLO is the same text as with the platform's own compile-only devices
    (measured on JAX 0.12 for a training step on 16 TPUs).
    """
    nobody = _Nobody()
    attach(nobody)  # the wrappers are to be there also where nobody watches
    try:
        with aim.at(other):
            yield
    finally:
        detach(nobody)


@contextlib.contextmanager
def aimed() -> Iterator[None]:
    """What JAX lowers and compiles inside is the program that donatree looks at.

    It goes to where `elsewhere` says, if that was said. What JAX runs while it traces the program
    does not.
    """
    if aim.platform() is None:
        yield
        return
    with aim.holding(), afresh():
        yield


def tell(method: str, *arguments: Any) -> None:
    """Call one method of every observer; only a `DonationError` may reach the program."""
    if getattr(_own, "unheard", False):
        return
    for observer in _observers:
        try:
            getattr(observer, method)(*arguments)
        except DonationError:
            raise
        except Exception as error:
            _blame(observer, method, error)


def _blame(observer: Observer, where: str, error: Exception) -> None:
    with contextlib.suppress(Exception):
        observer.fault(where, error)


def _install() -> None:
    from jax._src import traceback_util

    _gone.clear()
    traceback_util.register_exclusion(__file__)
    for module, path, wrap in _HOOKS:
        try:
            _replace(module, path, wrap)
        except (ImportError, AttributeError) as error:
            _gone[f"{module}.{path}"] = error


def _uninstall() -> None:
    while _originals:
        owner, name, original = _originals.pop()
        setattr(owner, name, original)


def _replace(module: str, path: str, wrap: Callable[[Any], Any]) -> None:
    *holders, name = path.split(".")
    owner: Any = importlib.import_module(module)
    for holder in holders:
        owner = getattr(owner, holder)
    original = getattr(owner, name)
    setattr(owner, name, wrap(original))
    _originals.append((owner, name, original))


def _wrap_disable_jit(original: Any) -> Any:
    @functools.wraps(original)
    def disable_jit(disable: bool = True) -> AbstractContextManager[None]:
        if disable:
            tell("disabled")
        return original(disable)

    return disable_jit


def _wrap_parse(original: Any) -> Any:
    @functools.wraps(original)
    def _parse_jit_arguments(fun: Any, *args: Any, **kwargs: Any) -> Any:
        info = original(fun, *args, **kwargs)
        tell("declared", fun, info)
        return info

    return _parse_jit_arguments


def _wrap_infer_params(original: Any) -> Any:
    @functools.wraps(original)
    def _infer_params(fun: Any, ji: Any, args: Any, kwargs: Any) -> Any:
        with aim.Tracing():
            result = original(fun, ji, args, kwargs)
        tell("requested", fun, ji, args, kwargs, result[0])
        return result

    return _infer_params


def _wrap_lower(original: Any) -> Any:
    @functools.wraps(original)
    def lower_sharding_computation(closed_jaxpr: Any, *args: Any, **kwargs: Any) -> Any:
        platform = aim.lowering_for()
        if platform is not None:
            kwargs["lowering_platforms"] = (platform,)
        computation = original(closed_jaxpr, *args, **kwargs)
        again = Lowering(original, (closed_jaxpr, *args), kwargs)
        tell("lowered", closed_jaxpr, computation, again)
        return computation

    return lower_sharding_computation


def _wrap_compile(original: Any) -> Any:
    @functools.wraps(original)
    def compile_computation(self: Any, *args: Any, **kwargs: Any) -> Any:
        start = time.monotonic()
        try:
            other = aim.compiler_of(self)
            if other is not None:
                executable = other.compile(self)
            else:
                executable = original(self, *args, **kwargs)
        except Exception as error:
            tell("compiled", self, None, error, time.monotonic() - start)
            raise
        tell("compiled", self, executable, None, time.monotonic() - start)
        return executable

    return compile_computation


_HOOKS: tuple[tuple[str, str, Callable[[Any], Any]], ...] = (
    ("jax", "disable_jit", _wrap_disable_jit),
    ("jax._src.api", "disable_jit", _wrap_disable_jit),
    ("jax._src.pjit", "_parse_jit_arguments", _wrap_parse),
    ("jax._src.pjit", "_infer_params", _wrap_infer_params),
    ("jax._src.interpreters.pxla", "lower_sharding_computation", _wrap_lower),
    ("jax._src.interpreters.pxla", "MeshComputation.compile", _wrap_compile),
)
