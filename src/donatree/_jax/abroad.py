"""A lowered program made ready for the process that compiles it for other hardware.

What JAX would give XLA is taken at the last step, `compiler.compile_or_get_cached(backend,
computation, devices, compile_options, ...)`, whose leading parameters are the same on JAX 0.5.3 to
0.12 (measured): the StableHLO module, XLA's `CompileOptions`, and the devices in the order of the
assignment. Nothing is compiled here.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from donatree._jax.swapped import swapped
from donatree.errors import TargetError
from donatree.shipment import Shipment

_CALLBACKS = (b"xla_python", b"xla_ffi_python", b"xla_ffi_partitioned_python")
_PLACEMENT = b"annotate_device_placement"

CALLS_BACK = "it calls back into Python, which JAX compiles for a GPU only where there is one"


class _Taken(BaseException):  # no handler of JAX's is to stop it
    def __init__(self, module: Any, options: Any, devices: Any) -> None:
        self.module, self.options, self.devices = module, options, devices

    @classmethod
    def now(cls, _: Any, module: Any, devices: Any, options: Any, *more: Any, **rest: Any) -> Any:
        """Stands for `compile_or_get_cached`."""
        del more, rest
        raise cls(module, options, devices)


def platform_of(target: str) -> str:
    """What JAX lowers for, by the platform of the devices: NVIDIA's have two names in JAX."""
    return "cuda" if target == "gpu" else target


def shipment_of(computation: Any, platform: str) -> Shipment:
    """What a compile child needs of a program.

    Args:
        computation: JAX's `MeshComputation`, lowered for `platform`.
        platform: ``tpu`` or ``cuda``.
    """
    from jax._src import compiler, dispatch
    from jax._src.interpreters import mlir

    details = computation.compile_args
    # On this thread the compile ends at its last step.
    with swapped(compiler, "compile_or_get_cached", lambda _: _Taken.now):
        try:
            _compile_of(computation)(computation)
        except _Taken as taken:
            found = taken
        else:
            raise RuntimeError("JAX compiled without `compiler.compile_or_get_cached`")
    module = mlir.module_to_bytecode(found.module)
    count = len(details["global_in_avals"])
    return Shipment(
        name=str(getattr(computation, "_name", "") or "main"),
        module=module,
        options=found.options.SerializeAsString(),
        devices=_places(found.devices),
        tupled=bool(dispatch.should_tuple_args(count, platform)),
        memory_kinds=_memory_kinds(details, found.devices, module),
        callbacks=bool(details.get("host_callbacks")) or any(n in module for n in _CALLBACKS),
    )


def _compile_of(computation: Any) -> Any:
    """JAX's own method, whether or not somebody watches."""
    method = type(computation).compile
    return getattr(method, "__wrapped__", method)


def _handle(*args: Any, **kwargs: Any) -> object:
    del args, kwargs
    return object()


class _Backend:
    """Stands for the client of a platform that is not here, where a lowering asks for it.

    Callbacks into Python do, and Pallas on a TPU, which asks how old libtpu is (measured: JAX 0.7.2
    to 0.12). For a TPU a callback is a handle that XLA's compiler never sees; for a GPU there is no
    compile without the client's own.
    """

    def __init__(self, platform: str) -> None:
        self.platform = platform
        self.platform_version = "stands for a libtpu built in 2100 (4102444800)"

    def __getattr__(self, name: str) -> Any:
        if self.platform == "tpu" and name == "make_python_callback_from_host_send_and_recv":
            return _handle
        raise TargetError(CALLS_BACK)


@contextlib.contextmanager
def standing_in(platform: str) -> Iterator[None]:
    """On this thread a lowering for `platform` finds a client of it.

    Args:
        platform: what JAX lowers for, ``tpu`` or ``cuda``.
    """
    from jax._src.interpreters import mlir

    def make(original: Any) -> Any:
        def get_backend(self: Any, *args: Any, **kwargs: Any) -> Any:
            if tuple(self.platforms) == (platform,):
                return _Backend(platform)
            return original(self, *args, **kwargs)

        return get_backend

    with swapped(mlir.ModuleContext, "get_backend", make):
        yield


def _places(devices: Any) -> tuple[int, ...]:
    """The devices of an assignment as places on a target: the first one used is 0."""
    numbers = [int(device.id) for device in devices.flat]
    rank = {number: place for place, number in enumerate(sorted(numbers))}
    return tuple(rank[number] for number in numbers)


def _memory_kinds(details: Any, devices: Any, module: bytes) -> tuple[str, ...]:
    """The memory kinds that are not the default one of the devices here."""
    usual = None
    with contextlib.suppress(Exception):  # not every backend has memories
        usual = devices.flat[0].default_memory().kind
    shardings = (*details["in_shardings"], *details["out_shardings"])
    kinds = {getattr(each, "memory_kind", None) for each in shardings} - {None, usual, "device"}
    if _PLACEMENT in module and not kinds:
        kinds.add("another memory inside of the function")
    return tuple(sorted(map(str, kinds)))
