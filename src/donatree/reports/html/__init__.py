"""The report as one page for a browser: it needs no server, no network and no other file.

``pieces`` has the same in small, for notebooks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from donatree.ledger import Account
    from donatree.reports import Options


def write(account: Account, stream: TextIO, options: Options) -> None:
    """Writes the page to a stream; it is ASCII, and the options do not matter.

    Args:
        account: what was learnt of a program.
        stream: an open text stream.
        options: not used: the page has all leaves and all evidence, and shows them when asked.
    """
    from donatree.reports.html import page

    del options
    stream.write(page.render(account))
    stream.flush()
