"""The page and its pieces as text: every section, everything escaped, the same bytes each time."""

from __future__ import annotations

import dataclasses
import html.parser
import io
import itertools
import json
import re
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sample_accounts
from donatree import reports
from donatree.ledger import (
    Account,
    Edit,
    Finding,
    Fix,
    Gate,
    Label,
    Live,
    Location,
    Process,
    Rehearsal,
    Tally,
)
from donatree.reports.html import codes, island, pieces, spans
from sample_accounts import DRIFT, account, entry, ledger, spec

VOID = {"meta", "link", "br", "img", "input", "hr"}
SVG = {"rect", "polygon", "path", "circle"}
INLINE = {"a", "b", "code", "mark", "span", "ins", "del"}


class Parsed(html.parser.HTMLParser):
    """A page taken apart: its elements, its text, the data of its scripts."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.stack: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.parts: list[str] = []
        self.scripts: list[str] = []
        self.styles: list[str] = []
        self.feed(text)
        self.close()
        assert self.stack == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self.parts += [] if tag in INLINE else [" "]
        if tag not in VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag, attrs):
        assert tag in SVG
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.stack.pop() == tag
        self.parts += [] if tag in INLINE else [" "]

    def handle_data(self, data):
        kind = self.stack[-1] if self.stack else ""
        {"script": self.scripts, "style": self.styles}.get(kind, self.parts).append(data)

    @property
    def text(self) -> str:
        """What a reader sees, each run of white space as one blank."""
        return " ".join("".join(self.parts).split())

    def all_of(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    def data(self) -> list[dict]:
        return [json.loads(each) for each in self.scripts[:-1]]


def page(made: Account) -> Parsed:
    return Parsed(reports.render(made, "html"))


def squeezed(text: str) -> str:
    """Without white space, marks and backticks: how a text is set does not matter."""
    return re.sub(r"[\s`✓✗…]|->|&gt;|:", "", text)


ALL = sample_accounts.everything()


def whole() -> Account:
    """An account of which every attribute says something."""
    place = Location(__file__, 1, 0, 1, 10)
    before, after = Tally(84, 80, 148), Tally(84, 84, 144)
    fixes = (
        Fix("keep_unused", ("DT402",), ("state.step",), "with `keep_unused=True`", "held",
            before=before, after=after, grade="sure", edit=Edit(place, "old < 1", "new < 2"),
            notes=("a note on the fix",)),
        Fix("keep_unused", ("DT402",), ("state.step",), "with nothing", "failed", "it is as before",
            before=before),
        Fix("together", ("DT402",), ("state.step",), "all of these", "held", before=before,
            after=after),
    )  # fmt: skip
    told = dataclasses.replace(
        DRIFT,
        location=place,
        labels=(
            Label(place, "the first place", primary=True),
            Label(Location("gone.py", 7), "the place that cannot be read"),
        ),
    )
    made = dataclasses.replace(
        sample_accounts.lesson().ledgers[0],
        findings=(told, dataclasses.replace(DRIFT, code="DT501", ignored="pyproject: not now")),
        fixes=fixes,
        notes=("a note on the ledger",),
        undonated=Live(100, 100, 0, 0),
        live=Live(100, 100, 84, 0),
        alias_not_donated_bytes=3,
        call=Location("train.py", 99),
    )
    advice = {
        "function": "evaluate",
        "defined_at": {"file": "train.py", "line": 5},
        "target": "tpu:v5e:4x4",
        "calls": ["train.py:1", "train.py:2", "train.py:3", "train.py:4"],
        "advice": [
            {
                "argument": "cache",
                "verdict": "donate",
                "bytes": 2**20,
                "saved_bytes": 2**19,
                "measured": True,
                "reasons": ["nothing else holds it"],
                "help": "write `donate_argnums=1`",
            }
        ],
        "keyword": "donate_argnums=1",
        "live_bytes_before": 2**21,
        "live_bytes_after": 2**20,
        "notes": ["a note on the advice"],
    }
    return dataclasses.replace(
        sample_accounts.compared(),
        ledgers=(made, *sample_accounts.targets().ledgers),
        refusals=sample_accounts.targets().refusals,
        faults=sample_accounts.faulty().faults,
        ended="ValueError: it broke",
        processes=(
            Process(0, 3, status="ended", file="run/0.json"),
            Process(1, 3, status="died", file="run/1.json"),
            Process(2, 3, status="missing"),
        ),
        rehearsals=(
            Rehearsal(
                "predict",
                "cache",
                "it is replaced",
                2,
                64,
                32,
                3,
                3,
                1,
                ("DT702",),
                "donate_argnums=1",
            ),
            Rehearsal("nothing", "nothing:0", "there is `predict`"),
        ),
        advice=(advice,),
        notes=("a note on the account",),
    )


ALL["whole"] = whole()


# Everything is there


@pytest.mark.parametrize("name", ALL)
def test_nothing_that_the_terminal_tells_is_missing(name):
    made = ALL[name]
    options = reports.Options(width=100_000, expand=True, evidence=False)
    seen = page(made)
    data = " ".join(map(str, seen.data()))
    known = squeezed(seen.text + data)
    missing = []
    for line in reports.render(made, "plain", options).splitlines():
        told = re.sub(r"^\s*(=|\|)?\s*", "", line)
        if re.match(
            r"(note|help|why|in|on|leaf|leaves|largest|not compiled|was|since|not met): ", told
        ):
            word, _, text = told.partition(": ")
            if squeezed(text) not in known:
                missing.append(told)
        # Codes and figures, wherever in a table they stand; those of a leaf are in the data.
        figures = "" if re.search(r"\w\[[\d,]*\]", told) else r"|\d+(?:,\d{3})+|\d+\.\d+"
        for word in re.findall(rf"DT\d+{figures}", told):
            if word not in seen.text and word.replace(",", "") not in data:
                missing.append(f"{word} of {told}")
    assert missing == []


def test_the_check_of_what_is_missing_can_fail():
    text = page(dataclasses.replace(whole(), notes=())).text
    assert "a note on the account" not in text
    assert "a note on the account" in page(whole()).text


SECTIONS = {
    "comparison": "compared with donation.toml",
    "findings": "error DT402 an int32 leaf is returned as float32",
    "programs": "drifted train.py:41",
    "rehearsals": "mend what is found below (DT702) before you add donate_argnums=1",
    "advice": "saves 512.00 KiB of 1.00 MiB (measured)",
    "ignored": "ignore that matched nothing: pyproject.toml: DT801 in nothing",
    "faults": "HeaderError: no } after place 17 (2 times)",
    "codes": "The new value of the leaf has another dtype",
}


@pytest.mark.parametrize("name", SECTIONS)
def test_every_section_has_a_heading_a_link_to_it_and_what_it_is_for(name):
    seen = page(whole())
    sections = {each.get("id"): each for each in seen.all_of("section")}
    heading = sections[name]["aria-labelledby"]
    assert heading in {each.get("id") for each in seen.all_of("h2")}
    assert f"#{name}" in {each.get("href") for each in seen.all_of("a")}
    assert SECTIONS[name] in seen.text


@pytest.mark.parametrize("name", SECTIONS)
def test_a_section_is_left_out_where_there_is_nothing_to_say(name):
    assert name not in {each.get("id") for each in page(Account()).all_of("section")}


@pytest.mark.parametrize(
    "told",
    [
        "with keep_unused=True 84 of 84 bytes, live memory 148 -> 144 bytes",
        "with nothing: it does not hold, it is as before",
        "all of these 84 of 84 bytes",
        "- old < 1",
        "+ new < 2",
        "the first place",
        "gone.py:7: the place that cannot be read",
        "200 without donation, 84 bytes",
        "process 1 of 3 died",
        "does not fit tpu:v5e:4x4: 4.11 GiB",
        "transpose(jvp(dot_general))",
        "only the CPU: 1 copy, 16.00 MiB, of state.flipped",
        "copy.7: the value that rev still reads",
        "pyproject: not now",
        "the program ended with ValueError: it broke",
        "train.py:1, train.py:2, train.py:3 and 1 more",
        "84 = 80 granted + 3 that belong to no donated leaf + 1 that donatree cannot explain",
    ],
)
def test_the_page_tells(told):
    assert told in page(whole()).text


def test_where_nothing_was_donated_the_page_says_what_to_do():
    assert "jax.jit(step, donate_argnums=0)" in page(ALL["nothing"]).text
    assert "JAX was not used" in page(ALL["empty"]).text


def test_many_programs_are_closed_but_for_the_worst_and_listed_first():
    one = sample_accounts.kept().ledgers[0]
    made = [dataclasses.replace(one, function=f"f{i}") for i in range(9)]
    made[6] = dataclasses.replace(sample_accounts.lesson().ledgers[0], function="f6")
    seen = page(account(*made))
    opened = [each["id"] for each in seen.all_of("details") if "open" in each]
    assert opened == ["program-7"]
    assert [f"#program-{n}" for n in range(1, 10)] == [
        each["href"] for each in seen.all_of("a") if "#program-" in (each["href"] or "")
    ]


# The data of the script


def test_the_data_gives_every_leaf_back():
    made = ALL["transformer"].ledgers[0]
    (data,) = page(ALL["transformer"]).data()
    texts, parents = data["texts"], data["parents"]
    names = [""]
    for label, parent in zip(data["labels"][1:], parents[1:], strict=True):
        names.append(names[parent] + texts[label])
    leaves = [name for i, name in enumerate(names) if i and i not in parents]
    order = data["order"] or range(len(leaves))
    assert leaves == [made.entries[i].path for i in order]
    assert data["bytes"] == [made.entries[i].bytes for i in order]
    (target,) = data["targets"]
    slots = [
        None if head < 0 else texts[head] + path[len(path) - tail :]
        for head, tail, path in zip(target["slot"], target["tail"], leaves, strict=True)
    ]
    assert slots == [(s := made.entries[i].slot) and s.path for i in order]
    kinds = [island.KINDS[kind] for kind in target["kind"]]
    assert kinds == [str(made.entries[i].stopped_at or "passed") for i in order]


def test_numbers_of_the_evidence_are_kept_apart_from_its_words():
    rows = [
        entry(f"s.w{i}", i, spec("float32", 1), evidence={"granted": f"alias {{{i}}} 007 {10**20}"})
        for i in range(3)
    ]
    (data,) = page(account(ledger(rows))).data()
    assert data["patterns"] == [[["granted", f"alias {{\0}} 007 {10**20}"]]]
    assert data["targets"][0]["read"] == [[0, 0], [0, 1], [0, 2]]


def test_a_leaf_leads_to_the_finding_that_speaks_of_it():
    (data,) = page(ALL["transformer"]).data()
    by_code = {
        data["texts"][code]: finding
        for code, finding in zip(*(data["targets"][0][k] for k in ("code", "finding")), strict=True)
        if code >= 0
    }
    assert by_code == {"DT401": 1, "DT402": 2}


# Nothing of a program gets out of its text

ATTACKS = [
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(1)</script>",
    "<!--",
    "]]>",
    '" onload="x',
]


@pytest.mark.parametrize("attack", ATTACKS)
def test_names_of_a_program_are_escaped_everywhere(attack):
    lost = entry(f"s[{attack!r}]", 0, spec("float32", 1), stopped_at=Gate.KEPT, finding=attack,
                 evidence={attack: attack})  # fmt: skip
    finding = Finding(
        attack, attack, (lost.path,), 4, "error", Location(attack, 1), attack, (attack,), attack,
        (Label(Location(attack, 1), attack, True),), None,
    )  # fmt: skip
    made = ledger(
        [lost], finding, function=attack, signature=attack, platform=attack, notes=(attack,)
    )
    told = account(
        made, dataclasses.replace(made, findings=(dataclasses.replace(finding, ignored=attack),)),
        program=attack, ended=attack, unmatched=(attack,), notes=(attack,),
        versions={"jax": attack},
    )  # fmt: skip
    seen = page(told)
    assert [tag for tag, _ in seen.elements if tag in ("img", "iframe", "object")] == []
    assert not any(name.startswith("on") for _, each in seen.elements for name in each)
    assert len(seen.scripts) == 3  # the data of both programs, and the page's own
    assert attack in " ".join(seen.parts)
    for piece in (pieces.account(told), pieces.ledger(made), pieces.finding(finding)):
        seen = Parsed(piece)
        assert seen.scripts == []
        assert not any(name.startswith("on") for _, each in seen.elements for name in each)


@given(st.text(max_size=30))
@settings(max_examples=60, deadline=None)
def test_data_of_any_text_is_ascii_and_closes_nothing(text):
    made = str(island.safe({"x": text}))
    assert made.isascii()
    assert not set("<>&\u2028\u2029\0\r\n") & set(made)
    assert json.loads(made) == {"x": text}


@given(st.text(max_size=30))
@settings(max_examples=60, deadline=None)
def test_prose_of_any_text_shows_no_control_codes_and_no_markup(text):
    made = str(spans.prose(text))
    assert re.sub(r"</?code>|<br>", "", made).count("<") == 0
    assert not re.search("[\x00-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]", made)


def test_texts_that_turn_the_direction_of_writing_are_shown_as_escapes():
    rows = [entry("s['\u202egnp']", 0, spec("float32", 1))]
    text = reports.render(account(ledger(rows)), "html")
    assert "&#8238;" not in text
    assert "\\\\u202egnp" in text


# One file, offline, the same each time


@pytest.mark.parametrize("name", ALL)
def test_the_page_names_no_address_and_no_other_file(name):
    text = reports.render(ALL[name], "html")
    seen = Parsed(text)
    for tag, attributes in seen.elements:
        assert tag not in ("link", "img", "iframe", "object", "embed", "base")
        assert not {"src", "srcset", "action", "formaction", "style"} & set(attributes)
        assert (attributes.get("href") or "#").startswith("#")
    code = seen.scripts[-1].replace('"http://www.w3.org/2000/svg"', "")
    for part in (code, *seen.styles):
        assert not re.search(
            r"https?:|//[a-z]|@import|fetch\(|XMLHttp|import\(|innerHTML|eval\(", part
        )
    assert "url(#" in seen.styles[0]
    assert not re.search(r"url\((?!#)", seen.styles[0])


def test_the_policy_allows_the_page_its_own_script_and_nothing_else():
    (policy,) = [
        each["content"]
        for each in page(ALL["lesson"]).all_of("meta")
        if each.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policy
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy


def test_equal_accounts_give_equal_bytes_in_every_process():
    texts = [reports.render(sample_accounts.targets(), "html") for _ in range(2)]
    program = (
        "import hashlib, sample_accounts\nfrom donatree import reports\n"
        "text = reports.render(sample_accounts.targets(), 'html')\n"
        "print(hashlib.sha256(text.encode('ascii')).hexdigest())"
    )
    digests = set()
    for seed in ("1", "2"):
        env = {"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(filter(None, sys.path))}
        done = subprocess.run(
            [sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True
        )
        digests.add(done.stdout)
    assert texts[0] == texts[1]
    assert len(digests) == 1


def test_the_page_can_be_written_to_a_file_of_any_encoding():
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    reports.write(ALL["hostile"], stream, "html")
    stream.flush()
    assert "漢字" in html.unescape(stream.buffer.getvalue().decode("ascii"))  # type: ignore[attr-defined]


# It can be read in every way


@pytest.mark.parametrize("name", ALL)
def test_headings_are_in_order_tables_have_captions_and_ids_are_unique(name):
    seen = page(ALL[name])
    levels = [int(tag[1]) for tag, _ in seen.elements if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    assert len(seen.all_of("table")) == len(seen.all_of("caption"))
    assert all(each.get("scope") in ("col", "row") for each in seen.all_of("th"))
    ids = [each["id"] for _, each in seen.elements if "id" in each]
    assert len(ids) == len(set(ids))
    links = [each["href"] for each in seen.all_of("a")]
    assert {link[1:] for link in links if link} <= set(ids)
    assert {"header", "main", "footer", "nav"} <= {tag for tag, _ in seen.elements}


def test_every_page_of_a_code_is_whole():
    from donatree import findings

    for each in codes.pages(findings.CODES):
        text = Parsed(str(each.body)).text
        for word in findings.rule(each.code).page.replace("`", "").replace("## ", "").split()[-20:]:
            assert word in text or word == "-", (each.code, word)


def test_source_is_underlined_where_it_can_be_read(tmp_path):
    file = tmp_path / "train.py"
    file.write_text("x = 1\ny = x < 2  # é\n", encoding="utf-8")
    place = Location(str(file), 2, 4, 2, 9)
    finding = Finding("DT402", "it is", location=place)
    text = pieces.finding(finding)
    assert '<mark class="primary">x &lt; 2</mark>  # &#233;' in text
    assert f"{file}:2:5" in text
    assert "<mark" not in pieces.finding(
        dataclasses.replace(finding, location=Location("no.py", 2))
    )


# The pieces


@pytest.mark.parametrize("name", ALL)
def test_a_piece_stands_alone(name):
    seen = Parsed(pieces.account(ALL[name]))
    assert seen.elements[0] == ("div", {"class": "donatree"})
    assert "id" not in {key for _, each in seen.elements for key in each}
    assert seen.all_of("a") == []
    selectors = re.sub(r"@media[^{]*|\{[^{}]*\}|/\*.*?\*/", "{}", seen.styles[0])
    names = [each.strip() for part in re.split(r"[{}]", selectors) for each in part.split(",")]
    assert names
    assert [each for each in names if each and ".donatree" not in each] == []


def test_a_piece_of_a_ledger_says_what_was_lost_where_and_why():
    text = Parsed(pieces.ledger(ALL["lesson"].ledgers[0])).text
    for told in (
        "80 of 84 bytes, 2 of 3 leaves",
        "4 bytes, 1 leaf",
        "an int32 leaf is returned as float32",
    ):
        assert told in text


def test_a_tree_of_any_depth_is_drawn():
    deep = "state" + "".join(f"['{i}']" for i in range(3_000))
    rows = [entry(deep, 0, spec("float32", 1)), entry(f"{deep}.x", 1, spec("float32", 1))]
    rows += [entry(deep[: 9 * i], 1 + i, spec("float32", 1)) for i in range(1, 50)]
    (data,) = page(account(ledger(rows))).data()
    assert len(data["bytes"]) == len(rows)
