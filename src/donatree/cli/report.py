"""`donatree report`: a saved report in another format."""

from __future__ import annotations

import sys
from pathlib import Path

import rich_click as click

from donatree.baseline import Baseline, BaselineError, load
from donatree.cli.options import failure
from donatree.cli.outputs import Outputs, report_options_of
from donatree.ledger import Account
from donatree.reports import json


@click.command("report")
@report_options_of("Write it to FILE as JSON again.", "Show every leaf.", converts=True)
@click.argument("file", metavar="LEDGER.json", type=click.Path(path_type=Path, allow_dash=True))
def command(file: Path, outputs: Outputs) -> int:
    """Show a report that was saved with --json, or write it in other formats.

    LEDGER.json is what --json wrote, or one ledger of it; `-` is standard input. Nothing is judged
    again: exit 0 where it could be read, 2 where not. JAX is not needed.
    """
    outputs.check()
    try:
        if str(file) == "-":
            account: Account | Baseline = json.loads(sys.stdin.read())
        else:
            account = load(file)
    except BaselineError as error:
        raise failure(str(error)) from None
    except ValueError as error:  # no UTF-8, or no report
        raise failure(f"cannot read standard input: {error}") from None
    if isinstance(account, Baseline):
        raise failure(f"`{file}` is a baseline and no report")
    outputs.publish(account, sys.stdout)
    return 0
