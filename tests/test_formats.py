"""The formats for programs: each is read back by a parser of its own, whatever the names are."""

from __future__ import annotations

import csv
import dataclasses
import html as entities
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

import format_samples
import sample_accounts
from donatree import findings as rules
from donatree import reports
from donatree.ledger import (
    Account,
    Change,
    Comparison,
    Fault,
    Finding,
    Gate,
    Label,
    Ledger,
    Location,
    Refusal,
)
from donatree.reports import Options, files, problems
from donatree.reports import csv as csv_report
from donatree.reports import json as json_report
from donatree.reports.markdown import document, markup
from donatree.reports.text import clean
from sample_accounts import account, entry, ledger, spec
from test_json_schema import accounts, locations, maybe_text, sizes, texts

MACHINES = ("markdown", "sarif", "github", "gitlab", "junit", "csv")
SARIF = json.loads((Path(__file__).parent / "data/schemas/sarif-2.1.0.json").read_text("utf-8"))
VALIDATOR = jsonschema.Draft4Validator(SARIF)


@pytest.fixture(autouse=True)
def no_workspace(monkeypatch):
    """Names do not depend on the machine that runs these tests."""
    for name in format_samples.WORKSPACES:
        monkeypatch.delenv(name, raising=False)


# Every format as it is written.


@pytest.mark.parametrize("sample", format_samples.SAMPLES)
@pytest.mark.parametrize("name", format_samples.ENDINGS)
def test_a_sample_is_written_as_it_was(sample, name):
    # `python tests/format_samples.py` writes the files anew.
    made = reports.render(format_samples.SAMPLES[sample](), name)
    with format_samples.file_of(sample, name).open(encoding="utf-8", newline="") as file:
        assert made == file.read()


def test_the_folder_of_samples_has_no_file_that_nothing_is_held_against():
    expected = {
        format_samples.file_of(sample, name)
        for sample in format_samples.SAMPLES
        for name in format_samples.ENDINGS
    }
    assert set(format_samples.FOLDER.iterdir()) == expected
    assert len(expected) == 42


@pytest.mark.parametrize("made", sample_accounts.everything().values())
@pytest.mark.parametrize("name", MACHINES)
def test_every_account_is_written_the_same_each_time(made, name):
    text = reports.render(made, name)
    assert text.endswith("\n")
    assert reports.render(made, name, Options(width=40, color=True)) == text
    assert "\x1b" not in text


def extracts() -> list[list[str]]:
    """The blocks of the page that show a format, each as its lines."""
    page = (Path(__file__).parents[1] / "docs" / "formats.md").read_text("utf-8")
    found = re.findall(r"<!-- extract -->\n(`{3,4})\w+\n(.*?)\1\n", page, re.S)
    return [text.splitlines() for _, text in found]


def is_part(lines: list[str]) -> bool:
    """Whether some sample has the lines, in their order; `...` stands for what is left out."""
    for file in format_samples.FOLDER.iterdir():
        rest = iter(line.strip() for line in file.read_text("utf-8").splitlines())
        if all(line.strip() in rest for line in lines if line.strip() != "..."):
            return True
    return False


def test_the_extracts_on_the_page_of_the_formats_are_what_is_written():
    assert len(extracts()) >= 6
    assert [lines for lines in extracts() if not is_part(lines)] == []
    assert not is_part([*extracts()[0], "something else"])


# SARIF.


def sarif(made: Account) -> dict:
    document = json.loads(reports.render(made, "sarif"))
    VALIDATOR.validate(document)
    (run,) = document["runs"]
    return run


