"""Why a program could not be compiled for a target, each in one line."""

from __future__ import annotations

import re
import signal
from collections.abc import Sequence

from donatree.errors import TargetError


class NotCompiled(TargetError):  # noqa: N818, what is told is why
    """A program could not be compiled for a target.

    Attributes:
        log: the last lines that the compiler wrote on standard error.
    """

    def __init__(self, message: str, log: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.log = log


class NotInstalled(NotCompiled):
    """A package that compiles for the target is not installed; the text says what to install."""


_CRASHES = {
    ("gpu", "SIGFPE"): "known for a description without `threads_per_warp` or `block_dim_limit_x`",
    ("gpu", "SIGSEGV"): "known for loops where there is no PTX compiler",
}


def crashed(platform: str, code: int, log: tuple[str, ...]) -> NotCompiled:
    """The error for a compiler that ended without an answer.

    Args:
        platform: ``tpu`` or ``gpu``.
        code: its exit code, negative for a signal.
        log: the last lines of its standard error.
    """
    if code >= 0:
        return NotCompiled(f"XLA's compiler ended with exit code {code} and no answer", log)
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    if name == "SIGKILL":
        return NotCompiled(
            "XLA's compiler was killed by SIGKILL, as by a system that is out of memory", log
        )
    known = _CRASHES.get((platform, name))
    fatal = re.search(r"^F\d{4} \S+ +\d+ ([^\]]+\] .*)", "\n".join(log), re.M)
    said = f": {fatal[1][:300]}" if fatal else ""
    return NotCompiled(
        f"XLA's compiler crashed by {name}{f', {known}' if known else ''}{said}", log
    )


def refused(text: str) -> str | None:
    """XLA's refusal for memory in one line; None where the text says something else."""
    if "RESOURCE_EXHAUSTED" not in text or "shared memory" in text.lower():
        return None
    start = text.index("RESOURCE_EXHAUSTED")
    return " ".join(text[start:].split("\n", 1)[0].split())


def explained(name: str, text: str, log: Sequence[str] = ()) -> str:
    """An error of XLA's in one line, with what is known of it.

    Args:
        name: the target as the user wrote it.
        text: the error.
        log: the last lines of standard error.
    """
    unknown = re.search(r'has no field named "(\w+)"', "\n".join(log))
    if "GpuTargetConfigProto" in text and unknown:
        return f"this XLA knows no field `{unknown[1]}` in the description of `{name}`"
    line = " ".join(text.strip().split("\n", 1)[0].split())[:400]
    for known, meaning in _KNOWN:
        if known in text:
            return f"{meaning.format(name=name)}: {line}"
    return line


_KNOWN = (
    ("No PTX compilation provider", "there is no PTX compiler; `donatree[cuda]` brings one"),
    ("libdevice not found", "NVIDIA's libdevice is missing; `donatree[cuda]` brings it"),
    ("Invalid TPU external name", "this libtpu does not know the TPU of `{name}`"),
    ("chips_per_host_bounds", "there is no `{name}`: libtpu refuses the shape"),
    ("TPU topology", "there is no `{name}`: libtpu refuses the shape"),
    ("Unimplemented DMA", "a donated array would have to change its memory kind in place"),
    ("Shared memory size limit", "the GPU of `{name}` has too little shared memory"),
    ("deviceless compilation", "this JAX compiles no matrix product for a GPU that is not there"),
    ("libtpu multi-process lockfile", "another process holds libtpu"),
    ("GpuTargetConfigProto", "XLA cannot read the description of `{name}`"),
)
