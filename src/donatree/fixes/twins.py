"""What a copy costs where two leaves are one buffer; nothing has to be compiled for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from donatree.ledger import Entry, Finding, Fix, Ledger, Tally

_TWICE, _PASSED = "DT702", "DT703"


def of(ledger: Ledger) -> Iterator[Fix]:
    """A fix for each finding about twins whose leaves the compiled program grants.

    Args:
        ledger: with the findings of its calls.
    """
    live = ledger.live.total if ledger.live else None
    tally = Tally(ledger.promised, ledger.kept_in_place, live)
    by_path = {entry.path: entry for entry in ledger.entries}
    for finding in ledger.findings:
        entries = [by_path[path] for path in finding.leaves if path in by_path]
        if finding.code not in (_TWICE, _PASSED) or not entries:
            continue
        if any(entry.slot is None for entry in entries):
            continue  # a copy would be lost all the same
        yield Fix(
            kind="copy_twins",
            codes=(finding.code,),
            leaves=finding.leaves,
            change=f"with {_copied(finding, entries)}",
            status="held",
            before=tally,
            after=tally,
            notes=(
                f"copies cost {_cost(finding, entries):,} bytes per device, once",
                "nothing was compiled for it: the program that is compiled grants every one of "
                "these leaves",
            ),
        )


def _copied(finding: Finding, entries: Sequence[Entry]) -> str:
    if finding.code == _PASSED:
        return "`jnp.copy` of what is passed undonated"
    if len(entries) == 2:
        return f"`jnp.copy({entries[-1].path})` where the state is built"
    return "`jnp.copy` of all but one of the leaves that share a buffer, where the state is built"


def _cost(finding: Finding, entries: Sequence[Entry]) -> int:
    """Bytes of the copies; a finding about twins counts each buffer once."""
    if finding.code == _PASSED:
        return finding.bytes
    return sum(entry.bytes for entry in entries) - finding.bytes
