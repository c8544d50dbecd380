"""The pages of the codes that a report names, so that it explains itself without a network."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from markupsafe import Markup

from donatree import findings
from donatree.reports.html.spans import prose


@dataclass(frozen=True, slots=True)
class Page:
    """The explanation of a code, as HTML below its title."""

    id: str
    code: str
    title: str
    body: Markup


def pages(codes: Iterable[str]) -> list[Page]:
    """The pages of some codes; none for a code that this donatree does not know."""
    known = sorted(set(codes).intersection(findings.CODES))
    rules = [findings.rule(code) for code in known]
    return [Page(f"code-{rule.code}", rule.code, rule.title, html(rule.page)) for rule in rules]


def html(page: str) -> Markup:
    r"""The Markdown of a page below its title: headings, paragraphs, lists, code.

    Example:
        >>> html("A title\n\n## What it means\n\nThe `step`.")
        Markup('<h4>What it means</h4><p>The <code>step</code>.</p>')
    """
    made: list[Markup] = []
    for block in page.strip().split("\n\n")[1:]:
        lines = block.strip().splitlines()
        if not lines:
            continue
        if lines[0].startswith("## "):
            made.append(Markup("<h4>{}</h4>").format(prose(lines[0][3:])))
        elif lines[0].startswith("- "):
            items = "\n".join(lines)[2:].split("\n- ")
            listed = (Markup("<li>{}</li>").format(prose(" ".join(i.split()))) for i in items)
            made.append(Markup("<ul>{}</ul>").format(Markup("").join(listed)))
        elif lines[0].startswith("    "):
            made.append(Markup("<pre>{}</pre>").format("\n".join(line[4:] for line in lines)))
        else:
            made.append(Markup("<p>{}</p>").format(prose(" ".join(lines))))
    return Markup("").join(made)
