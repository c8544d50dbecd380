"""Plain data back to an account, with one clear line where the data is not one."""

from __future__ import annotations

from typing import Any, cast, get_args

from donatree.ledger import (
    Account,
    ArraySpec,
    Edit,
    Entry,
    Fault,
    Finding,
    Fix,
    FixKind,
    FixStatus,
    Gate,
    Grade,
    Label,
    Leaf,
    Ledger,
    Live,
    Process,
    Rehearsal,
    Slot,
    Tally,
)
from donatree.reports import decode_comparison, decode_targets
from donatree.reports.item import Item, location, typed


def account(data: Any, schema_version: int) -> Account:
    """The account that ``dumps`` wrote as ``data``.

    Args:
        data: what a JSON parser gave.
        schema_version: the only version that can be read.

    Returns:
        The account.

    Raises:
        ValueError: the data is not such an account; one line that names the place.
    """
    item = Item(data, "")
    version = item.get("schema_version", int)
    if version != schema_version:
        raise ValueError(
            f"this report has schema_version {version}; this donatree reads {schema_version}"
        )
    return Account(
        ledgers=item.each("ledgers", _ledger),
        findings=item.each("findings", _finding),
        faults=item.each("faults", _fault),
        program=item.maybe("program", str),
        ended=item.maybe("ended", str),
        versions=item.named("versions"),
        platform=item.maybe("platform", str),
        processes=item.each("processes", _process) if item.has("processes") else (),
        rehearsals=item.each("rehearsals", _rehearsal) if item.has("rehearsals") else (),
        advice=item.each("advice", _advice) if item.has("advice") else (),
        refusals=item.each("refusals", decode_targets.refusal) if item.has("refusals") else (),
        comparison=(
            item.one("comparison", decode_comparison.comparison) if item.has("comparison") else None
        ),
        unmatched=item.texts("unmatched_ignores") if item.has("unmatched_ignores") else (),
        notes=item.texts("notes") if item.has("notes") else (),
    )


def _ledger(data: Any, place: str) -> Ledger:
    item = Item(data, place)
    return Ledger(
        function=item.get("function", str),
        signature=item.get("signature", str),
        donated_arguments=item.texts("donated_arguments"),
        entries=item.each("entries", _entry),
        findings=item.each("findings", _finding),
        checked=item.each("checked", _gate),
        platform=item.maybe("platform", str),
        devices=item.get("devices", int),
        location=item.one("defined_at", location),
        call=item.one("called_at", location),
        live=item.one("live", _live),
        undonated=item.one("undonated", _live),
        alias_not_donated_bytes=item.get("alias_not_donated_bytes", int),
        notes=item.texts("notes"),
        fixes=item.each("fixes", _fix) if item.has("fixes") else (),
        target=item.one("target", decode_targets.target) if item.has("target") else None,
        copies=item.each("copies", decode_targets.copy) if item.has("copies") else (),
        largest=item.each("largest", decode_targets.holding) if item.has("largest") else (),
    )


def _fix(data: Any, place: str) -> Fix:
    item = Item(data, place)
    kind, status, grade = (item.get(name, str) for name in ("kind", "status", "grade"))
    for name, value, known in (
        ("kind", kind, get_args(FixKind)),
        ("status", status, get_args(FixStatus)),
        ("grade", grade, get_args(Grade)),
    ):
        if value not in known:
            raise ValueError(f"not a donatree report: `{item.at(name)}` is {value!r}")
    before = item.one("before", _tally)
    assert before is not None
    return Fix(
        kind=cast(FixKind, kind),
        codes=item.texts("codes"),
        leaves=item.texts("leaves"),
        change=item.get("change", str),
        status=cast(FixStatus, status),
        why_not=item.maybe("why_not", str),
        before=before,
        after=item.one("after", _tally),
        compiles_again=item.get("compiles_again", bool),
        grade=cast(Grade, grade),
        edit=item.one("edit", _edit),
        notes=item.texts("notes"),
    )


def _tally(data: Any, place: str) -> Tally:
    item = Item(data, place)
    return Tally(
        item.get("promised_bytes", int),
        item.get("in_place_bytes", int),
        item.maybe("live_bytes", int),
    )


def _edit(data: Any, place: str) -> Edit:
    item = Item(data, place)
    where = item.one("location", location)
    assert where is not None
    return Edit(where, item.get("original", str), item.get("replacement", str))


