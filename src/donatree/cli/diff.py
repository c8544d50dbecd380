"""`donatree diff`: two reports or baselines, leaf by leaf."""

from __future__ import annotations

import sys
from pathlib import Path

import rich_click as click

from donatree import baseline
from donatree._version import __version__
from donatree.baseline import Baseline
from donatree.cli.options import failure
from donatree.cli.outputs import Outputs, report_options_of
from donatree.ledger import Account, Comparison

WHAT_HELP = """OLD and NEW are reports or ledgers in JSON, as --json writes them, or baselines, in
any mix. What was met on several platforms or targets is compared platform by platform. JAX is not
needed."""


@click.command("diff", epilog=WHAT_HELP)
@report_options_of("Write what changed to FILE as JSON.", "Name every leaf.")
@click.argument("old", type=click.Path(path_type=Path))
@click.argument("new", type=click.Path(path_type=Path))
def command(old: Path, new: Path, outputs: Outputs) -> int:
    """Tell which leaves changed from OLD to NEW.

    Exit 0 where none is lost that was not lost before, 1 where one is, 2 where a file cannot be
    read.
    """
    outputs.check()
    try:
        before, after = baseline.load(old), baseline.load(new)
    except baseline.BaselineError as error:
        raise failure(str(error)) from None
    compared = baseline.compare(before, after, old_name=str(old), new_name=str(new))
    outputs.publish(_account(after, compared), sys.stdout)
    return 1 if compared.fails else 0


def _account(after: Account | Baseline, compared: Comparison) -> Account:
    """What is written: the comparison, under the versions of what is new."""
    if isinstance(after, Baseline):
        return Account(versions={"donatree": __version__}, comparison=compared)
    return Account(
        versions=after.versions,
        program=after.program,
        platform=after.platform,
        comparison=compared,
    )
