"""What could not be compiled for a target: a line for each function and target."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from donatree.ledger import Account
from donatree.reports import sizes
from donatree.reports.text import BAD, Line, paragraph


def lines(account: Account, width: int) -> Iterator[Line]:
    """The section; nothing where every target took every function.

    Args:
        account: what was learnt of a program.
        width: columns.
    """
    counted = Counter((each.function, each.target, each.why) for each in account.refusals)
    for (function, target, why), number in counted.items():
        times = f" ({sizes.count(number, 'signature')})" if number > 1 else ""
        text = f"{function} for {target}{times}: {why}"
        yield from paragraph(text, width, [("not compiled: ", BAD)], 14)
