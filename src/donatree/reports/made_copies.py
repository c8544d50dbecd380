"""Which copies each target's compiler makes of donated leaves, and which only one of them makes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from donatree import paths
from donatree.ledger import Finding, Ledger, MadeCopy
from donatree.reports import sizes, standing
from donatree.reports.group import Group
from donatree.reports.hardware import listed, name_of, others, platform_name, platform_of
from donatree.reports.text import CARE, HEAD, Line, clean, paragraph


def lines(group: Group, width: int = 100) -> Iterator[Line]:
    """The copies of a group of ledgers, those that the same targets make together.

    Args:
        group: the ledgers of one program, each of another target.
        width: columns.

    Yields:
        ``copies: only the CPU copies ...``; one line where no target makes any.
    """
    read = [ledger for ledger in group.ledgers if ledger.live is not None or ledger.copies]
    unread = [name_of(ledger) for ledger in group.ledgers if ledger not in read]
    if not read:
        return
    makers: dict[tuple[str, ...], list[Ledger]] = {}
    for ledger in read:
        for leaves in dict.fromkeys(_leaves(each) for each in ledger.copies):
            makers.setdefault(leaves, []).append(ledger)
    shared: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    for leaves, ledgers in makers.items():
        shared.setdefault(tuple(map(name_of, ledgers)), []).append(leaves)
    if not shared:
        yield [("copies of donated leaves: ", HEAD), (f"none on {_all(read)}", "")]
    else:
        yield [("copies of donated leaves", HEAD)]
    for names, sets in shared.items():
        ledgers = [ledger for ledger in read if name_of(ledger) in names]
        who = _who(ledgers, [each for each in read if each not in ledgers])
        text = f"{who}: {_what(ledgers, set(sets))}"
        yield from paragraph(text, width, [("  ", "")], 4)
    if shared:
        none = [name_of(ledger) for ledger in read if not ledger.copies]
        if none:
            yield from paragraph(f"{others(none)}: none", width, [("  ", "")], 4)
    if unread:
        yield from paragraph(f"{listed(unread)}: not known", width, [("  ", "")], 4, CARE)


def only(finding: Finding, makers: Sequence[Ledger], rest: Sequence[Ledger]) -> str | None:
    """Says of a finding about a copy that no other target makes it.

    Args:
        finding: of any code.
        makers: the ledgers of one program in which it stands.
        rest: the ledgers of the same program on other targets.

    Returns:
        A note, or None where another target copies one of the leaves, or none could be read.
    """
    if finding.code not in standing.COPIES or not makers:
        return None
    kept: list[str] = []
    unknown: list[str] = []
    for ledger in rest:
        fared = [standing.of(ledger, e) for e in ledger.entries if e.path in finding.leaves]
        if any(each.copied for each in fared):
            return None
        if fared and all(each.state == "kept" for each in fared):
            kept.append(name_of(ledger))
        else:
            unknown.append(name_of(ledger))
    if not kept:
        return None
    many = len(finding.leaves) > 1
    text = (
        f"{_who(makers, rest)} makes this copy: on {others(kept)} the "
        f"{'leaves stay' if many else 'leaf stays'} in place"
    )
    return text + (f"; on {others(unknown)} that is not known" if unknown else "")


def _who(makers: Sequence[Ledger], rest: Sequence[Ledger]) -> str:
    """Who makes copies that the others do not: ``only the CPU``, ``host and cuda:h100``."""
    mine = {platform_of(ledger) for ledger in makers}
    theirs = {platform_of(ledger) for ledger in rest}
    (platform, *more) = mine
    if rest and platform and not more and platform not in theirs:
        return f"only {platform_name(platform)}"
    if len(makers) == 1 and rest:
        return f"only {name_of(makers[0])}"
    return listed([name_of(ledger) for ledger in makers])


def _all(ledgers: Sequence[Ledger]) -> str:
    return listed([name_of(ledger) for ledger in ledgers])


def _leaves(copy: MadeCopy) -> tuple[str, ...]:
    return tuple(sorted(copy.leaves))


def _what(ledgers: Sequence[Ledger], sets: set[tuple[str, ...]]) -> str:
    """The leaves of some copies, and what the copies are on the first target that makes them."""
    first = ledgers[0]
    copies = [each for each in first.copies if _leaves(each) in sets]
    size = sum(each.bytes for each in copies)
    names = list(dict.fromkeys(path for each in copies for path in each.leaves))
    number = sizes.count(len(copies), "copy", "copies")
    on = f" on {name_of(first)}" if len(ledgers) > 1 else ""
    free = sum(each.bytes for each in copies if each.costs is False)
    beside = f" ({sizes.short(free)} of it not at the peak of the temporaries)" if free else ""
    folded = clean(paths.fold(names)) if names else "no leaf"
    return f"{number}{on}, {sizes.short(size)}{beside}, of {folded}"
