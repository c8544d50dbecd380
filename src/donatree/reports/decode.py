"""Plain data back to an account, with one clear line where the data is not one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast, get_args

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
    Location,
    Process,
    Rehearsal,
    Slot,
    Tally,
)

T = TypeVar("T")
_WORDS = {
    dict: "an object",
    list: "an array",
    str: "a string",
    int: "an integer",
    bool: "true or false",
    float: "a number",
    type(None): "null",
}


class _Item:
    """An object of the document, and where in the document it is."""

    def __init__(self, data: Any, place: str) -> None:
        self.place = place
        self.data: dict[str, Any] = _typed(data, dict, place)

    def at(self, key: str) -> str:
        return f"{self.place}.{key}" if self.place else key

    def get(self, key: str, kind: type[T]) -> T:
        if key not in self.data:
            raise ValueError(f"not a donatree report: the key `{self.at(key)}` is missing")
        return _typed(self.data[key], kind, self.at(key))

    def maybe(self, key: str, kind: type[T]) -> T | None:
        if self.data.get(key, "") is None:
            return None
        return self.get(key, kind)

    def each(self, key: str, make: Callable[[Any, str], T]) -> tuple[T, ...]:
        values = self.get(key, list)
        return tuple(make(value, f"{self.at(key)}[{i}]") for i, value in enumerate(values))

    def one(self, key: str, make: Callable[[Any, str], T]) -> T | None:
        value = self.maybe(key, dict)
        return None if value is None else make(value, self.at(key))

    def texts(self, key: str) -> tuple[str, ...]:
        return self.each(key, lambda value, place: _typed(value, str, place))

    def numbers(self, key: str) -> tuple[int, ...]:
        return self.each(key, lambda value, place: _typed(value, int, place))

    def named(self, key: str) -> dict[str, str]:
        values = self.get(key, dict)
        return {k: _typed(v, str, f"{self.at(key)}.{k}") for k, v in values.items()}


def _typed(value: Any, kind: type[T], place: str) -> T:
    if type(value) is not kind:  # not isinstance: True is no number of bytes
        there = _WORDS.get(type(value), "something else")
        where = f"`{place}` is" if place else "it is"
        raise ValueError(f"not a donatree report: {where} {there}, not {_WORDS[kind]}")
    return value


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
    item = _Item(data, "")
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
        processes=item.each("processes", _process) if "processes" in item.data else (),
        rehearsals=item.each("rehearsals", _rehearsal) if "rehearsals" in item.data else (),
        advice=item.each("advice", _advice) if "advice" in item.data else (),
    )


def _ledger(data: Any, place: str) -> Ledger:
    item = _Item(data, place)
    return Ledger(
        function=item.get("function", str),
        signature=item.get("signature", str),
        donated_arguments=item.texts("donated_arguments"),
        entries=item.each("entries", _entry),
        findings=item.each("findings", _finding),
        checked=item.each("checked", _gate),
        platform=item.maybe("platform", str),
        devices=item.get("devices", int),
        location=item.one("defined_at", _location),
        call=item.one("called_at", _location),
        live=item.one("live", _live),
        undonated=item.one("undonated", _live),
        alias_not_donated_bytes=item.get("alias_not_donated_bytes", int),
        notes=item.texts("notes"),
        fixes=item.each("fixes", _fix) if "fixes" in item.data else (),
    )


def _fix(data: Any, place: str) -> Fix:
    item = _Item(data, place)
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
    item = _Item(data, place)
    return Tally(
        item.get("promised_bytes", int),
        item.get("in_place_bytes", int),
        item.maybe("live_bytes", int),
    )


def _edit(data: Any, place: str) -> Edit:
    item = _Item(data, place)
    location = item.one("location", _location)
    assert location is not None
    return Edit(location, item.get("original", str), item.get("replacement", str))


def _advice(data: Any, place: str) -> dict[str, Any]:
    item = _Item(data, place)
    item.get("function", str)
    item.each("advice", lambda each, at: _Item(each, at).get("argument", str))
    return dict(data)


def _live(data: Any, place: str) -> Live:
    item = _Item(data, place)
    return Live(*(item.get(name, int) for name in ("arguments", "outputs", "alias", "temp")))


def _entry(data: Any, place: str) -> Entry:
    item = _Item(data, place)
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


def _slot(item: _Item, key: str) -> Slot | None:
    path = item.maybe(key, str)
    if path is None:
        return None
    array = _Item(item.get(f"{key}_array", dict), item.at(f"{key}_array"))
    return Slot(path, array.get("flat_index", int), _spec(array))


def _spec(item: _Item) -> ArraySpec:
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
    name = _typed(value, str, place)
    if name not in set(Gate):
        raise ValueError(f"not a donatree report: `{place}` is `{name}`, which is no gate")
    return Gate(name)


def _location(data: Any, place: str) -> Location:
    item = _Item(data, place)
    return Location(
        file=item.get("file", str),
        line=item.get("line", int),
        column=item.maybe("column", int),
        end_line=item.maybe("end_line", int),
        end_column=item.maybe("end_column", int),
        function=item.maybe("function", str),
    )


def _finding(data: Any, place: str) -> Finding:
    item = _Item(data, place)
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
        location=item.one("location", _location),
        folded=item.maybe("folded", str),
        notes=item.texts("notes"),
        help=item.maybe("help", str),
        labels=item.each("labels", _label) if "labels" in item.data else (),
    )


def _label(data: Any, place: str) -> Label:
    item = _Item(data, place)
    where = item.one("location", _location)
    if where is None:
        raise ValueError(f"not a donatree report: `{item.at('location')}` is null, not an object")
    return Label(where, item.get("text", str), item.get("primary", bool))


def _fault(data: Any, place: str) -> Fault:
    item = _Item(data, place)
    return Fault(
        where=item.get("where", str),
        error=item.get("error", str),
        traceback=item.get("traceback", str),
    )


def _process(data: Any, place: str) -> Process:
    item = _Item(data, place)
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
    item = _Item(data, place)
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
        location=item.one("defined_at", _location),
        call=item.one("called_at", _location),
    )
