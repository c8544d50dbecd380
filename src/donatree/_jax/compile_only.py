"""Compiling for devices that are not there, with jaxlib alone."""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

OVERRIDES: tuple[tuple[str, str | bool], ...] = (
    # What the user's own flags say of dumps is about another folder.
    ("xla_dump_hlo_as_text", True),
    ("xla_dump_hlo_as_proto", False),
    ("xla_dump_hlo_pass_re", ""),
    ("xla_dump_hlo_module_re", ""),
)


def compile_for(
    devices: Sequence[Any],
    module: bytes,
    options: bytes,
    tupled: bool,
    folder: str,
    overrides: Sequence[tuple[str, Any]] = (),
) -> dict[str, int]:
    """Compiles a module for devices and dumps what the compiler makes of it.

    Args:
        devices: those that the program spans, in the order of its assignment.
        module: StableHLO as MLIR bytecode.
        options: ``CompileOptions``, serialised.
        tupled: whether the arguments are one tuple.
        folder: where the dump goes.
        overrides: further compiler options.

    Returns:
        XLA's totals, bytes per device.
    """
    import numpy as np
    from jaxlib import xla_client

    made: Any = xla_client.CompileOptions.ParseFromString(options)
    ids = np.array([device.id for device in devices])
    shape = (made.num_replicas, made.num_partitions)
    made.device_assignment = xla_client.DeviceAssignment.create(ids.reshape(shape))
    made.parameter_is_tupled_arguments = tupled
    ours = [("xla_dump_to", folder), *OVERRIDES, *overrides]
    kept = [each for each in made.env_option_overrides if each[0] not in dict(ours)]
    made.env_option_overrides = [*kept, *ours]
    library = _nvcc()
    if library is not None and devices[0].platform == "gpu":
        made.executable_build_options.debug_options.xla_gpu_cuda_data_dir = library
    client: Any = devices[0].client
    together = _device_list(tuple(devices))
    try:
        compiled = client.compile(module, together, made)
    except TypeError:  # since JAX 0.8 it takes a parsed module and no bytes
        compiled = client.compile(_parsed(module), together, made)
    found = compiled.get_compiled_memory_stats()
    names = [name for name in dir(found) if not name.startswith("_")]
    values = {name: getattr(found, name) for name in names}
    return {name: value for name, value in values.items() if isinstance(value, int)}


def prepare() -> None:
    """Imports what a compile needs, while there is nothing to compile yet."""
    import numpy as np  # noqa: F401

    with contextlib.suppress(ImportError, AttributeError):
        _context()


def _device_list(devices: tuple[Any, ...]) -> Any:
    from jaxlib import _jax  # pyright: ignore[reportAttributeAccessIssue]

    return _jax.DeviceList(devices)


def _context() -> Any:
    """A context that knows the dialects that JAX lowers to, as JAX makes one."""
    from jaxlib.mlir import ir
    from jaxlib.mlir._mlir_libs import _jax_mlir_ext  # pyright: ignore
    from jaxlib.mlir.dialects import chlo, mhlo, sdy, stablehlo

    registry = ir.DialectRegistry()
    _jax_mlir_ext.register_dialects(registry)
    context = ir.Context()
    context.append_dialect_registry(registry)
    context.load_all_available_dialects()
    mhlo.register_mhlo_dialect(context)
    others: list[Any] = [sdy, chlo, stablehlo]
    try:
        from jaxlib.mlir.dialects import mpmd  # since JAX 0.8

        others.append(mpmd)
    except ImportError:
        pass
    for dialect in others:
        dialect.register_dialect(context)
    return context


def _parsed(module: bytes) -> Any:
    from jaxlib.mlir import ir

    try:
        context = _context()
    except (ImportError, AttributeError):  # jaxlib's names have moved
        from jax._src.interpreters import mlir

        context = mlir.make_ir_context()
    with context, ir.Location.unknown(context):
        return ir.Module.parse(module)


def _nvcc() -> str | None:
    """The folder that NVIDIA's package has its PTX compiler in."""
    for package, below in (("nvidia.cuda_nvcc", "bin/ptxas"), ("nvidia.cu13", "bin/ptxas")):
        try:
            found = importlib.util.find_spec(package)
        except ImportError:
            continue
        for folder in (found and found.submodule_search_locations) or ():
            if (Path(folder) / below).is_file():
                return folder
    return None
