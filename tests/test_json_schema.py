"""The JSON report: nothing is lost on the way there and back, and its schema can say no."""

from __future__ import annotations

import copy
import json as plain_json
import os
import re
import subprocess
import sys
from typing import get_args

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sample_accounts
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
    Holding,
    Label,
    Leaf,
    Ledger,
    Live,
    Location,
    MadeCopy,
    Process,
    Refusal,
    Slot,
    Tally,
    Target,
)
from donatree.reports import Options, json, late, render

sizes = st.integers(0, 2**62)
texts = st.text(max_size=8)
maybe_text = st.none() | texts
maybe_size = st.none() | sizes
codes = st.sampled_from(["DT101", "DT402"])
shapes = st.lists(sizes, max_size=3).map(tuple)
many_texts = st.lists(texts, max_size=2).map(tuple)


def several(strategy):
    return st.lists(strategy, max_size=2).map(tuple)


somewhere = st.builds(Location, texts, sizes, maybe_size, maybe_size, maybe_size, maybe_text)
locations = st.none() | somewhere
specs = st.builds(
    ArraySpec,
    texts,
    shapes,
    shapes,
    sizes,
    sizes,
    st.booleans(),
    maybe_text,
    maybe_text,
    maybe_text,
)
slots = st.none() | st.builds(Slot, texts, sizes, specs)
gates = st.sampled_from(Gate)
findings = st.builds(
    Finding,
    codes,
    texts,
    many_texts,
    sizes,
    st.sampled_from(["error", "warning", "note"]),
    locations,
    maybe_text,
    many_texts,
    maybe_text,
    several(st.builds(Label, somewhere, texts, st.booleans())),
)
entries = st.builds(
    Entry,
    st.builds(Leaf, texts, texts, sizes, specs),
    slots,
    slots,
    st.none() | gates,
    st.none() | codes,
    st.dictionaries(texts, texts, max_size=2),
)
tallies = st.builds(Tally, sizes, sizes, maybe_size)
fixes = st.builds(
    Fix,
    st.sampled_from(get_args(FixKind)),
    many_texts,
    many_texts,
    texts,
    st.sampled_from(get_args(FixStatus)),
    maybe_text,
    tallies,
    st.none() | tallies,
    st.booleans(),
    st.sampled_from(get_args(Grade)),
    st.none() | st.builds(Edit, somewhere, texts, texts),
    many_texts,
)
lives = st.none() | st.builds(Live, sizes, sizes, sizes, sizes)
targets = st.none() | st.builds(Target, texts, texts, maybe_text, sizes, maybe_size, maybe_text)
copies = st.builds(
    MadeCopy,
    texts,
    sizes,
    many_texts,
    texts,
    many_texts,
    st.none() | st.booleans(),
    locations,
)
holdings = st.builds(Holding, texts, sizes, texts, texts, locations)
ledgers = st.builds(
    Ledger,
    texts,
    texts,
    many_texts,
    several(entries),
    several(findings),
    st.lists(gates, unique=True).map(tuple),
    maybe_text,
    sizes,
    locations,
    locations,
    lives,
    lives,
    sizes,
    many_texts,
    several(fixes),
    targets,
    several(copies),
    several(holdings),
)
processes = st.builds(
    Process,
    sizes,
    sizes,
    maybe_text,
    maybe_size,
    st.sampled_from(["running", "ended", "died", "missing"]),
    maybe_text,
    maybe_text,
)
accounts = st.builds(
    Account,
    several(ledgers),
    several(findings),
    several(st.builds(Fault, texts, texts, texts)),
    maybe_text,
    maybe_text,
    st.dictionaries(st.sampled_from(["donatree", "jax", "numpy"]), texts),
    maybe_text,
    several(processes),
    refusals=several(st.builds(Refusal, texts, texts, texts, texts)),
)


def valid(document) -> bool:
    return jsonschema.Draft202012Validator(json.schema()).is_valid(document)


