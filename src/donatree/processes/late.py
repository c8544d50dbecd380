"""The report of a process that died, made by its witness.

The witness of process 0 does what process 0 would have done; that of another process leaves word
that it died, for process 0 to find. Reads files only, no JAX.
"""

from __future__ import annotations

import contextlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from donatree import reports
from donatree.ledger import Account
from donatree.processes import waiting
from donatree.processes.folder import Folder
from donatree.processes.group import line
from donatree.processes.merge import merge
from donatree.processes.run import Run
from donatree.reports import json as json_report

_LONGEST = 15.0  # seconds; the witness itself gives up after twice that


def render(text: str) -> str:
    """The plain report of a program that died, of one process or of several.

    Args:
        text: a JSON report, as ``donatree.reports.json.dumps`` makes it; that of one of several
            processes has what `Group.more` adds to it.

    Returns:
        The report without colours, 100 columns wide; of a process other than 0 one line.

    Raises:
        ValueError: the text is not such a report.
    """
    account = json_report.loads(text)
    data = json.loads(text)
    if "left_by" not in data:
        return reports.render(account, "plain")
    made = _together(account, data)
    return made + "\n" if isinstance(made, str) else reports.render(made, "plain")


def _together(own: Account, data: Any) -> Account | str:
    """What to report for one of several processes.

    Args:
        own: what it had learnt.
        data: the JSON that it left, with the key ``run``.

    Returns:
        The account to report: in process 0 merged with those of the others. In another process
        one line that says where its ledger is.
    """
    (process,) = own.processes
    told = data["left_by"]
    folder, run = Folder(Path(told["folder"]), told["shown"]), Run.of(data["run"])
    dead = replace(process, status="died")
    if run is not None and not folder.is_of(run):  # not written, or another run's by now
        return replace(own, processes=(dead,))
    data["processes"] = [dead.to_dict()]
    with contextlib.suppress(OSError):
        folder.write(process.index, json.dumps(data, indent=2, sort_keys=True) + "\n")
    if process.index > 0:
        return line(process, run is not None)
    if run is None:
        return replace(own, processes=(dead,))
    rest = [index for index in range(run.count) if index != process.index]
    found = waiting.others(folder, run, rest, min(told["wait"], _LONGEST))
    return merge([(dead, own), *found.values()])
