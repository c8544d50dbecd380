"""`donatree hlo`: compiled modules on disk."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import rich_click as click

from donatree import reports
from donatree._version import __version__
from donatree.cli.options import failure
from donatree.cli.outputs import Outputs, report_options_of, write_file
from donatree.dumps.folder import Group, find
from donatree.dumps.reading import Reading, read
from donatree.ledger import Account, Ledger
from donatree.reports import modules, progress
from donatree.reports.modules import Overview, Row
from donatree.reports.text import clean

PLACE_HELP = """PLACE is a folder of --xla_dump_to, with all below it, or one file: a module's text
as XLA dumps it or as compiled.as_text() gives it, *.hlo.pb, or the text of a StableHLO module.
Neither JAX nor protobuf is needed."""


@click.command("hlo", epilog=PLACE_HELP)
@click.option(
    "--top",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    metavar="N",
    help="Of a folder: how many modules to show, those that lose the most first.",
)
@report_options_of(
    "Write the ledgers of all modules to FILE as JSON.",
    "Show every leaf; of a folder, of the modules that are shown.",
)
@click.argument("place", type=click.Path(path_type=Path))
def command(
    place: Path,
    top: int,
    outputs: Outputs,
) -> int:
    """Tell what became of donation in compiled modules on disk.

    Exit 0 where nothing is lost, 1 where something is, 2 where nothing can be read.
    """
    outputs.check()
    options, json_file = outputs.options, outputs.file("json")
    outputs = outputs.without("json")  # it has the modules that could not be read as well
    try:
        groups = find(place)
    except OSError as error:
        raise failure(f"cannot read `{place}`: {error.strerror}") from None
    if not groups:
        raise failure(f"there is no module in `{place}`")
    all_of_them = json_file is not None or not outputs.plain
    collected = Collected(place, top, keep_all=all_of_them, keep_top=options.expand)
    for group in progress.tracked(groups, len(groups), "modules", sys.stderr):
        collected.add(group, read(group))
    if not collected.modules:
        raise failure(f"nothing in `{place}` could be read")
    if collected.is_one or outputs.streams:
        outputs.publish(collected.account(), sys.stdout)
    else:
        overview = collected.overview()
        modules.write(overview, sys.stdout, options)
        for kind, file in outputs.files:
            if kind == "plain":
                write_file(file, _plain(overview, options))
            else:
                write_file(file, reports.render(collected.account(), kind, options))
    if json_file is not None:
        write_file(json_file, collected.as_json())
    return 1 if collected.lost else 0


class Collected:
    """What was read so far; of thousands of modules only what will be shown is kept.

    Args:
        place: what the user named.
        top: how many modules will be shown.
        keep_all: whether all ledgers are wanted.
        keep_top: whether those of the modules that will be shown are.
    """

    def __init__(self, place: Path, top: int, *, keep_all: bool, keep_top: bool) -> None:
        self._place = place
        self._top = top
        self._keep_all = keep_all
        self._keep = top if keep_top else 1
        self._rows: list[Row] = []
        self._ledgers: list[tuple[Row, Ledger]] = []
        self._unread: list[tuple[str, str]] = []
        self.modules = 0

    @property
    def lost(self) -> bool:
        """Whether a leaf of any module was lost."""
        return any(row.lost_leaves for row in self._rows)

    @property
    def is_one(self) -> bool:
        """Whether there is one module, which donates, and nothing else to be said."""
        return self.modules == 1 and bool(self._rows) and not self._unread

    @property
    def ledgers(self) -> tuple[Ledger, ...]:
        """Those that were kept, ranked as their rows are."""
        return tuple(ledger for _, ledger in sorted(self._ledgers, key=lambda each: each[0].rank))

    def add(self, group: Group, reading: Reading) -> None:
        """Takes note of a module; a line on standard error where it cannot be read."""
        if reading.unread is not None:
            self._unread.append((str(group.file), reading.unread))
            why = f"cannot read `{clean(str(group.file))}`: {clean(reading.unread)}"
            print(f"donatree: {why}", file=sys.stderr)
            return
        self.modules += 1
        if reading.ledger is None:
            return
        row = Row.of(reading.ledger, group.name, str(group.file))
        self._rows.append(row)
        self._ledgers.append((row, reading.ledger))
        if not self._keep_all and len(self._ledgers) > 2 * self._keep:
            self._ledgers.sort(key=lambda each: each[0].rank)
            del self._ledgers[self._keep :]

    def account(self) -> Account:
        """All ledgers that were kept, as a report has them."""
        versions = {"donatree": __version__}
        return Account(ledgers=self.ledgers, program=str(self._place), versions=versions)

    def overview(self) -> Overview:
        """The table."""
        return Overview(
            place=str(self._place),
            rows=tuple(sorted(self._rows, key=lambda row: row.rank)),
            modules=self.modules,
            unread=len(self._unread),
            shown=self._top,
            ledgers=self.ledgers[: self._top],
            version=__version__,
        )

    def as_json(self) -> str:
        """The account as JSON, with the files that could not be read."""
        data: dict[str, Any] = self.account().to_dict()
        data["unread"] = [{"file": file, "why": why} for file, why in self._unread]
        return json.dumps(data, indent=2, sort_keys=True) + "\n"


def _plain(overview: Overview, options: reports.Options) -> str:
    stream = io.StringIO()
    modules.write_plain(overview, stream, options)
    return stream.getvalue()
