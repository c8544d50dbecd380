"""One program on the page: its funnel or its targets side by side, its facts, its leaves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from markupsafe import Markup

from donatree import paths
from donatree.ledger import Gate, Ledger
from donatree.reports import fixes, made_copies, per_device, side_by_side, sizes
from donatree.reports.group import Group
from donatree.reports.hardware import device_of, name_of
from donatree.reports.html import funnel, island, state, totals
from donatree.reports.html.spans import WIDE, Told, prose, spans, told

Fact = tuple[str, Markup]


@dataclass(frozen=True, slots=True)
class Narrowing:
    """What passed a gate on each of several targets: None where the gate was not checked."""

    name: str
    stages: Sequence[funnel.Stage | None]


@dataclass(frozen=True, slots=True)
class Shortfall:
    """A target on which the program does not fit, and what fills its memory."""

    headline: str
    text: str
    ledger: Ledger


class Program:
    """A function and signature, on one target or on several.

    Attributes:
        id: where the page has it.
        group: its ledgers.
        several: whether there are several targets.
        open: whether the page shows all of it from the start.
    """

    def __init__(
        self, number: int, group: Group, causes: Mapping[tuple[str, str], int], *, shown: bool
    ) -> None:
        self.id = f"program-{number}"
        self.number = number
        self.group = group
        self._causes = causes
        self.several = len(group.ledgers) > 1
        self.open = shown

    @property
    def ledger(self) -> Ledger:
        """The first of its ledgers."""
        return self.group.first

    @cached_property
    def lost_leaves(self) -> int:
        """Leaves that stopped at a gate, over all targets."""
        return sum(len(each.lost) for each in self.group.ledgers)

    @property
    def where(self) -> str:
        """The targets, else the devices."""
        if self.several:
            return f"{len(self.group.ledgers):,} targets"
        where = [name_of(self.ledger)] if self.ledger.target else []
        return ", ".join([*where, *filter(None, [device_of(self.ledger)])])

    @property
    def codes(self) -> list[str]:
        """Codes of the findings of all its ledgers, each once."""
        found = (each for ledger in self.group.ledgers for each in ledger.findings)
        return list(dict.fromkeys(each.code for each in found if each.ignored is None))

    @cached_property
    def stages(self) -> list[funnel.Stage]:
        """The funnel of the first ledger."""
        return funnel.stages(self.ledger)

    @property
    def gates(self) -> list[Narrowing]:
        """The funnels of all targets, gate by gate."""
        made = [{stage.kind: stage for stage in funnel.stages(each)} for each in self.group.ledgers]
        names = [("promised", "promised"), *((gate.value, gate.label) for gate in Gate)]
        rows = ((name, [each.get(kind) for each in made]) for kind, name in names)
        return [Narrowing(name, row) for name, row in rows if any(row)]

    @property
    def columns(self) -> list[str]:
        """The heads of the columns that say what became of a leaf."""
        if self.several:
            return [name_of(each) for each in self.group.ledgers]
        return ["what became of it"]

    @cached_property
    def state(self) -> state.State:
        """The donated state, folded."""
        return state.of(self.group)

    @property
    def data(self) -> Markup:
        """Every leaf, for the page's script."""
        return island.of(self.group, self._causes)

    @cached_property
    def facts(self) -> list[Fact]:
        """What is known of the program beside its leaves."""
        found: list[Fact] = []
        signatures: dict[str, list[str]] = {}
        for each in self.group.ledgers:
            if each.signature:
                signatures.setdefault(each.signature, []).append(name_of(each))
        for signature, names in signatures.items():
            on = f" on {', '.join(names)}" if len(signatures) > 1 else ""
            text = Markup('<span class="path">{}</span>').format(prose(signature))
            found.append((f"signature{on}", text))
        donated = dict.fromkeys(n for each in self.group.ledgers for n in each.donated_arguments)
        if donated:
            text = Markup('<span class="path">{}</span>').format(prose(", ".join(donated)))
            found.append(("donated", text))
        calls = dict.fromkeys(str(each.call) for each in self.group.ledgers if each.call)
        found += [("called at", prose(call)) for call in calls]
        return found if self.several else [*found, *totals.of(self.ledger)]

    @property
    def table(self) -> tuple[list[str], list[list[Markup]]]:
        """Bytes in place and live memory of each target: heads and rows."""
        heads, rows = per_device.table(self.group)
        return heads, [[spans(cell) for cell in row] for row in rows]

    @cached_property
    def told(self) -> list[Told]:
        """Padding, copies, changes that go together, notes."""
        made: list[Told] = []
        for each in self.group.ledgers:
            made += told(per_device.padding(each, WIDE))
        if self.several:
            made += told(made_copies.lines(self.group, WIDE))
        for each in self.group.ledgers:
            made += told(fixes.together(each.fixes, each.devices, WIDE, evidence=True))
        made += [Told("note", prose(note)) for note in side_by_side.notes(self.group)]
        return made

    @cached_property
    def copies(self) -> list[tuple[str, str, str, str, str]]:
        """The copies by which XLA takes bytes back: target, leaves, bytes, why, place."""
        return [
            (
                name_of(ledger),
                paths.fold(each.leaves) if each.leaves else "no leaf",
                sizes.short(each.bytes),
                f"{each.instruction}: {each.protects}{_readers(each.readers)}{_COSTS[each.costs]}",
                str(each.location or ""),
            )
            for ledger in self.group.ledgers
            for each in ledger.copies
        ]

    @property
    def shortfalls(self) -> list[Shortfall]:
        """The targets on which it does not fit."""
        return list(filter(None, map(_shortfall, self.group.ledgers)))


_COSTS = {
    True: "",
    False: "; not at the peak of the temporaries",
    None: "",
}


def _readers(readers: Sequence[str]) -> str:
    return f", read by {', '.join(readers)}" if readers else ""


def _shortfall(ledger: Ledger) -> Shortfall | None:
    if ledger.fits is not False or ledger.live is None or ledger.target is None:
        return None
    total, memory = ledger.live.total, ledger.target.memory or 0
    source = f", {ledger.target.memory_source}" if ledger.target.memory_source else ""
    return Shortfall(
        f"does not fit {name_of(ledger)}: {sizes.size(total - memory)} per device too much",
        f"needs {sizes.short(total)} ({total:,}), a device has {sizes.short(memory)} "
        f"({memory:,}{source})",
        ledger,
    )
