"""The report for people: every ledger, then the findings, then what to do next.

One code path makes it with and without colour; ``NO_COLOR`` and ``FORCE_COLOR`` are respected,
and a stream that is no terminal gets plain text, 100 columns wide.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TextIO

from donatree.ledger import Account, Gate, Ledger
from donatree.reports import (
    DEFAULT_WIDTH,
    Options,
    advice,
    comparison,
    faults,
    findings,
    fit,
    fixes,
    funnel,
    hardware,
    ignored,
    per_device,
    processes,
    refusals,
    rehearsals,
    side_by_side,
    sizes,
    streams,
    tree,
)
from donatree.reports.console import Document, put
from donatree.reports.group import Group, groups, targets
from donatree.reports.text import (
    ASCII,
    BAD,
    DIM,
    GOOD,
    HEAD,
    UNICODE,
    Line,
    Marks,
    clean,
    elide,
    paragraph,
)

_MANY_SIGNATURES = 3


def write(account: Account, stream: TextIO, options: Options) -> None:
    """Writes the report to a stream, with colours where it takes them.

    What the stream's encoding does not have is written as an escape.

    Args:
        account: what was learnt of a program.
        stream: an open text stream.
        options: the width, colours and marks; what is None is found out from the stream.
    """
    width = options.width or streams.width(stream)
    unicode = streams.has_marks(stream) if options.unicode is None else options.unicode
    color = streams.wants_color(stream) if options.color is None else options.color
    put(document(account, replace(options, width=width, unicode=unicode)), stream, width, color)


def write_plain(account: Account, stream: TextIO, options: Options) -> None:
    """Writes the report without colours, as ``write`` does where the stream is no terminal."""
    width = options.width or DEFAULT_WIDTH
    write(account, stream, replace(options, color=False, width=width))


def document(account: Account, options: Options) -> Document:
    """The whole report, for a console of the caller's own.

    Args:
        account: what was learnt of a program.
        options: ``width`` is 100 and ``unicode`` true where they are None.

    Returns:
        Something that ``Console.print`` prints; use ``soft_wrap=True``.
    """
    width = options.width or DEFAULT_WIDTH
    marks = ASCII if options.unicode is False else UNICODE
    sections = [
        _title(account, width),
        *_ledgers(account.ledgers, marks, width, options),
        *([_nothing_donated(account, width)] if _is_empty(account) else []),
        refusals.lines(account, width),
        rehearsals.lines(account, width),
        *findings.sections(account, marks, width, options.evidence),
        *(advice.lines(each, width) for each in account.advice),
        _totals(account),
        *comparison.sections(account, width, expand=options.expand),
        ignored.lines(account, width, expand=options.expand),
        _next(account),
        faults.lines(account, width),
    ]
    lines: list[Line] = []
    for section in sections:
        made = [line for line in section if line]
        lines += [[], *made] if lines and made else made
    return Document(tuple(lines))


def _title(account: Account, width: int) -> Iterator[Line]:
    versions = account.versions
    tool = "donatree " + versions["donatree"] if versions.get("donatree") else "donatree"
    facts = [account.program, versions.get("jax") and f"jax {versions['jax']}", account.platform]
    rest = ", ".join(clean(fact) for fact in facts if fact)
    yield [(clean(tool), HEAD), (f": {rest}" if rest else "", "")]
    if account.ended:
        text = f"the program ended with {account.ended}; this is what was learnt until then"
        yield from paragraph(text, width, [], 0, BAD)
    yield from processes.lines(account, width)


def _ledgers(
    ledgers: Sequence[Ledger], marks: Marks, width: int, options: Options
) -> Iterator[Iterator[Line]]:
    """Every program; of a function with many signatures the first, the worst and a count."""
    of_function: dict[object, list[Group]] = {}
    for each in groups(ledgers):
        of_function.setdefault((each.first.function, each.first.location), []).append(each)
    for made in of_function.values():
        shown = made
        if len(made) > _MANY_SIGNATURES and not options.expand:
            worst = max(made, key=lambda group: group.promised - group.kept_in_place)
            shown = [made[0]] if worst is made[0] else [made[0], worst]
        for group in shown:
            if len(group.ledgers) == 1:
                yield _ledger(group.first, marks, width, options)
            else:
                yield side_by_side.lines(
                    group, marks, width, expand=options.expand, evidence=options.evidence
                )
        if len(shown) < len(made):
            yield _other_signatures([each for each in made if each not in shown], width)


def _other_signatures(rest: Sequence[Group], width: int) -> Iterator[Line]:
    kept = sum(group.kept_in_place for group in rest)
    promised = sum(group.promised for group in rest)
    name = clean(rest[0].first.function)
    together = " over all targets" if any(len(each.ledgers) > 1 for each in rest) else ""
    text = (
        f"{len(rest):,} more signatures of `{name}`: {kept:,} of {promised:,} bytes{together}; "
        "`--expand` shows them"
    )
    yield from paragraph(text, width, [("and ", HEAD)], 4)


def _ledger(ledger: Ledger, marks: Marks, width: int, options: Options) -> Iterator[Line]:
    header: Line = [(clean(ledger.function), "bold cyan")]
    if ledger.location:
        header.append((f" ({clean(str(ledger.location))})", ""))
    where = [hardware.name_of(ledger)] if ledger.target else []
    where += filter(None, [hardware.device_of(ledger)])
    header.append((f"  {', '.join(where)}" if where else "", DIM))
    yield header
    signature = clean(ledger.signature)
    if signature:
        yield [("  " + (signature if options.expand else elide(signature, width - 2, marks)), DIM)]
    if ledger.call:
        yield [(f"  called at {clean(str(ledger.call))}", DIM)]
    yield [("", "")]
    yield from _indented(funnel.lines(ledger, marks, width - 2))
    if ledger.promised_global != ledger.promised:
        shown = sizes.size(ledger.promised_global)
        yield [(f"  bytes are per device; the whole arrays have {shown}", DIM)]
    yield from _alias_size(ledger)
    yield from _live(ledger, width)
    yield from _saved(ledger)
    if ledger.entries:
        yield [("", "")]
        yield from _indented(
            tree.lines(ledger, marks, width - 2, expand=options.expand, evidence=options.evidence)
        )
    too_large = list(fit.lines(ledger, marks, width - 2))
    if too_large:
        yield [("", "")]
        yield from _indented(too_large)
    yield from fixes.together(ledger.fixes, ledger.devices, width, evidence=options.evidence)
    for note in ledger.notes:
        yield from paragraph(note, width, [("  = ", "blue"), ("note: ", HEAD)], 10)


def _indented(lines: Iterable[Line]) -> Iterator[Line]:
    for line in lines:
        yield [("  ", ""), *line]


def _alias_size(ledger: Ledger) -> Iterator[Line]:
    """XLA's own total beside ours, where the two are not simply the same."""
    total = ledger.alias_size_in_bytes
    granted = ledger.bytes_after(Gate.GRANTED)
    if total is None or granted is None or total == granted:
        return
    line: Line = [(f"  alias_size_in_bytes {total:,} = {granted:,} granted", DIM)]
    if ledger.alias_not_donated_bytes:
        text = f" + {ledger.alias_not_donated_bytes:,} that belong to no donated leaf"
        line.append((text, DIM))
    unexplained = total - granted - ledger.alias_not_donated_bytes
    if unexplained:
        sign = "+" if unexplained > 0 else "-"
        line.append((f" {sign} {abs(unexplained):,} that donatree cannot explain", BAD))
    yield line


