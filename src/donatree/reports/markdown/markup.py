"""Text of a user's program as Markdown in which nothing of it is read as markup.

The dialect is GitHub's: besides the marks of Markdown it reads HTML, ``@names``, ``#123``,
``:emoji:`` and addresses. GitLab's takes the same.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Sequence

from donatree.reports.text import clean

_CODE = re.compile(r"`([^`]+)`")
_MARKS = re.compile(r"[\\`*_\[\]<~|&$]|(?<!-)>|(?<=www)\.|:(?=//)")
# A mark that is still one when it is written as an entity, as a name is looked for in the page.
_NAMES = re.compile(r"[@#]|:(?=[a-z_]+:)|(?<=GH)-(?=\d)|(?<=gh)-(?=\d)")
_NOTHING = "&#8203;"  # a space of no width parts a name from its mark


def plain(text: str) -> str:
    """A text, of one line, as it is.

    Example:
        >>> plain("a*b* <c> @d")
        'a&#42;b&#42; &#60;c&#62; @&#8203;d'
    """
    marked = _MARKS.sub(lambda found: f"&#{ord(found[0])};", clean(text))
    # What the entities above are made of is no name.
    return re.sub(r"&#\d+;|[^&]+", lambda piece: _parted(piece[0]), marked)


def _parted(piece: str) -> str:
    if piece.startswith("&#"):
        return piece
    return _NAMES.sub(lambda found: found[0] + _NOTHING, piece)


def code(text: str) -> str:
    """A text, of one line, as code; in a table too.

    Example:
        >>> code("state['w']"), code("a|b")
        ("`state['w']`", '<code>a&#124;b</code>')
    """
    shown = clean(text)
    if not shown:
        return ""
    if "`" not in shown and "|" not in shown and shown.strip() == shown:
        return f"`{shown}`"
    marks = set(string.punctuation)
    entities = "".join(f"&#{ord(c)};" if c in marks or c == " " else c for c in shown)
    return f"<code>{entities}</code>"


def prose(text: str) -> str:
    """A text of donatree's, in which code stands in backticks.

    Example:
        >>> prose("return `x[0]`, which stays *int32*")
        'return `x[0]`, which stays &#42;int32&#42;'
    """
    shown, end = "", 0
    line = clean(text)
    for found in _CODE.finditer(line):
        shown += plain(line[end : found.start()]) + code(found[1])
        end = found.end()
    return shown + plain(line[end:])


def fence(lines: Iterable[str], language: str = "text") -> str:
    """Lines as a block of code, with a fence that is longer than any in them."""
    text = "\n".join(line.rstrip() for line in lines)
    longest = max(map(len, re.findall("`+", text)), default=0)
    marks = "`" * max(longest + 1, 3)
    return f"{marks}{language}\n{text}\n{marks}"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[int] = ()) -> str:
    """A table of cells that are Markdown already.

    Args:
        heads: the header's cells.
        rows: as many cells each.
        right: numbers of the columns that are set to the right.
    """
    rule = ["---:" if number in right else "---" for number in range(len(heads))]
    return "\n".join(f"| {' | '.join(row)} |" for row in (heads, rule, *rows))


def folded(summary: str, inside: str) -> str:
    """A part of the page that is closed until it is opened.

    Args:
        summary: its line, plain text.
        inside: Markdown.
    """
    shown = plain(summary)
    return f"<details><summary>{shown}</summary>\n\n{inside}\n\n</details>"
