"""Where control may go inside a code object, instruction by instruction."""

from __future__ import annotations

import dis
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any, Literal

from donatree._jax.frames import shown
from donatree.ledger import Location

Event = Literal["read", "write", "hide", "show"]

_JUMPS = frozenset(dis.hasjrel) | frozenset(dis.hasjabs)
_ALWAYS_JUMP = frozenset(
    {"JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT", "JUMP_ABSOLUTE"}
)
_LEAVE = frozenset({"RETURN_VALUE", "RETURN_CONST", "INTERPRETER_EXIT"})
_RAISE = frozenset({"RAISE_VARARGS", "RERAISE"})
# What does not raise in a program that runs: from here no edge leads to a handler.
_CALM = ("LOAD_FAST", "STORE_FAST", "LOAD_CONST", "LOAD_DEREF", "STORE_DEREF", "STORE_NAME")
_CALM_EXACT = _ALWAYS_JUMP.union(
    ["POP_TOP", "PUSH_NULL", "SWAP", "COPY", "NOP", "RESUME", "PRECALL", "KW_NAMES", "CACHE"],
    ["UNPACK_SEQUENCE", "UNPACK_EX", "STORE_GLOBAL", "STORE_ATTR", "STORE_SUBSCR", "END_FOR"],
    ["GET_ITER", "EXTENDED_ARG", "LOAD_NAME", "LOAD_GLOBAL", "MAKE_CELL", "COPY_FREE_VARS"],
    ["BUILD_TUPLE", "BUILD_LIST", "BUILD_MAP"],
)


@dataclass(frozen=True, slots=True)
class Reached:
    """What a walk met.

    Attributes:
        read: the nearest instruction that reads; None where none does.
        leaves: whether the code can be left without a read or a write.
        writes: whether some way meets a write.
    """

    read: dis.Instruction | None
    leaves: bool
    writes: bool

    @property
    def rebound(self) -> bool:
        """Whether each way that ends meets a write, and none a read before it."""
        return self.writes and not self.leaves and self.read is None


@dataclass(frozen=True, slots=True)
class Fate:
    """What becomes of a name from here on.

    Attributes:
        read_at: where it may be read next before it is rebound; None where nowhere seen.
        rebound: whether it is rebound or deleted on every way on, before any read.
        ended: whether the frame of the name's own module was reached to its end.
    """

    read_at: Location | None = None
    rebound: bool = False
    ended: bool = False


class Flow:
    """The control flow of one code object; the exception table gives edges as well."""

    def __init__(self, code: CodeType) -> None:
        self.code = code
        self.instructions = list(dis.get_instructions(code))
        self._offsets = [each.offset for each in self.instructions]
        self._handlers = self._read_handlers()

    def _read_handlers(self) -> list[tuple[int, int, int]]:
        # An attribute of `Bytecode` on 3.11 to 3.13, though the docs do not list it.
        entries: Iterable[Any] = getattr(dis.Bytecode(self.code), "exception_entries", ())
        return [(each.start, each.end, each.target) for each in entries]

    def at(self, offset: int) -> int:
        """The index of the instruction at a byte offset; its inline caches belong to it."""
        return max(0, bisect_right(self._offsets, offset) - 1)

    def after(self, offset: int) -> list[int]:
        """Where control goes once the instruction at a byte offset has ended well."""
        if offset < 0:
            return [0]
        return [index for index, raised in self._next(self.at(offset)) if not raised]

    def _next(self, index: int) -> Iterator[tuple[int, bool]]:
        """Instructions that may come next, and whether an exception leads there."""
        each = self.instructions[index]
        name = each.opname
        if each.opcode in _JUMPS and isinstance(each.argval, int):
            yield self.at(each.argval), False
        stays = name not in _ALWAYS_JUMP and name not in _LEAVE and name not in _RAISE
        if stays and index + 1 < len(self.instructions):
            yield index + 1, False
        if name in _LEAVE or name in _CALM_EXACT or name.startswith(_CALM):
            return
        # Inner handlers come later in the table than the ones around them only by their start.
        covering = [h for h in self._handlers if h[0] <= each.offset < h[1]]
        if covering:
            yield self.at(max(covering)[2]), True

    def walk(self, starts: Iterable[int], event: Callable[[int], Event | None]) -> Reached:
        """Goes on from `starts` until each path meets a read, a write or its end.

        Args:
            starts: indices of instructions, see `after`.
            event: what the instruction at an index does. After ``hide`` reads and writes are not
                asked for until ``show``: an inlined comprehension has put the name away. A
                ``show`` with nothing hidden is a write.
        """
        queue = deque((index, False) for index in starts)
        seen = set(queue)
        nearest: dis.Instruction | None = None
        leaves = writes = False
        while queue:
            index, hidden = queue.popleft()
            each = self.instructions[index]
            what = event(index)
            if what == "hide":
                hidden = True
            elif what == "show" and hidden:
                hidden = False
            elif what and not hidden:
                if what == "read":
                    nearest = nearest or each
                else:
                    writes = True
                continue
            if each.opname in _LEAVE:
                leaves = True
            for following, _ in self._next(index):
                if (following, hidden) not in seen:
                    seen.add((following, hidden))
                    queue.append((following, hidden))
        return Reached(nearest, leaves, writes)

    def location(self, instruction: dis.Instruction) -> Location:
        """Where an instruction stands in the source."""
        return location_of(self.code, instruction)


def location_of(code: CodeType, instruction: dis.Instruction) -> Location:
    """Where an instruction of `code` stands in the source, exact to columns where known."""
    where = instruction.positions
    return Location(
        file=shown(code.co_filename),
        line=(where and where.lineno) or code.co_firstlineno,
        column=where.col_offset if where else None,
        end_line=where.end_lineno if where else None,
        end_column=where.end_col_offset if where else None,
        function=code.co_qualname,
    )


class Flows:
    """The flows of the code objects met in one search, each made once."""

    def __init__(self) -> None:
        self._made: dict[int, Flow] = {}

    def of(self, code: CodeType) -> Flow:
        """The flow of a code object."""
        if id(code) not in self._made:
            self._made[id(code)] = Flow(code)
        return self._made[id(code)]

    def walk(self, frame: FrameType, event: Callable[[Flow, int], Event | None]) -> Reached:
        """Walks on from where `frame` stands."""
        flow = self.of(frame.f_code)
        return flow.walk(flow.after(frame.f_lasti), lambda index: event(flow, index))
