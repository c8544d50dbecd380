"""The leaves of one program as compact data for the page's script.

Texts are interned, the paths are a tree whose nodes name their parents, a slot is a head and how
much of the leaf's own path follows it, and what was read of a leaf is a pattern with its numbers.
50,000 leaves are some 3 MB so, and the browser reads them in a moment.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from donatree import findings
from donatree.ledger import Entry, Gate, Ledger
from donatree.reports import nodes, tree
from donatree.reports.group import Group
from donatree.reports.hardware import name_of
from donatree.reports.leaves import Leaves, join
from donatree.reports.nodes import Node
from donatree.reports.standing import Standing
from donatree.reports.text import clean

KINDS = ("passed", *(gate.value for gate in Gate), "open", "absent")
"""What can become of a leaf; the page's styles and patterns have the same names."""

PASSED = "passed"
_NUMBER = re.compile(r"(?<![0-9])(0|[1-9][0-9]{0,14})(?![0-9])")
_HOLE = "\x00"  # `clean` leaves none in a text


def of(group: Group, causes: Mapping[tuple[str, str], int]) -> Markup:
    """The data of a program, as it stands between the tags of a ``script`` element.

    Args:
        group: the ledgers of the program.
        causes: by code and leaf, the number that the page gives to the finding that says why.
    """
    return safe(_Writer(group, causes).data())


def safe(data: Any) -> Markup:
    r"""Data as JSON that no HTML parser reads anything into: ASCII, without ``<``, ``>`` and ``&``.

    Example:
        >>> safe(["</script>"])
        Markup('["\\u003c/script\\u003e"]')
    """
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"))
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)


