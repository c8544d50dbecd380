"""Whether a running frame may read a name again before it is rebound or deleted.

The bytecode says so: control is followed from where the frame stands, through loops and handlers.
What the call in progress raises itself is not followed, for then nothing was rebound.
"""

from __future__ import annotations

import dis
import re
from collections.abc import Iterator, Mapping
from types import CodeType, FrameType
from typing import Any

from donatree._jax.frames import locals_of
from donatree.ledger import Location
from donatree.source.control import Event, Fate, Flow, Flows, location_of
from donatree.source.functions import code_of

_FAST = re.compile(r"(LOAD|STORE|DELETE)_FAST")
_DEREF_READ = frozenset({"LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF"})
_DEREF_WRITE = frozenset({"STORE_DEREF", "DELETE_DEREF"})
_CAPTURE = frozenset({"LOAD_CLOSURE", "LOAD_FAST"})  # 3.13 loads a cell like any local


def read_again(frame: FrameType, name: str, flows: Flows | None = None) -> Location | None:
    """Where a local variable may be read next, from where its frame stands.

    Args:
        frame: a running or suspended frame.
        name: a local variable, a cell or a free variable of it.
        flows: flows already made.

    Returns:
        The nearest place that may read it before it is rebound or deleted; of a cell also inside
        a function that captured it and that the frame may still call. None where there is none.
    """
    return fate_of(frame, name, flows).read_at


def fate_of(frame: FrameType, name: str, flows: Flows | None = None) -> Fate:
    """What becomes of a local variable; see `read_again`."""
    flows = flows or Flows()
    code = frame.f_code
    if name in code.co_cellvars or name in code.co_freevars:
        return _fate_of_cell(frame, name, flows)
    reached = flows.walk(frame, lambda flow, index: _fast_event(flow, index, name))
    if reached.read is not None:
        return Fate(flows.of(code).location(reached.read))
    return Fate(rebound=reached.rebound)


def fast_accesses(instruction: dis.Instruction) -> Iterator[tuple[str, str]]:
    """`LOAD`, `STORE` or `DELETE` and the local's name, in order: 3.13 puts two into one.

    Args:
        instruction: any; one that touches no local gives nothing.
    """
    found = _FAST.findall(instruction.opname)
    if found and instruction.argval is not None:
        names = instruction.argval
        yield from zip(found, names if isinstance(names, tuple) else (names,), strict=False)


def _fast_event(flow: Flow, index: int, name: str) -> Event | None:
    each = flow.instructions[index]
    if each.opname == "LOAD_FAST_AND_CLEAR":
        return "hide" if each.argval == name else None
    accesses = [what for what, local in fast_accesses(each) if local == name]
    if not accesses:
        return None
    if accesses[0] == "STORE" and _restores(flow, index, name):
        return "show"
    return "read" if accesses[0] == "LOAD" else "write"


def _restores(flow: Flow, index: int, name: str) -> bool:
    """Whether a store only puts back what an inlined comprehension had put away."""
    here = flow.instructions[index].positions
    for each in reversed(flow.instructions[:index]):
        if each.opname == "LOAD_FAST_AND_CLEAR" and each.argval == name:
            return here == each.positions or not _inside(here, each.positions)
    return False


def _inside(inner: dis.Positions | None, outer: dis.Positions | None) -> bool:
    if inner is None or outer is None or None in (*inner, *outer):
        return True
    begins = (outer.lineno, outer.col_offset) <= (inner.lineno, inner.col_offset)  # type: ignore[operator]
    ends = (inner.end_lineno, inner.end_col_offset) <= (outer.end_lineno, outer.end_col_offset)  # type: ignore[operator]
    return begins and ends


def _fate_of_cell(frame: FrameType, name: str, flows: Flows) -> Fate:
    readers = _closures_that_read(frame, name)
    inner = inner_read(frame.f_code, name)
    places: dict[int, Location] = {}

    def event(flow: Flow, index: int) -> Event | None:
        each = flow.instructions[index]
        if each.argval == name and each.opname in _DEREF_READ:
            places[each.offset] = flow.location(each)
            return "read"
        if each.argval == name and each.opname in _DEREF_WRITE:
            return "write"
        if each.argval == name and each.opname in _CAPTURE and inner is not None:
            places[each.offset] = inner
            return "read"
        for loaded in _names_loaded(each):
            if loaded in readers:
                places[each.offset] = readers[loaded]
                return "read"
        return None

    reached = flows.walk(frame, event)
    if reached.read is not None:
        return Fate(places[reached.read.offset])
    return Fate(rebound=reached.rebound)


def _names_loaded(instruction: dis.Instruction) -> Iterator[str]:
    if instruction.opname in _DEREF_READ:
        yield instruction.argval
    yield from (name for what, name in fast_accesses(instruction) if what == "LOAD")


def _closures_that_read(frame: FrameType, name: str) -> Mapping[str, Location]:
    """Locals that are functions which read the cell `name` of this frame."""
    values = locals_of(frame)
    nothing = object()
    value = values.get(name, nothing)
    found: dict[str, Location] = {}
    for local, each in values.items():
        function = code_of(each)
        if function is None or local == name:
            continue
        code, cells = function
        for variable, cell in zip(code.co_freevars, cells, strict=False):
            place = inner_read(code, variable) or first_read(code, variable)
            if variable == name and place is not None and _content(cell) is value:
                found[local] = place
    return found


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None


def first_read(code: CodeType, name: str) -> Location | None:
    """The first place in `code` that reads a cell or free variable."""
    if name in (*code.co_cellvars, *code.co_freevars):
        for each in dis.get_instructions(code):
            if each.argval == name and each.opname in _DEREF_READ:
                return location_of(code, each)
    return None


def inner_read(code: CodeType, name: str) -> Location | None:
    """The first place in a function defined inside `code` that reads its variable `name`."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType) and name in constant.co_freevars:
            found = first_read(constant, name) or inner_read(constant, name)
            if found is not None:
                return found
    return None
