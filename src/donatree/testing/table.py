"""The table at the end of a suite: one row a function, those that lost the most first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from donatree.ledger import Account, Ledger
from donatree.reports import diagnostic, sizes
from donatree.reports.findings import ranked
from donatree.reports.text import cells, clean
from donatree.testing import verdict, words
from donatree.testing.demand import percent
from donatree.testing.part import Part, Test

HEAD = ("function", "place", "promised", "kept", "lost", "codes", "first test")
_FIGURES = range(2, 5)
_ROWS = 40
_FINDINGS = 10

Line = tuple[str, str]
"""A line and how it is to be seen: ``red``, ``green``, ``yellow``, ``bold`` or empty."""


@dataclass(frozen=True, slots=True)
class _Row:
    ledgers: Sequence[Ledger]
    first: Test

    @property
    def promised(self) -> int:
        return sum(each.promised for each in self.ledgers)

    @property
    def kept(self) -> int:
        return sum(each.kept_in_place for each in self.ledgers)

    def texts(self) -> tuple[str, ...]:
        ledger, several = self.ledgers[0], len(self.ledgers)
        codes = dict.fromkeys(
            finding.code
            for each in self.ledgers
            for finding in each.findings
            if not finding.ignored and finding.level != "note"
        )
        lost = self.promised - self.kept
        return (
            clean(ledger.function) + (f" ({several:,} signatures)" if several > 1 else ""),
            clean(str(ledger.location or ledger.call or "")),
            sizes.short(self.promised),
            sizes.short(self.kept),
            sizes.short(lost) if lost else "-",
            ", ".join(sorted(codes)) or "-",
            clean(self.first.name),
        )


def lines(part: Part, *, full: bool = False) -> Iterator[Line]:
    """The table, the findings in short, and what to do next.

    Args:
        part: what was learnt, with what the user asked for applied.
        full: every row, and the findings in full.
    """
    account = part.account
    rows = _rows(part)
    if rows:
        yield from _table(rows if full else rows[:_ROWS], rows)
        if len(rows) > _ROWS and not full:
            yield f"and {len(rows) - _ROWS:,} more; -v shows them", ""
        yield _total(account)
    else:
        yield "nothing was donated: no function that donates was met in these tests", "yellow"
        yield "  = help: `donatree advise` tells which argument of a function takes the keyword", ""
    codes: list[str] = []
    findings = [each.finding for each in ranked(account)]
    findings = [each for each in findings if not each.ignored and each.level != "note"]
    for finding in findings if full else findings[:_FINDINGS]:
        codes.append(finding.code)
        yield "", ""
        text = diagnostic.text(finding, words.WIDTH).splitlines()
        yield text[0], "red" if finding.level == "error" else "yellow"
        rest = text[1:] if full else _short(text[1:])
        yield from ((line, "") for line in rest)
    if len(findings) > _FINDINGS and not full:
        yield f"and {sizes.count(len(findings) - _FINDINGS, 'finding')} more; -v shows them", ""
    ignored = sum(bool(each.ignored) for each in account.all_findings())
    if ignored:
        yield f"{sizes.count(ignored, 'finding')} ignored", ""
    for each in account.unmatched:
        yield f"an ignore that matches nothing: {clean(each)}", "yellow"
    if codes:
        yield "", ""
    yield from ((line, "") for line in words.following(codes))


def _rows(part: Part) -> list[_Row]:
    found: dict[object, list[tuple[Ledger, Test]]] = {}
    for ledger, test in zip(part.account.ledgers, part.first, strict=True):
        if ledger.entries or verdict.errors(ledger):
            key = ledger.function, str(ledger.location or ledger.call)
            found.setdefault(key, []).append((ledger, test))
    rows = [
        _Row([ledger for ledger, _ in each], min(test for _, test in each))
        for each in found.values()
    ]
    return sorted(rows, key=lambda row: (row.kept - row.promised, row.first, row.texts()))


def _table(rows: Sequence[_Row], all_rows: Sequence[_Row]) -> Iterator[Line]:
    texts = [HEAD, *(row.texts() for row in rows)]
    widths = [max(cells(row[column]) for row in texts) for column in range(len(HEAD))]
    for number, row in enumerate(texts):
        line = "  ".join(_set(text, widths[at], at) for at, text in enumerate(row)).rstrip()
        lossy = number and all_rows[number - 1].kept < all_rows[number - 1].promised
        yield line, "red" if lossy else "" if number else "bold"


def _set(text: str, width: int, column: int) -> str:
    space = " " * (width - cells(text))
    return space + text if column in _FIGURES else text + space


def _total(account: Account) -> Line:
    leaves = sum(len(each.entries) for each in account.ledgers)
    kept = leaves - sum(len(each.lost) for each in account.ledgers)
    share = percent(account.fraction)
    text = (
        f"{account.kept_in_place:,} of {account.promised:,} bytes, "
        f"{kept:,} of {leaves:,} leaves are reused ({share})"
    )
    return text, "green" if kept == leaves else "bold"


def _short(text: Sequence[str]) -> list[str]:
    """The place, the leaves and the help of a finding, without its source and its facts."""
    shown, inside = [], False
    for line in text:
        word = line.lstrip()
        if word.startswith("= "):
            inside = word.startswith(("= leaf", "= leaves", "= help"))
        elif word.startswith("-->"):
            inside = True
        elif not line.startswith(" " * 4):
            inside = False
        if inside:
            shown.append(line)
    return shown