def _live(ledger: Ledger, width: int) -> Iterator[Line]:
    """Of a target, live memory against what a device has; what its own layout adds."""
    if ledger.target is None:
        return
    yield from _indented(per_device.padding(ledger, width - 2))
    found = fit.verdict(ledger)
    if found:
        yield [("  live memory per device ", DIM), *found]


def _saved(ledger: Ledger) -> Iterator[Line]:
    """What donation saves the whole call, where that was measured."""
    if ledger.live is None or ledger.undonated is None or ledger.saved is None:
        return
    saved = ledger.saved
    verdict, style = f"saves {sizes.exact(saved)}", GOOD
    if saved <= 0:
        verdict, style = "saves nothing" if not saved else f"costs {sizes.exact(-saved)}", BAD
    yield [
        (
            f"  live memory {ledger.live.total:,}, without donation {ledger.undonated.total:,} "
            "bytes per device: donation ",
            DIM,
        ),
        (verdict, style),
    ]


def _is_empty(account: Account) -> bool:
    # What `donatree diff` compares is no program that could have donated something.
    compared = account.comparison is not None and account.comparison.new is not None
    return not (account.ledgers or account.rehearsals or account.refusals or compared)


def _nothing_donated(account: Account, width: int) -> Iterator[Line]:
    if account.faults:
        yield [("no function could be accounted for", HEAD)]
        return
    if not (account.versions.get("jax") or account.platform or account.findings):
        yield [("JAX was not used, so there is nothing to account for", HEAD)]
        return
    yield [("no function that was compiled asked for donation", HEAD)]
    if account.advice:
        return  # which says what to donate
    text = (
        "name the argument that the call replaces, most often the training state, in "
        "`jax.jit(step, donate_argnums=0)`"
    )
    yield from paragraph(text, width, [("  = ", "blue"), ("help: ", HEAD)], 10)


def _totals(account: Account) -> Iterator[Line]:
    names = targets(account.ledgers)
    for name in names:
        mine = [each for each in account.ledgers if hardware.name_of(each) == name]
        if len(mine) > 1:
            yield _total(Account(ledgers=tuple(mine)), f" on {name}" if len(names) > 1 else "")


def _total(account: Account, where: str) -> Line:
    all_leaves = sum(len(ledger.entries) for ledger in account.ledgers)
    lost = sum(len(ledger.lost) for ledger in account.ledgers)
    percent = int(account.fraction * 1000) / 10  # rounded down: 100 means all
    return [
        (f"all {len(account.ledgers):,} compiled functions{where}: ", HEAD),
        (
            f"{account.kept_in_place:,} of {account.promised:,} bytes ({percent}%), "
            f"{all_leaves - lost:,} of {sizes.leaves(all_leaves)}",
            BAD if lost else f"bold {GOOD}",
        ),
    ]


def _next(account: Account) -> Iterator[Line]:
    found = [shown.finding for shown in findings.ranked(account)]
    seen = [each.code for each in sorted(found, key=lambda each: each.level != "error")]
    if account.comparison is not None:
        seen += [each.after for each in account.comparison.changes if each.fails and each.after]
    codes = list(dict.fromkeys(seen))
    if not codes:
        return
    yield [("next: ", HEAD), (f"donatree explain {clean(codes[0])}", "bold cyan")]
    if len(codes) > 1:
        yield [("codes seen: ", HEAD), (clean(", ".join(codes)), "")]
