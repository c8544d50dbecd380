"""Pieces of HTML that stand alone, as a notebook shows them: no script, nothing from a network.

Each is one ``<div class="donatree">`` with its own styles, which name nothing outside of it, and is
as readable where a front end takes styles away.
"""

from __future__ import annotations

from donatree.ledger import Account, Finding, Ledger
from donatree.reports import faults, group, hardware, refusals
from donatree.reports.html import findings, funnel, state, templates
from donatree.reports.html.spans import WIDE, Told, told
from donatree.reports.text import BAD, Line


def ledger(ledger: Ledger) -> str:
    """The piece of one ledger: its funnel, its state as a folded tree, its findings.

    Example:
        >>> from donatree.ledger import Ledger
        >>> "<script" in ledger(Ledger("step", "(x)", (), ()))
        False
    """
    return account(Account(ledgers=(ledger,)))


def finding(finding: Finding) -> str:
    """The piece of one finding: its headline, the source that it points at, its facts."""
    return templates.render(
        "piece.html.j2",
        style=_style(),
        programs=[],
        findings=[findings.of(finding)],
        summary="",
        told=(),
    )


def account(account: Account, *, expand: bool = False) -> str:
    """The piece of an account: each of its programs, the findings of all of them, what went wrong.

    The page of ``donatree.reports.html.write`` has more: the search, the treemap, the advice.

    Args:
        account: what was learnt of a program.
        expand: a row for every leaf, nothing folded.
    """
    programs = [
        {
            "function": each.first.function,
            "location": each.first.location,
            "where": ", ".join(filter(None, map(hardware.device_of, each.ledgers))),
            "funnels": [
                (
                    hardware.name_of(one) if len(each.ledgers) > 1 else one.function,
                    funnel.stages(one),
                    one.summary,
                    not one.lost,
                )
                for one in each.ledgers
            ],
            "state": state.of(each, expand=expand),
            "columns": (
                [hardware.name_of(one) for one in each.ledgers]
                if len(each.ledgers) > 1
                else ["what became of it"]
            ),
        }
        for each in group.groups(account.ledgers)
    ]
    summary = "" if programs else "no function that was compiled asked for donation"
    return templates.render(
        "piece.html.j2",
        style=_style(),
        programs=programs,
        findings=findings.told(account, alone=True),
        summary=summary,
        told=_told(account),
        expand=expand,
    )


def _told(account: Account) -> list[Told]:
    """How the program ended, what could not be compiled, what went wrong inside donatree."""
    lines: list[Line] = []
    if account.ended:
        lines.append([(f"ended with {account.ended}; this is what was learnt until then", BAD)])
    lines += refusals.lines(account, WIDE)
    lines += faults.lines(account, WIDE)
    return list(told(lines))


def _style() -> str:
    return templates.style("base.css")
