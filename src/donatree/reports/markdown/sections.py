"""Parts of the report in Markdown: the comparison, leaves, targets side by side."""

from __future__ import annotations

from collections.abc import Iterator

from donatree import paths
from donatree.ledger import Comparison, Ledger
from donatree.reports import (
    changes,
    fit,
    made_copies,
    per_device,
    sizes,
    standing,
    tree,
)
from donatree.reports import leaves as joined
from donatree.reports.group import Group
from donatree.reports.hardware import name_of
from donatree.reports.markdown.markup import code, fence, folded, plain, prose, table
from donatree.reports.text import UNICODE, Line, clean

_ROWS = 40
_COLUMNS = 8
_LINES = 4_000  # with `expand`: more of them have no room
_WORDS = {
    "worse": "❌ no longer reused",
    "new": "❌ lost anew",
    "better": "✅ now reused",
    "other": "⚠️ lost for another reason",
    "gone": "gone",
}


def comparison(compared: Comparison, *, expand: bool = False) -> Iterator[str]:
    """The comparison: its outcome, then a table, what fails first.

    Args:
        compared: what changed.
        expand: every row, however many there are.
    """
    mark = "❌" if compared.fails else "✅"
    title = changes.title(compared)
    yield f"### {mark} {plain(title[:1].upper() + title[1:])}\n\n{plain(changes.summary(compared))}"
    turns = changes.turns(compared)
    shown = turns if expand else turns[:_ROWS]
    if shown:
        heads = ["", "leaves", "bytes", "function", "before -> after", "JAX"]
        rows = [
            [
                _WORDS[turn.kind],
                code(paths.fold(turn.leaves)),
                sizes.short(turn.bytes),
                code(changes.function(turn)) + _on(turn),
                plain(changes.verdicts(turn)),
                plain(changes.since(turn) or ""),
            ]
            for turn in shown
        ]
        yield table(heads, rows, (2,))
    items = [f"{len(turns) - len(shown):,} more not shown"] if len(shown) < len(turns) else []
    items += [f"not met: {code(name)}" for name in compared.missing]
    items += [prose(note) for note in compared.notes]
    if items:
        yield "\n".join(f"- {item}" for item in items)


def _on(turn: changes.Turn) -> str:
    return f" on {', '.join(map(plain, turn.platforms))}" if turn.platforms else ""


def leaves(ledger: Ledger, signature: str = "", *, expand: bool = False) -> str:
    """The tree of a ledger's leaves, closed until it is opened.

    Args:
        ledger: the ledger.
        signature: its signature in short, where that tells it from others.
        expand: a line a leaf.
    """
    name = f"{ledger.function} {signature}".strip()
    name += f" on {name_of(ledger)}" if ledger.target else ""
    lines = [_text(line) for line in tree.lines(ledger, UNICODE, 120, expand=expand)]
    more = [f"and {len(lines) - _LINES:,} more lines"] if len(lines) > _LINES else []
    inside = fence([clean(ledger.signature), "", *lines[:_LINES], *more])
    for note in ledger.notes:
        inside += f"\n\n- {prose(note)}"
    return folded(f"leaves of {name}: {ledger.summary}", inside)


def side_by_side(group: Group, *, expand: bool = False) -> Iterator[str]:
    """The table of a program's leaves against its targets, and what each target needs.

    Args:
        group: the ledgers of one program, each of another target.
        expand: a row a leaf.
    """
    yield f"### {code(group.first.function)} on {len(group.ledgers):,} targets"
    names = [name_of(ledger) for ledger in group.ledgers]
    made = joined.join(group)
    if made.entries:
        yield "\n\n".join(
            _verdicts(made, names[n : n + _COLUMNS], n, expand)
            for n in range(0, len(names), _COLUMNS)
        )
    heads, rows = per_device.table(group)
    yield table(
        [plain(head) for head in heads],
        [[code(_text(row[0])), *(plain(_text(cell)) for cell in row[1:])] for row in rows],
    )
    copies = [plain(_text(line).strip()) for line in made_copies.lines(group, 10_000)]
    if copies:
        yield "\n".join(f"- {line}" for line in copies)


def too_large(ledger: Ledger) -> Iterator[str]:
    """What a target's device lacks and the largest buffers; nothing where the program fits."""
    lines = [_text(line) for line in fit.lines(ledger, UNICODE)]
    if lines:
        yield fence(lines)


def _verdicts(made: joined.Leaves, names: list[str], first: int, expand: bool) -> str:
    rows = []
    for row in made.rows(expand=expand):
        label = code("\u00a0" * 2 * row.depth + _text(tree.label(row)).strip())
        if row.opened:
            rows.append([label, "", *("" for _ in names)])
            continue
        entries = row.view.entries() if row.view else row.rest
        size = sizes.short(sum(entry.bytes for entry in entries))
        fared = made.of_row(row)
        cells = [
            plain(_text(standing.cell([each[first + n] for each in fared], UNICODE)))
            for n in range(len(names))
        ]
        rows.append([label, size, *cells])
    head = "bytes per device" if made.per_device else "global bytes"
    return table(["leaf", head, *map(code, names)], rows, (1,))


def _text(line: Line) -> str:
    return "".join(piece for piece, _ in line)
