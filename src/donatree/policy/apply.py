"""An account with what the user asked for applied: what is left out, and what is ignored."""

from __future__ import annotations

import dataclasses

from donatree.ledger import Account, Finding, Ledger
from donatree.policy import comments, pattern
from donatree.policy.comments import Comment
from donatree.policy.ignore import Ignore
from donatree.policy.settings import Settings


def applied(account: Account, settings: Settings) -> Account:
    """Leaves out the functions that are not judged, and marks the findings that are ignored.

    A finding is ignored where every leaf of it is; where only some are, it is told, with a note.
    Entries and totals stay what they are.

    Args:
        account: what was learnt.
        settings: what was asked for.

    Returns:
        The account; what matched nothing is in ``unmatched``.
    """
    account = _judged(account, settings)
    marking = _Marking(settings)
    ledgers = tuple(
        dataclasses.replace(
            ledger, findings=tuple(marking.marked(each, ledger) for each in ledger.findings)
        )
        for ledger in account.ledgers
    )
    findings = tuple(marking.marked(each, None) for each in account.findings)
    unmatched = dict.fromkeys((*account.unmatched, *marking.unmatched(account)))
    return dataclasses.replace(
        account, ledgers=ledgers, findings=findings, unmatched=tuple(unmatched)
    )


def _judged(account: Account, settings: Settings) -> Account:
    """The account of the functions that are judged, with notes on what that left out."""
    if not settings.functions:
        return account
    wanted: dict[str, int] = dict.fromkeys(settings.functions, 0)
    kept, left = [], []
    for ledger in account.ledgers:
        of = [
            each
            for each in wanted
            if pattern.function_matches(each, ledger.function, ledger.location)
        ]
        for each in of:
            wanted[each] += 1
        (kept if of else left).append(ledger)
    notes = list(account.notes)
    if left:
        names = ", ".join(dict.fromkeys(f"`{each.function}`" for each in left))
        notes.append(f"left out, as pyproject.toml has it under `functions`: {names}")
    notes += [
        f"no function `{each}` donates anything, which pyproject.toml has under `functions`"
        for each, count in wanted.items()
        if not count
    ]
    return dataclasses.replace(account, ledgers=tuple(kept), notes=tuple(notes))


class _Marking:
    """Marks findings, and remembers which ignores were of use."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._used: set[Ignore] = set()

    def marked(self, finding: Finding, ledger: Ledger | None) -> Finding:
        """The finding, with what of it is ignored and why."""
        ignored: dict[str, Ignore] = {}
        whole: Ignore | None = None
        for each in self._ignores(finding, ledger):
            if not each.is_for(finding.code, ledger):
                continue
            leaves = each.leaves_of(finding)
            if not leaves and (finding.leaves or each.paths):
                continue
            self._used.add(each)
            if not finding.leaves:
                whole = whole or each
            for path in leaves:
                ignored.setdefault(path, each)
        if not ignored and whole is None:
            return finding
        paths = tuple(path for path in finding.leaves if path in ignored)
        why = "; ".join(dict.fromkeys(each.why for each in ignored.values()))
        if len(paths) < len(finding.leaves):
            note = f"{len(paths):,} of its {len(finding.leaves):,} leaves are ignored: {why}"
            notes = (*finding.notes, note)
            return dataclasses.replace(finding, notes=notes, ignored_leaves=paths)
        why = why or (whole.why if whole is not None else "")
        return dataclasses.replace(finding, ignored=why, ignored_leaves=paths)

    def _ignores(self, finding: Finding, ledger: Ledger | None) -> list[Ignore]:
        """All that could be for a finding: the configuration's, then those of the source."""
        place = comments.place_of(finding)
        files = [place.file] if place is not None else []
        if ledger is not None and ledger.location is not None:
            files.append(ledger.location.file)
        here: list[Comment] = []
        for file in dict.fromkeys(files):
            here += comments.of_file(file).for_finding(finding, ledger, file)
        return [*self._settings.ignore, *(each.ignore for each in here)]

    def unmatched(self, account: Account) -> list[str]:
        """The ignores that were of no use, in words: of the source, those in judged functions."""
        found = [str(each) for each in self._settings.ignore if each not in self._used]
        for ledger in account.ledgers:
            if ledger.location is None:
                continue
            commented = comments.of_file(ledger.location.file)
            for comment in commented.within(ledger.location.line):
                each = comment.ignore
                if not each.codes:
                    found.append(f"{each.where}: it names no code, write `ignore[DT402]`")
                elif each not in self._used:
                    found.append(str(each))
        return found
