"""The changes that are worth trying for the findings of a ledger."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from donatree import paths
from donatree.fixes import declaration, expression, returned
from donatree.fixes.change import Candidate, Change
from donatree.ledger import Edit, Entry, Finding, Gate, Grade, Leaf, Ledger
from donatree.observation import Observation
from donatree.origin.drift import Origin

_CASTS = ("DT402", "DT403")
_SHARDINGS = ("DT404", "DT405")
_ORDERS = ("DT302", "DT408")
_LOST = ("DT301", "DT302")
_DROPS = (*_LOST, "DT408")


@dataclass(frozen=True, slots=True)
class Tools:
    """What is asked of the program itself.

    Attributes:
        can_leave_out: whether slots had these dtypes just before a cast of their own.
        makes: whether an expression makes just the values of some slots.
    """

    can_leave_out: Callable[[Mapping[int, str]], bool]
    makes: expression.Makes


def of(ledger: Ledger, observation: Observation, tools: Tools) -> list[Candidate]:
    """Changes that can cure findings of a ledger, those about the most bytes first.

    Args:
        ledger: what was judged.
        observation: the evidence, with the origins of drifts where they were looked for.
        tools: what is asked of the program itself.
    """
    found = [
        *_casts(ledger, observation, tools),
        *_shardings(ledger, observation),
        *_orders(ledger, observation),
        *_drops(ledger, observation),
        *_keeps(ledger),
    ]
    return sorted(found, key=lambda each: (-each.bytes, each.codes, each.leaves))


def _entries(ledger: Ledger, finding: Finding) -> list[Entry]:
    by_path = {entry.leaf.path: entry for entry in ledger.entries}
    return [by_path[path] for path in finding.leaves if path in by_path]


def _casts(ledger: Ledger, observation: Observation, tools: Tools) -> Iterator[Candidate]:
    harmless = frozenset(
        each.successor.flat_index
        for each in ledger.entries
        if each.successor and each.successor.spec.dtype == each.leaf.spec.dtype
    )
    for finding in ledger.findings:
        if finding.code not in _CASTS:
            continue
        entries = [each for each in _entries(ledger, finding) if _can_be_cast(each)]
        for group in _by_dtype(entries):
            slots = [each.successor for each in group if each.successor]
            leaves = [each.leaf for each in group]
            types = {each.flat_index: leaves[0].spec.dtype for each in slots}
            origin = _origin(finding, observation, sorted(types))
            drifted = expression.Drifted(origin, leaves, slots, harmless, ledger.location)
            can_leave_out = tools.can_leave_out(types)
            made = expression.cast(drifted, tools.makes, can_leave_out=can_leave_out)
            change = Change("cast", uncast=types) if made.leaves_out else Change("cast", cast=types)
            if made.shown is not None:
                yield _cast(finding, leaves, change, f"with `{made.shown}`", made)
            if can_leave_out and not made.leaves_out:
                words = f"with `{leaves[0].path}`{_rest(leaves)} returned without a last cast"
                bare = made if made.edit is None else expression.Cast(None, None, "sketch")
                yield _cast(finding, leaves, Change("cast", uncast=types), words, bare)
            elif made.shown is None:
                words = f"with `{leaves[0].path}`{_rest(leaves)} cast to {leaves[0].spec.dtype}"
                yield _cast(finding, leaves, change, f"{words} at the end", made)


def _cast(
    finding: Finding, leaves: Sequence[Leaf], change: Change, words: str, made: expression.Cast
) -> Candidate:
    names = tuple(each.path for each in leaves)
    size = sum(each.bytes for each in leaves)
    cures = frozenset(names)
    return Candidate(
        change, (finding.code,), names, size, words, cures, made.grade, made.edit, made.notes
    )


def _rest(leaves: Sequence[object]) -> str:
    return f" and {len(leaves) - 1:,} more" if leaves[1:] else ""


def _can_be_cast(entry: Entry) -> bool:
    """Only the dtype is another, or the slot alone is weakly typed; keys have no dtype to cast."""
    if entry.successor is None:
        return False
    leaf, slot = entry.leaf.spec, entry.successor.spec
    if leaf.shape != slot.shape or leaf.dtype.startswith("key<") or slot.dtype.startswith("key<"):
        return False
    return not leaf.weak_type and (leaf.dtype != slot.dtype or slot.weak_type)


def _by_dtype(entries: Sequence[Entry]) -> list[list[Entry]]:
    groups: dict[str, list[Entry]] = {}
    for entry in entries:
        groups.setdefault(entry.leaf.spec.dtype, []).append(entry)
    return list(groups.values())


def _origin(finding: Finding, observation: Observation, slots: Sequence[int]) -> Origin | None:
    """The one origin of the slots; without evidence the place of the finding, less certain."""
    found = {observation.origins[slot] for slot in slots if slot in observation.origins}
    places = {(each.location, each.library, each.also) for each in found}
    if len(places) == 1:
        return next(iter(found))
    return Origin(finding.location) if finding.location and not found else None


def _shardings(ledger: Ledger, observation: Observation) -> Iterator[Candidate]:
    kept = observation.parameter_of or {}
    for finding in ledger.findings:
        if finding.code not in _SHARDINGS:
            continue
        entries = [each for each in _entries(ledger, finding) if each.successor is not None]
        if not entries:
            continue
        arguments = {each.leaf.argument for each in entries}
        wanted = {
            each.successor.flat_index: each.leaf.flat_index
            for each in ledger.entries
            if each.successor and each.leaf.argument in arguments and each.leaf.flat_index in kept
        }
        value = returned.shardings(ledger.entries, observation.slots, arguments)
        names = tuple(each.path for each in entries)
        yield Candidate(
            Change("out_shardings", out_shardings=wanted),
            (finding.code,),
            names,
            finding.bytes,
            f"with `out_shardings={value}`",
            frozenset(names),
            notes=("the function is jitted where the state that it names is at hand",),
        )


def _orders(ledger: Ledger, observation: Observation) -> Iterator[Candidate]:
    findings = [
        each for each in ledger.findings if each.code in _ORDERS or each.code.startswith("DT5")
    ]
    order = returned.order_of(ledger.entries, observation.slots)
    if not findings or order is None or not _is_users(observation):
        return
    names = dict.fromkeys(path for each in findings for path in each.leaves)
    yield Candidate(
        Change("order", order=order),
        tuple(dict.fromkeys(each.code for each in findings)),
        tuple(names),
        sum(each.bytes for each in findings),
        f"with `{returned.words(order, observation.slots, ledger.location)}`",
        notes=("the callers take the result apart in the new order as well",),
    )


def _is_users(observation: Observation) -> bool:
    """Whether the result is what the function returns, and no wrapper's own."""
    return all(paths.split(slot.path)[0] == "result" for slot in observation.slots)


