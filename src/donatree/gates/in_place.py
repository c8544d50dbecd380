"""Gate *in place*: do the bytes of a granted leaf really stay saved?

A granted alias is no saving yet: XLA may copy the value that is still to be read, or need another
temporary of the leaf's size. Live memory is arguments + outputs - alias + temp, per device, and a
donation saves what the program without it needs more.

Three kinds of evidence, the strongest first:

* a further compile without the leaf's donation (`Proof`): the difference is the saving;
* a copy of the leaf's size between its parameter and its slot, whose buffer is live when the
  temporaries are at their peak: the bytes came back as a temporary (one that is not live then may
  still cost: another peak can be as high);
* temporaries that are much smaller than the leaf: at least its bytes less theirs stay saved.

Where none of them speaks the gate says that it does not know.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from donatree.ledger import Entry, Gate
from donatree.observation import Observation, Protection, Saving

# XLA gives every buffer an address that is a multiple of this (measured on the CPU), so a little
# less than the leaf's bytes may be saved and nothing is wrong.
ALIGNMENT = 64

_SMALL_PART = 16  # what may be lost of a leaf where the temporaries are fewer than its bytes


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the gate says of one leaf.

    Attributes:
        passed: None where it does not know.
        evidence: what was read.
    """

    passed: bool | None
    evidence: str


def check(observation: Observation, entry: Entry, copied: int) -> Verdict | None:
    """The verdict on a granted leaf; None where nothing was read that could speak of it.

    Args:
        observation: with XLA's totals.
        entry: of a leaf that was granted.
        copied: `observation.copied_bytes`, counted once for all leaves.
    """
    index, size = entry.leaf.flat_index, entry.bytes
    costly = observation.costly_copies(index)
    saving = observation.proof and observation.proof.of(index)
    if saving and (saving.settled or not costly):
        return _proved(saving, observation, entry)
    if observation.live is None or observation.placement is None:
        return None
    temp = observation.live.temp
    if costly:
        return Verdict(False, "; ".join(map(_of_copy, costly)))
    if not size:
        return Verdict(True, "no bytes to save")
    other = temp - copied
    if other < size and (other < ALIGNMENT or other * _SMALL_PART <= size):
        beside = " beside the copies of other leaves" if other < temp else ""
        held = f"temporaries hold {other:,} bytes{beside}, too few for the leaf's {size:,}"
        return Verdict(True, held)
    copies = observation.placement.protections.get(index, ())
    found = "; ".join(map(_of_copy, copies)) if copies else "no copy protects it"
    return Verdict(
        None,
        f"not known: {found}, but temporaries hold {temp:,} bytes, which may be more than without "
        "donation",
    )


def judge(
    entries: Sequence[Entry], observation: Observation
) -> tuple[tuple[Entry, ...], tuple[Entry, ...]]:
    """Takes the entries through the gate.

    Args:
        entries: after gate granted; those that were lost before stay as they are.
        observation: with XLA's totals.

    Returns:
        The entries, and those of them for which the gate does not know.
    """
    copied = observation.copied_bytes
    judged, open_ = [], []
    for entry in entries:
        if entry.stopped_at is None and entry.slot is not None:
            verdict = check(observation, entry, copied)
            if verdict is not None:
                stopped = Gate.IN_PLACE if verdict.passed is False else None
                evidence = {**entry.evidence, Gate.IN_PLACE.value: verdict.evidence}
                entry = dataclasses.replace(entry, stopped_at=stopped, evidence=evidence)
            if verdict is None or verdict.passed is None:
                open_.append(entry)
        judged.append(entry)
    return tuple(judged), tuple(open_)


def _proved(saving: Saving, observation: Observation, entry: Entry) -> Verdict:
    more = len(saving.leaves) - 1
    it = f"it and {more:,} more {'leaf' if more == 1 else 'leaves'} save" if more else "it saves"
    words = (
        f"live memory goes from {saving.before:,} to {saving.after:,} bytes with its "
        f"donation: {it} {saving.saved:,} of {saving.bytes:,}"
    )
    if not saving.settled:
        return Verdict(None, f"not known of it alone: {words}")
    words = f"proved: {words}"
    # What alignment explains of a group can be all of a small leaf; a copy tells the two apart.
    copies = observation.costly_copies(entry.leaf.flat_index)
    if saving.whole and copies and saving.bytes - saving.saved >= entry.bytes:
        return Verdict(False, "; ".join([words, *map(_of_copy, copies)]))
    return Verdict(saving.whole, words)


def _of_copy(copy: Protection) -> str:
    where = {
        True: "its buffer is live at the peak of the temporaries",
        False: "its buffer is not live at the peak of the temporaries",
        None: "this jaxlib does not tell whether that is at the peak of the temporaries",
    }[copy.at_peak]
    read = f", still read by {', '.join(copy.readers[:3])}" if copy.readers else ""
    return f"`{copy.instruction}` copies {copy.bytes:,} bytes, {copy.protects}{read}; {where}"
