"""`donatree audit`: one function, without running it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import rich_click as click

from donatree.cli.baselined import Baselined
from donatree.cli.demands import Demands, demand_options, has_findings
from donatree.cli.options import failure, prove_options, put_patch, target_options
from donatree.cli.outputs import Outputs, report_options
from donatree.errors import TargetError
from donatree.ledger import SCHEMA_VERSION, Account
from donatree.named import resolve

TARGET_HELP = """TARGET is file.py::name or package.module:name. The name stands for a function
without parameters that returns (jitted, args) or (jitted, args, kwargs); args may be arrays or
jax.ShapeDtypeStruct. Nothing is run and nothing is donated."""


@click.command("audit", cls=Baselined, epilog=TARGET_HELP)
@demand_options(
    "Exit 1 where anything was found; what happens without --fail-under and --baseline."
)
@prove_options(
    "Without it only the cures of what was found are compiled.",
    "The report goes to standard error then.",
)
@target_options
@report_options
@click.argument("function", metavar="TARGET")
def command(
    function: str,
    targets: tuple[str, ...],
    full: bool,
    prove: bool,
    prove_budget: float,
    patch: bool,
    demands: Demands,
    outputs: Outputs,
) -> int:
    """Audit one function without running it. Exit 0 with nothing found, 1 with findings.

    With --fail-under or --baseline it exits 1 only where these are not met.
    """
    outputs = outputs.or_else(demands.settings.formats)
    outputs.check()
    targets = targets or demands.settings.targets
    try:
        if targets:
            account = _on_targets(function, targets, prove, prove_budget, full)
        else:
            account = account_of(*resolve(function), prove_budget, prove)
    except TargetError as error:
        raise failure(str(error)) from None
    account = demands.judged(account)
    outputs.publish(account, sys.stderr if patch else sys.stdout)
    if patch:
        put_patch(account, sys.stdout)
    if not account.ledgers:
        return 2
    failed = demands.failed(account) if demands.made else has_findings(account)
    return 1 if failed else 0


def _on_targets(
    function: str, names: tuple[str, ...], prove: bool, budget: float, full: bool
) -> Account:
    """The account of one function on several targets."""
    from donatree.reports import decode
    from donatree.targets import several

    def here() -> Account:
        return account_of(*resolve(function), budget, prove)

    def load(data: Mapping[str, Any]) -> Account:
        return decode.account(data, SCHEMA_VERSION)

    order = {
        "command": "audit",
        "target": function,
        "budget": budget,
        "prove": prove,
        "full": full,
    }
    return several.audited(several.wanted_of(names), order, here, load)


def account_of(
    jitted: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    budget: float = 0.0,
    prove: bool = False,
) -> Account:
    """The account of one audited function.

    Args:
        jitted: the function.
        args: its positional arguments.
        kwargs: its keyword arguments.
        budget: seconds of further compiles.
        prove: whether the program is compiled without its donation as well.

    Raises:
        TargetError: it is not jitted, or JAX refuses the arguments.
    """
    from donatree._jax import facts
    from donatree.audit import audited
    from donatree.proof.budget import Budget

    ledger = audited(jitted, args, kwargs, Budget(budget) if budget else None, prove)
    return Account(ledgers=(ledger,), versions=facts.versions(), platform=ledger.platform)
