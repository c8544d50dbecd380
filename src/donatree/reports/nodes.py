"""The donated state as nodes: built from the paths of the leaves, and grouped where alike.

Nothing here recurses, so that no depth of a user's tree is too deep.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from donatree import paths
from donatree.ledger import Entry, Gate

Verdict = tuple[Gate | None, str | None]

_NUMBER = re.compile(r"[0-9]+")


@dataclass(slots=True)
class Node:
    """One step of a path, with what lies below it.

    Attributes:
        label: the component, or several where nothing branches between them; empty for a leaf
            whose path is also the start of others.
        path: the whole path down to here.
        entry: the leaf here; None for an inner node.
        children: by component, in flatten order; none for a leaf.
        leaves: how many leaves lie here and below.
        bytes: their bytes per device.
        lost_leaves: how many of them stopped at a gate.
        lost_bytes: the bytes of those.
        told: how many leaves there is something to say of: they were lost or have a finding.
        verdicts: all that became of them, most bytes lost first.
        kind: equal for nodes whose leaves are alike in paths below, types, bytes and verdicts.
    """

    label: str
    path: str
    entry: Entry | None = None
    children: dict[object, Node] = field(default_factory=dict)
    leaves: int = 0
    bytes: int = 0
    lost_leaves: int = 0
    lost_bytes: int = 0
    told: int = 0
    verdicts: dict[Verdict, int] = field(default_factory=dict)
    kind: int = -1


@dataclass(frozen=True, slots=True)
class View:
    """Like nodes shown as one; most often a single node.

    Attributes:
        label: their labels merged, ``[0..11]``.
        nodes: the nodes, all of one ``kind``.
    """

    label: str
    nodes: tuple[Node, ...]

    @property
    def first(self) -> Node:
        """The node that stands for all."""
        return self.nodes[0]

    @property
    def leaves(self) -> int:
        """Leaves of all the nodes together."""
        return len(self.nodes) * self.first.leaves

    @property
    def bytes(self) -> int:
        """Bytes per device of all the nodes together."""
        return len(self.nodes) * self.first.bytes

    @property
    def lost_leaves(self) -> int:
        """Leaves that stopped at a gate, of all the nodes together."""
        return len(self.nodes) * self.first.lost_leaves

    @property
    def lost_bytes(self) -> int:
        """Bytes per device of those."""
        return len(self.nodes) * self.first.lost_bytes

    @property
    def uniform(self) -> bool:
        """Whether the same became of all the leaves."""
        return len(self.first.verdicts) == 1

    def entries(self) -> Iterator[Entry]:
        """The leaves, node by node in flatten order."""
        return (node.entry for one in self.nodes for node in leaves(one) if node.entry)

    def told(self) -> list[View]:
        """The single leaves below that there is something to say of, by their paths from here."""
        start = len(self.first.path)
        rows = zip(*(leaves(node) for node in self.nodes), strict=True)
        return [View(row[0].path[start:], row) for row in rows if row[0].told]

    def plain(self) -> list[Entry]:
        """The leaves below that there is nothing to say of."""
        return [entry for entry in self.entries() if not (entry.stopped_at or entry.finding)]

    def children(self, group: bool) -> list[View]:
        """What lies one step below, like siblings as one view where ``group``."""
        below = list(self.first.children)
        merged = _grouped(self.first, below) if group else [(key,) for key in below]
        return [
            View(
                paths.merge(self.first.children[key].label for key in keys),
                tuple(node.children[key] for node in self.nodes for key in keys),
            )
            for keys in merged
        ]


def leaves(node: Node) -> Iterator[Node]:
    """The nodes that are leaves, here and below, in flatten order."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        if node.entry:
            yield node
        waiting.extend(reversed(node.children.values()))


def roots(ledger_entries: Iterable[Entry]) -> list[View]:
    """The donated arguments of a ledger, each as the view of its whole tree."""
    top = Node("", "")
    order = [top]
    for entry in ledger_entries:
        node = parent = top
        for component in paths.split(entry.path):
            parent, following = node, node.children.get(component)
            if following is None:
                following = node.children[component] = Node(component, node.path + component)
                order.append(following)
            node = following
        if node.entry is not None:  # a path given twice stays two leaves
            twin = Node(node.label, node.path)
            parent.children[node.label, len(order)] = twin
            order.append(twin)
            node = twin
        node.entry = entry
    for node in list(order):  # a leaf is a leaf and nothing else
        if node.entry and node.children:
            own = Node("", node.path, node.entry)
            node.entry, node.children = None, {None: own, **node.children}
            order.append(own)
    kinds: dict[object, int] = {}
    for node in reversed(order):  # children come after their parents
        _join_only_child(node)
        _total(node, kinds)
    return [View(node.label, (node,)) for node in top.children.values()]


def _join_only_child(node: Node) -> None:
    if len(node.children) == 1 and node.entry is None and node.label:
        (child,) = node.children.values()
        node.label += child.label
        node.path, node.entry, node.children = child.path, child.entry, child.children


def _total(node: Node, kinds: dict[object, int]) -> None:
    own: object = None
    if node.entry:
        entry, spec = node.entry, node.entry.leaf.spec
        verdict = entry.stopped_at, entry.finding
        lost = entry.stopped_at is not None
        node.leaves, node.bytes = 1, spec.bytes
        node.lost_leaves, node.lost_bytes = int(lost), spec.bytes if lost else 0
        node.told = int(verdict != (None, None))
        node.verdicts[verdict] = node.lost_bytes
        own = (spec.aval, spec.bytes, spec.global_bytes, verdict, _successor(entry))
    for child in node.children.values():
        node.leaves += child.leaves
        node.bytes += child.bytes
        node.lost_leaves += child.lost_leaves
        node.lost_bytes += child.lost_bytes
        node.told += child.told
        for verdict, lost_bytes in child.verdicts.items():
            node.verdicts[verdict] = node.verdicts.get(verdict, 0) + lost_bytes
    ranked = sorted(node.verdicts.items(), key=lambda item: -item[1])
    node.verdicts = dict(ranked)
    below = tuple((child.label, child.kind) for child in node.children.values())
    node.kind = kinds.setdefault((own, below), len(kinds))


def _successor(entry: Entry) -> object:
    """What a row says of the successor: whether it is the slot, and its type where that changed."""
    if entry.successor is None:
        return None
    return entry.slot is not None and entry.slot.path == entry.successor.path, (
        entry.successor.spec.aval
    )


def _grouped(parent: Node, keys: Sequence[object]) -> list[tuple[object, ...]]:
    """The children's keys, those of like children that differ in a number taken together."""
    groups: dict[object, list[object]] = {}
    for key in keys:
        child = parent.children[key]
        name = _NUMBER.sub("#", child.label)
        groups.setdefault((name, child.kind) if "#" in name else key, []).append(key)
    found: list[tuple[object, ...]] = []
    for group in groups.values():
        merged = paths.merge(parent.children[key].label for key in group)
        found += [(key,) for key in group] if "*" in merged else [tuple(group)]
    return found
