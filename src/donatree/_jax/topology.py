"""Devices that are not there: JAX's compile-only devices, and the libraries that have them.

JAX is not imported, which takes longer than the compile of a small program: jaxlib loads the
compilers, with the calls that `jax.experimental.topologies` makes after that import. Where
jaxlib's names have moved, it is asked.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.util
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any


class NoLibrary(Exception):  # noqa: N818, what is told is what is missing
    """The package that compiles for the platform is not installed."""


def tpu_devices(topology: str, keywords: Mapping[str, Any]) -> list[Any]:
    """The compile-only devices of a TPU topology, in the order of `jax.devices()`.

    Args:
        topology: ``v5e:2x2``.
        keywords: ``chip_config_name``, ``chips_per_host_bounds``.

    Raises:
        NoLibrary: libtpu is not installed.
    """
    library = _libtpu()
    if library is None:
        raise NoLibrary("libtpu")
    devices: Any = None
    with contextlib.suppress(AttributeError, ImportError, TypeError):  # names have moved
        devices = _tpu_devices_of(library, topology, keywords)
    if devices is None:
        from jax.experimental import topologies

        devices = topologies.get_topology_desc(
            platform="tpu", topology_name=topology, **keywords
        ).devices
    return sorted(devices, key=_place)


def _tpu_devices_of(library: str, topology: str, keywords: Mapping[str, Any]) -> list[Any]:
    from jaxlib import xla_client

    make = xla_client.make_tfrt_tpu_c_api_device_topology
    if not xla_client.pjrt_plugin_loaded("tpu"):
        xla_client.load_pjrt_plugin_dynamically("tpu", library)
    if not xla_client.pjrt_plugin_initialized("tpu"):
        xla_client.initialize_pjrt_plugin("tpu")
    return make(topology, **keywords)._make_compile_only_devices()


def gpu_devices(topology: str, description: str, with_jax: bool = False) -> list[Any]:
    """The compile-only devices of a GPU topology, in the order of `jax.devices()`.

    Args:
        topology: slices x hosts x GPUs of a host, ``1x1x8``.
        description: of the GPU, a ``GpuTargetConfigProto`` in text.
        with_jax: whether to let JAX load its plugin.

    Raises:
        NoLibrary: JAX's plugin for CUDA is not installed.
    """
    keywords = {"topology": topology, "target_config": description}
    plugin = _cuda_plugin()
    if plugin is None:
        raise NoLibrary("jax-cuda12-plugin")
    devices: Any = None
    if not with_jax:
        with contextlib.suppress(AttributeError, ImportError, TypeError):  # names have moved
            devices = _gpu_devices_of(*plugin, keywords)
    if devices is None:
        from jax.experimental import topologies

        try:
            devices = topologies.get_topology_desc(
                platform="cuda", topology_name="donatree", **keywords
            ).devices
        except NotImplementedError as error:
            raise NoLibrary("jax-cuda12-plugin") from error
    return sorted(devices, key=_place)


def _place(device: Any) -> tuple[int, int]:
    """As a client sorts the devices of several processes."""
    return device.process_index, device.id


def _gpu_devices_of(library: str, extension: Any, keywords: Mapping[str, Any]) -> list[Any]:
    """Loads the plugin as its `initialize` does, with the custom calls that jaxlib knows."""
    from jaxlib import xla_client

    # Whatever may lack comes first: a plugin that was loaded here JAX cannot load again.
    types = getattr(extension, "ffi_types", dict)()
    calls = [(name, call, 1) for name, call in getattr(extension, "ffi_handlers", dict)().items()]
    batched: list[str] = []
    for part in ("gpu_triton", "gpu_rnn", "gpu_linalg", "gpu_prng", "gpu_solver", "gpu_sparse"):
        module = importlib.import_module(f"jaxlib.{part}")  # the first two register themselves
        calls += getattr(module, "registrations", dict)().get("CUDA", [])
        batched += getattr(module, "batch_partitionable_targets", list)()
    register = extension.register_custom_call_target
    batch = getattr(xla_client, "register_custom_call_as_batch_partitionable", None)
    make = xla_client.make_c_api_device_topology
    c_api = xla_client.load_pjrt_plugin_dynamically("cuda", library)
    xla_client.register_custom_call_handler("CUDA", functools.partial(register, c_api))
    if types:
        own = functools.partial(extension.register_custom_type, c_api)
        xla_client.register_custom_type_handler("CUDA", own)
    for name, value in types.items():
        xla_client.register_custom_type(name, value, platform="CUDA")
    for name, value, version in calls:
        xla_client.register_custom_call_target(name, value, platform="CUDA", api_version=version)
    if batch is not None:
        for name in batched:
            batch(name)
            batch(name, c_api)
    if not xla_client.pjrt_plugin_initialized("cuda"):
        xla_client.initialize_pjrt_plugin("cuda")
    return make(c_api, "donatree", **keywords)._make_compile_only_devices()


def _cuda_plugin() -> tuple[str, Any] | None:
    """The file of JAX's plugin for CUDA, and the module that registers custom calls in it."""
    for number in ("13", "12"):
        try:
            found = importlib.util.find_spec(f"jax_plugins.xla_cuda{number}")
            extension = importlib.import_module(f"jax_cuda{number}_plugin.cuda_plugin_extension")
        except ImportError:
            continue
        library = found and found.origin and Path(found.origin).parent / "xla_cuda_plugin.so"
        if library and library.is_file():
            return str(library), extension
    return None


def _libtpu() -> str | None:
    named = os.environ.get("TPU_LIBRARY_PATH")
    if named and os.path.isfile(named):
        return named
    found = importlib.util.find_spec("libtpu")
    if found is None or found.origin is None:
        return None
    library = Path(found.origin).parent / "libtpu.so"
    return str(library) if library.is_file() else None
