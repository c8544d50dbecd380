"""`donatree advise`: which argument takes the keyword, and what it saves."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import rich_click as click

from donatree.advice import BUDGET, AdviceList
from donatree.advice.advice import TO_DO
from donatree.cli.audit import TARGET_HELP
from donatree.cli.options import failure, target_options
from donatree.cli.outputs import STREAM, check_writable, file_option
from donatree.errors import TargetError
from donatree.named import Function, resolve
from donatree.reports.advice import write


@click.command("advise", epilog=TARGET_HELP)
@file_option("json", "Write the advice to FILE as JSON.")
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
@target_options
@click.argument("function", metavar="TARGET")
def command(
    function: str,
    targets: tuple[str, ...],
    full: bool,
    json_file: Path | None,
    budget: float,
    strict: bool,
) -> int:
    """Tell which arguments ought to be donated. Exit 0 with nothing to change, 1 with advice."""
    check_writable(json_file)
    try:
        found = _found(function, targets, budget, full)
    except TargetError as error:
        raise failure(str(error)) from None
    told = [each for each in found if "refused" not in each]
    for each in told if str(json_file) != STREAM else ():
        write(each, sys.stdout)
    for each in found:
        if "refused" in each:
            print(
                f"donatree: not compiled for {each['target']}: {each['refused']}", file=sys.stderr
            )
    if json_file is not None:
        text = json.dumps(_json(found), indent=2) + "\n"
        try:
            if str(json_file) == STREAM:
                sys.stdout.write(text)
            else:
                json_file.write_text(text, encoding="utf-8")
        except OSError as error:
            raise failure(f"cannot write `{json_file}`: {error.strerror}") from None
    if not told:
        return 2
    verdicts = {advice["verdict"] for each in told for advice in each["advice"]}
    return 1 if verdicts & {*TO_DO, *(("undecided",) if strict else ())} else 0


def _found(
    function: str, names: tuple[str, ...], budget: float, full: bool
) -> list[Mapping[str, Any]]:
    """What `AdviceList.to_dict` gives, or why there is none, for each target; one without any."""
    if not names:
        return [advice_of(function, budget).to_dict()]
    from donatree.targets import several

    wanted = several.wanted_of(names)
    order = {"command": "advise", "target": function, "budget": budget, "full": full}

    def here() -> Mapping[str, Any]:
        return {"advice": advice_of(function, budget).to_dict()}

    answers = several.asked(wanted, order, here)
    several.raise_if_all_refused(answers)
    found: list[Mapping[str, Any]] = []
    for each, answer in zip(wanted, answers, strict=True):
        told: Mapping[str, Any] = answer.get("advice", answer)
        if "fault" in answer:
            print(answer["fault"]["traceback"], file=sys.stderr)
            told = {"refused": f"donatree itself failed: {answer['fault']['error']}"}
        found.append({**told, "target": each.name})
    return found


def advice_of(target: str, budget: float) -> AdviceList:
    """The advice on one target.

    Args:
        target: ``file.py::name`` or ``package.module:name``.
        budget: seconds for compiles; 0 to compile nothing.

    Raises:
        TargetError: with one line that says what is wrong.
    """
    return advice_on(target, resolve(target), budget)


def advice_on(target: str, function: Function, budget: float) -> AdviceList:
    """The advice on a function that was found.

    Args:
        target: how it was named.
        function: what the name stands for.
        budget: seconds for compiles; 0 to compile nothing.

    Raises:
        TargetError: with one line that says what is wrong.
    """
    from donatree.advice import making
    from donatree.proof.budget import Budget
    from donatree.source.tree import source_of

    if "::" in target:
        file = target.partition("::")[0]
    else:
        file = getattr(sys.modules.get(target.partition(":")[0]), "__file__", None)
    source = source_of(str(Path(file).resolve())) if file else None
    seconds = Budget(budget) if budget else None
    return making.advice_on(*function, [source] if source else [], seconds)


def _json(found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The JSON of the command."""
    from donatree._jax import facts
    from donatree.ledger import SCHEMA_VERSION

    return {
        "schema_version": SCHEMA_VERSION,
        "versions": dict(facts.versions()),
        "functions": [dict(each) for each in found],
    }
