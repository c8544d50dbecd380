"""The shapes of ``entry_computation_layout``: what goes into a compiled module and comes out."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from donatree.hlo.scanner import Scanner

# A place in a value: the elements of its tuples one after the other, `()` where it is no tuple.
Index = tuple[int, ...]

_TUPLE = "tuple"
_UNBOUNDED = -1

# XLA nests tuples a few levels deep. The bound keeps reading linear, and a nest of any depth
# would overflow the stack of whoever prints or compares it.
_DEEPEST_TUPLE = 32
_PROPERTY = re.compile(r"[A-Z]+|[#*]")

# The bits of an element: in the type (`bf16`, `f8e4m3fn`, not in `pred` and `token`), and in a
# layout that packs them.
_BITS = re.compile(r"[0-9]+")
_PACKED = re.compile(r":.*E\(([0-9]{1,3})\)")


@dataclass(frozen=True, slots=True)
class EntryShape:
    """One parameter or result of a compiled module, as one device sees it.

    Attributes:
        dtype: XLA's name of the type, ``f32``, ``bf16``, ``token``; ``tuple`` for a tuple.
        shape: the dimensions; a bounded dynamic one (``<=4``) by its bound, an unbounded one
            (``?``) as -1.
        minor_to_major: the order of the dimensions in memory, fastest first; None where the
            text names no layout.
        memory_space: the number of ``S(n)`` in the layout, 0 (the device's main memory)
            without it; 5 is host memory.
        text: the shape as it is written.
        elements: the shapes of a tuple, else empty.
    """

    dtype: str
    shape: tuple[int, ...]
    minor_to_major: tuple[int, ...] | None
    memory_space: int
    text: str
    elements: tuple[EntryShape, ...] = ()

    @property
    def is_tuple(self) -> bool:
        """Whether it is a tuple, perhaps an empty one."""
        return self.text.startswith("(")

    @property
    def size_in_bytes(self) -> int:
        """Bytes that its values take on one device, those of its elements where it is a tuple.

        The table of pointers of a tuple and what a layout pads are not in it. Types of less than a
        byte are packed only where the layout says so (``E(4)``).
        """
        if self.is_tuple:
            return sum(each.size_in_bytes for each in self.elements)
        packed = _PACKED.search(self.text)
        bits = 8 if self.dtype == "pred" else int((_BITS.search(self.dtype) or "00")[0])
        bits = int(packed[1]) if packed else -(-bits // 8) * 8
        return -(-math.prod(max(each, 0) for each in self.shape) * bits // 8)


def read_shape(scanner: Scanner, known: dict[str, EntryShape]) -> EntryShape:
    """Reads the shape that comes next, a tuple with all that is in it.

    Args:
        scanner: stands before the shape, and after it when this returns.
        known: shapes read before by their text. Thousands of leaves have a few shapes.

    Raises:
        HeaderError: where the text is no shape.
    """
    opened: list[tuple[int, list[EntryShape]]] = []
    while True:
        scanner.skip()
        start = scanner.position
        if not scanner.accept("("):
            shape = _read_array(scanner, known)
        elif len(opened) == _DEEPEST_TUPLE:
            raise scanner.error(f"tuples are nested more than {_DEEPEST_TUPLE} deep", start)
        elif scanner.accept(")"):
            shape = EntryShape(_TUPLE, (), None, 0, scanner.text[start : scanner.position])
        else:
            opened.append((start, []))
            continue
        while opened:
            start, elements = opened[-1]
            elements.append(shape)
            if scanner.accept(","):
                break
            if not scanner.accept(")"):
                raise scanner.expected("`,` or `)` after a shape")
            opened.pop()
            text = scanner.text[start : scanner.position]
            shape = EntryShape(_TUPLE, (), None, 0, text, tuple(elements))
        else:
            return shape


def _read_array(scanner: Scanner, known: dict[str, EntryShape]) -> EntryShape:
    """Reads a shape that is no tuple: ``f32[4,4]{1,0}``, ``token[]``, ``b(f32[4]{0})``."""
    start = scanner.position
    end = scanner.text.find("]", start) + 1
    if scanner.text.startswith("{", end):
        end = scanner.text.find("}", end) + 1
    if (shape := known.get(scanner.text[start:end])) is not None:
        scanner.position = end
        return shape
    is_buffer = scanner.accept("b(")
    scanner.skip()
    at = scanner.position
    dtype = scanner.word("a shape")
    if not dtype.isidentifier():
        raise scanner.error(f"`{dtype[:24]}` is no type", at)
    scanner.expect("[", "after the type of a shape")
    dimensions = _read_dimensions(scanner)
    minor_to_major, memory_space = None, 0
    # With nothing between: what is found in `known` must not depend on what comes after it.
    if scanner.text.startswith("{", scanner.position):
        minor_to_major, memory_space = _read_layout(scanner)
    if is_buffer:
        scanner.expect(")", "after the shape of a buffer")
    text = scanner.text[start : scanner.position]
    shape = known[text] = EntryShape(dtype, dimensions, minor_to_major, memory_space, text)
    return shape


def _read_dimensions(scanner: Scanner) -> tuple[int, ...]:
    """Reads ``4,<=4,?]``."""
    dimensions: list[int] = []
    while not scanner.accept("]"):
        if dimensions and not scanner.accept(","):
            raise scanner.expected("`,` or `]` after a dimension")
        if scanner.accept("?"):
            dimensions.append(_UNBOUNDED)
        else:
            scanner.accept("<=")
            dimensions.append(scanner.number("a dimension"))
    return tuple(dimensions)


def _read_layout(scanner: Scanner) -> tuple[tuple[int, ...], int]:
    """Reads ``{1,0:T(8,128)(2,1)S(5)}``: the order of the dimensions and the memory space."""
    scanner.expect("{", "before a layout")
    order: list[int] = []
    while not scanner.accept("}"):
        if scanner.accept(":"):
            return tuple(order), _read_layout_properties(scanner)
        if order and not scanner.accept(","):
            raise scanner.expected("`,`, `:` or `}` after a dimension of a layout")
        order.append(scanner.number("a dimension of a layout"))
    return tuple(order), 0


def _read_layout_properties(scanner: Scanner) -> int:
    """Reads ``T(8,128)(2,1)S(5)}``: the memory space, and passes the other properties."""
    memory_space = 0
    while not scanner.accept("}"):
        key = _PROPERTY.match(scanner.text, scanner.position)
        if key is None:
            raise scanner.expected("a property of a layout or `}`")
        scanner.position = key.end()
        if key[0] == "S":
            scanner.expect("(", "before the memory space")
            memory_space = scanner.number("a memory space")
            scanner.expect(")", "after the memory space")
            continue
        scanner.expect("(", f"after `{key[0][:24]}` of a layout")
        scanner.position -= 1
        while scanner.text.startswith("(", scanner.position):
            scanner.bracketed()
    return memory_space
