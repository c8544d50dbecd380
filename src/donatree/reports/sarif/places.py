"""Places in source, and edits of it, as objects of SARIF."""

from __future__ import annotations

from typing import Any

from donatree.ledger import Edit, Location
from donatree.reports import files

ROOT = "%SRCROOT%"


def physical(location: Location, workspace: str | None = None) -> dict[str, Any]:
    """A ``location`` object with a file and, where the line is known, a region.

    Args:
        location: the place.
        workspace: the folder that paths start from.
    """
    made: dict[str, Any] = {"artifactLocation": artifact(location.file, workspace)}
    found = region(location)
    made["region"] = found or {"startLine": 1}
    return {"physicalLocation": made}


def whole(file: str, workspace: str | None = None) -> dict[str, Any]:
    """A ``location`` object for a file of which no line is meant: its first one."""
    return physical(Location(file, 1), workspace)


def artifact(file: str, workspace: str | None = None) -> dict[str, Any]:
    """An ``artifactLocation`` object; only a relative one has a base."""
    uri = files.uri(file, workspace)
    return {"uri": uri} if uri.startswith("file:") else {"uri": uri, "uriBaseId": ROOT}


def region(location: Location) -> dict[str, Any] | None:
    """A ``region`` object; None where the line is not known."""
    if location.line < 1:
        return None
    made: dict[str, Any] = {"startLine": location.line}
    start, end, last = files.span(location)
    if start is None:
        return made
    made["startColumn"] = start
    if last is not None and last > location.line:
        made["endLine"] = last
    if end is not None:
        made["endColumn"] = end
    return made


def replacement(edit: Edit, workspace: str | None = None) -> dict[str, Any] | None:
    """An ``artifactChange`` object of one replacement; None where its columns are not known."""
    found = region(edit.location)
    if found is None or not {"startColumn", "endColumn"} <= found.keys():
        return None
    inserted = {"text": edit.replacement.encode("utf-8", "backslashreplace").decode("utf-8")}
    return {
        "artifactLocation": artifact(edit.location.file, workspace),
        "replacements": [{"deletedRegion": found, "insertedContent": inserted}],
    }
