"""The packages that compile for a target: what is installed, and what to install."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import sys
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

INSTALL = {"tpu": "pip install 'donatree[tpu]'", "gpu": "pip install 'donatree[cuda]'"}

_OLDEST = {"tpu": (0, 6, 2), "gpu": (0, 7, 2)}
_COMPILER = {"tpu": "XLA's TPU compiler", "gpu": "XLA's GPU compiler"}
_PLUGINS = ("jax-cuda13-plugin", "jax-cuda12-plugin")
_AUTOTUNES_WITHOUT_DEVICE = (0, 9)
_WHOLE_STATISTICS = (0, 0, 42)
_YOUNG_STATISTICS = frozenset(
    {"total_allocation_bytes", "indefinite_allocations", "peak_unpadded_heap_bytes"}
)


def version(package: str) -> str | None:
    """The version of an installed package; None where it is not installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def plugin() -> str | None:
    """The installed plugin of JAX for CUDA; None where there is none."""
    return next((name for name in _PLUGINS if version(name) is not None), None)


def install(platform: str) -> str:
    """The sentence that says what to install.

    Args:
        platform: ``tpu`` or ``gpu``.
    """
    return f"{_COMPILER[platform]} is not installed: `{INSTALL[platform]}` brings it"


def why_not(platform: str) -> str | None:
    """Why nothing can be compiled for a platform from here, in one line; None where it can.

    Args:
        platform: ``tpu``, ``gpu`` or ``cpu``.
    """
    jax = version("jax")
    if jax is None and importlib.util.find_spec("jax") is None:
        return "JAX is not installed"
    if platform == "cpu":
        return None
    if sys.platform != "linux":
        return f"{_COMPILER[platform]} is made for Linux only"
    if jax is not None and _numbers(jax) < _OLDEST[platform]:
        oldest = ".".join(map(str, _OLDEST[platform]))
        return f"it takes JAX {oldest} or newer, and {jax} is installed"
    if platform == "tpu":
        missing = version("libtpu") is None and importlib.util.find_spec("libtpu") is None
        return install("tpu") if missing and not os.environ.get("TPU_LIBRARY_PATH") else None
    name = plugin()
    if name is None:
        return install("gpu")
    found = version(name)
    if jax is not None and found != jax:
        return f"{name} {found} does not fit JAX {jax}: `{INSTALL['gpu']}` brings the one that does"
    return None


def notes(platform: str) -> tuple[str, ...]:
    """What is to be known of compiles with the installed versions, a line each.

    Args:
        platform: ``tpu``, ``gpu`` or ``cpu``.
    """
    if platform == "cpu" or why_not(platform) is not None:
        return ()
    jax, said = version("jax") or "", []
    if platform == "tpu":
        wanted, found = _pinned("libtpu"), version("libtpu")
        if os.environ.get("TPU_LIBRARY_PATH"):
            said.append("`TPU_LIBRARY_PATH` is set: its libtpu compiles, whatever its version is")
        elif wanted and found and not _fits(found, wanted):
            said.append(f"JAX {jax} asks for libtpu {wanted}, and {found} is installed")
        if found and _numbers(found) < _WHOLE_STATISTICS:
            said.append(f"libtpu {found} gives no total of the memory that it allocates")
    else:
        if _needs_no_autotuning():
            said.append(f"JAX {jax} compiles for a GPU that is not there without autotuning only")
        if ptx_compiler() is None:
            old = "; JAX 0.8 compiles nothing without it" if _needs_no_autotuning() else ""
            said.append(f"there is no PTX compiler: `--full` does not run to its end{old}")
    return tuple(said)


def ptx_compiler() -> str | None:
    """Where the PTX compiler is from; None where there is none.

    It is not needed for what is read by default: code is generated afterwards.
    """
    for package in ("nvidia-cuda-nvcc-cu12", "nvidia-cuda-nvcc"):
        found = version(package)
        if found is not None:
            return f"{package} {found}"
    found = shutil.which("ptxas")
    if found is not None:
        return found
    homes = (os.environ.get("CUDA_HOME"), os.environ.get("CUDA_ROOT"), "/usr/local/cuda")
    files = (Path(home) / "bin" / "ptxas" for home in homes if home)
    return next((str(file) for file in files if file.is_file()), None)


def overrides(platform: str, full: bool) -> list[list[object]]:
    """Compiler options beside the program's own, name and value each.

    Without autotuning XLA's GPU compiler needs a third of the time for its passes, where there is a
    PTX compiler. There is no GPU to measure on, so it changes nothing that is read: totals,
    verdicts and copies of 20 programs and of a decoder's step are the same (JAX 0.12.0.1).

    Args:
        platform: ``tpu`` or ``gpu``.
        full: whether the compile runs to its end, as the program's own would.
    """
    if platform == "gpu" and (not full or _needs_no_autotuning()):
        return [["xla_gpu_autotune_level", 0]]
    return []


def _needs_no_autotuning() -> bool:
    """JAX before 0.9 looks up measurements of matrix products that no GPU was there to make."""
    jax = version("jax")
    return jax is not None and _numbers(jax) < _AUTOTUNES_WITHOUT_DEVICE


def trusted(platform: str, statistics: Mapping[str, int] | None) -> dict[str, int] | None:
    """XLA's totals without those that the installed libtpu does not know and fills with rubbish."""
    if statistics is None:
        return None
    found = version("libtpu")
    named = os.environ.get("TPU_LIBRARY_PATH")
    if platform == "tpu" and (named or not found or _numbers(found) < _WHOLE_STATISTICS):
        return {name: n for name, n in statistics.items() if name not in _YOUNG_STATISTICS}
    return dict(statistics)


def _pinned(package: str) -> str | None:
    """The version of a package that the installed JAX's own extra asks for, `0.0.50.*`."""
    try:
        needed = metadata.requires("jax") or []
    except metadata.PackageNotFoundError:
        return None
    found = [re.match(rf"{package}\s*==\s*([\w.*]+)", each) for each in needed]
    return next((each[1] for each in found if each), None)


def _fits(found: str, wanted: str) -> bool:
    start = wanted.removesuffix("*")
    return f"{found}.".startswith(start) if start != wanted else found == wanted


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(each) for each in re.findall(r"\d+", text)[:3])
