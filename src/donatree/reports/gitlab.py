"""GitLab's code quality report: a list of problems for the merge request."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TextIO

from donatree.ledger import Account, Level
from donatree.reports import files, problems
from donatree.reports.problems import Problem
from donatree.reports.text import clean

if TYPE_CHECKING:
    from donatree.reports import Options

_SEVERITIES: dict[Level, str] = {"error": "major", "warning": "minor", "note": "info"}
_NO_PLACE = "."  # a path is demanded: the repository itself


def write(account: Account, stream: TextIO, options: Options) -> None:
    """Writes the report: JSON, ASCII only, the worst first.

    Paths are those from the root of the repository. What is ignored is left out.

    Args:
        account: what was learnt of a program.
        stream: an open text stream.
        options: they do not matter.
    """
    del options
    made = [_issue(each, account) for each in problems.of(account)]
    stream.write(json.dumps(made, indent=2) + "\n")
    stream.flush()


def _issue(problem: Problem, account: Account) -> dict[str, Any]:
    location = problem.location
    path = account.program or _NO_PLACE
    if location is not None:
        path = files.relative(location.file, files.workspace())
    baseline = problem.rule in problems.BASELINE
    return {
        "description": problem.message,
        "check_name": problems.name(problem.rule),
        "fingerprint": problem.fingerprint,
        "severity": "critical" if baseline else _SEVERITIES[problem.level],
        "location": {
            "path": clean(path),
            "lines": {"begin": max(location.line, 1) if location else 1},
        },
    }
