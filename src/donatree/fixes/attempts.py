"""All attempts at a ledger: the cured programs are built and compiled, and what held is told."""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import Any

from donatree import gates
from donatree._jax import origins, recast
from donatree._jax.ends import Ends
from donatree.fixes import candidates, twins
from donatree.fixes.trial import Trial, best, in_order, without_worse
from donatree.ledger import Fix, Ledger
from donatree.observation import Observation
from donatree.why import causes


def try_all(
    program: Any, ledger: Ledger, observation: Observation, deadline: float
) -> tuple[Fix, ...]:
    """Tries what can cure the findings of a ledger; nothing is run.

    Each change is compiled by itself, those about the most bytes first; those that held are then
    compiled together once.

    Args:
        program: the `Program` of `_jax.variant` that the ledger is about.
        ledger: what was judged.
        observation: the evidence, with XLA's totals. Origins of drifts are looked for where it
            has none.
        deadline: the reading of `time.monotonic()` after which no compile is begun.

    Returns:
        All changes with what came of them, those that held first. `Fix.held` tells which these
        are; the others are evidence and no advice.
    """
    observation = _with_origins(program, ledger, observation)
    # What further compiles proved of the program is not known of its changes: neither counts.
    plain = gates.judge(dataclasses.replace(observation, proof=None))
    trial = Trial(program, plain, observation, deadline, longest=program.seconds)
    tools = candidates.Tools(partial(recast.can_leave_out, program), Ends(program).makes)
    wanted = candidates.of(ledger, observation, tools)
    tried = without_worse(trial.in_company([(each, trial.try_(each)) for each in wanted]))
    fixes = [*(fix for _, fix in tried), *twins.of(ledger)]
    held = best(tried)
    if len(held) > 1:
        fixes.append(trial.try_together(held))
    return tuple(sorted(fixes, key=in_order))


def _with_origins(program: Any, ledger: Ledger, observation: Observation) -> Observation:
    drifts = causes.drifts(ledger.entries)
    if observation.origins or not drifts:
        return observation
    names = [leaf.path for leaf in observation.request.leaves]
    jaxpr = program.lowering.args[0]
    found = origins.locate(jaxpr, drifts, names, observation.request.call)
    return dataclasses.replace(observation, origins=found)
