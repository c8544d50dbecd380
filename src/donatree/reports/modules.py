"""Many compiled modules at once: a table of those that lose the most."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TextIO

from donatree.ledger import Account, Gate, Ledger
from donatree.reports import DEFAULT_WIDTH, Options, sizes, streams, terminal
from donatree.reports.console import Document, put
from donatree.reports.text import (
    ASCII,
    BAD,
    DIM,
    GOOD,
    HEAD,
    UNICODE,
    Line,
    Marks,
    cells,
    clean,
    elide,
    paragraph,
)

_LEAST_NAME = 24
_MOST_CODES = 3


@dataclass(frozen=True, slots=True)
class Row:
    """What became of the donation of one module.

    Attributes:
        function: the module's own name.
        name: where it was read, below the folder that was given.
        file: the file to name for more.
        promised: bytes per device.
        lost: those of them that stopped at a gate.
        leaves: donated leaves.
        lost_leaves: those of them that stopped at a gate.
        codes: the codes of its findings, most bytes first; what is to be said in their stead.
    """

    function: str
    name: str
    file: str
    promised: int
    lost: int
    leaves: int
    lost_leaves: int
    codes: tuple[str, ...] = ()

    @classmethod
    def of(cls, ledger: Ledger, name: str, file: str) -> Row:
        """The row of a ledger."""
        codes = dict.fromkeys(each.code for each in ledger.findings)
        if Gate.GRANTED not in ledger.checked:
            codes = {"not compiled": None}
        return cls(
            ledger.function,
            name,
            file,
            ledger.promised,
            ledger.promised - ledger.kept_in_place,
            len(ledger.entries),
            len(ledger.lost),
            tuple(codes),
        )

    @property
    def rank(self) -> tuple[int, int, int, str]:
        """What rows are sorted by: most bytes lost, most leaves lost, most promised."""
        return -self.lost, -self.lost_leaves, -self.promised, self.name


@dataclass(frozen=True, slots=True)
class Overview:
    """Modules that were read together.

    Attributes:
        place: what was read, as the user named it.
        rows: of the modules that donate, ranked.
        modules: how many were read, those that donate nothing among them.
        unread: how many could not be read.
        shown: how many rows to show.
        ledgers: those of the rows that are shown, for `Options.expand`.
        version: of donatree.
    """

    place: str
    rows: tuple[Row, ...]
    modules: int
    unread: int = 0
    shown: int = 10
    ledgers: tuple[Ledger, ...] = ()
    version: str = ""


def write(overview: Overview, stream: TextIO, options: Options) -> None:
    """Writes the table to a stream, as `reports.write` does a report."""
    width = options.width or streams.width(stream)
    unicode = streams.has_marks(stream) if options.unicode is None else options.unicode
    color = streams.wants_color(stream) if options.color is None else options.color
    marks = UNICODE if unicode else ASCII
    lines = tuple(_lines(overview, marks, width))
    if options.expand and overview.ledgers:
        account = Account(ledgers=overview.ledgers, versions={"donatree": overview.version})
        inner = terminal.document(account, replace(options, width=width, unicode=unicode))
        lines = (*lines, [("", "")], *inner.lines[1:])
    put(Document(lines), stream, width, color)


def write_plain(overview: Overview, stream: TextIO, options: Options) -> None:
    """Writes the table without colours."""
    width = options.width or DEFAULT_WIDTH
    write(overview, stream, replace(options, color=False, width=width))


def _lines(overview: Overview, marks: Marks, width: int) -> Iterator[Line]:
    tool = f"donatree {overview.version}".rstrip()
    count = sizes.count(overview.modules, "module")
    yield [(tool, HEAD), (f": {clean(overview.place)}, {count}", "")]
    rows = overview.rows
    lost = sum(row.lost for row in rows)
    promised = sum(row.promised for row in rows)
    losing = sum(bool(row.lost_leaves) for row in rows)
    if not rows:
        yield [("no module says that anything is donated", HEAD)]
    else:
        verdict = f"{losing:,} of {sizes.count(len(rows), 'module')} that donate"
        if losing:
            yield [
                (f"{verdict} {'lose' if losing > 1 else 'loses'} {sizes.size(lost)}", BAD),
                (f" of {sizes.size(promised)} promised", ""),
            ]
        else:
            yield [(f"{verdict} lose anything; {sizes.size(promised)} promised", f"bold {GOOD}")]
        yield [("", "")]
        yield from _table(rows[: overview.shown], marks, width)
    left = len(rows) - overview.shown
    if left > 0:
        yield [(f"and {sizes.count(left, 'more module')}; `--top {len(rows)}` shows all", DIM)]
    nothing = overview.modules - len(rows)
    if nothing and rows:
        verb = "donates" if nothing == 1 else "donate"
        yield [(f"{sizes.count(nothing, 'module')} {verb} nothing", DIM)]
    if overview.unread:
        files = sizes.count(overview.unread, "file")
        yield from paragraph(f"{files} could not be read", width, [], 0, BAD)
    if losing:
        yield [("next: ", HEAD), (f"donatree hlo {_quoted(rows[0].file)}", "bold cyan")]


def _table(rows: tuple[Row, ...], marks: Marks, width: int) -> Iterator[Line]:
    """The rows; a name is shortened in its middle where it is too long."""
    heading = ("lost", "of promised", "leaves lost")
    figures = [
        (
            sizes.short(row.lost),
            sizes.short(row.promised),
            f"{row.lost_leaves:,} of {row.leaves:,}",
        )
        for row in rows
    ]
    columns = list(zip(heading, *figures, strict=True))
    widths = [max(map(cells, column)) for column in columns]
    codes = [", ".join(row.codes[:_MOST_CODES]) for row in rows]
    room = width - sum(widths) - 8 - max(map(cells, codes), default=0)
    first = max((cells(clean(row.function)) for row in rows), default=0)
    first = min(max(first, len("module")), max(room // 3, _LEAST_NAME))
    yield [
        ("  ".join(f"{each:>{size}}" for each, size in zip(heading, widths, strict=True)), HEAD),
        (f"  {'module':<{first}}  read from", HEAD),
    ]
    for row, found, told in zip(rows, figures, codes, strict=True):
        lost, promised, leaves = (
            f"{each:>{size}}  " for each, size in zip(found, widths, strict=True)
        )
        name = elide(clean(row.function), first, marks)
        read = elide(clean(row.name), max(room - first, _LEAST_NAME), marks)
        yield [
            (lost, BAD if row.lost_leaves else GOOD),
            (promised + leaves + name + " " * (first - cells(name)), ""),
            (f"  {read}", DIM),
            (f"  {told}" if told else "", HEAD),
        ]


def _quoted(name: str) -> str:
    """A file as it can be given to a shell."""
    import shlex

    return shlex.quote(clean(name))