@pytest.mark.parametrize("made", [*sample_accounts.everything().values(), format_samples.cured()])
def test_sarif_is_valid_and_keeps_what_code_scanning_demands(made):
    run = sarif(made)
    rules = run["tool"]["driver"]["rules"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        (location,) = result["locations"]
        place = location["physicalLocation"]
        assert place["artifactLocation"]["uri"]
        assert place["region"]["startLine"] >= 1
        assert result["message"]["text"]
    assert len({rule["id"] for rule in rules}) == len(rules)
    assert {rule["id"] for rule in rules} == {result["ruleId"] for result in run["results"]}
    for rule in rules:
        assert rule["shortDescription"]["text"]
        assert rule["fullDescription"]["text"]
        assert rule["defaultConfiguration"]["level"] in ("error", "warning", "note")


@pytest.mark.parametrize(
    "wrong",
    [
        lambda run: run["results"][0].update(level="fatal"),
        lambda run: run["results"][0]["message"].clear(),
        lambda run: run["results"][0]["locations"][0]["physicalLocation"]["region"].update(
            startLine=0
        ),
        lambda run: run["tool"]["driver"].pop("name"),
        lambda run: run.update(columnKind="bytes"),
        lambda run: run["results"][0].update(suppression=[]),
        lambda run: run["invocations"][0].pop("executionSuccessful"),
    ],
)
def test_the_schema_of_sarif_says_no(wrong):
    document = json.loads(reports.render(sample_accounts.lesson(), "sarif"))
    assert VALIDATOR.is_valid(document)
    wrong(document["runs"][0])
    assert not VALIDATOR.is_valid(document)


def test_a_rule_of_sarif_is_the_page_of_its_code():
    (rule,) = sarif(sample_accounts.lesson())["tool"]["driver"]["rules"]
    page = rules.rule("DT402").page.strip()
    assert rule["id"] == "DT402"
    assert rule["name"] == "dtype-drift"
    assert rule["shortDescription"]["text"] == page.splitlines()[0]
    assert page.split("\n", 2)[2] in rule["help"]["markdown"]
    assert page.split("\n", 2)[2] in rule["help"]["text"]


@pytest.mark.parametrize("code", rules.CODES)
def test_every_code_makes_a_valid_rule(code):
    made = account(ledger([], Finding(code, "it is so", level="note")))
    (rule,) = sarif(made)["tool"]["driver"]["rules"]
    assert rule["name"] == rules.rule(code).name
    assert rule["defaultConfiguration"] == {"level": "note"}


def test_columns_of_sarif_count_characters_from_one_and_end_after_the_last(tmp_path):
    source = tmp_path / "schön.py"
    source.write_text("x = 1\n    é = state.step + 1.0\n", encoding="utf-8")
    start = len("    é = ".encode())
    place = Location(str(source), 2, start, 2, start + len("state.step + 1.0"))
    region = region_of(place)
    assert region == {"startLine": 2, "startColumn": 9, "endColumn": 25}
    line = source.read_text("utf-8").splitlines()[1]
    assert line[region["startColumn"] - 1 : region["endColumn"] - 1] == "state.step + 1.0"
    both = region_of(dataclasses.replace(place, line=1, column=4))
    assert both == {"startLine": 1, "startColumn": 5, "endLine": 2, "endColumn": 25}
    # A file that has changed since then: the line is told, no columns that it does not have.
    assert region_of(dataclasses.replace(place, column=99, end_column=120)) == {"startLine": 2}


def region_of(place: Location) -> dict:
    made = account(ledger([], Finding("DT402", "it is so", location=place)))
    return sarif(made)["results"][0]["locations"][0]["physicalLocation"]["region"]


def test_a_finding_without_a_place_has_that_of_its_function():
    (result,) = sarif(sample_accounts.sharded())["results"]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "train.py", "uriBaseId": "%SRCROOT%"}
    assert place["region"] == {"startLine": 41}
    nowhere = account(findings=(Finding("DT701", "somebody holds it"),))
    (result,) = sarif(nowhere)["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "train.py"


def test_further_places_are_related_locations_with_what_is_said_there():
    (result, _) = sarif(format_samples.cured())["results"]
    (related,) = result["relatedLocations"]
    assert related["message"]["text"] == "the leaf comes in here"
    assert related["physicalLocation"]["region"]["startLine"] == 9
    assert result["locations"][0]["message"]["text"] == "it becomes float32"


def test_a_fix_that_held_is_a_replacement_and_one_that_was_not_tried_is_none():
    (result, ignored) = sarif(format_samples.cured())["results"]
    (fix,) = result["fixes"]
    (change,) = fix["artifactChanges"]
    (replacement,) = change["replacements"]
    assert change["artifactLocation"]["uri"] == "no_such_file.py"
    assert replacement["insertedContent"] == {"text": "state.step + 1"}
    assert replacement["deletedRegion"] == {"startLine": 12, "startColumn": 12, "endColumn": 28}
    assert "fixes" not in ignored


@pytest.mark.parametrize(
    ("why", "kind"),
    [
        ("pyproject.toml: old checkpoints", "external"),
        ("pyproject.toml", "external"),
        ("src/train.py:41: a script reads it", "inSource"),
        ("train.py:41", "inSource"),
    ],
)
def test_an_ignored_finding_is_a_suppressed_result(why, kind):
    drift = dataclasses.replace(sample_accounts.DRIFT, ignored=why)
    (result,) = sarif(account(ledger([], drift)))["results"]
    assert result["suppressions"] == [{"kind": kind, "justification": why}]


def test_fingerprints_do_not_depend_on_lines_and_tell_problems_apart():
    before = sample_accounts.transformer()
    moved = json.loads(
        re.sub(r'"(line|end_line)": (\d+)', r'"\1": 9\2', json.dumps(before.to_dict()))
    )
    after = json_report.loads(json.dumps(moved))
    assert after != before
    assert fingerprints(after) == fingerprints(before)
    assert len(set(fingerprints(before))) == 2
    (book,) = before.ledgers
    other = dataclasses.replace(before, ledgers=(dataclasses.replace(book, function="other"),))
    assert set(fingerprints(other)).isdisjoint(fingerprints(before))


def fingerprints(made: Account) -> list[str]:
    found = [result["partialFingerprints"]["donatree/v1"] for result in sarif(made)["results"]]
    assert found == [issue["fingerprint"] for issue in gitlab(made)]
    return found


def test_two_problems_that_only_their_place_tells_apart_have_two_fingerprints():
    def drift(line):
        place = Location("train.py", line)
        label = Label(place, "here", primary=True)
        return Finding("DT402", "it drifts", ("s",), 4, location=place, labels=(label,))

    made = account(ledger([], drift(1), drift(2), drift(3)))
    first, second, third = fingerprints(made)
    assert (second, third) == (f"{first}:2", f"{first}:3")


def test_what_concerns_no_function_is_told_as_notifications():
    fault = Fault("reading", "ValueError: no", "Traceback\n  at \x1b[31mit")
    refusal = Refusal("step", "(x)", "tpu:v4:2x2x1", "a callback")
    made = account(faults=(fault,), ended="KeyError", refusals=(refusal,), unmatched=("DT9",))
    (invocation,) = sarif(made)["invocations"]
    assert invocation["executionSuccessful"] is False
    told = [each["message"]["text"] for each in invocation["toolExecutionNotifications"]]
    assert told == [
        "the program ended with KeyError",
        "`step` was not compiled for tpu:v4:2x2x1: a callback",
        "donatree itself failed in reading\nTraceback\n  at \\x1b[31mit",
    ]
    (unmatched,) = invocation["toolConfigurationNotifications"]
    assert unmatched["message"]["text"] == "ignore that matched nothing: DT9"
    assert sarif(sample_accounts.lesson())["invocations"] == [{"executionSuccessful": True}]


# Names of files.


@pytest.mark.parametrize(
    ("file", "uri"),
    [
        ("train.py", "train.py"),
        ("./src/../a b.py", "a%20b.py"),
        ("100%#?.py", "100%25%23%3F.py"),
        ("c:d.py", "c%3Ad.py"),
        ("漢.py", "%E6%BC%A2.py"),
        ("lone\udc80.py", "lone%ED%B2%80.py"),
        ("<stdin>", "%3Cstdin%3E"),
        ("/usr/lib/x y.py", "file:///usr/lib/x%20y.py"),
        ("C:\\Users\\me\\x y.py", "file:///C:/Users/me/x%20y.py"),
        ("../other/train.py", "file:///w/other/train.py"),
        ("/w/home/pkg/train.py", "pkg/train.py"),
        ("/w/homes/train.py", "file:///w/homes/train.py"),
    ],
)
def test_uris_are_relative_below_the_current_folder_and_encoded(monkeypatch, file, uri):
    monkeypatch.setattr("os.getcwd", lambda: "/w/home")
    assert files.uri(file) == uri
    assert urlsplit(uri).scheme in ("", "file")
    if not file.startswith("lone"):
        assert unquote(uri).removeprefix("file://").removeprefix("/C:") in (
            files.relative(file).removeprefix("C:")
        )


@pytest.mark.parametrize(
    ("workspace", "name"),
    [("/w", "home/train.py"), ("/w/home/", "train.py"), ("/", "w/home/train.py")]
    + [(each, "train.py") for each in ("", None, "/elsewhere", "/w/ho")],
)
def test_files_are_named_from_the_workspace_of_the_job(monkeypatch, workspace, name):
    monkeypatch.setattr("os.getcwd", lambda: "/w/home")
    assert files.relative("train.py", workspace) == name
    assert files.relative("/w/home/train.py", workspace) == name


@pytest.mark.parametrize("variable", format_samples.WORKSPACES)
def test_a_job_in_a_folder_of_the_repository_names_files_from_its_root(
    monkeypatch, tmp_path, variable
):
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    monkeypatch.setenv(variable, str(tmp_path))
    made = sample_accounts.sharded()
    assert junit(made)[0].get("file") == "sub/train.py"
    assert annotations(made)[0].properties["file"] == "sub/train.py"
    assert gitlab(made)[0]["location"]["path"] == "sub/train.py"
    (result,) = sarif(made)["results"]
    uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri == "sub/train.py"


# GitHub.


@dataclasses.dataclass
class Annotation:
    kind: str
    properties: dict[str, str]
    message: str


def annotations(made: Account) -> list[Annotation]:
    return list(read_commands(reports.render(made, "github")))


def read_commands(text: str) -> Iterator[Annotation]:
    """Reads workflow commands as GitHub's runner does: line by line, then undoes the escapes."""
    for line in re.split("\r\n|\r|\n", text):
        if not line.lstrip().startswith("::"):
            assert "##[" not in line, "the runner reads this as a command as well"
            continue
        command, _, data = line.lstrip()[2:].partition("::")
        kind, _, rest = command.partition(" ")
        properties = dict(each.split("=", 1) for each in rest.split(",")) if rest else {}
        escapes = {"%25": "%", "%0D": "\r", "%0A": "\n", "%3A": ":", "%2C": ","}

        def undone(text, escapes=escapes):
            return re.sub("%(25|0D|0A|3A|2C)", lambda found: escapes[found[0]], text)

        yield Annotation(kind, {k: undone(v) for k, v in properties.items()}, undone(data))


def test_an_annotation_stands_on_the_line_of_the_cause():
    (one,) = annotations(sample_accounts.lesson())
    assert one.kind == "error"
    assert one.properties == {
        "file": "no_such_file.py",
        "line": "41",
        "col": "30",
        "endColumn": "46",
        "title": "donatree DT402 dtype-drift",
    }
    assert one.message.splitlines() == [
        "an int32 leaf is returned as float32",
        "leaf: state.step, 4 bytes",
        "note: `state.step` is int32[], `result.step` is float32[]",
        "help: return `state.step + 1`, which stays int32",
    ]


def test_a_place_of_several_lines_has_no_columns_as_github_takes_none_there():
    place = Location("no_such_file.py", 3, 4, 5, 6)
    (one,) = annotations(account(ledger([], Finding("DT402", "it is so", location=place))))
    assert {"line": "3", "endLine": "5"}.items() <= one.properties.items()
    assert not {"col", "endColumn"} & one.properties.keys()


def test_errors_come_first_notes_are_notices_and_without_a_place_there_is_no_file():
    made = account(
        findings=(
            Finding("DT801", "donate it", level="note"),
            Finding("DT701", "it is held", bytes=99, level="warning"),
            Finding("DT702", "it is twice", level="error"),
            dataclasses.replace(sample_accounts.DRIFT, ignored="pyproject.toml"),
        ),
        faults=sample_accounts.faulty().faults,
    )
    found = annotations(made)
    assert [each.kind for each in found] == ["error", "warning", "notice", "warning"]
    assert [each.message for each in found][:3] == [
        "it is twice",
        "it is held\nbytes: 99 bytes",
        "donate it",
    ]
    assert not [each for each in found if "file" in each.properties]
    assert "donatree: 1 finding ignored: DT402\n" in reports.render(made, "github")


def test_what_fails_against_a_baseline_has_an_annotation_each_group():
    made = sample_accounts.compared()
    found = [each for each in annotations(made) if each.kind == "error"]
    assert [each.properties["title"] for each in found] == [
        "donatree baseline-worse",
        "donatree baseline-new",
    ]
    assert [each.properties["line"] for each in found] == ["41", "41"]
    assert "since: reused on JAX 0.10.2, not on JAX 0.12.0.1" in found[0].message


@pytest.mark.parametrize(
    ("unescaped", "read"),
    [
        ("::error file=a,b.py,title=t::m", None),
        ("::error file=a%0ab.py,title=t::m\nx", "m"),
        ("::error title=a::b::m", "b::m"),
    ],
)
def test_a_name_that_is_not_escaped_would_be_found(unescaped, read):
    try:
        (one,) = read_commands(unescaped)
    except ValueError:
        assert read is None
    else:
        assert one.message == read
        assert (one.message, one.properties) != ("m", {"file": "a\nb.py", "title": "t"})


# GitLab.


def gitlab(made: Account) -> list[dict]:
    found = json.loads(reports.render(made, "gitlab"))
    for issue in found:
        assert set(issue) == {"description", "check_name", "fingerprint", "severity", "location"}
        assert issue["severity"] in ("info", "minor", "major", "critical", "blocker")
        assert issue["location"]["path"]
        assert issue["location"]["lines"]["begin"] >= 1
    assert len({issue["fingerprint"] for issue in found}) == len(found)
    return found


def test_gitlab_is_told_the_worst_first_and_nothing_that_is_ignored():
    found = gitlab(sample_accounts.compared())
    assert [issue["severity"] for issue in found] == ["critical", "critical"]
    (drift,) = gitlab(sample_accounts.lesson())
    assert drift["check_name"] == "DT402 dtype-drift"
    assert drift["severity"] == "major"
    assert drift["location"] == {"path": "no_such_file.py", "lines": {"begin": 41}}
    assert gitlab(Account()) == []


# JUnit.


def junit(made: Account) -> list[ElementTree.Element]:
    root = ElementTree.fromstring(reports.render(made, "junit"))
    assert root.tag == "testsuites"
    cases = list(root.iter("testcase"))
    for element, inside in [(root, cases), *((s, list(s)) for s in root)]:
        assert int(element.get("tests", "")) == len(inside)
        for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            assert int(element.get(name, "")) == sum(
                each.find(tag) is not None for each in inside
            ), name
    names = [(case.get("classname"), case.get("name")) for case in cases]
    assert all(name for pair in names for name in pair)
    return cases


def by_name(cases: list[ElementTree.Element]) -> dict[str, ElementTree.Element]:
    return {case.get("name", ""): case for case in cases}


def outcome(case: ElementTree.Element) -> str:
    found = [tag for tag in ("failure", "error", "skipped") if case.find(tag) is not None]
    assert len(found) < 2
    return found[0] if found else "passed"


def text_of(case: ElementTree.Element, tag: str) -> str:
    element = case.find(tag)
    assert element is not None
    return element.text or ""


def test_a_ledger_that_lost_leaves_is_a_failure_that_names_leaf_cause_and_help():
    case = by_name(junit(sample_accounts.lesson()))["drifted(state: State, g: float32[4,4]) #1f0c"]
    assert outcome(case) == "failure"
    assert (case.get("classname"), case.get("line")) == ("train.py", "41")
    text = text_of(case, "failure")
    assert "80 of 84 bytes, 2 of 3 leaves" in text
    assert "error[DT402]: an int32 leaf is returned as float32" in text
    assert "leaf: state.step, 4 bytes" in text
    assert "help: return `state.step + 1`, which stays int32" in text


def test_a_ledger_that_kept_all_passes_and_one_with_warnings_only_says_so():
    assert {outcome(case) for case in junit(sample_accounts.kept())} == {"passed"}
    warning = Finding("DT501", "a copy is made", ("s",), 4, "warning")
    case = junit(account(ledger([entry("s", 0, spec("int32"))], warning)))[0]
    assert outcome(case) == "passed"
    assert "warning[DT501]: a copy is made" in text_of(case, "system-out")


def test_a_lost_leaf_of_which_no_finding_speaks_fails_all_the_same():
    rows = [entry(f"s[{i}]", i, spec("int32"), stopped_at=Gate.KEPT) for i in range(3)]
    case = junit(account(ledger(rows)))[0]
    assert outcome(case) == "failure"
    assert "lost: s[0..2] (3 leaves), 12 bytes" in text_of(case, "failure")


def test_a_loss_that_is_ignored_fails_nothing():
    case = junit(sample_accounts.compared())[0]
    assert outcome(case) == "passed"
    assert "ignored DT402: an int32 leaf is returned as float32" in text_of(case, "system-out")


def test_targets_are_cases_of_their_own_and_what_was_refused_is_an_error():
    cases = junit(sample_accounts.targets())
    names = [case.get("name") for case in cases]
    signature = "train_step(state: State, tokens: int32[16,2048]) #9f02"
    assert names[:3] == [
        f"{signature} [host]",
        f"{signature} [tpu:v5e:4x4]",
        f"{signature} [cuda:h100:1x1x8]",
    ]
    refused = [case for case in cases if outcome(case) == "error"]
    assert len(refused) == 2
    assert "a `pure_callback` inside" in text_of(refused[0], "error")


def test_two_ledgers_of_one_name_have_two_names():
    (book,) = sample_accounts.kept().ledgers
    names = [case.get("name") for case in junit(account(book, book))]
    assert len(set(names)) == len(names) == 3


def test_what_failed_outside_of_a_ledger_is_told():
    cases = junit(sample_accounts.faulty())
    assert [outcome(case) for case in cases] == ["error", "skipped", "error"]
    assert "HeaderError: no `}` after place 17" in text_of(cases[2], "error")
    compared = by_name(junit(sample_accounts.compared()))["compared with donation.toml"]
    assert outcome(compared) == "failure"
    assert "`step` no longer reuses a leaf\nleaf: state.step" in text_of(compared, "failure")
    assert "not met: evaluate (train.py)" in text_of(compared, "system-out")


# CSV.


def rows_of(made: Account) -> list[dict[str, str]]:
    text = reports.render(made, "csv")
    assert text.count("\r\n") == text.count("\n")
    found = list(csv.DictReader(io.StringIO(text, newline=""), strict=True))
    for row in found:
        assert tuple(row) == csv_report.COLUMNS
        assert not [value for value in row.values() if value[:1] in tuple("=+-@\t\r")]
    return found


def back(cell: str) -> str:
    return cell.removeprefix("'")


def test_a_row_a_leaf_with_what_was_read_at_each_gate():
    rows = rows_of(sample_accounts.lesson())
    assert [(row["path"], row["bytes"], row["state"]) for row in rows] == [
        ("state.w", "64", "open"),
        ("state.b", "16", "open"),
        ("state.step", "4", "lost"),
    ]
    lost = rows[2]
    assert (lost["stopped_at"], lost["finding"], lost["level"]) == ("matched", "DT402", "error")
    assert lost["evidence_asked"] == "args_info: donated"
    assert lost["evidence_matched"] == "'@main %arg2: no attribute"
    assert rows[0]["shape"] == "4x4"


def test_a_change_stands_beside_its_leaf_and_below_all_where_there_is_none():
    change = Change(
        "worse",
        "drifted",
        "(state: State, g: float32[4,4]) #1f0c",
        "state.step",
        platform="cpu",
        before="reused",
        after="DT402",
    )
    gone = dataclasses.replace(change, kind="gone", path="state.old", after=None, bytes=7)
    found = Comparison("donation.toml", changes=(change, gone))
    rows = rows_of(dataclasses.replace(sample_accounts.lesson(), comparison=found))
    assert [row["change"] for row in rows] == ["", "", "worse", "gone"]
    assert (rows[2]["before"], rows[2]["after"], rows[2]["dtype"]) == ("reused", "DT402", "int32")
    assert (rows[3]["path"], rows[3]["bytes"], rows[3]["dtype"]) == ("state.old", "7", "")


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@sum", "'=1", "'", '"', "a,b", "a\r\nb"])
def test_a_name_never_becomes_a_formula_and_can_be_read_back(name):
    rows = rows_of(account(ledger([entry("s", 0, spec("int32"))], function=name)))
    assert back(rows[0]["function"]) == clean(name)


# Markdown.


def html_of(text: str) -> str:
    return MarkdownIt("commonmark").enable("table").render(text)


OWN = re.compile(r"</?(details|summary|code|pre|table|thead|tbody|tr|th|td|ul|li|p|em|h[234])\b")


def test_a_part_that_a_name_closes_would_be_found():
    one, two = html_of(markup.folded("x", "x")), html_of("<details><summary></details>\n\nx")
    assert foreign(one) == foreign(two) == []
    assert tags(one) != tags(two)


def foreign(html: str) -> list[str]:
    """Tags that the report did not write."""
    return [tag for tag in re.findall(r"<[^>]*>?", html) if not OWN.match(tag)]


def tags(html: str) -> list[str]:
    """The skeleton of a page: how many pieces of code and items it has follows from the names."""
    found = re.findall(r"</?\w+", html)
    return [tag for tag in found if tag.strip("</") not in ("code", "li")]


def words(html: str) -> str:
    """The text of a page."""
    return words_kept(html).replace("\u200b", "")


HOSTILE = [
    "a|b",
    "`",
    "```",
    "a`b``c",
    "<script>alert(1)</script>",
    "</summary></details>",
    "<!-- ",
    "&lt;b&gt;",
    "*a* _b_ ~~c~~",
    "[x](https://evil.example)",
    "![x](https://evil.example/x.png)",
    "https://evil.example www.evil.example",
    "a\n\n# b",
    "> quote",
    "\\|\\`",
    "$x$",
    "@someone #12 org/repo#3 GH-4",
    " x ",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_nothing_of_a_name_is_read_as_markup(name):
    text = reports.render(everywhere(name), "markdown")
    html = html_of(text)
    assert foreign(html) == []
    assert tags(html) == tags(html_of(reports.render(everywhere("x"), "markdown")))
    bare = re.sub(r"```.*?```|`[^`]*`|<code>.*?</code>", "", text, flags=re.S)
    assert "://" not in bare
    assert "www." not in bare
    assert "evil.example" not in re.sub(r">[^<]*<", "><", html), "it is in an address"
    shown = words(html)
    assert shown.count(clean(name).strip()) >= 5
    outside = re.sub(r"<(code|pre)\b.*?</\1>", "", html, flags=re.S)
    assert not re.search(r"[@#](?=\w)|GH-(?=\d)", words_kept(outside))


def words_kept(html: str) -> str:
    return entities.unescape(re.sub(r"<[^>]*>", "", html))


def everywhere(name: str) -> Account:
    """An account in which a name is all that a user's program can name."""
    rows = [
        entry(f"s['{name}']", i, spec("float32", 2), stopped_at=Gate.MATCHED, finding="DT402")
        for i in range(2)
    ]
    finding = Finding(
        "DT402",
        f"{name} drifts",
        tuple(row.path for row in rows),
        8,
        location=Location(name, 3),
        notes=(f"`{name}` and {name}",),
        help=name,
    )
    change = Change("worse", name, name, name, name, 4, name, "reused", "DT402", name, name)
    one = ledger(rows, finding, function=name, signature=name, location=Location(name, 1))
    two = dataclasses.replace(one, target=dataclasses.replace(sample_accounts.V5E, name=name))
    return account(
        one,
        two,
        program=name,
        comparison=Comparison(name, name, (change,), 1, (name,), (name,)),
        unmatched=(name,),
        refusals=(Refusal(name, name, name, name),),
        ended=name,
        faults=(Fault(name, name, name),),
    )


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ("a <b>x</b> c", ["<b>", "</b>"]),
        ("[x](https://evil.example)", ['<a href="https://evil.example">', "</a>"]),
        ("*x*", ["<em>"]),
    ],
)
def test_markup_that_is_not_escaped_would_be_found(written, found):
    html = html_of(written)
    if found == ["<em>"]:
        assert "*x*" not in words(html)
    else:
        assert foreign(html) == found
    assert html_of(markup.plain(written)).strip() == f"<p>{escaped(written)}</p>"


def escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


@pytest.mark.parametrize("expand", [False, True])
def test_a_report_fits_where_it_is_to_go_whatever_the_number_of_leaves(expand):
    most = document.SUMMARY if expand else document.COMMENT
    made = account(*(large(5_000, f"step{n}") for n in range(2)))
    text = reports.render(made, "markdown", Options(expand=expand))
    assert len(text.encode()) <= most
    assert "state.layers[0..4999].kernel (5,000 leaves)" in text
    assert foreign(html_of(text)) == []
    many = account(*(large(2, f"step{n}") for n in range(250)))
    text = reports.render(many, "markdown", Options(expand=expand))
    assert len(text.encode()) <= most
    assert ("left out for want of room" in text) == (not expand)
    assert ("more not shown" in text) == (not expand)


def large(leaves: int, function: str) -> Ledger:
    rows = [
        entry(
            f"state.layers[{i}].kernel",
            i,
            spec("float32", 8),
            stopped_at=Gate.MATCHED,
            finding="DT402",
        )
        for i in range(leaves)
    ]
    names = tuple(row.path for row in rows)
    drift = Finding("DT402", f"{leaves:,} leaves drift", names, 32 * leaves, help="x " * 200)
    return ledger(rows, drift, function=function)


def test_a_summary_tells_the_functions_the_findings_and_the_targets_side_by_side():
    text = reports.render(sample_accounts.targets(), "markdown")
    assert text.startswith("## ❌ donatree: 3 targets, 74 of 78 leaves reused\n")
    assert "| `train_step` (`train.py:41`) | `tpu:v5e:4x4` | 161.01 MiB |" in text
    assert "| leaf | global bytes | `host` | `tpu:v5e:4x4` | `cuda:h100:1x1x8` |" in text
    assert "does not fit tpu:v5e:4x4: 4.11 GiB" in text
    (book,) = sample_accounts.kept().ledgers
    two = account(book, dataclasses.replace(book, signature="(state, tokens: int32[8])"))
    text = reports.render(two, "markdown")
    assert "| `kept` (`train.py:41`) `(state, tokens: int32[8])` |" in text
    assert "leaves of kept (state, tokens: int32&#91;8&#93;): 84 of 84" in text
    kept = reports.render(sample_accounts.kept(), "markdown")
    assert kept.startswith("## ✅ donatree: 84 of 84 bytes, 3 of 3 leaves reused\n")
    assert "where the bytes went" not in kept


