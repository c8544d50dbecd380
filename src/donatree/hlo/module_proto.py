"""A module as protobuf says it: ``*.hlo.pb`` of a dump, read without the protobuf library.

The numbers of the fields are those of XLA's `hlo.proto` and `xla_data.proto`; they were the same in
the dumps of JAX 0.5.3 and 0.12 on CPU and TPU (measured).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from donatree.hlo.alias import Alias, Donor
from donatree.hlo.allocation import Allocation, read_allocation
from donatree.hlo.error import ProtoError
from donatree.hlo.header import Header
from donatree.hlo.shape import EntryShape
from donatree.hlo.shape_proto import read_entry_shapes
from donatree.hlo.wire import Message, nested, number, repeated

_MODULE, _ASSIGNMENT = 1, 3
_NAME, _ENTRY_NAME, _COMPUTATIONS, _SHAPES, _SCHEDULE, _ALIASES, _DONORS = 1, 2, 3, 4, 7, 8, 18
_INSTRUCTIONS, _OPCODE, _METADATA, _OP_NAME, _NUMBER = 2, 2, 7, 2, 9
_ALLOCATIONS, _COLOR = 3, 8
_KINDS = {1: "may-alias", 2: "must-alias"}


@dataclass(frozen=True, slots=True)
class ModuleProto:
    """What a ``HloProto`` says of a module.

    Attributes:
        header: what the first line of its text would say.
        names: the names that the framework gave its parameters, by their numbers.
        is_scheduled: whether it has an order, which a compiled module has.
        allocations: of its buffer assignment in main memory; empty where it has none.
    """

    header: Header
    names: Mapping[int, str]
    is_scheduled: bool
    allocations: tuple[Allocation, ...] = ()


def read_module_proto(data: bytes) -> ModuleProto:
    """Reads a ``HloProto``.

    Args:
        data: its bytes; a memory map will do.

    Raises:
        ProtoError: the bytes are no such message, or are none of a module.
        HeaderError: a shape in it is none.
    """
    module: Message | None = None
    allocations: list[Allocation] = []
    for field, value in (outer := Message(data)):
        if field == _MODULE:
            module = nested(outer, field, value)
        elif field == _ASSIGNMENT:
            allocations += _allocations(nested(outer, field, value))
    if module is None:
        raise ProtoError("expected a module in field 1, found none", 0)
    return _read(module, tuple(allocations))


def _read(module: Message, allocations: tuple[Allocation, ...]) -> ModuleProto:
    name = entry = ""
    scheduled = False
    aliases: list[Alias] = []
    donors: list[Donor] = []
    shapes: tuple[tuple[EntryShape, ...], tuple[EntryShape, ...]] | None = None
    for field, value in module:
        if field == _NAME:
            name = nested(module, field, value).text()
        elif field == _ENTRY_NAME:
            entry = nested(module, field, value).text()
        elif field == _SCHEDULE:
            scheduled = True
        elif field == _SHAPES:
            shapes = read_entry_shapes(nested(module, field, value))
        elif field == _ALIASES:
            aliases += map(_alias, _entries(nested(module, field, value)))
        elif field == _DONORS:
            donors += map(_donor, _entries(nested(module, field, value)))
    if shapes is None:
        raise module.error("the module has no shapes of its parameters")
    header = Header(name, tuple(aliases), tuple(donors), *shapes)
    return ModuleProto(header, _names(module, entry.encode()), scheduled, allocations)


def _entries(message: Message) -> Iterator[Message]:
    for field, value in message:
        if field == 1:
            yield nested(message, field, value)


def _alias(entry: Message) -> Alias:
    output, index = [], []
    found = {2: 0, 4: 0}
    for field, value in entry:
        if field == 1:
            output += repeated(value)
        elif field == 3:
            index += repeated(value)
        elif field in found:
            found[field] = number(field, value)
    if found[4] not in _KINDS:
        raise entry.error(f"an alias of the unknown kind {found[4]}")
    return Alias(tuple(output), found[2], tuple(index), _KINDS[found[4]])


def _donor(entry: Message) -> Donor:
    parameter, index = 0, []
    for field, value in entry:
        if field == 1:
            parameter = number(field, value)
        elif field == 2:
            index += repeated(value)
    return Donor(parameter, tuple(index))


def _names(module: Message, entry: bytes) -> dict[int, str]:
    """The names in the metadata of the parameters of the entry computation."""
    answer: dict[int, str] = {}
    for field, value in module:
        if field != _COMPUTATIONS:
            continue
        computation = nested(module, field, value)
        if not _is_named(computation, entry):
            continue
        for inner, instruction in computation:
            if inner == _INSTRUCTIONS:
                found = _parameter(nested(computation, inner, instruction))
                if found is not None:
                    answer[found[0]] = found[1]
    return answer


def _is_named(computation: Message, name: bytes) -> bool:
    for field, value in computation:
        if field == _NAME:
            return nested(computation, field, value).content() == name
    return False


def _parameter(instruction: Message) -> tuple[int, str] | None:
    place, name, is_parameter = 0, "", False
    for field, value in instruction:
        if field == _OPCODE:
            is_parameter = nested(instruction, field, value).content() == b"parameter"
            if not is_parameter:
                return None
        elif field == _NUMBER:
            place = number(field, value)
        elif field == _METADATA:
            metadata = nested(instruction, field, value)
            for inner, each in metadata:
                if inner == _OP_NAME:
                    name = nested(metadata, inner, each).text()
    return (place, name) if is_parameter and name else None


def _allocations(assignment: Message) -> Iterator[Allocation]:
    """Those in the device's main memory."""
    for field, value in assignment:
        if field == _ALLOCATIONS:
            part = nested(assignment, field, value)
            if not any(each for inner, each in part if inner == _COLOR):
                yield read_allocation(part)
