"""A finding as a template shows it: its words, its source, its facts in the terminal's order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from donatree import findings as codes
from donatree import paths
from donatree.ledger import Account, Finding, Fix
from donatree.reports import diagnostic, findings, fixes, sizes
from donatree.reports.html import source
from donatree.reports.html.spans import prose

_MOST_NAMED = 200


@dataclass(frozen=True, slots=True)
class Shown:
    """A finding.

    Attributes:
        id: where the page has it; empty in a piece that stands alone.
        page: where the page explains its code; empty where it does not.
        code: ``DT402``.
        level: ``error``, ``warning`` or ``note``.
        headline: its first line.
        files: the places in source.
        facts: each with its word: ``leaf``, ``in``, ``on``, ``note``, ``help``, ``verified`` ...
    """

    id: str
    page: str
    code: str
    level: str
    headline: str
    files: Sequence[source.SourceFile]
    facts: Sequence[tuple[str, Markup]]


def of(
    finding: Finding,
    number: int | None = None,
    functions: Sequence[str] = (),
    targets: str | None = None,
    tried: Sequence[Fix] = (),
    devices: int = 1,
) -> Shown:
    """A finding as a template shows it.

    Args:
        finding: the finding.
        number: its place on the page, from 1; None in a piece that stands alone.
        functions: names of the functions that it concerns, where the reader cannot tell.
        targets: the targets on which it was found, where there are others.
        tried: the fixes that were tried for it.
        devices: how many devices the program spans.
    """
    facts = [*_facts(finding, functions, targets), *_fixes(tried, devices)]
    known = number is not None and finding.code in codes.CODES
    return Shown(
        f"finding-{number}" if number else "",
        f"code-{finding.code}" if known else "",
        finding.code,
        finding.level,
        finding.headline,
        source.files(finding),
        facts,
    )


def told(account: Account, *, alone: bool = False) -> list[Shown]:
    """The findings that are to be told, in the order in which a reader needs them.

    Args:
        account: what was learnt of a program.
        alone: for a piece that stands alone, to which no other place links.
    """
    return [
        of(
            shown.finding,
            None if alone else number,
            functions,
            targets,
            fixes.of_finding((f for each in shown.ledgers for f in each.fixes), shown.finding),
            max((each.devices for each in shown.ledgers), default=1),
        )
        for number, (shown, functions, targets) in enumerate(findings.told(account), 1)
    ]


def ignored(account: Account) -> list[tuple[str, Shown]]:
    """The findings that somebody chose not to be told of, each with why and where that is."""
    found = findings.told(account, ignored=True)
    return [
        (shown.finding.ignored or "", of(shown.finding, None, functions, targets))
        for shown, functions, targets in found
    ]


def _facts(
    finding: Finding, functions: Sequence[str], targets: str | None
) -> Iterator[tuple[str, Markup]]:
    for word, text in diagnostic.attached(finding, functions, targets):
        if word == "leaves":
            yield word, prose(text) + _each(finding)
        else:
            yield word, prose(text)
    if finding.ignored_leaves and finding.ignored is None:
        yield "ignored", prose(paths.fold(finding.ignored_leaves))


def _each(finding: Finding) -> Markup:
    """Every leaf by its name, behind a fold."""
    items = Markup("").join(
        Markup('<li class="path">{}</li>').format(prose(path))
        for path in finding.leaves[:_MOST_NAMED]
    )
    left = len(finding.leaves) - _MOST_NAMED
    if left > 0:
        items += Markup("<li>and {:,} more</li>").format(left)
    return Markup(
        "<details><summary>all {}, most bytes first</summary><ol>{}</ol></details>"
    ).format(sizes.leaves(len(finding.leaves)), items)


def _fixes(tried: Sequence[Fix], devices: int) -> Iterator[tuple[str, Markup]]:
    for fix in sorted(tried, key=lambda fix: not fix.held):
        text = prose(fixes.sentence(fix, devices))
        for note in fixes.notes(fix):
            text += Markup('<br><span class="dim">{}</span>').format(prose(note))
        if fix.edit and fix.held:
            text += Markup('<pre class="edit"><del>- {}</del>\n<ins>+ {}</ins></pre>').format(
                prose(fix.edit.original), prose(fix.edit.replacement)
            )
        yield "verified" if fix.held else "tried", text
