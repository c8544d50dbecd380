"""Names that several frames share: will a global, an attribute or an item be read or rebound.

From the frame that makes a call control goes on in it, then in its caller, and so on outwards.
"""

from __future__ import annotations

import ast
import dis
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import CodeType, FrameType, FunctionType
from typing import Any

from donatree.ledger import Location
from donatree.source.control import Event, Fate, Flow, Flows, location_of
from donatree.source.evaluate import MISSING, evaluate
from donatree.source.functions import function_of
from donatree.source.tree import source_of

_READ_GLOBAL = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"})
_WRITE_GLOBAL = frozenset({"STORE_GLOBAL", "STORE_NAME", "DELETE_GLOBAL", "DELETE_NAME"})
_WRITES = frozenset({"STORE_ATTR", "DELETE_ATTR", "STORE_SUBSCR", "DELETE_SUBSCR"})
_ATTRIBUTES = frozenset({"LOAD_ATTR", "LOAD_METHOD"})


class Chain:
    """Frames of one thread, from the one that makes the call outwards.

    Args:
        frames: the innermost first.
        names: the variables of a frame by name, globals included.
        flows: flows already made.
    """

    def __init__(
        self,
        frames: Sequence[FrameType],
        names: Callable[[FrameType], Mapping[str, Any]],
        flows: Flows | None = None,
    ) -> None:
        self._frames = frames
        self._names = names
        self._flows = flows or Flows()
        self._written: set[tuple[int, str]] | None = None
        self._nodes: dict[tuple[int, int], ast.AST | None] = {}

    def may_rebind(self, owner: Any, step: str) -> bool:
        """Whether any code of these frames assigns or deletes ``owner.name`` or ``owner[key]``.

        Args:
            owner: the object.
            step: ``.name`` or ``['key']``.
        """
        if self._written is None:
            self._written = {each for frame in self._frames for each in self._writes(frame)}
        return (id(owner), step) in self._written or (0, step) in self._written

    def _writes(self, frame: FrameType) -> Iterator[tuple[int, str]]:
        flow = self._flows.of(frame.f_code)
        names = self._names(frame)
        for each in flow.instructions:
            if each.opname not in _WRITES:
                continue
            match self._node(flow.code, each):
                case ast.Attribute(value=owner, attr=attr):
                    at = evaluate(owner, names)
                    yield 0 if at is MISSING else id(at), f".{attr}"
                case ast.Subscript(value=owner, slice=index):
                    key = evaluate(index, names)
                    yield id(evaluate(owner, names)), f"[{key!r}]" if _is_plain(key) else ""
                case _:
                    if isinstance(each.argval, str):
                        yield 0, f".{each.argval}"

    def _node(self, code: CodeType, each: dis.Instruction) -> ast.AST | None:
        key = id(code), each.offset
        if key not in self._nodes:
            self._nodes[key] = _node(code, each)
        return self._nodes[key]

    def _follow(
        self, event: Callable[[FrameType, Flow, int], Event | None]
    ) -> tuple[tuple[FrameType, dis.Instruction] | None, bool]:
        for frame in self._frames:
            reached = self._flows.walk(
                frame, lambda flow, index, frame=frame: event(frame, flow, index)
            )
            if reached.read is not None:
                return (frame, reached.read), False
            if not reached.leaves:
                return None, reached.rebound
        return None, False

    def of_global(self, namespace: dict[str, Any], name: str) -> Fate:
        """What becomes of a name of a module.

        Args:
            namespace: the module's own.
            name: the name.

        Returns:
            A read is also a use of a function of the module that reads the name.
        """
        readers = readers_of(namespace, name)
        places: dict[tuple[int, int], Location] = {}

        def event(frame: FrameType, flow: Flow, index: int) -> Event | None:
            each = flow.instructions[index]
            key = id(frame), each.offset
            if frame.f_globals is namespace:
                if each.argval == name and each.opname in _READ_GLOBAL:
                    places[key] = flow.location(each)
                    return "read"
                if each.argval == name and each.opname in _WRITE_GLOBAL:
                    return "write" if _is_of_module(frame, each) else None
            used = readers.used(each, frame.f_globals)
            if used is not None:
                places[key] = used
            return "read" if used else None

        found, rebound = self._follow(event)
        if found is not None:
            return Fate(places[id(found[0]), found[1].offset])
        ended = any(
            f.f_globals is namespace and f.f_code.co_name == "<module>" for f in self._frames
        )
        return Fate(None, rebound, ended)

    def of_attribute(self, owner: Any, name: str) -> Fate:
        """What becomes of ``owner.name``."""

        def event(frame: FrameType, flow: Flow, index: int) -> Event | None:
            each = flow.instructions[index]
            if each.argval != name:
                return None
            if each.opname in ("STORE_ATTR", "DELETE_ATTR"):
                at = self._owner_at(frame, flow, each)
                return "write" if at is owner or at is MISSING else None
            if each.opname in _ATTRIBUTES and self._owner_at(frame, flow, each) is owner:
                return "read"
            return None

        return self._fate(*self._follow(event))

    def of_item(self, owner: Any, key: Any) -> Fate:
        """What becomes of ``owner[key]``."""

        def event(frame: FrameType, flow: Flow, index: int) -> Event | None:
            each = flow.instructions[index]
            writes = each.opname in ("STORE_SUBSCR", "DELETE_SUBSCR")
            if not writes and not each.opname.startswith(("BINARY_SUBSCR", "BINARY_OP")):
                return None
            node = self._node(flow.code, each)
            if not isinstance(node, ast.Subscript):
                return None
            names = self._names(frame)
            if evaluate(node.value, names) is not owner:
                return None
            at = evaluate(node.slice, names)
            if not _is_plain(at) or type(at) is not type(key) or at != key:
                return None
            return "write" if writes else "read"

        return self._fate(*self._follow(event))

    def _owner_at(self, frame: FrameType, flow: Flow, each: dis.Instruction) -> Any:
        node = self._node(flow.code, each)
        if not isinstance(node, ast.Attribute):
            return MISSING
        return evaluate(node.value, self._names(frame))

    def _fate(self, found: tuple[FrameType, dis.Instruction] | None, rebound: bool) -> Fate:
        return Fate(location_of(found[0].f_code, found[1]) if found else None, rebound)