def _drops(ledger: Ledger, observation: Observation) -> Iterator[Candidate]:
    wanted: dict[str, list[Finding]] = {}
    taken = {each.slot.flat_index: each for each in ledger.entries if each.slot is not None}
    for finding in ledger.findings:
        if finding.code in _DROPS or finding.code.startswith("DT5"):
            for entry in _entries(ledger, finding):
                argument = _to_drop(taken, entry, finding)
                if finding not in wanted.setdefault(argument, []):
                    wanted[argument].append(finding)
    declared = declaration.find(ledger.location)
    for argument, findings in wanted.items():
        leaves = [entry.leaf for entry in ledger.entries if entry.leaf.argument == argument]
        edit = declared.without(argument, observation.request.positional) if declared else None
        names = dict.fromkeys(path for each in findings for path in each.leaves)
        lost = any(each.code in _LOST for each in findings)
        yield Candidate(
            Change("drop_argument", undonate=frozenset(each.flat_index for each in leaves)),
            tuple(dict.fromkeys(each.code for each in findings)),
            tuple(names),
            sum(each.bytes for each in findings),
            f"without donating `{argument}`",
            frozenset(names),
            _grade(declared, edit, lost),
            edit,
            () if lost else (f"measured on {ledger.platform}; another platform may copy less",),
            touches=frozenset(each.path for each in leaves),
        )


def _grade(
    declared: declaration.Declaration | None, edit: Edit | None, certain: bool = True
) -> Grade:
    """How far an edit of a declaration is certain; what saves nothing here may do so elsewhere."""
    if declared is None or edit is None:
        return "sketch"
    return declared.grade if certain else "maybe"


def _to_drop(taken: Mapping[int, Entry], entry: Entry, finding: Finding) -> str:
    """The argument to donate no more: the leaf's own, or that of the leaf which took its slot."""
    if finding.code == "DT302" and entry.successor is not None:
        other = taken.get(entry.successor.flat_index)
        if other is not None and other.successor is None:
            return other.leaf.argument
    return entry.leaf.argument


def _keeps(ledger: Ledger) -> Iterator[Candidate]:
    pruned = [entry for entry in ledger.entries if entry.stopped_at is Gate.KEPT]
    if not pruned:
        return
    leaves: list[Leaf] = [entry.leaf for entry in pruned]
    declared = declaration.find(ledger.location)
    edit = declared.with_keyword("keep_unused", "True") if declared else None
    yield Candidate(
        Change("keep_unused", keep_unused=True),
        ("DT201",),
        tuple(each.path for each in leaves),
        sum(each.bytes for each in leaves),
        "with `keep_unused=True`",
        grade=_grade(declared, edit),
        edit=edit,
    )
