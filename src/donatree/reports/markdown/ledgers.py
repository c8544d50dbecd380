"""The ledgers of a report in Markdown: one table for all, and where the bytes of each went."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from donatree.ledger import Ledger
from donatree.reports import funnel, sizes
from donatree.reports.hardware import name_of
from donatree.reports.markdown.markup import code, folded, plain, table
from donatree.reports.text import UNICODE, clean, elide

_ROWS = 40
_SIGNATURE = 60  # columns


def blocks(ledgers: Sequence[Ledger], *, expand: bool = False) -> Iterator[str]:
    """A row a ledger, then the funnels of those that lost something.

    Args:
        ledgers: of an account.
        expand: every ledger, however many there are.
    """
    if not ledgers:
        return
    told = dict(zip(map(id, ledgers), signatures(ledgers), strict=True))
    several = any(ledger.target for ledger in ledgers)
    heads = ["function", *(["target"] if several else []), "promised", "kept", "lost", "verdict"]
    rows = [
        _row(ledger, told[id(ledger)], several)
        for ledger in (ledgers if expand else ledgers[:_ROWS])
    ]
    figures = [len(heads) - number for number in (4, 3, 2)]
    made = table(heads, rows, figures)
    if len(rows) < len(ledgers):
        made += f"\n\n{len(ledgers) - len(rows):,} more not shown"
    yield made
    lost = [ledger for ledger in ledgers if ledger.lost]
    if lost:
        funnels = [
            _funnel(ledger, told[id(ledger)]) for ledger in (lost if expand else lost[:_ROWS])
        ]
        yield folded("where the bytes went", "\n\n".join(funnels))


def signatures(ledgers: Sequence[Ledger]) -> list[str]:
    """The signature of each ledger in short, where its function has others on the same target."""
    found: dict[object, set[str]] = {}
    for each in ledgers:
        found.setdefault(_place(each), set()).add(each.signature)
    return [
        elide(clean(each.signature), _SIGNATURE, UNICODE) if len(found[_place(each)]) > 1 else ""
        for each in ledgers
    ]


def _place(ledger: Ledger) -> tuple[object, ...]:
    return ledger.function, ledger.location, name_of(ledger)


def _row(ledger: Ledger, signature: str, several: bool) -> list[str]:
    place = f" ({code(str(ledger.location))})" if ledger.location else ""
    place += f" {code(signature)}" if signature else ""
    lost = sum(row.bytes for row in ledger.lost)
    codes = list(dict.fromkeys(row.finding for row in ledger.lost if row.finding))
    found = [each for each in ledger.findings if each.level != "note" and each.ignored is None]
    codes += [each.code for each in found]
    told = ", ".join(map(plain, dict.fromkeys(codes)))
    accepted = len(ledger.accepted) == len(ledger.lost)
    verdict = "✅ whole" if not ledger.lost else "☑️ accepted" if accepted else "❌ lost"
    if not ledger.lost and told:
        verdict = "❌" if any(each.level == "error" for each in found) else "⚠️"
    return [
        code(ledger.function) + place,
        *([code(name_of(ledger))] if several else []),
        sizes.short(ledger.promised),
        sizes.short(ledger.kept_in_place),
        f"{sizes.short(lost)}, {sizes.leaves(len(ledger.lost))}" if ledger.lost else "",
        f"{verdict} {told}".strip(),
    ]


def _funnel(ledger: Ledger, signature: str) -> str:
    heading = code(ledger.function) + (f" {code(signature)}" if signature else "")
    heading += f" on {code(name_of(ledger))}" if ledger.target else ""
    rows, above, more = [], ledger.promised, len(ledger.entries)
    for name, gate, passed, number in funnel.stages(ledger):
        lost = f"{sizes.short(above - passed)}, {sizes.leaves(more - number)}"
        codes = {row.finding for row in ledger.lost if row.stopped_at is gate and row.finding}
        why = ", ".join(map(plain, sorted(codes)))
        narrows = gate is not None and number < more
        rows.append(
            [
                name,
                sizes.short(passed),
                sizes.leaves(number),
                *((lost, why) if narrows else ("", "")),
            ]
        )
        above, more = passed, number
    heads = ["gate", "bytes", "leaves", "lost", "findings"]
    return f"{heading}\n\n{table(heads, rows, (1, 2, 3))}"
