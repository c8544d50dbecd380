"""Findings with labels: drawn as rustc draws them."""

from __future__ import annotations

import json as plain_json
import subprocess
import sys
from pathlib import Path

import pytest

from donatree.ledger import Account, Finding, Label, Location
from donatree.reports import diagnostic, json, render, snippet
from donatree.reports.text import ASCII, UNICODE

PROGRAM = """\
import jax

state = make()
old = state
for _ in range(3):
    state = step(state, 0.1)
    log()
    more()

print(state, old)
"""


def at(file, text: str, line: int, what: str, nth: int = 0) -> Location:
    """The place of the `nth` occurrence of `what` in a line, in bytes as Python counts."""
    data = text.splitlines()[line - 1].encode()
    start = -1
    for _ in range(nth + 1):
        start = data.index(what.encode(), start + 1)
    return Location(str(file), line, start, line, start + len(what.encode()))


def drawn(*labels: Label, width: int = 100, file=None) -> str:
    """The snippet of a finding, without its headline; the file's folder left out."""
    made = diagnostic.text(Finding("DT704", "headline", labels=labels), width)
    head, *rest = made.splitlines()
    assert head == "error[DT704]: headline"
    folder = f"{Path(file).parent}/" if file else ""
    return "\n".join(rest).replace(folder, "") + "\n"


def written(tmp_path, text: str, name: str = "train.py") -> Path:
    file = tmp_path / name
    file.write_text(text, "utf-8")
    return file


def test_three_places_of_one_file(tmp_path):
    file = written(tmp_path, PROGRAM)
    labels = (
        Label(at(file, PROGRAM, 4, "old"), "`old` got this array here"),
        Label(at(file, PROGRAM, 6, "step(state, 0.1)"), "donated here: `state` float32[4]"),
        Label(at(file, PROGRAM, 10, "old"), "used here, after the donation", primary=True),
    )
    assert (
        drawn(*labels, file=file)
        == """\
  --> train.py:10:14
   |
 4 | old = state
   | --- `old` got this array here
 5 | for _ in range(3):
 6 |     state = step(state, 0.1)
   |             ---------------- donated here: `state` float32[4]
...
10 | print(state, old)
   |              ^^^ used here, after the donation
   |
"""
    )


def test_several_labels_on_one_line_and_one_inside_another(tmp_path):
    file = written(tmp_path, PROGRAM)
    labels = (
        Label(at(file, PROGRAM, 6, "step(state, 0.1)"), "donated here"),
        Label(at(file, PROGRAM, 6, "state"), "bound here"),
        Label(at(file, PROGRAM, 6, "state", 1), "donated again here", primary=True),
    )
    assert (
        drawn(*labels, file=file)
        == """\
 --> train.py:6:18
  |
6 |     state = step(state, 0.1)
  |     -----   -----^^^^^------
  |     |       |    |
  |     |       |    donated again here
  |     |       donated here
  |     bound here
  |
"""
    )


def test_the_last_of_a_line_stands_beside_it(tmp_path):
    file = written(tmp_path, PROGRAM)
    labels = (
        Label(at(file, PROGRAM, 10, "state"), "alive"),
        Label(at(file, PROGRAM, 10, "old"), "dead", primary=True),
    )
    assert (
        drawn(*labels, file=file)
        == """\
  --> train.py:10:14
   |
10 | print(state, old)
   |       -----  ^^^ dead
   |       |
   |       alive
   |
"""
    )


def test_another_file_and_one_that_cannot_be_read(tmp_path):
    file = written(tmp_path, PROGRAM)
    other = written(tmp_path, "def save(tree):\n    return f(tree)\n", "saver.py")
    labels = (
        Label(at(file, PROGRAM, 4, "old"), "`old` got this array here"),
        Label(Location("<stdin>", 3, 0, 3, 4), "donated here"),
        Label(at(other, other.read_text(), 2, "tree"), "used here", primary=True),
    )
    assert (
        drawn(*labels, file=file)
        == """\
 --> saver.py:2:14
  |
2 |     return f(tree)
  |              ^^^^ used here
  |
 ::: train.py:4:1
  |
4 | old = state
  | --- `old` got this array here
  |
 ::: <stdin>:3
  = <stdin>:3: donated here
"""
    )


def test_nothing_can_be_read():
    labels = (Label(Location("gone.py", 3, 0, 3, 4), "used here " + "long " * 12, primary=True),)
    assert (
        drawn(*labels, width=50)
        == """\
 --> gone.py:3
  = gone.py:3: used here long long long long long
    long long long long long long long
"""
    )


def test_tabs_wide_letters_and_bytes(tmp_path):
    text = '\tx = f("漢字é", old, état)\n'
    file = written(tmp_path, text)
    labels = (
        Label(at(file, text, 1, "état"), "a", primary=True),
        Label(at(file, text, 1, "漢字"), "b"),
    )
    assert (
        drawn(*labels, file=file)
        == """\
 --> train.py:1:20
  |
1 |     x = f("漢字é", old, état)
  |            ----         ^^^^ a
  |            |
  |            b
  |
"""
    )


