"""What JAX raises where it dispatches a call in C++, for calls that were kept on the Python path.

A program may look at the class and the text of an error, so they are those that it would have met.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from donatree._jax import buffers, hooks


def as_dispatched(error: BaseException, execute: Any, args: Sequence[Any]) -> BaseException:
    """The error that C++ would have raised in the place of `error`.

    C++ turns each status of the runtime into a `ValueError` with its text, where Python raises
    `JaxRuntimeError`; of a deleted argument it lets the runtime complain, up to JAX 0.10, where
    Python finds it first (JAX 0.5.3 to 0.12, measured).

    Args:
        error: what the Python path raised.
        execute: JAX's `ExecuteReplicated`.
        args: all arguments of the call, hoisted constants and pruned ones included.
    """
    import jax

    if isinstance(error, jax.errors.JaxRuntimeError):
        return ValueError(str(error))
    kept = [value for place, value in enumerate(args) if place in execute.kept_var_idx]
    arrays = [buffers.physical(each) for each in kept if buffers.is_array(each)]
    dead = any(each.is_deleted() for each in arrays)
    if not dead or len(arrays) < len(kept) or not runtime_complains_of_deleted():
        return error
    try:
        execute.xla_executable.execute_sharded(arrays)
    except Exception as said:
        return ValueError(str(said))
    return error


@cache
def runtime_complains_of_deleted() -> bool:
    """Whether a deleted argument of a call that is dispatched in C++ is left to the runtime.

    Tried out with a small array, once a process and after an error only. Up to JAX 0.10 it is.
    """
    return isinstance(error_of(dispatched_call()), ValueError)


def dispatched_call() -> Callable[[Any], Any]:
    """A jitted function that C++ dispatches by itself, for the array of `error_of`."""
    import jax

    def identity(array: Any) -> Any:
        return array

    with hooks.unheard():
        jitted = jax.jit(identity)
        for _ in range(2):  # from the second call on C++ has the executable
            jitted(_fresh())
    return jitted


def error_of(read: Callable[[Any], Any]) -> Exception | None:
    """What `read` raises of a small array that was donated; None where it raises nothing.

    Donated, because up to JAX 0.10 an array that was deleted by hand raises something else.
    """
    import jax

    with hooks.unheard():
        array = _fresh()
        jax.block_until_ready(jax.jit(lambda array: array + 1, donate_argnums=0)(array))
        if not array.is_deleted():  # under debug_nans nothing is donated
            return None
        try:
            read(array)
        except Exception as error:
            return error.with_traceback(None)
    return None


def _fresh() -> Any:
    import jax
    import numpy as np

    return jax.device_put(np.zeros(1, np.float32), jax.local_devices()[0])