class _Writer:
    """Fills the columns of one program."""

    def __init__(self, group: Group, causes: Mapping[tuple[str, str], int]) -> None:
        self._group = group
        self._causes = causes
        self._leaves: Leaves = join(group)
        self._texts: dict[str, int] = {}
        self._patterns: dict[tuple[tuple[str, str], ...], int] = {}

    def data(self) -> dict[str, Any]:
        labels, parents, order = self._tree()
        entries = [self._leaves.entries[number] for number in order]
        local = [entry.bytes for entry in entries]
        whole = [entry.leaf.spec.global_bytes for entry in entries]
        targets = [self._target(number, order) for number in range(len(self._group.ledgers))]
        codes = sorted({code for each in targets for code in each.pop("codes")})
        return {
            "perDevice": self._leaves.per_device,
            "labels": labels,
            "parents": parents,
            "order": order if order != sorted(order) else None,
            "aval": [self._text(entry.leaf.spec.aval) for entry in entries],
            "bytes": local,
            "global": None if whole == local else whole,
            "targets": targets,
            "patterns": [[list(pair) for pair in each] for each in self._patterns],
            "names": {code: findings.rule(code).name for code in codes if _known(code)},
            "texts": list(self._texts),
        }

    def _text(self, text: str | None) -> int:
        if text is None:
            return -1
        return self._texts.setdefault(clean(text), len(self._texts))

    def _tree(self) -> tuple[list[int], list[int], list[int]]:
        """Labels and parents of the nodes, a parent before its children; the leaves' numbers.

        A node without children is a leaf. The root, number 0, has no label.
        """
        labels, parents, order = [self._text("")], [-1], []
        views = nodes.roots(self._leaves.entries)
        waiting: list[tuple[Node, int]] = [(view.first, 0) for view in reversed(views)]
        while waiting:
            node, parent = waiting.pop()
            number = len(labels)
            labels.append(self._text(node.label))
            parents.append(parent)
            if node.entry:
                order.append(node.entry.leaf.flat_index)
            waiting.extend((child, number) for child in reversed(node.children.values()))
        return labels, parents, order

    def _target(self, number: int, order: Sequence[int]) -> dict[str, Any]:
        ledger = self._group.ledgers[number]
        plain = len(self._group.ledgers) == 1
        tried = any(Gate.IN_PLACE.value in entry.evidence for entry in ledger.entries)
        rows = [
            (self._leaves.found[leaf][number], self._leaves.standings[leaf][number])
            for leaf in order
        ]
        fared = [_kind(stand, plain and not tried) for _, stand in rows]
        slots = [self._slot(entry) for entry, _ in rows]
        return {
            "name": name_of(ledger),
            "gates": [gate.label for gate in Gate if gate in ledger.checked],
            "kind": [KINDS.index(kind) for kind, _ in fared],
            "word": [self._text(word) for _, word in fared],
            "code": [self._text(stand.code) for _, stand in rows],
            "finding": [self._finding(entry, stand.code) for entry, stand in rows],
            "slot": [head for head, _ in slots],
            "tail": [tail for _, tail in slots],
            "after": [self._text(_after(entry)) for entry, _ in rows],
            "own": self._own_bytes(rows),
            "read": [self._read(ledger, entry) for entry, _ in rows],
            "codes": {stand.code for _, stand in rows if stand.code},
        }

    def _finding(self, entry: Entry | None, code: str | None) -> int:
        """The number of the finding that speaks of a leaf; 0 where the page has none."""
        return self._causes.get((code, entry.path), 0) if entry and code else 0

    def _own_bytes(self, rows: Sequence[tuple[Entry | None, Standing]]) -> list[int] | None:
        """Bytes per device on this target, where the targets differ."""
        if self._leaves.per_device:
            return None
        return [entry.bytes if entry else 0 for entry, _ in rows]

    def _slot(self, entry: Entry | None) -> tuple[int, int]:
        """The slot's path as a head and how many characters of the leaf's path follow it."""
        if entry is None or entry.slot is None:
            return -1, 0
        slot, path = clean(entry.slot.path), clean(entry.path)
        if not (slot.isascii() and path.isascii()):  # JavaScript counts UTF-16
            return self._text(slot), 0
        below = path.removeprefix(entry.leaf.argument)  # what most often follows in the slot, too
        shared = len(below) if slot.endswith(below) else _shared_end(slot, path)
        return self._text(slot[: len(slot) - shared]), shared

    def _read(self, ledger: Ledger, entry: Entry | None) -> list[int]:
        """What was read of a leaf: the number of a pattern, then the numbers that fill it."""
        if entry is None or not entry.evidence:
            return []
        pattern, numbers = [], []
        for gate, text in tree.in_gate_order(entry.evidence):
            words = _NUMBER.split(clean(text))  # text, number, text ...
            numbers += map(int, words[1::2])
            pattern.append((clean(gate.replace("_", " ")), _HOLE.join(words[::2])))
        key = tuple(pattern)
        return [self._patterns.setdefault(key, len(self._patterns)), *numbers]


def _shared_end(one: str, other: str) -> int:
    """How many characters two texts have in common at their ends."""
    pairs = zip(reversed(one), reversed(other), strict=False)
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))


def _kind(stand: Standing, plain: bool) -> tuple[str, str]:
    """The kind of a leaf's fate and the word for it.

    Where gate *in place* was not looked at at all, a leaf that did not stop has simply passed.
    """
    if stand.state == "lost":
        return (stand.gate or Gate.GRANTED).value, stand.words
    if stand.state == "kept" or (plain and stand.state == "open"):
        return PASSED, "in place" if stand.state == "kept" else PASSED
    return stand.state, stand.words


def _after(entry: Entry | None) -> str | None:
    """How the result at the leaf's own place differs from it; None where it does not."""
    if entry is None or entry.successor is None:
        return None
    if entry.slot is not None and entry.slot.path != entry.successor.path:
        return f"not {entry.successor.path}"
    aval = entry.successor.spec.aval
    return None if aval == entry.leaf.spec.aval else f"returned as {aval}"


def _known(code: str) -> bool:
    return code in findings.CODES
