"""Names of TPUs: ``tpu:v5e:2x2``."""

from __future__ import annotations

import difflib
import re

from donatree.errors import TargetError
from donatree.targets.shape import devices_of, either, read_shape, short
from donatree.targets.tpus import MEMORY_SOURCE, OTHER_NAMES, TPUS, Tpu
from donatree.targets.wanted import Wanted


def read_tpu(name: str, rest: str) -> Wanted:
    """Reads what stands after ``tpu:``.

    Args:
        name: the whole name.
        rest: a generation and a shape, ``v5e:2x2``.

    Raises:
        TargetError: one line that says what to write.

    Example:
        >>> read_tpu("tpu:tpu7x:2x2x1", "tpu7x:2x2x1").devices
        8
    """
    model, _, shape = (part.strip() for part in rest.lower().partition(":"))
    tpu = TPUS.get(model)
    if tpu is None:
        raise TargetError(_no_tpu(name, model))
    if not shape:
        raise TargetError(
            f"`{short(name)}` has no shape, the chips per dimension; write {either(tpu.examples)}"
        )
    numbers = read_shape(name, shape, tpu.examples)
    flat = tpu.generation == "v4" and len(numbers) == 2  # libtpu takes both
    if len(numbers) != tpu.dimensions and not flat:
        count = "1 number" if len(numbers) == 1 else f"{len(numbers)} numbers"
        raise TargetError(
            f"the shape of `{short(name)}` has {count}, and that of {tpu.generation} has"
            f" {tpu.dimensions}; write {either(tpu.examples)}"
        )
    return Wanted(
        name=name,
        platform="tpu",
        model=tpu.generation,
        shape=numbers,
        devices=devices_of(name, numbers, tpu.devices_per_chip),
        memory=tpu.memory,
        memory_source=MEMORY_SOURCE,
        kind=tpu.kind,
    )


def _no_tpu(name: str, model: str) -> str:
    if not model:
        return f"`{short(name)}` names no TPU; write {either(TPUS['v5e'].examples)}"
    meant = _meant(model)
    if meant is not None:
        return f"no TPU is called `{short(model)}`; write {either(meant.examples)}"
    near = difflib.get_close_matches(model, TPUS, n=1)
    hint = f"; near it is `tpu:{near[0]}`" if near else ""
    return f"no TPU is called `{short(model)}`{hint}; there are {', '.join(TPUS)}"


def _meant(model: str) -> Tpu | None:
    """The generation that is meant by another of its names, or by Google's with a count."""
    stem = re.sub(r"-\d+$", "", model)
    for each in (stem, f"v{stem}"):
        if OTHER_NAMES.get(each, each) in TPUS:
            return TPUS[OTHER_NAMES.get(each, each)]
    return None
