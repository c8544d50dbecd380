"""`donatree demo`: the lesson's programs, and what this JAX does with them."""

from __future__ import annotations

import dataclasses
import sys

import rich_click as click

from donatree.cli.outputs import Outputs, report_options
from donatree.ledger import Account


@click.command("demo")
@report_options
def command(outputs: Outputs) -> None:
    """Audit the programs of the lesson; what it says stands beside what this JAX does."""
    outputs.check()
    import jax

    from donatree import lesson
    from donatree._jax import facts
    from donatree.audit import audit

    ledgers = []
    for program in lesson.PROGRAMS:
        ledger = audit(jax.jit(program.step, donate_argnums=0), *lesson.arguments())
        said = program.says or "nothing, a weight that comes back as bfloat16 is not in it"
        says = f"the lesson says: {said}; here: {ledger.summary}"
        ledgers.append(dataclasses.replace(ledger, notes=(says, *ledger.notes)))
    account = Account(
        ledgers=tuple(ledgers),
        program="the lesson",
        versions=facts.versions(),
        platform=ledgers[0].platform,
    )
    outputs.publish(account, sys.stdout)
    leaf, batch = lesson.held_elsewhere()
    click.echo("\na leaf held under a second name while the state is donated (run, not audited)")
    click.echo(f"  the lesson: True, False; here: the leaf is deleted: {leaf}, the batch: {batch}")