def test_a_long_line_is_cut_around_the_primary_place(tmp_path):
    text = "y = " + "aaa + " * 30 + "old * 1.0" + " + bbb" * 30 + "\n"
    file = written(tmp_path, text)
    label = Label(at(file, text, 1, "old"), "used here, after the donation", primary=True)
    early = Label(at(file, text, 1, "y"), "bound here")
    for marks in (ASCII, UNICODE):
        finding = Finding("DT704", "h", labels=(early, label))
        rows = ["".join(t for t, _ in row) for row in diagnostic.lines(finding, marks, 60)]
        assert all(len(row) <= 60 for row in rows[2:])
        source, under = rows[3], rows[4]
        assert source.startswith(f"1 | {marks.dots}")
        assert source.endswith(marks.dots)
        assert source[under.index("^") : under.rindex("^") + 1] == "old"
        assert any("used here, after the donation" in row for row in rows)
        assert any("bound here" in row for row in rows)


def test_a_label_that_does_not_fit_beside_is_hung_below_and_wrapped(tmp_path):
    text = "result = call_of_some_length(state)\n"
    file = written(tmp_path, text)
    label = Label(at(file, text, 1, "state"), "word " * 14 + "`a b`", primary=True)
    assert (
        drawn(label, width=60, file=file)
        == """\
 --> train.py:1:30
  |
1 | result = call_of_some_length(state)
  |                              ^^^^^
  |                              |
  |                 word word word word word word word word
  |                 word word word word word word `a b`
  |
"""
    )


def test_an_expression_of_several_lines_is_underlined_on_its_first(tmp_path):
    text = "x = step(\n    state,\n)\n"
    file = written(tmp_path, text)
    label = Label(Location(str(file), 1, 4, 3, 1), "donated here", primary=True)
    assert (
        drawn(label, file=file)
        == """\
 --> train.py:1:5
  |
1 | x = step(
  |     ^^^^^ donated here
  |
"""
    )


@pytest.mark.parametrize("columns", [(None, None), (5, 5), (900, 901), (3, 2)])
def test_columns_that_say_nothing_mean_the_whole_line(tmp_path, columns):
    file = written(tmp_path, "  x = 1\n")
    label = Label(Location(str(file), 1, columns[0], 1, columns[1]), "here", primary=True)
    assert (
        drawn(label, file=file)
        == """\
 --> train.py:1
  |
1 |   x = 1
  |   ^^^^^ here
  |
"""
    )


def test_control_codes_of_the_program_reach_no_terminal(tmp_path):
    text = "x = '\x1b[31m'; use(old)\n"
    file = written(tmp_path, text)
    label = Label(at(file, text, 1, "old"), "a\x1b[0m", primary=True)
    made = drawn(label, file=file)
    assert "\x1b" not in made
    source, under = made.splitlines()[2:4]
    assert source[under.index("^") : under.index("^") + 3] == "old"


def test_labels_come_back_from_json_and_older_reports_load():
    finding = Finding(
        "DT704",
        "h",
        labels=(Label(Location("a.py", 1, 2, 3, 4, "f"), "t", True), Label(Location("b", 1), "u")),
    )
    account = Account(findings=(finding,))
    text = json.dumps(account)
    assert json.loads(text) == account
    document = plain_json.loads(text)
    del document["findings"][0]["labels"]
    [older] = json.loads(plain_json.dumps(document)).findings
    assert older.labels == ()
    document["findings"][0]["labels"] = [{"location": None, "text": "t", "primary": True}]
    with pytest.raises(ValueError, match=r"`findings\[0\].labels\[0\].location`"):
        json.loads(plain_json.dumps(document))
    assert " --> a.py:1" in render(account)


def test_text_is_plain_and_brings_no_rich():
    code = (
        "import sys\n"
        "from donatree.ledger import Finding, Label, Location\n"
        "from donatree.reports import diagnostic\n"
        "label = Label(Location('a.py', 1), 'here', True)\n"
        "print(diagnostic.text(Finding('DT704', 'headline', labels=(label,), help='do `it`')))\n"
        "print([name for name in ('rich', 'jax', 'numpy') if name in sys.modules])\n"
    )
    path = [each for each in sys.path if each]
    ran = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:0] = {path!r}\n{code}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout == (
        "error[DT704]: headline\n --> a.py:1\n  = a.py:1: here\n  = help: do `it`\n[]\n"
    )


def test_gutter_fits_the_longest_number(tmp_path):
    text = "x = 1\n" * 120
    file = written(tmp_path, text)
    labels = [Label(at(file, text, line, "x"), "here") for line in (5, 99, 120)]
    assert snippet.gutter_of(labels) == 3
    assert drawn(*labels, file=file).splitlines()[2] == "  5 | x = 1"
