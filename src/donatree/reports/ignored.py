"""What the user's configuration leaves untold: the findings that are ignored, in one line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from donatree.ledger import Account
from donatree.reports import findings, sizes
from donatree.reports.text import CARE, DIM, HEAD, Line, clean, paragraph, width_of


def summary(account: Account) -> str | None:
    """How many findings are ignored and of which codes; None where none is.

    Args:
        account: what was learnt of a program.

    Returns:
        For example ``3 findings ignored: DT402 (2), DT501``.
    """
    counted = Counter(each.finding.code for each in findings.ranked(account, ignored=True))
    if not counted:
        return None
    told = (f"{code} ({n:,})" if n > 1 else code for code, n in sorted(counted.items()))
    return f"{sizes.count(counted.total(), 'finding')} ignored: {', '.join(told)}"


def lines(account: Account, width: int, *, expand: bool = False) -> Iterator[Line]:
    """The line of those that are ignored, ignores that matched nothing, and the account's notes.

    Args:
        account: what was learnt of a program.
        width: columns.
        expand: show each ignored finding with its reason.

    Yields:
        Nothing where there is none of them.
    """
    told = summary(account)
    if told:
        yield [(clean(told), DIM), ("" if expand else "; `--expand` shows why", DIM)]
    if told and expand:
        for each in findings.ranked(account, ignored=True):
            finding = each.finding
            head: Line = [(f"  {clean(finding.code)}: ", HEAD)]
            indent = width_of(head)
            yield from paragraph(finding.headline, width, head, indent)
            yield from paragraph(finding.ignored or "", width, [(" " * indent, "")], indent, DIM)
    for each in account.unmatched:
        head = [("warning: ", f"bold {CARE}")]
        yield from paragraph(f"ignore that matched nothing: {each}", width, head, 9)
    for note in account.notes:
        yield from paragraph(note, width, [("note: ", HEAD)], 6)
