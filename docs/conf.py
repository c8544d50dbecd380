"""Sphinx's configuration; it also writes a page for each finding, from the text of its own file.

    python -m sphinx -q -W --keep-going -b html docs docs/_build/html

Nothing is fetched. JAX is not imported: autodoc imports donatree, which imports it late.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS.parent / "src"))

import donatree  # noqa: E402
from donatree import findings  # noqa: E402
from donatree.cli import explain  # noqa: E402

project = "donatree"
author = "The donatree developers"
copyright = author  # noqa: A001, Sphinx's word
version = release = donatree.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
myst_heading_anchors = 3
myst_enable_extensions = ["deflist"]

default_role = "code"  # docstrings write `step`, as Markdown does

html_theme = "furo"
html_title = f"donatree {release}"
html_show_sourcelink = False
html_copy_source = False
html_static_path = ["_static"]
html_css_files = ["pages.css"]

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
napoleon_use_ivar = True  # the attributes of a record as a list, not each as an object of its own

INDEX = """\
# Findings

A finding is a coded statement about leaves, an argument or a place in the program.
The first digit is the gate by which it is numbered: 1 asked, 2 kept, 3 matched, 4 granted,
5 in place, 6 honoured; 7 is about names: who holds a leaf, twins, use after donation; 8 is advice.
`donatree explain CODE` prints the same pages, without JAX and without a network.

| code | name | gate | what it says |
| --- | --- | --- | --- |
{rows}

A finding is an *error* where the promise was refused or the run broke it, a *warning* where XLA
kept it and takes the bytes back, where reuse has a price or something is about to break, and a
*note* where nothing is lost.
Notes alone change no exit code.

```{{toctree}}
:hidden:

{codes}
```
"""


def write_code_pages(folder: Path) -> None:
    """Writes one Markdown page a code and the table of them all.

    What is up to date is left as it is, so that Sphinx reads it no second time; what is no code
    any more is removed.

    Args:
        folder: where; it is made if it is not there.
    """
    rules = [findings.rule(code) for code in findings.CODES]
    pages = {f"{rule.code}.md": explain.page(rule) for rule in rules}
    pages["index.md"] = INDEX.format(
        rows="\n".join(_row(rule) for rule in rules), codes="\n".join(findings.CODES)
    )
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.md"):
        if old.name not in pages:
            old.unlink()
    for name, text in pages.items():
        page = folder / name
        if not page.exists() or page.read_text("utf-8") != text:
            page.write_text(text, encoding="utf-8")


def _row(rule: findings.Rule) -> str:
    gate = rule.gate.label if rule.gate else ""
    return f"| [{rule.code}]({rule.code}.md) | {rule.name} | {gate} | {rule.title} |"


def setup(app: Any) -> None:
    """Called by Sphinx before it looks for pages."""
    app.connect("builder-inited", lambda _: write_code_pages(DOCS / "codes"))