def _advice(data: Any, place: str) -> dict[str, Any]:
    item = Item(data, place)
    item.get("function", str)
    item.each("advice", lambda each, at: Item(each, at).get("argument", str))
    return dict(data)


def _live(data: Any, place: str) -> Live:
    item = Item(data, place)
    return Live(*(item.get(name, int) for name in ("arguments", "outputs", "alias", "temp")))


def _entry(data: Any, place: str) -> Entry:
    item = Item(data, place)
    path = item.get("path", str)
    stopped_at = item.maybe("stopped_at", str)
    leaf = Leaf(path, item.get("argument", str), item.get("flat_index", int), _spec(item))
    return Entry(
        leaf=leaf,
        slot=_slot(item, "slot"),
        successor=_slot(item, "successor"),
        stopped_at=None if stopped_at is None else _gate(stopped_at, item.at("stopped_at")),
        finding=item.maybe("finding", str),
        evidence=item.named("evidence"),
    )


def _slot(item: Item, key: str) -> Slot | None:
    path = item.maybe(key, str)
    if path is None:
        return None
    array = Item(item.get(f"{key}_array", dict), item.at(f"{key}_array"))
    return Slot(path, array.get("flat_index", int), _spec(array))


def _spec(item: Item) -> ArraySpec:
    return ArraySpec(
        dtype=item.get("dtype", str),
        shape=item.numbers("shape"),
        local_shape=item.numbers("local_shape"),
        bytes=item.get("bytes", int),
        global_bytes=item.get("global_bytes", int),
        weak_type=item.get("weak_type", bool),
        sharding=item.maybe("sharding", str),
        memory_kind=item.maybe("memory_kind", str),
        layout=item.maybe("layout", str),
    )


def _gate(value: Any, place: str) -> Gate:
    name = typed(value, str, place)
    if name not in set(Gate):
        raise ValueError(f"not a donatree report: `{place}` is `{name}`, which is no gate")
    return Gate(name)


def _finding(data: Any, place: str) -> Finding:
    item = Item(data, place)
    level = item.get("level", str)
    if level not in ("error", "warning", "note"):
        where = item.at("level")
        raise ValueError(f"not a donatree report: `{where}` is `{level}`, which is no level")
    return Finding(
        code=item.get("code", str),
        headline=item.get("headline", str),
        leaves=item.texts("leaves"),
        bytes=item.get("bytes", int),
        level=level,
        location=item.one("location", location),
        folded=item.maybe("folded", str),
        notes=item.texts("notes"),
        help=item.maybe("help", str),
        labels=item.each("labels", _label) if item.has("labels") else (),
        ignored=item.maybe("ignored", str) if item.has("ignored") else None,
        ignored_leaves=item.texts("ignored_leaves") if item.has("ignored_leaves") else (),
    )


def _label(data: Any, place: str) -> Label:
    item = Item(data, place)
    where = item.one("location", location)
    if where is None:
        raise ValueError(f"not a donatree report: `{item.at('location')}` is null, not an object")
    return Label(where, item.get("text", str), item.get("primary", bool))


def _fault(data: Any, place: str) -> Fault:
    item = Item(data, place)
    return Fault(
        where=item.get("where", str),
        error=item.get("error", str),
        traceback=item.get("traceback", str),
    )


def _process(data: Any, place: str) -> Process:
    item = Item(data, place)
    status = item.get("status", str)
    if status not in ("running", "ended", "died", "missing"):
        where = item.at("status")
        raise ValueError(f"not a donatree report: `{where}` is `{status}`, which is no status")
    return Process(
        index=item.get("index", int),
        count=item.get("count", int),
        host=item.maybe("host", str),
        pid=item.maybe("pid", int),
        status=status,
        file=item.maybe("file", str),
        ended=item.maybe("ended", str),
    )


def _rehearsal(data: Any, place: str) -> Rehearsal:
    item = Item(data, place)
    return Rehearsal(
        function=item.get("function", str),
        argument=item.get("argument", str),
        why=item.get("why", str),
        leaves=item.get("leaves", int),
        bytes=item.get("bytes", int),
        taken_bytes=item.get("taken_bytes", int),
        calls=item.get("calls", int),
        confirmed_calls=item.get("confirmed_calls", int),
        held_leaves=item.get("held_leaves", int),
        codes=item.texts("codes"),
        keyword=item.get("keyword", str),
        location=item.one("defined_at", location),
        call=item.one("called_at", location),
    )
