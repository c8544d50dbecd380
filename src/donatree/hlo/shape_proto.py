"""The shapes of a module's parameters and results, as protobuf says them."""

from __future__ import annotations

from donatree.hlo.scanner import Scanner
from donatree.hlo.shape import EntryShape, Index, read_shape
from donatree.hlo.wire import Message, nested, number, repeated

# Fields of ProgramShapeProto, ShapeProto and LayoutProto in XLA's `xla_data.proto`.
_PARAMETERS, _RESULT = 1, 2
_TYPE, _DIMENSIONS, _ELEMENTS, _LAYOUT = 2, 3, 4, 5
_ORDER, _TILES, _ELEMENT_BITS, _SPACE = 1, 6, 7, 8
_TUPLE = 13
_DEEPEST = 32
# `PrimitiveType` by number, from 1.
_TYPES = (
    *("pred", "s8", "s16", "s32", "s64", "u8", "u16", "u32", "u64", "f16", "f32", "f64", "tuple"),
    *("opaque", "c64", "bf16", "token", "c128", "f8e5m2", "f8e4m3fn", "s4", "u4"),
    *("f8e4m3b11fnuz", "f8e5m2fnuz", "f8e4m3fnuz", "s2", "u2", "f8e4m3", "f8e3m4", "s1", "u1"),
    *("f4e2m1fn", "f8e8m0fnu"),
)


def read_entry_shapes(message: Message) -> tuple[tuple[EntryShape, ...], tuple[EntryShape, ...]]:
    """Reads a ``ProgramShapeProto``: the shapes of the parameters, and those of the results.

    Raises:
        ProtoError: it is malformed.
        HeaderError: a shape is none that a module's text could have.
    """
    known: dict[str, EntryShape] = {}
    parameters: list[EntryShape] = []
    result: EntryShape | None = None
    for field, value in message:
        if field in (_PARAMETERS, _RESULT):
            shape = read_shape(Scanner(_shape_text(nested(message, field, value))), known)
            if field == _PARAMETERS:
                parameters.append(shape)
            else:
                result = shape
    results = () if result is None else result.elements if result.is_tuple else (result,)
    return tuple(parameters), results


def _shape_text(shape: Message, depth: int = 0) -> str:
    type_, elements, layout = 0, [], ""
    dimensions: Index = ()
    for field, value in shape:
        if field == _TYPE:
            type_ = number(field, value)
        elif field == _DIMENSIONS:
            dimensions = (*dimensions, *repeated(value))
        elif field == _ELEMENTS:
            if depth == _DEEPEST:
                raise shape.error(f"tuples are nested more than {_DEEPEST} deep")
            elements.append(_shape_text(nested(shape, field, value), depth + 1))
        elif field == _LAYOUT:
            layout = _layout_text(nested(shape, field, value))
    if type_ == _TUPLE:
        return f"({', '.join(elements)})"
    if not 0 < type_ <= len(_TYPES):
        raise shape.error(f"a shape of the unknown type {type_}")
    sizes = ",".join("?" if each < 0 else str(each) for each in dimensions)
    return f"{_TYPES[type_ - 1]}[{sizes}]{layout}"


def _layout_text(layout: Message) -> str:
    order: Index = ()
    tiles, bits, space = "", 0, 0
    for field, value in layout:
        if field == _ORDER:
            order = (*order, *repeated(value))
        elif field == _TILES:
            tile = [each for _, sizes in nested(layout, field, value) for each in repeated(sizes)]
            tiles += f"({','.join(map(str, tile))})"
        elif field == _ELEMENT_BITS:
            bits = number(field, value)
        elif field == _SPACE:
            space = number(field, value)
    more = f"T{tiles}" if tiles else ""
    more += f"E({bits})" if bits else ""
    more += f"S({space})" if space else ""
    text = f"{','.join(map(str, order))}{':' if more else ''}{more}"
    return f"{{{text}}}" if text else ""
