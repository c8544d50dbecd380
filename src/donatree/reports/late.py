"""A report for a program that died before it could write one.

What was learnt is saved as JSON; a process that is still alive makes the report of it.
"""

from __future__ import annotations

from donatree import reports
from donatree.reports import json


def render(text: str) -> str:
    """The plain report of a saved account.

    Args:
        text: a JSON report, as ``donatree.reports.json.dumps`` makes it.

    Returns:
        The report without colours, 100 columns wide, ended by a newline.

    Raises:
        ValueError: the text is not such a report.
    """
    return reports.render(json.loads(text), "plain")
