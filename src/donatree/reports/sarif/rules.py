"""The codes that were seen, as rules of SARIF."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from donatree import findings
from donatree.ledger import Level
from donatree.reports import problems
from donatree.reports.problems import Problem

_SEVERITIES: dict[Level, str] = {"error": "error", "warning": "warning", "note": "recommendation"}


def of(found: Sequence[Problem]) -> list[dict[str, Any]]:
    """The rules of some problems.

    Args:
        found: the problems.

    Returns:
        A ``reportingDescriptor`` object for each rule, in the order of their names, with the
        worst level that it was seen with.
    """
    levels: dict[str, Level] = {}
    headlines: dict[str, str] = {}
    for each in found:
        worst = levels.setdefault(each.rule, each.level)
        if problems.LEVELS.index(each.level) < problems.LEVELS.index(worst):
            levels[each.rule] = each.level
        headlines.setdefault(each.rule, each.headline)
    return [_rule(name, levels[name], headlines[name]) for name in sorted(levels)]


def _rule(name: str, level: Level, headline: str) -> dict[str, Any]:
    made: dict[str, Any] = {"id": name}
    tags = ["jax", "memory"]
    if name in findings.CODES:
        rule = findings.rule(name)
        made["name"] = rule.name
        title, text = rule.title, "\n".join(rule.page.strip().splitlines()[1:]).strip()
        tags += [rule.gate.label] if rule.gate else []
        made |= _described(title, _first_paragraph(text) or title)
        shown = f"{text}\n\n## Repaired\n\n```python\n{rule.repaired.strip()}\n```"
        made["help"] = {
            "text": f"{title}\n\n{text}\n\n`donatree explain {name}` prints this.",
            "markdown": f"# {name}: {title}\n\n{shown if rule.repaired else text}\n",
        }
    else:
        title = problems.BASELINE.get(name, headline)
        made |= _described(title, title)
    made["defaultConfiguration"] = {"level": level}
    made["properties"] = {
        "tags": tags,
        "precision": "very-high",
        "problem.severity": _SEVERITIES[level],
    }
    return made


def _described(title: str, text: str) -> dict[str, Any]:
    return {"shortDescription": {"text": title}, "fullDescription": {"text": text}}


def _first_paragraph(page: str) -> str:
    """The first paragraph below the first heading, on one line."""
    blocks = [block for block in page.split("\n\n") if block.strip() and not block.startswith("#")]
    return " ".join(blocks[0].split()) if blocks else ""