def _is_plain(key: Any) -> bool:
    return isinstance(key, (str, int, float, bytes, type(None)))


def _is_of_module(frame: FrameType, each: dis.Instruction) -> bool:
    """Whether a store by name goes to the module: in a class body it does not."""
    return each.opname.endswith("GLOBAL") or frame.f_code.co_name == "<module>"


def _node(code: CodeType, each: dis.Instruction) -> ast.AST | None:
    """The expression that an instruction was compiled from; None without source."""
    where = each.positions
    if where is None or where.lineno is None or where.end_lineno is None:
        return None
    if where.col_offset is None or where.end_col_offset is None:
        return None
    source = source_of(code.co_filename)
    if source is None:
        return None
    return source.at((where.lineno, where.end_lineno, where.col_offset, where.end_col_offset))


@dataclass(frozen=True, slots=True)
class Readers:
    """Functions of a module that read one of its globals, or use one that does.

    Attributes:
        functions: where the global is read, by the `id` of the function.
        methods: the same by the name of the method, for whose class is not known at a call.
    """

    functions: Mapping[int, Location]
    methods: Mapping[str, Location]

    def used(self, each: dis.Instruction, namespace: Mapping[str, Any]) -> Location | None:
        """Where the global is read by what an instruction loads; None where it is not."""
        if each.opname in _READ_GLOBAL:
            value = namespace.get(each.argval)
            function = function_of(value)
            if function is None and isinstance(value, type):
                function = function_of(vars(value).get("__init__"))
            return None if function is None else self.functions.get(id(function))
        return self.methods.get(each.argval) if each.opname in _ATTRIBUTES else None


def readers_of(namespace: Mapping[str, Any], name: str) -> Readers:
    """The functions and methods of a module that read its global `name`.

    Args:
        namespace: the module's.
        name: the global.
    """
    functions, methods = _functions(namespace)
    everything = {id(f): f for f in (*functions, *(f for _, f in methods))}
    found: dict[int, Location] = {}
    for key, function in everything.items():
        place = global_read(function.__code__, name)
        if place is not None:
            found[key] = place
    for _ in range(8 if found else 0):  # functions that call functions that read it
        by_name = {called: found[id(f)] for called, f in methods if id(f) in found}
        known = Readers(found, by_name)
        more: dict[int, Location] = {}
        for key, function in everything.items():
            places = (known.used(each, namespace) for each in _all_of(function.__code__))
            place = next((p for p in places if p is not None), None) if key not in found else None
            if place is not None:
                more[key] = place
        if not more:
            break
        found |= more
    return Readers(found, {called: found[id(f)] for called, f in methods if id(f) in found})


def _functions(
    namespace: Mapping[str, Any],
) -> tuple[list[FunctionType], list[tuple[str, FunctionType]]]:
    functions, methods = [], []
    for value in list(namespace.values()):
        function = function_of(value)
        if function is not None and function.__globals__ is namespace:
            functions.append(function)
        elif isinstance(value, type):
            for name, each in vars(value).items():
                method = function_of(each)
                if method is not None and method.__globals__ is namespace:
                    methods.append((name, method))
    return functions, methods


def global_read(code: CodeType, name: str) -> Location | None:
    """The first place in a function, or in one defined inside it, that reads a global."""
    if name in code.co_names:
        for each in dis.get_instructions(code):
            if each.argval == name and each.opname in _READ_GLOBAL:
                return location_of(code, each)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found = global_read(constant, name)
            if found is not None:
                return found
    return None


def _all_of(code: CodeType) -> Iterator[dis.Instruction]:
    yield from dis.get_instructions(code)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _all_of(constant)
