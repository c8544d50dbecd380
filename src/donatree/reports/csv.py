"""One row a leaf, as comma-separated values (RFC 4180), for spreadsheets and data frames.

A text that a spreadsheet would run as a formula, one that begins with ``=``, ``+``, ``-``, ``@``, a
tab or a carriage return, gets an apostrophe before it; so does one that begins with an apostrophe.
To read a text back, take one apostrophe from its front.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TextIO

from donatree.ledger import GATES, Account, Change, Entry, Finding, Ledger
from donatree.reports import files, hardware, standing, streams
from donatree.reports.text import clean

if TYPE_CHECKING:
    from donatree.reports import Options

COLUMNS = (
    "function",
    "file",
    "line",
    "signature",
    "target",
    "platform",
    "devices",
    "path",
    "argument",
    "dtype",
    "shape",
    "local_shape",
    "sharding",
    "memory_kind",
    "bytes",
    "global_bytes",
    "state",
    "stopped_at",
    "slot",
    "successor",
    "successor_type",
    "finding",
    "level",
    "headline",
    "ignored",
    *(f"evidence_{gate.value}" for gate in GATES),
    "change",
    "before",
    "after",
    "old_jax",
    "new_jax",
)
"""The header. Leaves of a comparison that are in no ledger have rows of their own, at the end."""

_RISKY = ("=", "+", "-", "@", "\t", "\r", "'")


def write(account: Account, stream: TextIO, options: Options) -> None:
    """Writes the header and a row for each leaf, lines ended by CR LF.

    Args:
        account: what was learnt of a program.
        stream: an open text stream; open a file with ``newline=""``.
        options: they do not matter.
    """
    del options
    text = io.StringIO(newline="")
    made = csv.DictWriter(text, COLUMNS, restval="", lineterminator="\r\n")
    made.writeheader()
    for row in rows(account):
        made.writerow({name: _cell(value) for name, value in row.items()})
    streams.put(text.getvalue(), stream)


def rows(account: Account) -> Iterator[dict[str, Any]]:
    """The rows before they are made safe for spreadsheets.

    Args:
        account: what was learnt of a program.

    Yields:
        One for each entry of each ledger, then one for each change of the comparison that is of no
        entry. What is not known is None or left out.
    """
    changed: dict[object, list[Change]] = {}
    for change in account.comparison.changes if account.comparison else ():
        changed.setdefault(_key(change), []).append(change)
    for ledger in account.ledgers:
        place = hardware.name_of(ledger) if ledger.target else ledger.platform
        said = {(each.code, path): each for each in ledger.findings for path in each.leaves}
        for entry in ledger.entries:
            key = ledger.function, ledger.signature, entry.path, place
            mine = changed.get(key)
            row = _of_entry(ledger, entry, said.get((entry.finding or "", entry.path)))
            if mine:
                row |= _of_change(mine.pop(0))
            yield row
    for those in changed.values():
        for change in those:
            yield {
                "function": change.function,
                "file": change.file,
                "line": change.location.line if change.location else None,
                "signature": change.signature,
                "platform": change.platform,
                "path": change.path,
                "bytes": change.bytes,
                **_of_change(change),
            }


def _key(change: Change) -> tuple[object, ...]:
    return change.function, change.signature, change.path, change.platform


def _of_entry(ledger: Ledger, entry: Entry, finding: Finding | None) -> dict[str, Any]:
    spec = entry.leaf.spec
    return {
        "function": ledger.function,
        "file": ledger.location and files.relative(ledger.location.file),
        "line": ledger.location and ledger.location.line,
        "signature": ledger.signature,
        "target": hardware.name_of(ledger),
        "platform": hardware.platform_of(ledger),
        "devices": ledger.devices,
        "path": entry.path,
        "argument": entry.leaf.argument,
        "dtype": spec.dtype,
        "shape": "x".join(map(str, spec.shape)),
        "local_shape": "x".join(map(str, spec.local_shape)),
        "sharding": spec.sharding,
        "memory_kind": spec.memory_kind,
        "bytes": spec.bytes,
        "global_bytes": spec.global_bytes,
        "state": standing.of(ledger, entry).state,
        "stopped_at": entry.stopped_at and entry.stopped_at.value,
        "slot": entry.slot and entry.slot.path,
        "successor": entry.successor and entry.successor.path,
        "successor_type": entry.successor and entry.successor.spec.aval,
        "finding": entry.finding,
        "level": finding and finding.level,
        "headline": finding and finding.headline,
        "ignored": finding and finding.ignored,
        **{f"evidence_{gate.value}": entry.evidence.get(gate.value) for gate in GATES},
    }


def _of_change(change: Change) -> dict[str, Any]:
    return {
        "change": change.kind,
        "before": change.before,
        "after": change.after,
        "old_jax": change.old_jax,
        "new_jax": change.new_jax,
    }


def _cell(value: Any) -> Any:
    """A value as it is written: numbers as they are, texts clean and no formula."""
    if not isinstance(value, str):
        return value
    text = clean(value)
    return f"'{text}" if text.startswith(_RISKY) else text
