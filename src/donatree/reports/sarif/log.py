"""SARIF 2.1.0, for code scanning: one run, a rule a code that was seen, a result a problem.

Paths are relative to ``%SRCROOT%``, the root of the repository, of which the log does not say where
it lies. Columns count characters from 1. A result is known by a fingerprint in which no line
counts. What is ignored is written with its suppression.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from donatree.ledger import Account
from donatree.reports import changes, files, fixes, problems
from donatree.reports.problems import Problem
from donatree.reports.sarif import places, rules
from donatree.reports.text import clean

if TYPE_CHECKING:
    from donatree.reports import Options

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)

_FINGERPRINT = "donatree/v1"
_LEAVES = 100  # code scanning shows no more places of a result
_IN_SOURCE = re.compile(r".*\.\w+:\d+(:|$)")  # `train.py:41: reason`


def write(account: Account, stream: TextIO, options: Options) -> None:
    """Writes the log: JSON, ASCII only, no clock and no path of this machine's own.

    Args:
        account: what was learnt of a program.
        stream: an open text stream.
        options: they do not matter.
    """
    del options
    stream.write(json.dumps(log(account), indent=2) + "\n")
    stream.flush()


def log(account: Account) -> dict[str, Any]:
    """The log as plain data.

    Args:
        account: what was learnt of a program.

    Returns:
        A ``sarifLog`` object with one run.
    """
    found = problems.of(account, ignored=True)
    made = rules.of(found)
    order = {rule["id"]: number for number, rule in enumerate(made)}
    driver: dict[str, Any] = {"name": "donatree", "rules": made}
    if account.versions.get("donatree"):
        driver["version"] = clean(account.versions["donatree"])
    root = {"description": {"text": "The root of the repository."}}
    run: dict[str, Any] = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {places.ROOT: root},
        "invocations": [_invocation(account)],
        "results": [_result(each, order[each.rule], account) for each in found],
    }
    properties = dict(_properties(account))
    if properties:
        run["properties"] = properties
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _result(problem: Problem, index: int, account: Account) -> dict[str, Any]:
    workspace = files.workspace()
    made: dict[str, Any] = {
        "ruleId": problem.rule,
        "ruleIndex": index,
        "level": problem.level,
        "message": {"text": _escaped(problem.message)},
        "locations": [_location(problem, account, workspace)],
        "partialFingerprints": {_FINGERPRINT: problem.fingerprint},
    }
    others = [label for label in problem.labels if label.location != problem.location]
    if others:
        made["relatedLocations"] = [
            {
                "id": number,
                "message": {"text": _escaped(clean(label.text))},
                **places.physical(label.location, workspace),
            }
            for number, label in enumerate(others, 1)
        ]
    if problem.ignored is not None:
        kind = "inSource" if _IN_SOURCE.match(problem.ignored) else "external"
        made["suppressions"] = [{"kind": kind, "justification": problem.ignored}]
    mended = list(_fixes(problem, workspace))
    if mended:
        made["fixes"] = mended
    made["properties"] = {"leaves": len(problem.leaves), "bytes": problem.bytes}
    return made


def _location(problem: Problem, account: Account, workspace: str | None) -> dict[str, Any]:
    """The place of a result, with its functions and leaves; there is always one."""
    if problem.location is not None:
        made = places.physical(problem.location, workspace)
    else:
        made = places.whole(account.program or "donatree", workspace)
    said = [clean(each.text) for each in problem.labels if each.location == problem.location]
    if said:
        made["message"] = {"text": _escaped("; ".join(said))}
    logical = [
        {"name": name, "fullyQualifiedName": name, "kind": "function"} for name in problem.functions
    ]
    logical += [
        {"name": path, "fullyQualifiedName": path, "kind": "member"}
        for path in dict.fromkeys(problem.leaves[:_LEAVES])
    ]
    if logical:
        made["logicalLocations"] = logical
    return made


def _fixes(problem: Problem, workspace: str | None) -> Iterator[dict[str, Any]]:
    """The fixes that held and are one edit."""
    if problem.shown is None:
        return
    ledgers = problem.shown.ledgers
    devices = max((each.devices for each in ledgers), default=1)
    tried = (fix for ledger in ledgers for fix in ledger.fixes)
    for fix in fixes.of_finding(tried, problem.shown.finding):
        if not fix.held or fix.edit is None:
            continue
        change = places.replacement(fix.edit, workspace)
        if change is not None:
            text = _escaped(clean(fixes.sentence(fix, devices)))
            yield {"description": {"text": text}, "artifactChanges": [change]}


def _invocation(account: Account) -> dict[str, Any]:
    """Whether donatree did its work, and what went wrong outside of any finding."""
    made: dict[str, Any] = {"executionSuccessful": not account.faults and account.ended is None}
    told = [_notification("warning", text) for text in dict.fromkeys(_told(account))]
    for fault in dict.fromkeys(account.faults):
        lines = [clean(line) for line in fault.traceback.splitlines()]
        where = f"donatree itself failed in {clean(fault.where)}"
        made_of = _notification("error", "\n".join([where, *lines]))
        told.append({**made_of, "exception": {"message": clean(fault.error)}})
    if told:
        made["toolExecutionNotifications"] = told
    if account.unmatched:
        made["toolConfigurationNotifications"] = [
            _notification("warning", f"ignore that matched nothing: {clean(each)}")
            for each in dict.fromkeys(account.unmatched)
        ]
    return made


def _told(account: Account) -> Iterator[str]:
    if account.ended:
        yield f"the program ended with {clean(account.ended)}"
    yield from map(clean, problems.unmet(account))


def _notification(level: str, text: str) -> dict[str, Any]:
    return {"level": level, "message": {"text": _escaped(text)}}


def _properties(account: Account) -> Iterator[tuple[str, Any]]:
    versions = {name: clean(version) for name, version in sorted(account.versions.items())}
    if versions:
        yield "versions", versions
    if account.ledgers:
        yield "promised", account.promised
        yield "keptInPlace", account.kept_in_place
    if account.comparison is not None:
        turns = changes.turns(account.comparison)
        yield (
            "comparison",
            {
                "old": clean(account.comparison.old),
                "new": account.comparison.new and clean(account.comparison.new),
                "fails": account.comparison.fails,
                "summary": changes.summary(account.comparison),
                "changes": [_change(turn) for turn in turns],
            },
        )


def _change(turn: changes.Turn) -> dict[str, Any]:
    leaves: Sequence[str] = [clean(path) for path in turn.leaves]
    return {
        "kind": turn.kind,
        "function": clean(turn.first.function),
        "leaves": list(leaves[:_LEAVES]),
        "count": len(leaves),
        "bytes": turn.bytes,
        "verdicts": clean(changes.verdicts(turn)),
        "platforms": [clean(each) for each in turn.platforms],
    }


def _escaped(text: str) -> str:
    """A message in which nothing is read as a link of SARIF's own, ``[text](target)``."""
    return text.replace("](", "]\\(")
