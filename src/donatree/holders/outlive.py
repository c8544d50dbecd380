"""Which holders still count once the call has returned and its statement is done."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from types import FrameType
from typing import Any

from donatree.holders.roots import Root
from donatree.holders.search import Search
from donatree.holders.stacks import Stacks
from donatree.ledger import Location
from donatree.source.chain import Chain
from donatree.source.control import Fate, Flows
from donatree.source.liveness import fate_of

_REACH = 400


@dataclass(frozen=True, slots=True)
class Trail:
    """A way from a root down to an object."""

    root: Root
    steps: tuple[str, ...] = ()
    read_at: Location | None = None


class Judge:
    """Decides which roots and references count.

    Args:
        stacks: the frames as they stand.
        search: what was found above the targets.
        outliving: whether only what outlives the call counts; else every live reference does.
        excused: references that do not count: frame or owner by `id`, and the name or step.
    """

    def __init__(
        self,
        stacks: Stacks,
        search: Search,
        outliving: bool,
        excused: frozenset[tuple[int, str]] = frozenset(),
    ) -> None:
        self._stacks = stacks
        self._search = search
        self._outliving = outliving
        self._excused = excused
        self._flows = Flows()
        self._chain = Chain(stacks.chain, stacks.names, self._flows)
        self._edges: dict[tuple[int, str], bool] = {}
        self._asking: set[int] = set()
        self._fates: dict[tuple[int, str], Fate] = {}

    def counts(self, root: Root, value: Any) -> tuple[bool, Location | None]:
        """Whether a root counts, and where it is read again if that is known.

        Args:
            root: the root.
            value: what it names.
        """
        if root.frame is not None and (id(root.frame), root.name) in self._excused:
            return False, None
        if root.namespace is not None and (id(root.namespace), root.name) in self._excused:
            return False, None
        match root.kind:
            case "local" | "generator":
                return self._local(root, value)
            case "global":
                return self._global(root)
            case "closure":
                return self._closure(root, value)
            case "function":
                return self._lasts(root.via), None
            case "traceback":
                return not self._outliving, None
        return True, None

    def _local(self, root: Root, value: Any) -> tuple[bool, Location | None]:
        frame = root.frame
        assert frame is not None
        if self._outliving and frame in self._stacks.chain:
            # A variable that inner functions share: they go on first.
            for inner in self._stacks.chain[: self._stacks.chain.index(frame)]:
                if self._shares(inner, root.name, value):
                    fate = self._fate(inner, root.name)
                    if fate.rebound or fate.read_at is not None:
                        return False, None  # gone, or told of as the inner frame's variable
        read_at = self._fate(frame, root.name).read_at
        return read_at is not None or not self._outliving, read_at

    def _fate(self, frame: FrameType, name: str) -> Fate:
        """What becomes of a variable; thousands of leaves can hang on one."""
        key = id(frame), name
        if key not in self._fates:
            self._fates[key] = fate_of(frame, name, self._flows)
        return self._fates[key]

    def _shares(self, frame: FrameType, name: str, value: Any) -> bool:
        """Whether a cell of this name in `frame` has this content."""
        own = (*frame.f_code.co_cellvars, *frame.f_code.co_freevars)
        return name in own and self._stacks.names(frame).get(name) is value

    def _global(self, root: Root) -> tuple[bool, Location | None]:
        assert root.namespace is not None
        key = id(root.namespace), root.name
        if key not in self._fates:
            self._fates[key] = self._chain.of_global(root.namespace, root.name)
        fate = self._fates[key]
        if not self._outliving or fate.read_at is not None:
            return True, fate.read_at
        return not fate.rebound and not (
            fate.ended and not _is_interactive(self._stacks.chain)
        ), None

    def _closure(self, root: Root, value: Any) -> tuple[bool, Location | None]:
        if not self._outliving:
            return True, None
        content = getattr(value, "cell_contents", value)
        for frame in self._stacks.chain:
            if self._shares(frame, root.name, content):
                fate = self._fate(frame, root.name)
                if fate.rebound or fate.read_at is not None:
                    return False, None  # gone, or told of as the frame's own variable
        return self._lasts(root.via), None

    def _lasts(self, holder: Any) -> bool:
        """Whether a function, as a holder, is itself held by something that counts."""
        if not self._outliving:
            return True
        return self.trail(holder) is not None

    def trail(self, target: Any) -> Trail | None:
        """The shortest way to an object from a root that counts; None where there is none."""
        start = id(target)
        if start in self._asking:
            return None
        self._asking.add(start)
        try:
            return self._trail(start)
        finally:
            self._asking.discard(start)

    def _trail(self, start: int) -> Trail | None:
        level: list[tuple[int, tuple[str, ...]]] = [(start, ())]
        met = {start}
        seen = self._search.seen
        while level and len(met) < _REACH:
            following: list[tuple[int, tuple[str, ...]]] = []
            for key, steps in level:
                for root in self.in_order(key):
                    counted, read_at = self.counts(root, seen.get(key))
                    if counted:
                        return Trail(root, steps, read_at)
                for above, step in self._search.above(key):
                    if above not in met and self.holds(above, step):
                        met.add(above)
                        following.append((above, (step, *steps) if step else steps))
            level = following
        return None

    def is_told(self, root: Root, key: int) -> bool:
        """Whether a constant of a trace is told of by the variable that its function closed over.

        Args:
            root: a root.
            key: the `id` of what it names.
        """
        if root.kind != "constant":
            return False
        cells = [above for above, _ in self._search.above(key)]
        return any(
            each.kind == "closure" and each.via.__name__ == root.name
            for cell in cells
            for each in self._search.roots.get(cell, ())
        )

    def in_order(self, key: int) -> list[Root]:
        """The roots that name an object directly, those of the user's own frames first."""
        known = self._search.roots.get(key, ())
        if len(known) < 2:
            return list(known)
        own = {id(frame) for frame in self._stacks.chain}
        return sorted(
            known,
            key=lambda root: (root.frame is None or id(root.frame) not in own, root.name == "self"),
        )

    def holds(self, owner: int, step: str) -> bool:
        """Whether one reference still stands once the statement of the call is done."""
        if (owner, step) in self._excused:
            return False
        if not self._outliving or not self._stacks.chain:
            return True
        known = self._edges.get((owner, step))
        if known is None:
            known = self._edges[owner, step] = not self._rebound(self._search.seen[owner], step)
        return known

    def _rebound(self, owner: Any, step: str) -> bool:
        if not step or not self._chain.may_rebind(owner, step):
            return False
        if step.startswith("."):
            return self._chain.of_attribute(owner, step[1:]).rebound
        try:
            key = ast.literal_eval(step[1:-1])
        except (ValueError, SyntaxError):
            return False
        return self._chain.of_item(owner, key).rebound


def _is_interactive(chain: list[FrameType]) -> bool:
    """Whether the outermost code is a notebook's cell or a line at a prompt: more may follow."""
    modules = [
        frame
        for frame in chain
        if frame.f_code.co_name == "<module>" and "__donatree__" not in frame.f_globals
    ]
    return any(
        frame.f_code.co_filename.startswith("<") or "ipykernel" in frame.f_code.co_filename
        for frame in modules
    )
