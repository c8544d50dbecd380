"""The environment of the processes that stand in for a target and compile for it."""

from __future__ import annotations

import os
from collections.abc import Mapping

from donatree.targets.names import Wanted

DEVICE_COUNT = "--xla_force_host_platform_device_count"

_FORCED = {
    # Nothing runs there: JAX must find no other platform to wait for.
    "JAX_PLATFORMS": "cpu",
    # For a compile without a client it can be written and not read.
    "JAX_ENABLE_COMPILATION_CACHE": "false",
}

_TPU_FORCED = {
    # Libtpu lets one process at a time in; a second one fails on its lock file.
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
    # JAX sets it where there is no TPU; without it old versions ask a server that is not there.
    "TPU_SKIP_MDS_QUERY": "1",
}

_TPU_DEFAULTS = {
    # Any valid value silences lines on standard error, and changes nothing in what is compiled.
    "TPU_ACCELERATOR_TYPE": "v5litepod-4",
    "TPU_WORKER_HOSTNAMES": "localhost",
    # Otherwise each process leaves two log files in the folder for temporary files.
    "TPU_LOG_DIR": "disabled",
    "TPU_STDERR_LOG_LEVEL": "2",
}

_CUDA_FORCED = {
    # No driver and no GPU is needed to compile; JAX up to 0.9.0 asks for them.
    "JAX_SKIP_CUDA_CONSTRAINTS_CHECK": "1",
}

_DROPPED = (
    # What the user set is in the options of each program. XLA ends a process for a flag that it
    # does not know, and no two of XLA's libraries know the same ones.
    "XLA_FLAGS",
    "JAX_COMPILATION_CACHE_DIR",
    "PYTHONSTARTUP",
    "PYTHONINSPECT",
)


def compile_environment(
    wanted: Wanted, base: Mapping[str, str] | None = None, temporary: str | None = None
) -> dict[str, str]:
    """The environment of the process that compiles for a target.

    Args:
        wanted: the target.
        base: what to start from; the environment of this process where it is None.
        temporary: the folder for temporary files there.

    Returns:
        The whole environment.

    Example:
        >>> from donatree.targets.names import read_target
        >>> compile_environment(read_target("cuda:h100"), {"XLA_FLAGS": "--xla_cpu_x"})
        ... # doctest: +NORMALIZE_WHITESPACE
        {'JAX_PLATFORMS': 'cpu', 'JAX_ENABLE_COMPILATION_CACHE': 'false',
         'JAX_SKIP_CUDA_CONSTRAINTS_CHECK': '1'}
    """
    made = dict(os.environ if base is None else base)
    for name in _DROPPED:
        made.pop(name, None)
    made.update(_FORCED)
    if wanted.platform == "tpu":
        made = {**_TPU_DEFAULTS, **made, **_TPU_FORCED}
    elif wanted.platform == "gpu":
        made.update(_CUDA_FORCED)
    if "PYTHONPATH" in made:  # the process starts in a folder of its own
        folders = (os.path.abspath(each) for each in made["PYTHONPATH"].split(os.pathsep) if each)
        made["PYTHONPATH"] = os.pathsep.join(folders)
    if temporary is not None:
        made["TMPDIR"] = temporary
    return made


def stand_in_environment(wanted: Wanted, base: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a process that has as many virtual CPU devices as a target has devices.

    Args:
        wanted: the target.
        base: what to start from; the environment of this process where it is None.

    Returns:
        The whole environment; the other flags in `XLA_FLAGS` are kept.

    Example:
        >>> from donatree.targets.names import read_target
        >>> stand_in_environment(read_target("host:8"), {"XLA_FLAGS": "--xla_cpu_x"})
        ... # doctest: +NORMALIZE_WHITESPACE
        {'XLA_FLAGS': '--xla_cpu_x --xla_force_host_platform_device_count=8',
         'JAX_PLATFORMS': 'cpu', 'JAX_SKIP_CUDA_CONSTRAINTS_CHECK': '1',
         'JAX_NUM_CPU_DEVICES': '8'}
    """
    made = dict(os.environ if base is None else base)
    kept = [
        flag for flag in made.get("XLA_FLAGS", "").split() if flag.partition("=")[0] != DEVICE_COUNT
    ]
    made["XLA_FLAGS"] = " ".join([*kept, f"{DEVICE_COUNT}={wanted.devices}"])
    made["JAX_PLATFORMS"] = "cpu"
    made.setdefault("JAX_SKIP_CUDA_CONSTRAINTS_CHECK", "1")  # or JAX up to 0.9.0 logs an error
    # It counts for more than the flag, which the user's code may set.
    made["JAX_NUM_CPU_DEVICES"] = str(wanted.devices)
    return made
