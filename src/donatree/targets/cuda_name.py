"""Names of NVIDIA GPUs: ``cuda:h100``, ``cuda:h100:1x1x8``, ``cuda:FILE``."""

from __future__ import annotations

import difflib
import re
from pathlib import Path

from donatree.errors import TargetError
from donatree.targets.description import read_description
from donatree.targets.gpus import GPUS
from donatree.targets.shape import devices_of, either, read_shape, short
from donatree.targets.wanted import Wanted

EXAMPLES = ("cuda:h100", "cuda:h100:1x1x8")
LARGEST_FILE = 1_000_000


def read_cuda(name: str, rest: str) -> Wanted:
    """Reads what stands after ``cuda:``.

    One number for a shape is that many GPUs of one host. Two could be hosts or slices, and are
    refused.

    Args:
        name: the whole name.
        rest: a GPU or a file, and a shape: slices x hosts x GPUs of a host.

    Raises:
        TargetError: one line that says what to write.

    Example:
        >>> read_cuda("cuda:h100:8", "h100:8").topology
        '1x1x8'
    """
    model, _, shape = (part.strip() for part in rest.rpartition(":"))
    if not model or not re.fullmatch(r"[0-9x]+", shape, re.ASCII):
        model, shape = rest.removesuffix(":"), "1x1x1"
    numbers = read_shape(name, shape, EXAMPLES)
    if len(numbers) == 1:
        numbers = (1, 1, *numbers)
    if len(numbers) != 3:
        raise TargetError(
            f"`{short(name)}` is not slices x hosts x GPUs of a host; write {either(EXAMPLES)}"
        )
    devices = devices_of(name, numbers)
    gpu = GPUS.get(model.lower())
    if gpu is not None:
        return Wanted(
            name=name,
            platform="gpu",
            model=gpu.name,
            shape=numbers,
            devices=devices,
            memory=gpu.memory,
            memory_source=gpu.memory_source,
            kind=gpu.description,
            description=gpu.text(),
        )
    found = read_description(_text(name, model), model)
    return Wanted(
        name=name,
        platform="gpu",
        model=model,
        shape=numbers,
        devices=devices,
        memory=found.memory,
        memory_source=f"`device_memory_size` of {model}" if found.memory else None,
        kind=found.kind,
        description=found.text,
    )


def _text(name: str, model: str) -> str:
    if not model:
        raise TargetError(f"`{short(name)}` names no GPU; there are {', '.join(GPUS)}")
    try:
        file = Path(model).expanduser()
        if file.is_file() and file.stat().st_size <= LARGEST_FILE:
            return file.read_text("utf-8")
        what = "it is too large" if file.is_file() else "there is no such file"
    except UnicodeDecodeError:
        what = "it is not text"
    except (OSError, ValueError, RuntimeError) as error:
        what = getattr(error, "strerror", None) or "it cannot be read"
    if "/" in model or "." in model or what != "there is no such file":
        raise TargetError(f"cannot read `{short(model)}`: {what}")
    near = difflib.get_close_matches(model.lower(), GPUS, n=1)
    hint = f"; near it is `cuda:{near[0]}`" if near else ""
    raise TargetError(
        f"no GPU and no file is called `{short(model)}`{hint}; there are {', '.join(GPUS)}"
    )
