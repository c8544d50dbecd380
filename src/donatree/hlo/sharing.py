"""Which values must be at one place: what goes into a loop or a branch, and what comes out.

So must what a ``dynamic-update-slice`` writes into, and what it gives.

A buffer assignment as protobuf says it; its text does not. It follows from the module's text.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from donatree.hlo.flow import origin
from donatree.hlo.instructions import EntryComputation, Instruction
from donatree.hlo.shape import EntryShape, Index

# A value: the name of the instruction that defines it, and the place in the instruction's value.
Place = tuple[str, Index]

_LOOP, _BRANCH, _CALL = "while", "conditional", "call"
_FUSION, _IN_PLACE = "fusion", ("dynamic-update-slice", "scatter")


def find_sharing(entry: EntryComputation) -> Mapping[Place, frozenset[Place]]:
    """Finds the values that must be at one place.

    Args:
        entry: the entry computation of a compiled module.

    Returns:
        The values at the place of each, itself among them; those that are alone are left out.

    Raises:
        InstructionError: the module's text is malformed where it was read.

    Example:
        >>> from donatree.hlo.instructions import read_entry
        >>> text = '''
        ... %body (s: f32[8]) -> f32[8] {
        ...   %s = f32[8]{0} parameter(0)
        ...   ROOT %next = f32[8]{0} negate(%s)
        ... }
        ...
        ... ENTRY %main (x: f32[8]) -> f32[8] {
        ...   %x = f32[8]{0} parameter(0)
        ...   ROOT %loop = f32[8]{0} while(%x), condition=%test, body=%body
        ... }'''
        >>> sorted(name for name, _ in find_sharing(read_entry(text))["x", ()])
        ['loop', 'next', 's', 'x']
    """
    search = _Search(entry)
    search.visit(entry)
    groups: dict[Place, set[Place]] = defaultdict(set)
    for place in search.parents:
        groups[search.root(place)].add(place)
    return {place: frozenset(group) for group in groups.values() for place in group}


class _Search:
    """Joins values, computation by computation."""

    def __init__(self, entry: EntryComputation) -> None:
        self._entry = entry
        self._visited: set[str] = set()
        self.parents: dict[Place, Place] = {}

    def visit(self, computation: EntryComputation) -> None:
        """Looks at a computation and at all that it calls."""
        left = [computation]
        while left:
            caller = left.pop()
            for each in caller.of_opcode(*_IN_PLACE, _FUSION):
                self._join_in_place(caller, each)
            for call in caller.of_opcode(_LOOP, _BRANCH, _CALL):
                for number, called in enumerate(map(self._entry.computation, call.called)):
                    if called is not None:
                        self._join_call(caller, call, called, number)
                        if called.name not in self._visited:
                            self._visited.add(called.name)
                            left.append(called)

    def root(self, place: Place) -> Place:
        """The value that stands for all at its place."""
        while self.parents[place] != place:
            self.parents[place] = place = self.parents[self.parents[place]]
        return place

    def _join_call(
        self, caller: EntryComputation, call: Instruction, called: EntryComputation, number: int
    ) -> None:
        operands = call.operands
        if call.opcode == _BRANCH:
            operands = operands[1 + number : 2 + number]
        for place, operand in enumerate(operands):
            parameter = called.parameter(place)
            for index in _indices(parameter.shape):
                self._join(_of(caller, operand, index), (parameter.name, index))
        if call.opcode == _LOOP and number:  # the body comes first, then the condition
            return
        for index in _indices(call.shape):
            self._join(_of(called, called.root.name, index), (call.name, index))
            if call.opcode == _LOOP:
                self._join(_of(caller, call.operands[0], index), (call.name, index))

    def _join_in_place(self, caller: EntryComputation, writes: Instruction) -> None:
        """Joins what is written over a part of an operand with the operand."""
        if writes.opcode != _FUSION:
            if writes.operands and not writes.shape.is_tuple:
                self._join(_of(caller, writes.operands[0], ()), (writes.name, ()))
            return
        called = self._entry.computation(writes.called[0]) if writes.called else None
        if called is None or next(called.of_opcode(*_IN_PLACE), None) is None:
            return
        for index in _indices(writes.shape):
            root = origin(called, called.root.name, index, copies=False)
            if root.instruction.opcode in _IN_PLACE and not root.index:
                source = origin(called, root.instruction.operands[0], copies=False)
                number = source.instruction.parameter
                if number is not None and number < len(writes.operands):
                    operand = _of(caller, writes.operands[number], source.index)
                    self._join(operand, (writes.name, index))

    def _join(self, first: Place, second: Place) -> None:
        for place in (first, second):
            self.parents.setdefault(place, place)
        self.parents[self.root(first)] = self.root(second)


def _of(computation: EntryComputation, name: str, index: Index) -> Place:
    value = origin(computation, name, index, copies=False)
    done = value.instruction
    if done.opcode == "copy-done" and done.operands:
        return done.operands[0], (0, *value.index)
    return done.name, value.index


def _indices(shape: EntryShape) -> Iterator[Index]:
    """All places in a value: its own table, its elements, theirs."""
    left: list[tuple[Index, EntryShape]] = [((), shape)]
    while left:
        index, found = left.pop()
        yield index
        left += [((*index, at), each) for at, each in enumerate(found.elements)]
