"""The numbers by which XLA's messages name instructions."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from donatree.hlo.wire import Message, nested, number

# Fields of HloModuleProto, HloComputationProto and HloInstructionProto in XLA's `hlo.proto`.
_COMPUTATIONS, _ENTRY = 3, 6
_INSTRUCTIONS, _COMPUTATION_ID = 2, 5
_NAME, _ID = 1, 35


class InstructionIds:
    """Names and numbers of the instructions of a module.

    A buffer assignment names an instruction by a number that the module's text does not have: its
    place in the order in which the instructions of a computation were made, since JAX 0.7 with the
    number of the computation before it. The text has the order in which they run.

    Args:
        module: ``HloModuleProto``, as ``HloModule.as_serialized_hlo_module_proto()`` gives it.

    Raises:
        ProtoError: by the methods, where the bytes are no module.

    Example:
        >>> instruction = bytes([10, 1]) + b"x" + bytes([0x98, 2, 7])
        >>> computation = bytes([18, len(instruction)]) + instruction
        >>> ids = InstructionIds(bytes([26, len(computation)]) + computation)
        >>> ids.number("x"), ids.number("y"), ids.in_entry
        (7, None, {7: 'x'})
    """

    def __init__(self, module: bytes) -> None:
        self._module = Message(module)

    def number(self, name: str) -> int | None:
        """The number of the instruction of that name; the name is without ``%``."""
        # Nearly all that is asked for is in the entry computation, and a module may have thousands
        # of others.
        found = self._of_entry.get(name.encode()) or self._of_others.get(name.encode())
        return None if found is None else _id(found)

    @cached_property
    def in_entry(self) -> Mapping[int, str]:
        """The names of the instructions of the entry computation by their numbers."""
        named = self._of_entry.items()
        return {_id(each): name.decode("utf-8", "replace") for name, each in named}

    @cached_property
    def _of_entry(self) -> Mapping[bytes, Message]:
        return {} if self._entry is None else _by_name(self._entry)

    @cached_property
    def _of_others(self) -> Mapping[bytes, Message]:
        answer: dict[bytes, Message] = {}
        for computation in self._computations:
            if computation is not self._entry:
                answer |= _by_name(computation)
        return answer

    @cached_property
    def _computations(self) -> list[Message]:
        fields = self._module
        return [nested(fields, each, value) for each, value in fields if each == _COMPUTATIONS]

    @cached_property
    def _entry(self) -> Message | None:
        entry = _number(self._module, _ENTRY)
        # The callers stand after what they call.
        for computation in reversed(self._computations):
            if _number(computation, _COMPUTATION_ID) == entry:
                return computation
        return None


def _by_name(computation: Message) -> dict[bytes, Message]:
    answer: dict[bytes, Message] = {}
    for field, value in computation:
        if field == _INSTRUCTIONS:
            instruction = nested(computation, field, value)
            answer[_name(instruction)] = instruction
    return answer


def _name(instruction: Message) -> bytes:
    for field, value in instruction:
        if field == _NAME:
            return nested(instruction, field, value).content()
    return b""


def _id(instruction: Message) -> int:
    return _number(instruction, _ID)


def _number(message: Message, wanted: int) -> int:
    """The number in a field, 0 without it, as protobuf leaves out zeros."""
    for field, value in message:
        if field == wanted:
            return number(field, value)
    return 0
