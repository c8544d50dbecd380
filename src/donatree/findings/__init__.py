"""Findings, one file a code. The text of a file feeds the terminal, `donatree explain` and docs."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from donatree.findings.rule import Rule

if TYPE_CHECKING:
    from donatree.ledger import Entry, Finding
    from donatree.observation import Observation
    from donatree.why.causes import Group
    from donatree.why.copies import Copies

CODES: tuple[str, ...] = (
    "DT101",
    "DT102",
    "DT103",
    "DT104",
    "DT105",
    "DT106",
    "DT201",
    "DT301",
    "DT302",
    "DT303",
    "DT304",
    "DT401",
    "DT402",
    "DT403",
    "DT404",
    "DT405",
    "DT406",
    "DT407",
    "DT408",
    "DT409",
    "DT410",
    "DT501",
    "DT502",
    "DT503",
    "DT601",
    "DT602",
    "DT603",
    "DT604",
    "DT605",
    "DT701",
    "DT702",
    "DT703",
    "DT704",
    "DT705",
    "DT706",
    "DT801",
    "DT802",
    "DT803",
)


@cache
def rule(code: str) -> Rule:
    """The rule of a code.

    Raises:
        KeyError: there is no such code.

    Example:
        >>> rule("DT402").name
        'dtype-drift'
    """
    if code not in CODES:
        raise KeyError(code)
    return importlib.import_module(f"donatree.findings.{code.lower()}").RULE


def describe(groups: Sequence[Group], observation: Observation) -> tuple[Finding, ...]:
    """The findings of one ledger: those about leaves in the order given, then the others."""
    from donatree.findings import dt104, dt407, dt410

    others = (dt104.about(observation), dt407.about(observation), dt410.about(observation))
    return (*of_groups(groups, observation), *(each for each in others if each is not None))


def of_groups(groups: Sequence[Group], observation: Observation) -> tuple[Finding, ...]:
    """The findings about leaves, in the order given."""
    found = []
    for group in groups:
        make = rule(group.code).describe
        assert make is not None
        found.append(make(group, observation))
    return tuple(found)


def of_copies(entries: Sequence[Entry], observation: Observation) -> list[str]:
    """Notes on the copies that take the bytes of leaves back, and on what was measured."""
    from donatree.findings import taken_back

    return taken_back.notes(entries, observation)


def of_calls(copied: Sequence[Copies]) -> tuple[Finding, ...]:
    """The findings about leaves that a run copied."""
    from donatree.findings import dt601, dt602, dt603, dt604, dt605

    files = (dt601, dt602, dt603, dt604, dt605)
    about = {file.RULE.code: file.about for file in files}
    return tuple(about[each.group.code](each) for each in copied)
