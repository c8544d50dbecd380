"""The calls of one compiled function, seen from inside JAX, for as long as somebody looks.

JAX dispatches a compiled function in C++ as soon as it may. It asks (`pjit._get_fastpath_data`,
`MeshExecutable.create_cpp_call`) whether `executable.unsafe_call` is an `ExecuteReplicated`; while
it is not, each call comes through Python (JAX 0.5.3 to 0.12, measured). So a `WatchedCall` in its
place sees every call with its flat arguments and results, and once it steps out the next call
finds JAX as if nobody had looked: no wrapper remains, neither round the function nor inside.

JAX remembers the answer no, and that is taken back: a `Compiled` object keeps it in `_call`, a
jitted function in the C++ cache that all jits of one function and one set of options share. An
error that a looked-at call raises is the one that C++ would have raised: see `dispatch`.
"""

from __future__ import annotations

import inspect
import itertools
import sys
import weakref
from collections.abc import Iterator, Mapping, Sequence
from types import FrameType
from typing import Any, Protocol

from donatree._jax import dispatch, frames


class Visit(Protocol):
    """One call, from just before it runs to its end."""

    def done(self, results: Sequence[Any]) -> None:
        """The call returned `results`, one array a slot."""

    def failed(self, error: BaseException) -> None:
        """The call raised; `error` goes on to the program."""


class Watcher(Protocol):
    """Somebody who looks at the calls of one executable."""

    @property
    def is_through(self) -> bool:
        """Whether no further call is wanted."""
        ...

    @property
    def dispatched(self) -> dict[int, bool]:
        """By kind of call, whether JAX by itself would dispatch it in C++; kept for `WatchedCall`.

        It outlives the executable, of which JAX 0.5 makes a new one at every call that it is asked.
        """
        ...

    @property
    def stepped_out(self) -> bool:
        """Whether JAX has its own function back; set by `WatchedCall`."""
        ...

    @stepped_out.setter
    def stepped_out(self, value: bool) -> None: ...

    def begin(self, arguments: Sequence[Any], frame: FrameType) -> Visit | None:
        """A call is about to run.

        Args:
            arguments: its flat arguments as JAX got them, those that were pruned included,
                without the constants that JAX hoisted. Not to be kept.
            frame: a frame below the call. Not to be kept.
        """

    def fault(self, where: str, error: BaseException) -> None:
        """The watcher itself failed; the program goes on."""


class WatchedCall:
    """Stands where JAX keeps the function that runs an executable.

    Args:
        executable: JAX's `MeshExecutable`.
        constants: how many constants JAX passes before the arguments.
        watcher: who looks.
    """

    __slots__ = ("_constants", "_executable", "_original", "_watcher")

    def __init__(self, executable: Any, constants: int, watcher: Watcher) -> None:
        self._original = executable.unsafe_call
        self._executable = weakref.ref(executable)
        self._constants = constants
        self._watcher = watcher

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)

    def __call__(self, *args: Any) -> Any:
        caller = sys._getframe(1)
        # Each `Compiled` is dispatched from its own second call on, jitted functions share theirs.
        compiled = _compiled(caller)
        kind = 0 if compiled is None else id(compiled)
        del compiled
        visit = None
        leaving = self._watcher.is_through
        if not leaving:
            try:
                visit = self._watcher.begin(args[self._constants :], caller)
            except Exception as error:
                self._blame("call", error)
        results: Any = None
        failure: BaseException | None = None
        try:
            results = self._original(*args)
        except BaseException as error:
            failure = error
        if failure is not None:
            try:
                failure = self._failed(visit, kind, failure, args)
                raise failure
            finally:
                failure = None  # it holds this frame
        dispatched = self._watcher.dispatched.setdefault(kind, not self._has_effects())
        if visit is not None:
            try:
                visit.done(results)
            except Exception as error:
                self._blame("call", error)
        if leaving or (self._watcher.is_through and not dispatched):
            self._give_back(caller)
        elif self._watcher.is_through:
            _forget_the_answer(caller)
        return results

    def _failed(
        self, visit: Visit | None, kind: int, failure: BaseException, args: Sequence[Any]
    ) -> BaseException:
        try:
            # Where the first call fails C++ gives up, and Python's errors are the program's own.
            if self._watcher.dispatched.setdefault(kind, False):
                failure = dispatch.as_dispatched(failure, self._original, args)
                if self._watcher.is_through:
                    _forget_the_answer(sys._getframe(2))
            if visit is not None:
                visit.failed(failure)
        except Exception as own:
            self._blame("failed call", own)
        return failure

    def _give_back(self, frame: FrameType) -> None:
        """Gives JAX its own function back, in a call that has succeeded.

        JAX looks at it when this call returns, and dispatches the next one in C++. It was made to
        ask again at the call before.
        """
        executable = self._executable()
        if executable is not None and executable._unsafe_call is self:
            executable._unsafe_call = self._original
        self._watcher.stepped_out = True
        compiled = _compiled(frame)
        if compiled is not None:
            compiled._call = None

    def _has_effects(self) -> bool:
        """Whether JAX would not have dispatched the call in C++ anyway."""
        original = self._original
        return bool(original.ordered_effects or original.has_unordered_effects)

    def _blame(self, where: str, error: BaseException) -> None:
        try:
            self._watcher.fault(where, error)
        except Exception:
            return