def full_document() -> dict:
    """A document in which no list is empty and nothing that may be an object is null."""
    place = Location("a.py", 1, 0, 1, 2, "f")
    row = sample_accounts.entry(
        "state.w", 0, sample_accounts.spec("float32", 8, devices=8), evidence={"kept": "seen"}
    )
    finding = Finding(
        "DT401",
        "h",
        ("state.w",),
        4,
        "note",
        place,
        "state.w",
        ("n",),
        "help",
        (Label(place, "here", primary=True),),
    )
    made = sample_accounts.ledger(
        [row],
        finding,
        location=place,
        call=place,
        notes=("n",),
        live=Live(8, 8, 4, 4),
        target=Target("tpu:v5e:2x2", "tpu", "TPU v5 lite", 4, 2**34, "XLA refuses more"),
        copies=(MadeCopy("copy.1", 4, ("state.w",), "a value", ("add",), True, place),),
        largest=(Holding("state.w", 4, "f32[8]", "argument", place),),
    )
    fault = Fault("w", "e", "t")
    process = Process(1, 2, "host", 42, "died", "process-0001.json", "ValueError")
    account = sample_accounts.account(
        made,
        findings=(finding,),
        faults=(fault,),
        processes=(process,),
        refusals=(Refusal("step", "(state) #1", "cuda:h100", "host memory is not carried over"),),
    )
    return plain_json.loads(json.dumps(account))


def places(value, path=()):
    """Every place in a document, as the keys that lead there."""
    if path:
        yield path
    if isinstance(value, dict | list):
        for key, below in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(below, (*path, key))


def parent_of(document, path):
    for key in path[:-1]:
        document = document[key]
    return document


@settings(max_examples=60, deadline=None)
@given(accounts)
def test_an_account_comes_back_whole_and_its_document_is_valid(account):
    text = json.dumps(account)
    assert json.loads(text) == account
    assert json.dumps(json.loads(text)) == text
    assert valid(plain_json.loads(text))


@given(accounts)
@settings(max_examples=30, deadline=None)
def test_every_account_can_be_rendered(account):
    assert late.render(json.dumps(account)) == render(account)
    whole = Options(expand=True, evidence=True)
    assert render(json.loads(json.dumps(account)), "plain", whole) == render(
        account, "plain", whole
    )


@pytest.mark.parametrize("name", sample_accounts.everything())
def test_the_samples_are_valid_and_keep_the_keys_of_to_dict(name):
    account = sample_accounts.everything()[name]
    document = plain_json.loads(json.dumps(account))
    jsonschema.validate(document, json.schema(), jsonschema.Draft202012Validator)
    core = plain_json.loads(plain_json.dumps(account.to_dict()))
    assert {key: document[key] for key in core if key != "ledgers"} == {
        key: core[key] for key in core if key != "ledgers"
    }
    for made, ledger in zip(document["ledgers"], core["ledgers"], strict=True):
        for row, entry in zip(made["entries"], ledger.pop("entries"), strict=True):
            assert entry.items() <= row.items()
        assert ledger.items() <= made.items()


def test_json_is_sorted_indented_and_ended_by_a_newline():
    assert json.dumps(Account(program="é.py")) == (
        "{\n"
        '  "advice": [],\n'
        '  "comparison": null,\n'
        '  "donatree": null,\n'
        '  "ended": null,\n'
        '  "faults": [],\n'
        '  "findings": [],\n'
        '  "jax": null,\n'
        '  "jaxlib": null,\n'
        '  "ledgers": [],\n'
        '  "notes": [],\n'
        '  "platform": null,\n'
        '  "processes": [],\n'
        '  "program": "\\u00e9.py",\n'
        '  "python": null,\n'
        '  "refusals": [],\n'
        '  "rehearsals": [],\n'
        '  "schema_version": 1,\n'
        '  "unmatched_ignores": [],\n'
        '  "versions": {}\n'
        "}\n"
    )
    assert render(Account(program="é.py"), "json") == json.dumps(Account(program="é.py"))


def test_the_schema_is_itself_valid():
    jsonschema.Draft202012Validator.check_schema(json.schema())
    assert json.schema()["properties"]["schema_version"]["const"] == 1


def test_the_schema_refuses_a_wrong_type_at_every_place():
    document = full_document()
    assert valid(document)
    seen = list(places(document))
    assert len(seen) > 120
    for path in seen:
        broken = copy.deepcopy(document)
        parent_of(broken, path)[path[-1]] = [[1.5]]
        assert not valid(broken), f"a wrong type at {path} was accepted"


