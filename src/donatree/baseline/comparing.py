"""What changed against a baseline or an older account, leaf by leaf."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import get_args

from donatree.baseline.judgement import Judgement, by_function, judge
from donatree.baseline.lookup import Finder, Place
from donatree.baseline.missing import missing
from donatree.baseline.now import met
from donatree.baseline.record import REUSED, Baseline, code_of
from donatree.baseline.remarks import remarks
from donatree.baseline.snapshot import recorded
from donatree.ledger import Account, Change, ChangeKind, Comparison

_KINDS: tuple[ChangeKind, ...] = get_args(ChangeKind)


def compare(
    old: Baseline | Account,
    new: Account | Baseline,
    *,
    old_name: str,
    new_name: str | None = None,
) -> Comparison:
    """What changed, leaf by leaf.

    Args:
        old: what is expected, or an older account.
        new: what was met.
        old_name: what `old` is called, mostly its file.
        new_name: the same of `new`; None for the account that the comparison is to stand in.

    Returns:
        The comparison: a leaf that was reused and is lost is ``worse``; one that is lost and was
        not recorded, or not looked at so closely, is ``new``; these two fail. A leaf whose finding
        is ignored never fails.

    Example:
        >>> compare(Baseline(), Account(), old_name="donation.toml").fails
        False
    """
    folder = folder_of(old, new)
    judgements, finder = judged(old, new, folder)
    changes = [change for each in judgements for change in each.changes()]
    changes += _gone(judgements)
    changes.sort(key=_rank)
    explicit = isinstance(old, Account)
    program = new.program if isinstance(new, Account) else None
    absent = missing(finder, judgements, program, folder, explicit=explicit)
    notes = remarks(judgements, finder, absent, old_name, explicit=explicit)
    return Comparison(
        old=old_name,
        new=new_name,
        changes=tuple(changes),
        same=sum(each.same for each in judgements),
        missing=tuple(place.label for place in absent.expected),
        notes=tuple(notes),
    )


def judged(
    old: Baseline | Account, new: Account | Baseline, folder: Path
) -> tuple[list[Judgement], Finder]:
    """All that was met, each held against its record."""
    across = isinstance(old, Account)
    before = old if isinstance(old, Baseline) else recorded(old, None, folder=folder)
    found = met(new, folder)
    beside = [Place(each.key.file, each.key.function) for each in found] if across else ()
    finder = Finder(before, beside)
    return [judge(each, finder.find(each), across=across) for each in found], finder


def folder_of(old: Baseline | Account, new: Baseline | Account) -> Path:
    """What names of files are relative to: the folder of the baseline, else the current one."""
    known = [each.folder for each in (old, new) if isinstance(each, Baseline) and each.folder]
    return known[0] if known else Path.cwd()


def _gone(judgements: list[Judgement]) -> Iterator[Change]:
    """Leaves of the records that no signature of their function has any more."""
    for together in by_function(judgements).values():
        there = {path for each in together for path in each.met.leaves}
        told: set[str] = set()
        for each in together:
            if each.base is None:
                continue
            for path in sorted(each.base.leaves - there - told):
                told.add(path)
                before = each.base.before(path) or REUSED
                jax = each.met.environment.jax
                yield Change(
                    "gone",
                    each.met.key.function,
                    each.base.keys[0].arguments,
                    path,
                    file=each.met.key.file or None,
                    platform=each.met.environment.platform,
                    before=code_of(before),
                    old_jax=each.base.jax_of(path, jax),
                    new_jax=jax or None,
                )


def _rank(change: Change) -> tuple[object, ...]:
    return (
        _KINDS.index(change.kind),
        -change.bytes,
        change.function,
        change.file or "",
        change.platform or "",
        change.signature,
        change.path,
    )
