"""Makes `report.svg`, the README's picture, from a real run of `examples/train.py`.

    python docs/picture.py

It needs donatree with its examples. The report that is drawn is the one that `donatree run`
prints, with the ledger of the first compile only: the second one differs by its state's average.
"""

from __future__ import annotations

import dataclasses
import io
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme

from donatree.ledger import Account
from donatree.reports import Options, json, terminal
from donatree.reports.console import Document
from donatree.reports.text import Line

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "report.svg"
PROGRAM = "examples/train.py"
WIDTH = 92  # the longest line breaks at a blank there, and the letters stay large

# The black and white of the page, then the colours of the report: each of them is read on dark.
THEME = TerminalTheme(
    (22, 24, 29),
    (214, 218, 226),
    [
        (40, 44, 52), (255, 107, 107), (126, 211, 133), (240, 198, 116),
        (97, 175, 239), (198, 146, 233), (86, 198, 214), (214, 218, 226),
    ],
    [
        (92, 99, 112), (255, 135, 135), (152, 227, 158), (247, 215, 148),
        (130, 195, 250), (214, 170, 242), (120, 218, 230), (255, 255, 255),
    ],
)  # fmt: skip

# Rich's own template names a font on a server. These are at hand where the picture is seen.
FONTS = "ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace"
FORMAT = (
    """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{
  font-family: FONTS;
  font-size: {char_height}px;
  line-height: {line_height}px;
}}
.{unique_id}-title {{ font-size: 18px; font-weight: bold; font-family: FONTS; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" />
</clipPath>
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""
).replace("FONTS", FONTS)


def measure() -> Account:
    """Runs the example under donatree and reads its account back."""
    with tempfile.TemporaryDirectory() as folder:
        saved = Path(folder) / "account.json"
        command = [sys.executable, "-m", "donatree", "run", "--json", str(saved), PROGRAM]
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
        return json.loads(saved.read_text("utf-8"))


def draw(account: Account) -> str:
    """The report of an account as SVG, the same text for equal accounts.

    Args:
        account: of the whole program; its first ledger is drawn.
    """
    first = dataclasses.replace(account, ledgers=account.ledgers[:1])
    report = terminal.document(first, Options(width=WIDTH, unicode=True))
    folded = Document(tuple(part for line in report.lines for part in _folded(line)))
    console = Console(
        record=True,
        file=io.StringIO(),
        width=WIDTH,
        force_terminal=True,
        color_system="truecolor",
        markup=False,
        emoji=False,
        highlight=False,
    )
    console.print(folded, soft_wrap=True, end="")
    drawn = console.export_svg(
        title=f"donatree run {PROGRAM}", theme=THEME, code_format=FORMAT, unique_id="donatree"
    )
    drawn = re.sub(r"<text [^>]*>\s*</text>", "", drawn)  # the ends of lines
    drawn = re.sub(r' clip-path="url\(#donatree-line-\d+\)"', "", drawn)
    drawn = drawn.replace("</text>", "</text>\n")
    return re.sub(r"[ \t]*\n\s*", "\n", drawn)


def _folded(line: Line) -> Iterator[Line]:
    """A line as a terminal shows it that is not wide enough: what is left starts the next one."""
    part: Line = []
    room = WIDTH
    for text, style in line:
        while text:
            part.append((text[:room], style))
            text, room = text[room:], room - len(text[:room])
            if not room:
                yield part
                part, room = [], WIDTH
    if part or not any(text for text, _ in line):
        yield part


if __name__ == "__main__":
    PICTURE.write_text(draw(measure()), encoding="utf-8")
    print(f"wrote {PICTURE.relative_to(ROOT)}")