def test_the_schema_and_loads_refuse_a_missing_key_at_every_place():
    document = full_document()
    refused = []
    for path in places(document):
        if isinstance(path[-1], int) or path[-2:-1] in [("evidence",), ("versions",)]:
            continue
        broken = copy.deepcopy(document)
        del parent_of(broken, path)[path[-1]]
        assert not valid(broken), f"{path} may be missing"
        message = refusal(plain_json.dumps(broken))
        if message:  # what is counted from the entries is not needed to read an account
            assert re.fullmatch(r"not a donatree report: the key `.*` is missing", message)
            refused.append(path)
    assert len(refused) > 80


def refusal(text: str) -> str:
    """The message with which ``loads`` refuses a text; empty if it does not."""
    try:
        json.loads(text)
    except ValueError as error:
        return str(error)
    return ""


def test_further_keys_are_welcome_everywhere():
    document = full_document()
    objects = [()] + [p for p in places(document) if p[-1] not in ("evidence", "versions")]
    for path in objects:
        here = parent_of(document, (*path, None))
        if isinstance(here, dict):
            here["a_later_key"] = 1.5
    assert valid(document)
    assert json.loads(plain_json.dumps(document)).ledgers[0].entries[0].path == "state.w"


def test_a_file_from_before_targets_is_still_read():
    document = full_document()
    later = {"target": None, "copies": (), "largest": (), "fits": None}
    for key, empty in later.items():
        assert document["ledgers"][0].pop(key) != empty
    assert document.pop("refusals")
    read = json.loads(plain_json.dumps(document))
    assert {key: getattr(read.ledgers[0], key) for key in later} == later
    assert read.refusals == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not a donatree report: Expecting value in line 1, column 1"),
        ('{"a": 1,\n}', "not a donatree report: "),
        ("[]", "not a donatree report: it is an array, not an object"),
        ("{}", "not a donatree report: the key `schema_version` is missing"),
        ('{"schema_version": 2}', "this report has schema_version 2; this donatree reads 1"),
        (
            '{"schema_version": true}',
            "not a donatree report: `schema_version` is true or false, not an integer",
        ),
        ('{"schema_version": 1}', "not a donatree report: the key `ledgers` is missing"),
        ("[" * 100_000, "not a donatree report: "),
        ("1" * 5_000, "not a donatree report: "),
    ],
)
def test_what_is_no_report_is_refused_in_one_line(text, message):
    with pytest.raises(ValueError, match="donatree") as refused:
        json.loads(text)
    assert str(refused.value).startswith(message)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("ledgers", 0, "entries", 0, "bytes"), "4", "`{}` is a string, not an integer"),
        (("ledgers", 0, "entries", 0, "bytes"), True, "`{}` is true or false, not an integer"),
        (("ledgers", 0, "entries", 0, "shape", 0), 4.0, "`{}` is a number, not an integer"),
        (("ledgers", 0, "checked", 1), "sold", "`{}` is `sold`, which is no gate"),
        (("ledgers", 0, "findings", 0, "level"), "bad", "`{}` is `bad`, which is no level"),
        (("ledgers", 0, "entries"), None, "`{}` is null, not an array"),
    ],
)
def test_a_wrong_value_is_named_with_its_place(path, value, message):
    document = full_document()
    parent_of(document, path)[path[-1]] = value
    place = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path)[1:]
    with pytest.raises(ValueError, match="not a donatree report") as refused:
        json.loads(plain_json.dumps(document))
    assert str(refused.value) == "not a donatree report: " + message.format(place)


@pytest.mark.parametrize(
    ("module", "found"),
    [
        ("donatree.ledger, donatree.paths, donatree.reports.json", []),
        ("donatree.reports, donatree.reports.sizes, donatree.reports.tree", []),
        ("donatree.reports.late", []),
        ("donatree.reports.terminal", ["rich"]),  # so that the check can say yes
    ],
)
def test_what_importing_the_reports_brings_in(module, found):
    code = (
        f"import sys, {module}\n"
        "heavy = ('jax', 'jaxlib', 'numpy', 'rich', 'click')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environ, check=True
    )
    assert ran.stdout.strip() == str(found)
