"""The bytes that a value takes in the tiled layout of its target, padding and all.

A TPU lays arrays out in tiles, so that the last tile of each row and column is padded:
``f32[1024,3]{0,1:T(4,128)}`` takes 16 KiB instead of 12, and a number 512 bytes. The sizes were
measured against the allocations of libtpu 0.0.17, 0.0.23, 0.0.32, 0.0.42 and 0.0.50.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from donatree.hlo.shape import EntryShape

_PROPERTIES = re.compile(r"\{[0-9,]*:(.*)\}", re.S)
_PROPERTY = re.compile(r"([A-Z]+|[#*])((?:\([^()]*\))+)")
_ARGUMENTS = re.compile(r"\(([^()]*)\)")
_NUMBERS = re.compile(r"[0-9]{1,9}(?:,[0-9]{1,9})*")
_WITHOUT_EFFECT = frozenset(("S", "SC", "E", "#", "*"))  # `E(4)` is in the size of an element
_TILES, _TAIL, _PREFIX = "T", "L", "M"


def padded_size_in_bytes(shape: EntryShape) -> int | None:
    """Bytes that a value takes on one device, with what its layout pads.

    Args:
        shape: with its layout. Of a tuple it is what its elements take; its table of pointers
            is not in it, on a TPU 4 bytes for each, padded to 512.

    Returns:
        None where the layout has a property that is not known here, or a dimension without bound.
        Without tiles it is `EntryShape.size_in_bytes`.

    Example:
        >>> from donatree.hlo.scanner import Scanner
        >>> from donatree.hlo.shape import read_shape
        >>> padded_size_in_bytes(read_shape(Scanner("bf16[1024,3]{0,1:T(4,128)(2,1)}"), {}))
        8192
    """
    if shape.is_tuple:
        sizes = [padded_size_in_bytes(each) for each in shape.elements]
        known = [each for each in sizes if each is not None]
        return sum(known) if len(known) == len(sizes) else None
    if any(each < 0 for each in shape.shape):
        return None
    found = _PROPERTIES.search(shape.text)
    if found is None:
        return shape.size_in_bytes
    dimensions = _physical(shape)
    tail = prefix = 0
    for name, raw in _PROPERTY.findall(found[1]):
        if name in _WITHOUT_EFFECT:
            continue
        groups = [_numbers(each) for each in _ARGUMENTS.findall(raw)]
        if not all(groups) or name not in (_TILES, _TAIL, _PREFIX):
            return None
        if name == _TILES:
            for tile in groups:
                dimensions = _tiled(dimensions, tile)
        elif name == _TAIL:
            tail = groups[0][0]
        else:
            prefix = groups[0][0]
    elements = math.prod(dimensions)
    if tail:
        elements = -(-elements // tail) * tail
    return prefix + -(-elements * _bits(shape) // 8)


def _physical(shape: EntryShape) -> list[int]:
    """The dimensions as they are in memory, slowest first."""
    order = shape.minor_to_major or ()
    if sorted(order) != list(range(len(shape.shape))):
        return list(shape.shape)
    return [shape.shape[each] for each in reversed(order)]


def _tiled(dimensions: Sequence[int], tile: Sequence[int]) -> list[int]:
    """The dimensions in tiles: how many tiles there are of each, then those of the tile.

    Example:
        >>> _tiled([3, 1024], [4, 128]), _tiled([], [128])
        ([1, 8, 4, 128], [1, 128])
    """
    filled = [1] * (len(tile) - len(dimensions)) + list(dimensions)
    outer, inner = filled[: len(filled) - len(tile)], filled[len(filled) - len(tile) :]
    counts = [-(-size // each) if each else 0 for size, each in zip(inner, tile, strict=True)]
    return [*outer, *counts, *tile]


def _bits(shape: EntryShape) -> int:
    """Bits of one element."""
    one = EntryShape(shape.dtype, (8,), None, 0, shape.text)
    return one.size_in_bytes


def _numbers(raw: str) -> list[int]:
    return [int(each) for each in raw.split(",")] if _NUMBERS.fullmatch(raw) else []