# Whatever the program's names are.

nasty = st.text(
    st.one_of(
        st.sampled_from("%\r\n:,;=+-@'\"|`<>&]\\[\x00\x1b\x85\u2028\ufffe\uffff\ud800/#~* "),
        st.characters(),
    ),
    max_size=12,
)


@settings(max_examples=60, deadline=None)
@given(nasty)
def test_no_name_breaks_a_format_and_each_comes_back(name):
    made = everywhere(name)
    shown = clean(name)
    results = sarif(made)["results"]
    functions = {
        each["name"] for r in results for each in r["locations"][0].get("logicalLocations", ())
    }
    assert shown in functions
    for each in annotations(made):
        assert set(each.properties) <= {"file", "line", "title", "col", "endColumn", "endLine"}
    drift = next(each for each in annotations(made) if "DT402" in each.properties["title"])
    assert drift.message.startswith(f"{shown} drifts\n")
    assert next(i for i in gitlab(made) if "DT402" in i["check_name"])["description"].startswith(
        f"{shown} drifts\n"
    )
    assert {back(row["function"]) for row in rows_of(made)} == {shown}
    cases = junit(made)
    sound = shown.replace("\ufffe", "\\ufffe").replace("\uffff", "\\uffff")
    assert any((case.get("name") or "").startswith(f"{sound}{sound}") for case in cases)
    html = html_of(reports.render(made, "markdown"))
    assert foreign(html) == []
    for name_of in MACHINES:
        reports.render(made, name_of).encode("utf-8")


