"""The gate granted could not be checked

## What it means

The compiled module's alias map could not be read.
Leaves that stopped at an earlier gate are reported; of the others it is not known whether they are
reused.

## Why it happens

The compile ended in an error, or the platform's executable gives no text of its module, or the text
has a header that donatree cannot read.
The note has the error.

## What to do

Where the compile failed, repair that first.
Otherwise please report it, with the output of `donatree debug`.

## Since when

It depends on the platform and not on JAX's version, so this page has no program.
One case is known: DT304 on the CPU with JAX 0.7.2, 0.8.3 and 0.9.2, where the compile ends in an
error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from donatree.findings.rule import Rule
from donatree.ledger import Finding, Gate

if TYPE_CHECKING:
    from donatree.observation import Observation

FAILING = ""

REPAIRED = ""


def about(observation: Observation) -> Finding | None:
    """The finding, where the compiled module could not be read or there is none."""
    why = observation.compile_error or observation.header_error
    if why is None:
        return None
    what = "was not compiled" if observation.compile_error else "has no readable header"
    quoted = why.replace("`", "'")
    return Finding(
        code=RULE.code,
        headline=f"what XLA granted is not known, because `{observation.request.function}` {what}",
        level="warning",
        location=observation.request.call,
        notes=(f"the error was `{quoted}`",),
    )


RULE = Rule(
    code="DT410",
    name="grant-not-known",
    gate=Gate.GRANTED,
    page=__doc__ or "",
    failing=FAILING,
    repaired=REPAIRED,
)
