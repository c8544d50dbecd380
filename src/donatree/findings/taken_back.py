"""Words that the findings of gate *in place* share: the copies, and what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from donatree.ledger import Entry, Label

if TYPE_CHECKING:
    from donatree.observation import Observation, Protection

_FEW = 3


def notes(entries: Sequence[Entry], observation: Observation) -> list[str]:
    """The copies, the totals, and what further compiles showed."""
    found = [
        f"`{each.instruction}` copies {each.bytes:,} bytes: {each.protects}"
        + (f", still read by {', '.join(each.readers[:_FEW])}" if each.readers else "")
        for each in _copies(entries, observation)
    ]
    more = [f"{len(found) - _FEW:,} more copies of this kind"] if len(found) > _FEW else []
    return [*found[:_FEW], *more, *_measured(entries, observation)]


def labels(entries: Sequence[Entry], observation: Observation) -> tuple[Label, ...]:
    """The user's expression that the copy is for."""
    for each in _copies(entries, observation):
        if each.location is not None:
            return (Label(each.location, "still reads the old value", primary=True),)
    return ()


def _copies(entries: Sequence[Entry], observation: Observation) -> list[Protection]:
    found: dict[str, Protection] = {}
    for entry in entries:
        for each in observation.costly_copies(entry.leaf.flat_index):
            found.setdefault(each.instruction, each)
    return list(found.values())


def _measured(entries: Sequence[Entry], observation: Observation) -> list[str]:
    live, proof = observation.live, observation.proof
    if live is None:
        return []
    if proof is None:
        return [
            f"live memory is {live.total:,} bytes per device, {live.temp:,} of them temporaries"
        ]
    whole = (
        f"live memory is {live.total:,} bytes per device, and {proof.undonated.total:,} where "
        "nothing is donated"
    )
    savings = {id(s): s for s in (proof.of(e.leaf.flat_index) for e in entries) if s}
    if len(savings) == 1 and len(proof.savings) > 1:
        [saving] = savings.values()
        these = "this leaf" if len(saving.leaves) == 1 else "these leaves"
        return [
            whole,
            f"with the donation of {these} beside the others it goes from {saving.before:,} to "
            f"{saving.after:,} bytes",
        ]
    return [whole]
