"""A baseline that takes over what became better, and nothing that became worse."""

from __future__ import annotations

from donatree.baseline.comparing import folder_of, judged
from donatree.baseline.judgement import Judgement
from donatree.baseline.record import REUSED, Baseline, Checked, Key, Record
from donatree.ledger import GATES, Account


def ratcheted(old: Baseline, account: Account) -> Baseline | None:
    """The baseline with what became better, and nothing that became worse.

    A leaf that was lost and is reused cannot be lost again unnoticed. Where that was met for the
    first time under this signature or version of JAX, what is accepted of the nearest one is
    recorded for it.

    Args:
        old: the baseline.
        account: what was seen.

    Returns:
        The new baseline; None where nothing became better.

    Example:
        >>> ratcheted(Baseline(), Account()) is None
        True
    """
    judgements, _ = judged(old, account, folder_of(old, account))
    records = dict(old.records)
    for each in judgements:
        # Of a signature that was not recorded, a leaf that is newly lost would become accepted.
        if each.better and each.base and (each.base.same_signature or not each.fails):
            key = _key(each)
            known = records.get(key) or Record(key, frozenset(each.met.leaves), {})
            records[key] = known.having(each.met.environment, _checked(each), _still_lost(each))
    if records == dict(old.records):
        return None
    return Baseline.of(records.values(), old.comment, old.folder)


def _key(each: Judgement) -> Key:
    assert each.base is not None
    return each.base.keys[0] if each.base.same_signature else each.met.key


def _still_lost(each: Judgement) -> dict[str, str]:
    """What stays accepted: what was lost before and did not become better."""
    assert each.base is not None
    better = set(each.better)
    before = ((path, each.base.before(path)) for path in each.met.leaves if path not in better)
    return {path: found for path, found in before if found is not None and found != REUSED}


def _checked(each: Judgement) -> Checked:
    """How much was looked at: as much as now, where all that was recorded held at that."""
    assert each.base is not None
    before = [record.seen[environment] for record, environment in each.base.pairs]
    gates = set.intersection(*(set(one.gates) for one in before))
    proved = all(one.proved for one in before)
    if not each.fails and not each.unjudged:
        gates |= set(each.met.checked.gates)
        proved |= each.met.checked.proved
    return Checked(tuple(gate for gate in GATES if gate in gates), proved)
