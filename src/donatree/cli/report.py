"""`donatree report`: a saved report in another format."""

from __future__ import annotations

import sys
from pathlib import Path

import rich_click as click

from donatree.cli.options import failure
from donatree.cli.outputs import Outputs, report_options_of
from donatree.reports import json


@click.command("report")
@report_options_of("Write it to FILE as JSON again.", "Show every leaf.")
@click.argument("file", metavar="LEDGER.json", type=click.Path(path_type=Path, allow_dash=True))
def command(file: Path, outputs: Outputs) -> int:
    """Show a report that was saved with --json, or write it in other formats.

    LEDGER.json may be `-` for standard input. Nothing is judged again: exit 0 where it could be
    read, 2 where not. JAX is not needed.
    """
    outputs.check()
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
        account = json.loads(text)
    except OSError as error:
        raise failure(f"cannot read `{file}`: {error.strerror}") from None
    except ValueError as error:  # no UTF-8, or no report
        raise failure(f"cannot read `{file}`: {error}") from None
    outputs.publish(account, sys.stdout)
    return 0
