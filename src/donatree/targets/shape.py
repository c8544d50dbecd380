"""The shape in the name of a target, ``2x2x1``, and how its errors are worded."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from donatree.errors import TargetError

MOST_DEVICES = 32_768

_SHAPE = re.compile(r"[0-9]{1,6}(?:x[0-9]{1,6}){0,3}", re.ASCII)


def read_shape(name: str, text: str, examples: Sequence[str]) -> tuple[int, ...]:
    """The numbers of a shape.

    Args:
        name: the target, for the error.
        text: the shape as the user wrote it.
        examples: what to write instead, for the error.

    Raises:
        TargetError: in one line.

    Example:
        >>> read_shape("tpu:v5p:2x2x1", "2x2x1", ())
        (2, 2, 1)
    """
    if not _SHAPE.fullmatch(text):
        raise TargetError(f"`{short(text)}` is not a shape; write {either(examples)}")
    numbers = tuple(map(int, text.split("x")))
    if 0 in numbers:
        raise TargetError(f"the shape of `{short(name)}` has a 0; write {either(examples)}")
    return numbers


def devices_of(name: str, shape: tuple[int, ...], each: int = 1) -> int:
    """How many devices a shape has.

    Args:
        name: the target, for the error.
        shape: its numbers.
        each: devices of a chip.

    Raises:
        TargetError: more than any process could stand in for.
    """
    devices = math.prod(shape) * each
    if devices > MOST_DEVICES:
        raise TargetError(f"`{short(name)}` has {devices:,} devices, and {MOST_DEVICES:,} is most")
    return devices


def either(examples: Sequence[str]) -> str:
    """Examples as they stand in a sentence.

    Example:
        >>> either(["host", "host:8"])
        '`host` or `host:8`'
    """
    return " or ".join(f"`{each}`" for each in examples)


def short(text: str) -> str:
    """Text from a user, short enough for a line."""
    return text if len(text) <= 80 else text[:77] + "..."
