"""The names of targets: what a user writes after ``--target``."""

from __future__ import annotations

import difflib
import re

from donatree.errors import TargetError
from donatree.targets.cuda_name import read_cuda
from donatree.targets.gpus import GPUS
from donatree.targets.shape import devices_of, either, short
from donatree.targets.tpu_name import read_tpu
from donatree.targets.tpus import OTHER_NAMES, TPUS
from donatree.targets.wanted import Platform, Wanted

__all__ = ["Platform", "Wanted", "read_target"]

_FAMILIES = ("tpu", "cuda", "host")


def read_target(text: str) -> Wanted:
    """Reads the name of a target.

    Args:
        text: ``tpu:v5e:2x2``, ``cuda:h100``, ``cuda:h100:1x1x8``, ``cuda:FILE``, ``host:8``.
            ``cuda:h100:8`` is ``cuda:h100:1x1x8``: eight GPUs of one host.

    Returns:
        What it stands for. The file of a description has been read and checked.

    Raises:
        TargetError: one line that says what to write.

    Example:
        >>> read_target("tpu:v5e:4x4").devices
        16
    """
    name = text.strip()
    if not name.isprintable():
        raise TargetError(f"no target is called {name[:80]!r}; `donatree targets` lists them")
    first, _, rest = name.partition(":")
    family, rest = first.strip().lower(), rest.strip()
    if family == "tpu":
        return read_tpu(name, rest)
    if family == "cuda":
        return read_cuda(name, rest)
    if family == "host":
        return _host(name, rest)
    raise TargetError(f"no target is called `{short(name)}`{_hint(family, name)}")


def _host(name: str, rest: str) -> Wanted:
    count = int(rest) if re.fullmatch(r"[0-9]{1,9}", rest, re.ASCII) else 0
    if rest and not count:
        raise TargetError(f"`{short(name)}` has no number of devices; write `host` or `host:8`")
    devices = devices_of(name, (count or 1,))
    return Wanted(name=name, platform="cpu", model="", shape=(devices,), devices=devices)


def _hint(family: str, name: str) -> str:
    """What was meant, for the end of an error."""
    other = {"cpu": "host", "gpu": "cuda"}.get(family)
    if other is not None:
        return f"; write `{other}{short(name[len(family) :])}`"
    if family in GPUS:
        return f"; write `cuda:{short(name)}`"
    if family in TPUS:
        return f"; write `tpu:{short(name)}`"
    if family in OTHER_NAMES:
        return f"; write {either(TPUS[OTHER_NAMES[family]].examples)}"
    near = difflib.get_close_matches(family, (*_FAMILIES, *GPUS, *TPUS), n=1)
    hint = f"; near it is `{near[0]}`" if near else ""
    return f"{hint}; write for example `tpu:v5e:2x2`, `cuda:h100`, `host:8`"
