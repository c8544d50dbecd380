"""`donatree run`: the main job."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from donatree.before.wish import Wish
from donatree.cli.baselined import Baselined
from donatree.cli.demands import Demands, demand_options
from donatree.cli.options import failure, prove_options, put_patch, target_options
from donatree.cli.outputs import Outputs, report_options
from donatree.errors import TargetError
from donatree.processes.group import FOLDER, WAIT, Group
from donatree.watch.level import CHECKS, FEWEST_CALLS, Check, Level
from donatree.watch.runner import BadProgram, Outcome, Program
from donatree.watch.session import Session

if TYPE_CHECKING:
    from donatree.targets.names import Wanted

EPILOG = """The program's own output, traceback and exit code stay as they are; the report goes to
standard error. Exit code 1 for findings comes only with --strict, --fail-under or --baseline, and
only where the program itself ended well."""


@click.command(
    "run",
    cls=Baselined,
    epilog=EPILOG,
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.option("-m", "module", is_flag=True, help="Run a module, as `python -m` does.")
@demand_options("Exit 1 where anything was found.")
@click.option(
    "--check",
    type=click.Choice(CHECKS),
    help="How much is looked at: what is compiled, the first calls too (the default), or the names "
    "behind every call.",
)
@click.option(
    "--calls",
    type=click.IntRange(min=FEWEST_CALLS),
    default=3,
    show_default=True,
    metavar="N",
    help="How many calls of each compiled function are looked at.",
)
@click.option(
    "--before",
    is_flag=True,
    help="Rehearse donation in a program that does not donate yet: what would break, and where.",
)
@click.option(
    "--donate",
    multiple=True,
    metavar="NAME[:ARG]",
    help="With --before: the function and the argument to rehearse, `train_step:0` or "
    "`train_step:state`.",
)
@click.option(
    "--ledgers",
    type=click.Path(file_okay=False, path_type=Path),
    default=FOLDER,
    show_default=True,
    metavar="DIR",
    help="Where each process of several leaves its ledger.",
)
@click.option(
    "--wait",
    type=click.FloatRange(min=0),
    default=WAIT,
    show_default=True,
    metavar="SECONDS",
    help="How long process 0 of several waits for the others at its end.",
)
@prove_options(
    "Without it a run compiles nothing twice.",
    "Needs --prove, and goes to standard error, below the report.",
)
@target_options
@report_options
@click.argument("name", metavar="SCRIPT.py | -m MODULE")
@click.argument("arguments", metavar="[ARGS]...", nargs=-1, type=click.UNPROCESSED)
def command(
    module: bool,
    demands: Demands,
    check: Check | None,
    calls: int,
    before: bool,
    donate: tuple[str, ...],
    ledgers: Path,
    wait: float,
    prove: bool,
    prove_budget: float,
    patch: bool,
    targets: tuple[str, ...],
    full: bool,
    outputs: Outputs,
    name: str,
    arguments: tuple[str, ...],
) -> Outcome:
    """Run a program unchanged and account for every leaf that it donates."""
    if name.startswith("-"):
        raise failure(f"no such option `{name}` (see `donatree run --help`)")
    if patch and not prove:
        raise failure("`--patch` needs `--prove`, which tries the fixes")
    wishes = _wishes(before, donate)
    outputs = outputs.or_else(demands.settings.formats)
    outputs.check()
    outputs = outputs.absolute()
    process = os.getpid()
    level = Level(check or demands.check(CHECKS) or "calls", calls)
    program = Program("module" if module else "script", name, arguments)
    group = Group(ledgers, wait)
    budget = prove_budget if prove else None
    wanted = _usable(targets or demands.settings.targets)
    session = Session(program, level, group, wishes, budget, wanted, full)
    try:
        outcome = session.run()
    except BadProgram as error:
        raise failure(str(error)) from None
    if os.getpid() != process:
        return outcome  # a child that the program forked: the report is its parent's
    account = session.account()
    try:
        merged = group.finish(account, sys.stderr)
        if merged is not None:  # None: process 0 reports, and keeps the baseline
            account = demands.judged(merged)
            outputs.publish(account, sys.stderr)
            if patch:
                put_patch(account, sys.stderr)
    except Exception as error:
        print(f"donatree: the report could not be written: {error!r}", file=sys.stderr)
    session.close()
    if outcome.code == 0 and outcome.signal is None and demands.failed(account):
        outcome = Outcome(1)
    return outcome


def _usable(targets: tuple[str, ...]) -> tuple[Wanted, ...]:
    """What was named, before anything is run."""
    if not targets:
        return ()
    from donatree.targets import packages
    from donatree.targets.several import wanted_of

    try:
        found = wanted_of(targets)
        for why in filter(None, (packages.why_not(each.platform) for each in found)):
            raise TargetError(why)
        return found
    except TargetError as error:
        raise failure(str(error)) from None


def _wishes(before: bool, donate: tuple[str, ...]) -> tuple[Wish, ...] | None:
    """What is to be rehearsed; None where nothing is."""
    if not before:
        if donate:
            raise failure("`--donate` needs `--before`, which rehearses it")
        return None
    try:
        return tuple(map(Wish.parse, donate))
    except ValueError as error:
        raise failure(str(error)) from None
