"""What was seen, recorded onto a baseline."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from donatree.baseline.now import met
from donatree.baseline.record import ANYWHERE, Baseline, Environment, Record, code_of
from donatree.ledger import Account


def recorded(
    account: Account, onto: Baseline | None = None, *, folder: Path | None = None
) -> Baseline:
    """What was seen now, recorded onto a baseline.

    Args:
        account: what was seen.
        onto: the baseline as it was; None for a new one. Of the functions that were met, what it
            has for this platform and version of JAX is replaced; all else stays. What somebody
            wrote behind a code stays as long as the leaf is lost for that code.
        folder: where a new baseline is to lie; the current folder where not given.

    Example:
        >>> recorded(Account()).records
        {}
    """
    folder = (onto.folder if onto else None) or folder or Path.cwd()
    met_now = met(account, folder)
    records = dict(onto.records) if onto else {}
    written = _written(records.values())
    replaced: dict[tuple[str, str], set[Environment]] = {}
    for each in met_now:
        place = each.key.function, each.key.file
        # What was lost before anything was compiled is of this platform too.
        found = replaced.setdefault(place, set())
        found |= {each.environment, Environment(ANYWHERE, each.environment.jax)}
    for key, record in records.items():
        records[key] = record.without(replaced.get((key.function, key.file), ()))
    for each in met_now:
        place = each.key.function, each.key.file
        lost = {
            path: written.get((*place, path, code_of(verdict)), verdict)
            for path, verdict in each.lost.items()
        }
        known = records.get(each.key) or Record(each.key, frozenset(each.leaves), {})
        records[each.key] = known.having(each.environment, each.checked, lost)
    return Baseline.of(records.values(), onto.comment if onto else "", folder)


def _written(records: Iterable[Record]) -> Mapping[tuple[str, str, str, str], str]:
    """What somebody wrote behind the code of a leaf, by function, file, leaf and code."""
    return {
        (record.key.function, record.key.file, path, code_of(verdict)): verdict
        for record in records
        for lost in record.lost.values()
        for path, verdict in lost.items()
        if verdict != code_of(verdict)
    }
