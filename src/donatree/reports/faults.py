"""What went wrong inside donatree itself, with what a bug report needs."""

from __future__ import annotations

from collections.abc import Iterator

from donatree.ledger import Account
from donatree.reports.text import BAD, DIM, HEAD, Line, clean, paragraph


def lines(account: Account, width: int) -> Iterator[Line]:
    """The faults, each with its traceback, and the versions.

    Args:
        account: what was learnt of a program.
        width: columns that the help is wrapped to; tracebacks are not wrapped.

    Yields:
        Nothing where there was no fault.
    """
    if not account.faults:
        return
    yield [("donatree itself failed here; your program was not touched", BAD)]
    for fault in dict.fromkeys(account.faults):
        times = account.faults.count(fault)
        again = f" ({times:,} times)" if times > 1 else ""
        error = clean(fault.error)
        yield [(f"  in {clean(fault.where)}: ", HEAD), (error + again, "")]
        for line in fault.traceback.expandtabs(4).splitlines():
            yield [("    " + clean(line), DIM)]
    known = [f"{name} {version}" for name, version in sorted(account.versions.items())]
    known += [f"platform {account.platform}"] if account.platform else []
    if known:
        yield [("  = ", "blue"), ("versions: ", HEAD), (clean(", ".join(known)), "")]
    text = "put these lines and what `donatree debug` prints into a bug report"
    yield from paragraph(text, width, [("  = ", "blue"), ("help: ", HEAD)], 10)