def _compiled(frame: FrameType | None) -> Any:
    """The `Compiled` object whose call is running; None where a jitted function was called."""
    for each in _below_the_user(frame):
        if each.f_code.co_qualname == "Compiled.__call__":
            return frames.local(each, "self")
    return None


def _below_the_user(frame: FrameType | None) -> Iterator[FrameType]:
    """The library frames that run a call, innermost first."""
    return itertools.takewhile(
        lambda each: not frames.is_user_file(each.f_code.co_filename), frames.outwards(frame)
    )


def watch(executable: Any, constants: int, watcher: Watcher) -> WatchedCall:
    """Lets `watcher` see the calls of an executable until it has seen enough.

    Args:
        executable: JAX's `MeshExecutable`.
        constants: how many constants JAX passes before the arguments.
        watcher: who looks.
    """
    from jax._src import traceback_util

    traceback_util.register_exclusion(__file__)
    call = WatchedCall(executable, constants, watcher)
    executable._unsafe_call = call
    return call


def _forget_the_answer(frame: FrameType | None) -> None:
    """Lets JAX ask again whether the running call may be dispatched in C++."""
    compiled = _compiled(frame)
    if compiled is not None:
        compiled._call = None
        return
    for each in _below_the_user(frame):
        if each.f_code.co_qualname == "_cpp_pjit.<locals>.cache_miss":
            from jax._src import pjit

            # Another jit of the same function: it shares the cache, which is all that is needed.
            pjit._cpp_pjit(frames.local(each, "fun"), frames.local(each, "jit_info"))._clear_cache()


def constants_before(computation: Any) -> int:
    """How many constants JAX passes before the arguments of a `MeshComputation` (0.7 on)."""
    return len(getattr(computation, "const_args", None) or ())


def callers_arguments(frame: FrameType) -> tuple[Sequence[Any], Mapping[str, Any]] | None:
    """The objects that the user's own call passed, from the frames that are running it.

    They are the ``*args, **kwargs`` of the outermost library frame below the user's: JAX's own, or
    that of `nnx.jit` or `equinox.filter_jit` where the user calls one of these.

    Args:
        frame: a frame below the call.

    Returns:
        The positional and the keyword arguments; not to be kept.
    """
    found = None
    for each in _below_the_user(frame):
        code = each.f_code
        if code.co_flags & inspect.CO_VARARGS and code.co_flags & inspect.CO_VARKEYWORDS:
            star = code.co_argcount + code.co_kwonlyargcount
            found = (each, *code.co_varnames[star : star + 2])
    if found is None:
        return None
    outermost, values, words = found
    return frames.local(outermost, values) or (), frames.local(outermost, words) or {}


def lists_of_the_call(frame: FrameType) -> list[Any]:
    """The lists, tuples and dicts in which the frames that run a call hold its arguments.

    Args:
        frame: a frame below the call.

    Returns:
        Not to be kept.
    """
    found: dict[int, Any] = {}
    for each in _below_the_user(frame):
        for value in frames.locals_of(each).values():
            if type(value) in (list, tuple, dict):
                found[id(value)] = value
    return list(found.values())


def shardings_by_leaf(computation: Any, executable: Any) -> dict[int, Any]:
    """The sharding in which the executable takes each kept leaf, by flat index."""
    constants = constants_before(computation)
    kept = sorted(computation.compile_args["kept_var_idx"])
    found = executable._in_shardings or ()
    return {index - constants: sharding for index, sharding in zip(kept, found, strict=False)}


def is_elsewhere(array: Any, sharding: Any) -> bool:
    """Whether an array has to be moved before an executable takes it in `sharding`."""
    try:
        return not array.sharding.is_equivalent_to(sharding, array.ndim)
    except Exception:
        return False  # a sharding that cannot be compared proves nothing


_TRANSFORMS = {
    "value_and_grad.<locals>.value_and_grad_f": "value_and_grad",
    "grad.<locals>.grad_f": "grad",
    "vmap.<locals>.vmap_f": "vmap",
    "jacfwd.<locals>.jacfun": "jacfwd",
    "jacrev.<locals>.jacfun": "jacrev",
    "vjp": "vjp",
    "jvp": "jvp",
    "linearize": "linearize",
}


def transform_around(frame: FrameType) -> str | None:
    """The name of the outermost transform of JAX that runs the call eagerly; None where none does.

    Known by the qualified names of the functions of `jax._src.api` on the stack, which are the
    same on JAX 0.5.3 to 0.12.
    """
    found = None
    for each in frames.outwards(frame):
        if each.f_globals.get("__name__") == "jax._src.api":
            found = _TRANSFORMS.get(each.f_code.co_qualname, found)
    return found
