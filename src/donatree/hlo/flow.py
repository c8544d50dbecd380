"""Where a value comes from and where it goes, through instructions that compute nothing."""

from __future__ import annotations

from dataclasses import dataclass

from donatree.hlo.error import InstructionError
from donatree.hlo.instructions import EntryComputation, Instruction
from donatree.hlo.shape import Index

COPIES = ("copy", "copy-start", "copy-done")
_ELEMENT, _TUPLE = "get-tuple-element", "tuple"
_SAME = ("bitcast", "opt-barrier", "optimization-barrier")


@dataclass(frozen=True, slots=True)
class Value:
    """A value in the entry computation.

    Attributes:
        instruction: that gives it.
        index: its place in the instruction's value, ``()`` where that is no tuple.
    """

    instruction: Instruction
    index: Index = ()


@dataclass(frozen=True, slots=True)
class Destinations:
    """What becomes of a value.

    Attributes:
        readers: the instructions that compute with it, in their order.
        results: the places in the module's result where it stands.
    """

    readers: tuple[Instruction, ...]
    results: tuple[Index, ...]


def origin(entry: EntryComputation, name: str, index: Index = (), *, copies: bool = True) -> Value:
    """Follows a value back to the instruction that computed it.

    Args:
        entry: the computation.
        name: of the instruction whose value is followed.
        index: its place in that value.
        copies: whether to go on through copies.

    Raises:
        InstructionError: the text is malformed: a name without an instruction, or a circle.
    """
    for _ in range(len(entry) + 1):
        instruction = entry[name]
        operands = instruction.operands
        if instruction.opcode == _ELEMENT and operands and instruction.index is not None:
            index = (instruction.index, *index)
        elif instruction.opcode == _TUPLE and index and index[0] < len(operands):
            operands, index = operands[index[0] :], index[1:]
        elif not operands or not _passes(instruction, copies):
            return Value(instruction, index)
        name = operands[0]
    raise InstructionError(f"`{name[:60]}` is computed from itself", 0)


def destinations(
    entry: EntryComputation, name: str, index: Index = (), *, copies: bool = True
) -> Destinations:
    """Follows a value on to the instructions that compute with it, and into the result.

    Args:
        entry: the computation.
        name: of the instruction whose value is followed.
        index: its place in that value.
        copies: whether to go on through copies; if not, they count as readers.
    """
    seen = {(name, index)}
    left = [(name, index)]
    readers: dict[int, Instruction] = {}
    results = [index] if name == entry.root.name else []
    while left:
        name, index = left.pop()
        for user in entry.users(name):
            places = _places(user, name, index, copies)
            if places is None:
                readers[user.position] = user
                continue
            for place in places:
                if (user.name, place) not in seen:
                    seen.add((user.name, place))
                    left.append((user.name, place))
                    results += [place] if user.is_root else []
    return Destinations(tuple(readers[at] for at in sorted(readers)), tuple(sorted(results)))


def _places(user: Instruction, name: str, index: Index, copies: bool) -> list[Index] | None:
    """Where in the value of ``user`` its operand stands; None where ``user`` computes with it."""
    if user.opcode == _ELEMENT:
        if not index:
            return [()]
        return [index[1:]] if index[0] == user.index else []
    if user.opcode == _TUPLE:
        found = enumerate(user.operands)
        return [(place, *index) for place, operand in found if operand == name]
    return [index] if _passes(user, copies) else None


def _passes(instruction: Instruction, copies: bool) -> bool:
    """Whether its value is its operand's."""
    return instruction.opcode in _SAME or (copies and instruction.opcode in COPIES)
