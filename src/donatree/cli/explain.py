"""`donatree explain`: the page of a code."""

from __future__ import annotations

import difflib

import rich_click as click

from donatree import findings
from donatree.cli.options import failure


@click.command("explain")
@click.argument("code", required=False)
def command(code: str | None) -> None:
    """Show the page of a finding's code; without one, list the codes."""
    if code is None:
        for each in findings.CODES:
            click.echo(f"{each}  {findings.rule(each).title}")
        return
    try:
        rule = findings.rule(code.upper())
    except KeyError:
        near = difflib.get_close_matches(code.upper(), findings.CODES, n=1)
        hint = f"; near it is `{near[0]}`" if near else ""
        raise failure(
            f"there is no finding `{code}`{hint}; `donatree explain` lists them"
        ) from None
    click.echo(page(rule).rstrip())


def page(rule: findings.Rule) -> str:
    """The whole page as Markdown: text, the failing program, the repaired one."""
    lines = rule.page.strip().splitlines()
    text = [f"# {rule.code}: {rule.title}", "", "\n".join(lines[1:]).strip()]
    if rule.failing:
        text += ["", "## A program that shows it", "", "```python", rule.failing.strip(), "```"]
    if rule.repaired:
        text += ["", "## Repaired", "", "```python", rule.repaired.strip(), "```"]
    return "\n".join(text) + "\n"