def compared(made: Account, changes: list[Change], old: str, ignored: str) -> Account:
    """An account with what its strategy leaves out: a comparison, and findings that are ignored."""
    ledgers = tuple(
        dataclasses.replace(
            book,
            findings=tuple(
                dataclasses.replace(each, ignored=ignored if n else None)
                for n, each in enumerate(book.findings)
            ),
        )
        for book in made.ledgers
    )
    found = Comparison(old, changes=tuple(changes), missing=(old,), notes=(ignored,))
    return dataclasses.replace(made, ledgers=ledgers, comparison=found, unmatched=(ignored,))


changes = st.builds(
    Change,
    st.sampled_from(["worse", "new", "better", "other", "gone"]),
    texts,
    texts,
    texts,
    maybe_text,
    sizes,
    maybe_text,
    maybe_text,
    maybe_text,
    maybe_text,
    maybe_text,
    locations,
)


@settings(max_examples=40, deadline=None)
@given(st.builds(compared, accounts, st.lists(changes, max_size=3), texts, texts))
def test_every_account_that_there_can_be_is_written_in_every_format(made):
    sarif(made)
    list(read_commands(reports.render(made, "github")))
    gitlab(made)
    junit(made)
    assert len(rows_of(made)) >= sum(len(book.entries) for book in made.ledgers)
    assert foreign(html_of(reports.render(made, "markdown"))) == []
    for name in ("markdown", "terminal"):
        for options in (Options(expand=True), Options(unicode=False)):
            reports.render(made, name, options)


def test_every_problem_is_of_a_known_kind_and_clean():
    for made in sample_accounts.everything().values():
        for each in problems.of(made, ignored=True):
            assert each.rule in (*rules.CODES, *problems.BASELINE)
            assert all(clean(line) == line for line in (each.headline, *each.facts))
