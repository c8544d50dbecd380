"""What a finding's file holds: its code, its page, and the words that fit every finding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from donatree import paths
from donatree.ledger import Finding, Gate, Label, Level, Location
from donatree.why import copies as copying

if TYPE_CHECKING:
    from donatree.observation import Observation
    from donatree.why.causes import Group
    from donatree.why.copies import Copies


_FEW = 3


@dataclass(frozen=True, slots=True)
class Rule:
    """One code.

    Attributes:
        code: ``DT402``.
        name: a short name, ``dtype-drift``.
        gate: the gate by which it is numbered; None for what concerns no gate.
        page: Markdown: what it means, why it happens, what to do. Its first line is the title.
        failing: a program that shows it; leaves `step` and `args`.
        repaired: the same program repaired.
        runs: whether only a run shows it: the programs are whole scripts then, which make their
            own calls.
        proved: whether only further compiles show it (`--prove`).
        describe: makes the finding from its leaves; None where it has none.
    """

    code: str
    name: str
    gate: Gate | None
    page: str
    failing: str
    repaired: str
    describe: Callable[[Group, Observation], Finding] | None = None
    runs: bool = False
    proved: bool = False

    @property
    def title(self) -> str:
        """The page's first line; Python keeps no page under `-OO`."""
        return (self.page.strip() or self.name).splitlines()[0]


def count(number: int, noun: str) -> str:
    """`1 byte`, `84 bytes`, `1,024 leaves`."""
    if number == 1:
        return f"1 {noun}"
    plural = {"leaf": "leaves"}.get(noun, f"{noun}s")
    return f"{number:,} {plural}"


def subject(group: Group) -> str:
    """The leaves of a group in a sentence: a path, or a count and what they have in common."""
    entries = group.entries
    if len(entries) == 1:
        return f"`{entries[0].path}`"
    common = _common([entry.path for entry in entries])
    if common:
        return f"{count(len(entries), 'leaf')} of `{common}`"
    arguments = sorted({entry.leaf.argument for entry in entries})
    return f"{count(len(entries), 'leaf')} of {' and '.join(f'`{name}`' for name in arguments)}"


def _common(names: Sequence[str]) -> str:
    """The longest path that all of them begin with; empty where there is none."""
    split = [paths.split(name) for name in names]
    shared = 0
    for pieces in zip(*split, strict=False):
        if len(set(pieces)) > 1:
            break
        shared += 1
    return "".join(split[0][:shared])


def folded(group: Group) -> str:
    """The leaves' common path, argument by argument."""
    by_argument: dict[str, list[str]] = {}
    for entry in sorted(group.entries, key=lambda entry: entry.leaf.flat_index):
        by_argument.setdefault(entry.leaf.argument, []).append(entry.path)
    return ", ".join(paths.fold(names) for names in by_argument.values())


def verb(group: Group, one: str, many: str) -> str:
    """The form of a verb that fits the number of leaves."""
    return one if len(group.entries) == 1 else many


def finding(
    group: Group,
    headline: str,
    *,
    help: str | None = None,  # noqa: A002, rustc's word
    notes: Sequence[str] = (),
    level: Level | None = None,
    location: Location | None = None,
    labels: Sequence[Label] = (),
) -> Finding:
    """A finding about the leaves of `group`; an error where they were lost."""
    return Finding(
        code=group.code,
        headline=headline,
        leaves=tuple(entry.path for entry in group.entries),
        bytes=group.bytes,
        level=level or ("error" if group.lost else "warning"),
        location=location or next((each.location for each in labels if each.primary), None),
        folded=folded(group),
        notes=tuple(notes),
        help=help,
        labels=tuple(labels),
    )


def drift(
    group: Group,
    headline: str,
    *,
    help: str,  # noqa: A002
    notes: Sequence[str],
) -> Finding:
    """A finding about leaves that came back as another type, at the expression that did it."""
    location = group.origins[0].location if group.origins else None
    return finding(
        group, headline, help=help, notes=[*_origin_notes(group), *notes], location=location
    )


def _origin_notes(group: Group) -> list[str]:
    """What is known of the expression beside its place."""
    notes = []
    if group.origins and group.origins[0].unknown:
        notes.append(f"there is no expression to point at: {group.origins[0].unknown}")
    told = {}
    for entry, origin in zip(group.entries, group.origins, strict=False):
        if origin.because:
            told.setdefault(origin.because, entry.path)
    if len(told) == 1:
        notes += told
    else:
        notes += [f"for `{path}`: {because}" for because, path in list(told.items())[:_FEW]]
    libraries = dict.fromkeys(o.library for o in group.origins if o.library)
    places = [f"`{_inside(each)}`" for each in libraries]
    if places:
        more = f" and {len(places) - _FEW:,} more" if len(places) > _FEW else ""
        notes.append(f"in the library it is {', '.join(places[:_FEW])}{more}")
    also = dict.fromkeys(place for origin in group.origins for place in origin.also)
    if also:
        lines = ", ".join(f"`{place}`" for place in list(also)[:_FEW])
        notes.append(f"other branches do the same: {lines}")
    return notes


def _inside(location: Location) -> str:
    """A library's line from its package on: where it is installed is nobody's concern."""
    file = location.file.replace("\\", "/").rpartition("/site-packages/")[2]
    return f"{file}:{location.line}"


def copied(copies: Copies, why: str, *, help: str, notes: Sequence[str] = ()) -> Finding:  # noqa: A002
    """A finding about granted leaves that a run copied.

    Args:
        copies: the leaves and the calls.
        why: the second half of the headline.
        help: what to change.
        notes: facts.
    """
    group = copies.group
    when = f"{copying.numbers(copies.calls)} of the {len(copies.looked_at):,} looked at copied"
    if len(copies.looked_at) == 1:
        when = "one call was looked at, and it copied"
    elif copies.calls == copies.looked_at:
        when = f"all {len(copies.calls):,} calls looked at copied"
    elif not group.lost:
        when = f"{copying.numbers(copies.calls)} copied, the calls after that reused the memory"
    if copies.of_shards > len(group.entries):
        when += f"; {copies.shards:,} of {copies.of_shards:,} shards"
    return finding(
        group,
        f"{subject(group)} {verb(group, 'was', 'were')} granted and then copied by the run: {why}",
        level="error" if group.lost else "warning",
        notes=[*copies.by, when, *notes],
        help=help,
    )
