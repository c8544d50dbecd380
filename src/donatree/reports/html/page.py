"""What the page shows of an account, section by section."""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from donatree.ledger import Account
from donatree.reports import advice, changes, hardware, processes, refusals, rehearsals
from donatree.reports import findings as ranking
from donatree.reports.group import Group, groups, targets
from donatree.reports.html import codes, comparison, findings, templates
from donatree.reports.html.program import Program
from donatree.reports.html.spans import WIDE, Told, prose, spans, told

_STYLES = ("base.css", "page.css")
_SCRIPTS = (
    "core.js",
    "model.js",
    "layout.js",
    "places.js",
    "painter.js",
    "treemap.js",
    "rows.js",
    "table.js",
    "page.js",
)
_FEW = 3


@dataclass(frozen=True, slots=True)
class Total:
    """What became of all bytes that were promised, on one target."""

    target: str
    percent: str
    kept: int
    promised: int
    kept_leaves: int
    leaves: int
    programs: int

    @property
    def whole(self) -> bool:
        """Whether every leaf passed."""
        return self.kept_leaves == self.leaves


def render(account: Account) -> str:
    """The page of an account.

    Args:
        account: what was learnt of a program.

    Returns:
        HTML in ASCII; the same for equal accounts and equal sources.
    """
    style = templates.style(*_STYLES)
    script = Markup('(() => {\n"use strict";\n') + templates.style(*_SCRIPTS) + Markup("})();\n")
    made = templates.render(
        "page.html.j2",
        style=style,
        script=script,
        policy=(
            "default-src 'none'; base-uri 'none'; form-action 'none'; "
            f"style-src {_hash(style)}; script-src {_hash(script)}"
        ),
        **_sections(account),
    )
    return made + "\n"


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("ascii")).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _sections(account: Account) -> dict[str, Any]:
    found = findings.told(account)
    ignored = findings.ignored(account)
    held = account.comparison
    seen = [each.code for each in found] + [each.code for _, each in ignored]
    if held:
        seen += [code for each in held.changes for code in (each.before, each.after) if code]
    return {
        "title": account.program or _compared(account) or "donatree",
        "tool": " ".join(filter(None, ["donatree", account.versions.get("donatree")])),
        "about": list(_about(account)),
        "ended": account.ended,
        "processes": list(told(processes.lines(account, WIDE))),
        "totals": list(_totals(account)),
        "nothing": _nothing(account),
        "counts": Counter(each.level for each in found),
        "notes": account.notes,
        "comparison": held,
        "comparison_title": changes.title(held) if held else "",
        "comparison_summary": changes.summary(held) if held else "",
        "changes": comparison.rows(held) if held else [],
        "findings": found,
        "programs": _programs(account),
        "refusals": list(told(refusals.lines(account, WIDE))),
        "rehearsals": list(told(rehearsals.lines(account, WIDE))),
        "advice": [_advice(each) for each in account.advice],
        "ignored": ignored,
        "unmatched": account.unmatched,
        "faults": list(Counter(account.faults).items()),
        "versions": ", ".join(f"{name} {v}" for name, v in sorted(account.versions.items())),
        "pages": codes.pages(seen),
    }


def _compared(account: Account) -> str | None:
    return changes.title(account.comparison) if account.comparison else None


def _about(account: Account) -> Iterator[str]:
    if account.versions.get("jax"):
        yield f"jax {account.versions['jax']}"
    if account.platform:
        yield account.platform


def _nothing(account: Account) -> tuple[str, str] | None:
    """What is said, and advised, where there is no program to show; None where there is one."""
    compared = account.comparison is not None and account.comparison.new is not None
    if account.ledgers or account.rehearsals or account.refusals or compared:
        return None
    if account.faults:
        return "no function could be accounted for", ""
    if not (account.versions.get("jax") or account.platform or account.findings):
        return "JAX was not used, so there is nothing to account for", ""
    return "no function that was compiled asked for donation", "" if account.advice else (
        "name the argument that the call replaces, most often the training state, in "
        "`jax.jit(step, donate_argnums=0)`"
    )


def _totals(account: Account) -> Iterator[Total]:
    names = targets(account.ledgers)
    for name in names:
        mine = [each for each in account.ledgers if hardware.name_of(each) == name]
        leaves = sum(len(ledger.entries) for ledger in mine)
        lost = sum(len(ledger.lost) for ledger in mine)
        whole = Account(ledgers=tuple(mine))
        yield Total(
            name if len(names) > 1 else "",
            f"{int(whole.fraction * 1000) / 10}%",  # rounded down: 100 means all
            whole.kept_in_place,
            whole.promised,
            leaves - lost,
            leaves,
            len(mine),
        )


def _programs(account: Account) -> list[Program]:
    found = groups(account.ledgers)
    causes = [_causes(account, group) for group in found]
    made = [
        Program(number, group, why, shown=len(found) <= _FEW)
        for number, (group, why) in enumerate(zip(found, causes, strict=True), 1)
    ]
    if len(made) > _FEW:
        worst = max(made, key=lambda each: each.group.promised - each.group.kept_in_place)
        worst.open = True
    return made


def _causes(account: Account, group: Group) -> Mapping[tuple[str, str], int]:
    """By code and leaf, the number of the finding that says why, for the leaves of a program."""
    mine = set(map(id, group.ledgers))
    found: dict[tuple[str, str], int] = {}
    for number, (shown, _, _) in enumerate(ranking.told(account), 1):
        if not mine.isdisjoint(map(id, shown.ledgers)):
            for path in shown.finding.leaves:
                found.setdefault((shown.finding.code, path), number)
    return found


def _advice(data: Mapping[str, Any]) -> dict[str, Any]:
    place = data["defined_at"]
    return {
        "function": data["function"],
        "place": f"{place['file']}:{place['line']}" if place else "",
        "target": data.get("target") or "",
        "calls": _calls(data["calls"]),
        "rows": [
            (
                each["argument"],
                spans([(each["verdict"], advice.STYLES.get(each["verdict"], ""))]),
                advice.figure(each),
                [Told("why", prose(reason)) for reason in each["reasons"]]
                + ([Told("help", prose(each["help"]))] if each["help"] else []),
            )
            for each in data["advice"]
        ],
        "conclusion": advice.conclusion(data),
        "notes": [Told("note", prose(note)) for note in data["notes"]],
    }


def _calls(calls: Sequence[str]) -> str:
    more = f" and {len(calls) - _FEW:,} more" if len(calls) > _FEW else ""
    return ", ".join(calls[:_FEW]) + more
