"""`donatree advise`: which argument takes the keyword, and what it saves."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import rich_click as click

from donatree.advice import BUDGET, AdviceList
from donatree.cli.audit import TARGET_HELP, resolve
from donatree.cli.options import check_writable, failure
from donatree.errors import TargetError
from donatree.reports.advice import write


@click.command("advise", epilog=TARGET_HELP)
@click.option(
    "--json",
    "json_file",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the advice to FILE as JSON.",
)
@click.option(
    "--budget",
    metavar="SECONDS",
    type=click.FloatRange(min=0),
    default=BUDGET,
    show_default=True,
    help="Begin no further compile after SECONDS; 0 compiles nothing and estimates.",
)
@click.option(
    "--strict",
    is_flag=True,
    help="Exit 1 as well where it is undecided whether an argument ought to be donated.",
)
@click.argument("target")
def command(target: str, json_file: Path | None, budget: float, strict: bool) -> int:
    """Tell which arguments ought to be donated. Exit 0 with nothing to change, 1 with advice."""
    check_writable(json_file)
    try:
        found = advice_of(target, budget)
    except TargetError as error:
        raise failure(str(error)) from None
    publish(found)
    if json_file is not None:
        try:
            json_file.write_text(json.dumps(to_dict(found), indent=2) + "\n", encoding="utf-8")
        except OSError as error:
            raise failure(f"cannot write `{json_file}`: {error.strerror}") from None
    return 1 if found.to_do or (strict and any(a.verdict == "undecided" for a in found)) else 0


def advice_of(target: str, budget: float) -> AdviceList:
    """The advice on one target.

    Args:
        target: ``file.py::name`` or ``package.module:name``.
        budget: seconds for compiles; 0 to compile nothing.

    Raises:
        TargetError: with one line that says what is wrong.
    """
    from donatree.advice.making import advice_on
    from donatree.proof.budget import Budget
    from donatree.source.tree import source_of

    jitted, args, kwargs = resolve(target)
    if "::" in target:
        file = target.partition("::")[0]
    else:
        file = getattr(sys.modules.get(target.partition(":")[0]), "__file__", None)
    source = source_of(str(Path(file).resolve())) if file else None
    seconds = Budget(budget) if budget else None
    return advice_on(jitted, args, kwargs, [source] if source else [], seconds)


def publish(advice: AdviceList) -> None:
    """Writes the advice to standard output as the reports are written."""
    write(advice.to_dict(), sys.stdout)


def to_dict(advice: AdviceList) -> dict[str, object]:
    """The JSON of the command."""
    from donatree._jax import facts
    from donatree.ledger import SCHEMA_VERSION

    return {
        "schema_version": SCHEMA_VERSION,
        "versions": dict(facts.versions()),
        "functions": [advice.to_dict()],
    }
