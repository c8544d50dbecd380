"""Baselines: what is recorded, how the file reads, what counts as a change."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sample_accounts as sample
from donatree import baseline
from donatree.baseline import folding, patterns, reading, selectors, versions
from donatree.baseline.files import Name, name_of
from donatree.baseline.record import Baseline, Checked, Environment, Key, Record
from donatree.ledger import Account, Finding, Gate, Ledger, Location, MadeCopy
from donatree.reports import render

F32, BF16 = sample.spec("float32", 4), sample.spec("bfloat16", 4)
RUN = (Gate.ASKED, Gate.KEPT, Gate.MATCHED, Gate.GRANTED, Gate.HONOURED)
AUDIT = RUN[:4]
HERE = Path("/project")


def book(lost: Mapping[str, str] = {}, *, paths: str = "w b step", **more: Any) -> Ledger:
    """A ledger of `state`, whose leaves are lost by these codes."""
    gates = {"DT2": Gate.KEPT, "DT4": Gate.GRANTED, "DT5": Gate.IN_PLACE, "DT6": Gate.HONOURED}
    array = more.pop("array", F32)
    rows = [
        sample.entry(
            f"state.{name}",
            i,
            array,
            stopped_at=gates[lost[name][:3]] if name in lost else None,
            finding=lost.get(name),
        )
        for i, name in enumerate(paths.split())
    ]
    fields: dict[str, Any] = {"location": Location("/project/train.py", 41), "checked": RUN}
    return sample.ledger(rows, **{**fields, **more})


def seen(*ledgers: Ledger, jax: str = "0.12.0", platform: str = "cpu", **more: Any) -> Account:
    ledgers = tuple(dataclasses.replace(each, platform=platform) for each in ledgers)
    versions = {**sample.VERSIONS, "jax": jax}
    return sample.account(*ledgers, versions=versions, **{"program": None, **more})


def record(*accounts: Account) -> Baseline:
    found = Baseline(folder=HERE)
    for each in accounts:
        found = baseline.recorded(each, found)
    return found


def compare(old: Any, new: Any) -> Any:
    return baseline.compare(old, new, old_name="donation.toml")


def kinds(old: Any, new: Any) -> dict[str, str]:
    return {each.path.removeprefix("state."): each.kind for each in compare(old, new).changes}


# The file.


def test_the_file_is_small_and_says_what_is_lost_where() -> None:
    old = seen(book({"step": "DT402", "w": "DT501"}), jax="0.5.3")
    new = seen(book({"step": "DT402"}), jax="0.12.0")
    tpu = seen(book({"b": "DT404"}, signature="(state, batch) #12ab"), platform="tpu")
    tpu = dataclasses.replace(
        tpu, ledgers=(dataclasses.replace(tpu.ledgers[0], target=sample.V5E),)
    )
    assert (
        baseline.dumps(record(old, new, tpu))
        == """\
# What becomes of donated memory, as donatree saw it: it fails on a leaf that is lost and not
# listed here. `donatree run --write-baseline` writes this file anew.
version = 1

[[function]]
name = "step"
file = "train.py"
leaves = [  # 3
  "state.{b,step,w}",
]

[[function.signature]]
arguments = "(state, batch)"
digest = "8736f3"
seen.cpu = ["0.5.3", "0.12.0"]
seen."tpu:v5e:4x4" = ["0.12.0"]
checked = ["asked", "kept", "matched", "granted", "honoured"]
lost."state.b" = { "tpu:v5e:4x4" = "DT404" }
lost."state.step" = { cpu = "DT402" }
lost."state.w" = { "cpu <=0.5.3" = "DT501" }
"""
    )


def test_a_transformer_takes_a_few_lines_and_a_lost_subtree_one() -> None:
    account = sample.transformer(layers=48)
    assert len(account.ledgers[0].entries) > 700
    text = baseline.dumps(baseline.recorded(account, folder=HERE))
    assert len(text.splitlines()) < 30
    (line,) = [line for line in text.splitlines() if "DT401" in line]
    assert line == 'lost."state.opt_state[0].mu" = "DT401"  # 241 leaves'


def test_one_change_is_one_line_of_a_diff() -> None:
    before = record(sample.transformer())
    entries = sample.transformer().ledgers[0].entries
    path = "state.params['block_3']['norm']['scale']"
    changed = tuple(
        dataclasses.replace(each, stopped_at=Gate.GRANTED, finding="DT404", slot=None)
        if each.path == path
        else each
        for each in entries
    )
    worse = dataclasses.replace(sample.transformer().ledgers[0], entries=changed)
    after = baseline.recorded(sample.account(worse), before)
    lines = difflib.ndiff(*(baseline.dumps(x).splitlines() for x in (before, after)))
    assert [line for line in lines if line[0] in "+-"] == [f'+ lost."{path}" = "DT404"']


def test_the_file_on_the_page_is_what_is_written() -> None:
    page = Path(__file__).parents[1] / "docs" / "baselines.md"
    text = page.read_text("utf-8").split("```toml\n")[1].split("```")[0]
    made = reading.loads(text, "donation.toml")
    assert baseline.dumps(made) == text
    assert sum(len(each.leaves) for each in made.records.values()) == 90


NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
PLAIN = st.sampled_from(["w", "mu", "nu", "0", "1", "2", "10", "block_0", "block_1", "0..1", "{$}"])
COMPONENTS = st.one_of(
    PLAIN.map(lambda name: f".{name}"),
    PLAIN.map(lambda name: f"['{name}']"),
    st.integers(0, 12).map(lambda number: f"[{number}]"),
    NAMES.map(lambda name: f"[{name!r}]"),
    st.sampled_from(["[{}]", "['a,b']", "{", "}", "['", ".{w,b}", "[{0..1}]", "\u202e", "\x00"]),
)
PATHS = st.builds(
    lambda name, rest: name + "".join(rest),
    st.sampled_from(["state", "params", "", "arg1", "arg2"]),
    st.lists(COMPONENTS, max_size=4),
)
VERDICTS = st.sampled_from(["DT402", "DT501", "granted", 'DT402 kept for "old" checkpoints\n#'])


@settings(max_examples=150, deadline=None)
@given(st.sets(PATHS, max_size=12))
def test_patterns_stand_for_exactly_the_paths_that_were_folded(paths: set[str]) -> None:
    folded = folding.fold(paths)
    assert sorted(each for pattern in folded for each in patterns.expand(pattern)) == sorted(paths)
    assert folding.fold(sorted(paths)) == folded


@st.composite
def baselines(draw: st.DrawFn) -> Baseline:
    found = []
    for _ in range(draw(st.integers(0, 3))):
        key = Key(draw(NAMES), draw(NAMES), draw(NAMES), draw(NAMES))
        leaves = draw(st.frozensets(PATHS, max_size=8))
        where = st.builds(
            Environment,
            st.sampled_from(["cpu", "tpu:v5e:4x4", 'cuda:my "card".txt']),
            st.sampled_from(["", "0.5.3", "0.9.0rc1", "0.9.0", "0.10.2", "0.12.0.1"]),
        )
        checked = st.builds(Checked, st.sampled_from([AUDIT, RUN]), st.booleans())
        there = draw(st.dictionaries(where, checked, min_size=1, max_size=5))
        lost = {
            each: draw(st.dictionaries(st.sampled_from(sorted(leaves)), VERDICTS))
            for each in there
            if leaves
        }
        found.append(Record(key, leaves, there, {k: v for k, v in lost.items() if v}))
    return Baseline.of(found, "# ours\n")


@settings(max_examples=60, deadline=None)
@given(baselines())
def test_what_is_written_is_read_back_and_written_the_same(made: Baseline) -> None:
    text = baseline.dumps(made)
    back = reading.loads(text, "donation.toml")
    assert back == made
    assert baseline.dumps(back) == text
    assert not compare(made, made).changes


@pytest.mark.parametrize("name", sample.everything())
def test_what_was_recorded_has_not_changed(name: str) -> None:
    account = sample.everything()[name]
    made = baseline.recorded(account)
    assert compare(made, account).changes == compare(account, account).changes == ()
    assert baseline.ratcheted(made, account) is None
    assert baseline.recorded(account, made) == made


def test_a_file_is_replaced_at_once_and_keeps_its_comment(tmp_path: Path) -> None:
    file = tmp_path / "donation.toml"
    file.write_text("# Ask Ann before you\n# accept a loss.\n\nversion = 1\n")
    file.chmod(0o640)
    made = baseline.recorded(seen(book({"w": "DT402"})), baseline.read(file))
    baseline.write(file, made)
    assert file.read_text().startswith("# Ask Ann before you\n# accept a loss.\nversion = 1\n\n[[")
    assert baseline.read(file) == dataclasses.replace(made, folder=tmp_path)
    assert file.stat().st_mode & 0o777 == 0o640
    assert [each.name for each in tmp_path.iterdir()] == ["donation.toml"]


def test_a_file_that_cannot_be_written_is_left_alone(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="no_such"):
        baseline.write(tmp_path / "no_such" / "donation.toml", Baseline())
    assert not [*tmp_path.iterdir()]


FUNCTION = 'version = 1\n[[function]]\nname = "f"\nfile = "a.py"\nleaves = ["s.{a,b}"]\n'
SIGNATURE = (
    FUNCTION + '[[function.signature]]\narguments = "()"\ndigest = "0"\n'
    'seen.cpu = ["0.9"]\nchecked = ["asked"]\n'
)
BAD = {
    "x = [": "d.toml:1: no TOML: invalid value",
    "version = 2": "d.toml:1: `version` is 2; this donatree reads 1",
    "": "d.toml: `version` is missing",
    "version = true": "d.toml:1: `version` is True, not an integer",
    "version = 1\nfunctions = 3": "d.toml:2: `functions` is no key of a baseline",
    "version = 1\n\n[[function]]\nfile = 'a'": "d.toml:3: `function.name` is missing",
    FUNCTION.replace('"f"', "3"): "d.toml:3: `function.name` is 3, not a string",
    FUNCTION.replace("{a,b}", "{a,b"): "d.toml:5: `function.leaves` has a pattern that is none",
    FUNCTION.replace("{a,b}", "{0..9999999}{0..9}"): "stands for too many leaves",
    SIGNATURE + 'lost."s.c" = "DT402"': (
        "d.toml:11: `function.signature.lost` names `s.c`, which is none of the function's `leaves`"
    ),
    SIGNATURE
    + 'lost."s.a" = 3': "d.toml:11: `function.signature.lost` `lost.s.a` is 3, not a code",
    SIGNATURE + 'lost."s.a" = { gpu = "DT402" }': "`gpu` is none of what `seen` names",
    SIGNATURE.replace('"asked"', '"wished"'): "d.toml:10: `function.signature.checked`",
}


@pytest.mark.parametrize("text", BAD)
def test_what_is_no_baseline_is_told_in_one_line(text: str, tmp_path: Path) -> None:
    (tmp_path / "d.toml").write_text(text)
    with pytest.raises(baseline.BaselineError) as raised:
        baseline.read(tmp_path / "d.toml")
    assert BAD[text] in str(raised.value).replace(f"{tmp_path}/", "")
    assert "\n" not in str(raised.value)
    reading.loads(SIGNATURE + 'lost."s.a" = "DT402"\n', "d.toml")  # so much was right


# What counts as a change.

CHANGES: dict[str, tuple[Mapping[str, str], Mapping[str, str], Mapping[str, str]]] = {
    "as it was": ({"w": "DT402"}, {"w": "DT402"}, {}),
    "lost": ({}, {"w": "DT402"}, {"w": "worse"}),
    "reused": ({"w": "DT402", "b": "DT402"}, {"w": "DT402"}, {"b": "better"}),
    "another code": ({"w": "DT402"}, {"w": "DT404"}, {"w": "other"}),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_leaf_that_is_not_what_it_was(name: str) -> None:
    before, after, expected = CHANGES[name]
    found = compare(record(seen(book(before), jax="0.10.2")), seen(book(after)))
    assert {c.path.removeprefix("state."): c.kind for c in found.changes} == expected
    assert found.fails == ("worse" in expected.values())
    assert found.same + len(found.changes) == 3
    for each in found.changes:
        assert (each.old_jax, each.new_jax, each.file) == ("0.10.2", "0.12.0", "train.py")
        assert each.bytes == 16


def test_leaves_and_functions_that_are_new_and_gone() -> None:
    old = record(seen(book({"b": "DT402"}, paths="w b")))
    found = compare(old, seen(book({"ema": "DT402"}, paths="w ema nu")))
    assert kinds(old, seen(book({"ema": "DT402"}, paths="w ema nu"))) == {
        "ema": "new",
        "b": "gone",
    }
    assert [(c.before, c.after) for c in found.changes] == [(None, "DT402"), ("DT402", None)]
    other = compare(old, seen(book({"w": "DT402"}, function="evaluate")))
    assert [(c.kind, c.function) for c in other.changes] == [("new", "evaluate")]
    assert other.missing == ("step (train.py)",)
    assert "`evaluate (train.py)` is not in donation.toml" in other.notes


def test_lines_do_not_matter_and_what_fails_leads_to_the_line_of_now() -> None:
    old = record(seen(book()))
    finding = Finding("DT402", "drift", ("state.w",), location=Location("/project/train.py", 77))
    moved = book({"w": "DT402"}, location=Location("/project/train.py", 70))
    (change,) = compare(old, seen(dataclasses.replace(moved, findings=(finding,)))).changes
    assert (change.kind, change.location) == ("worse", Location("/project/train.py", 77))
    assert not compare(old, seen(book(location=Location("/project/train.py", 9)))).changes


def test_another_batch_size_is_held_against_the_nearest_signature() -> None:
    old = record(
        seen(
            book({"b": "DT402"}, signature="(state: 3 leaves, x: float32[64]) #aa"),
            book({"k": "DT402"}, paths="k v", signature="(state: 2 leaves) #bb"),
        )
    )
    other = "(state: 3 leaves, x: float32[32]) #cc"
    found = compare(old, seen(book({"b": "DT402", "w": "DT402"}, signature=other)))
    assert [(c.kind, c.path, c.signature) for c in found.changes] == [("worse", "state.w", other)]
    assert found.same == 2
    assert found.notes == (
        f"`step` with `{other}` is not in donation.toml: it is held against "
        "`(state: 3 leaves, x: float32[64])`",
    )


def test_of_equally_near_signatures_a_leaf_must_be_reused_in_all_to_count() -> None:
    """The first call meets float32, all others what the first one made of it."""
    both = [book({"w": "DT402"}), book({}, array=BF16)]
    smaller = [dataclasses.replace(each, signature="(state, half)") for each in both]
    assert kinds(record(seen(*both)), seen(*smaller)) == {}
    assert kinds(record(seen(both[1])), seen(*smaller)) == {"w": "worse"}


def test_a_leaf_counts_as_reused_only_if_all_compiles_of_a_signature_reuse_it() -> None:
    old = record(seen(book(), book({"w": "DT402"})))
    assert kinds(old, seen(book({"w": "DT402"}))) == {}
    assert kinds(record(seen(book())), seen(book({"w": "DT402"}), book())) == {"w": "worse"}


# Versions of JAX and platforms.


@pytest.mark.parametrize(
    ("jax", "kind", "old_jax"),
    [
        ("0.8.0", {}, None),  # no version is below: the lowest, on which it was lost
        ("0.9.2", {}, None),
        ("0.10.2", {"w": "worse"}, "0.10.2"),
        ("0.11.0", {"w": "worse"}, "0.10.2"),
        ("0.12.0", {}, None),
        ("0.13.0", {}, None),
    ],
)
def test_the_nearest_version_of_jax_counts(jax: str, kind: Any, old_jax: str | None) -> None:
    lost, whole = book({"w": "DT402"}), book()
    old = record(seen(lost, jax="0.9.2"), seen(whole, jax="0.10.2"), seen(lost, jax="0.12.0"))
    found = compare(old, seen(lost, jax=jax))
    assert kinds(old, seen(lost, jax=jax)) == kind
    assert [each.old_jax for each in found.changes] == ([old_jax] if old_jax else [])
    exact = jax in ("0.9.2", "0.10.2", "0.12.0")
    assert [note for note in found.notes if note.startswith(f"jax {jax} on cpu")] == (
        [] if exact else [*found.notes]
    )
    assert bool(found.notes) != exact


def test_versions_have_an_order() -> None:
    made = ["0.5.3", "0.9.0.dev20250101", "0.9.0rc1", "0.9.0", "0.10.2", "0.12.0", "0.12.0.1"]
    assert sorted(sorted(made), key=versions.order) == made
    assert versions.nearest("0.9.0rc2", made) == "0.9.0rc1"


def test_selectors_are_folded_where_environments_agree() -> None:
    made = [Environment("cpu", jax) for jax in ("0.5.3", "0.8.3", "0.9.2", "0.12.0")]
    every = [*made, Environment("tpu", "0.12.0")]
    assert selectors.fold(dict.fromkeys(every, 1), every) == 1
    assert selectors.fold(dict.fromkeys(made, 1), every) == {"cpu": 1}
    assert selectors.fold(dict.fromkeys(made[1:3], 1), every) == {"cpu >=0.8.3,<=0.9.2": 1}
    assert selectors.fold({made[0]: 1, made[3]: 2}, every) == {"cpu <=0.5.3": 1, "cpu >=0.12.0": 2}
    with pytest.raises(baseline.BaselineError, match="`gpu` is none of what `seen` names"):
        selectors.expand("gpu", every)


def test_a_platform_that_was_never_seen() -> None:
    """A loss is accepted where any platform has it, and is worse where all reuse the leaf."""
    old = record(
        seen(book({"w": "DT402"}), jax="0.10.2"), seen(book({"b": "DT501"}), platform="gpu")
    )
    lost = seen(book({"w": "DT402", "b": "DT501", "step": "DT404"}), platform="tpu")
    found = compare(old, lost)
    assert {c.path: c.kind for c in found.changes} == {"state.step": "worse"}
    assert found.changes[0].old_jax == "0.12.0"
    assert found.notes == ("`tpu` is not in donation.toml: held against cpu and gpu",)
    whole = seen(book(), platform="tpu")
    assert kinds(old, whole) == {}
    assert baseline.ratcheted(old, whole) is None


def test_what_was_lost_before_anything_was_compiled_holds_for_each_platform() -> None:
    early = seen(book({"w": "DT402"}))
    early = dataclasses.replace(
        early, ledgers=(dataclasses.replace(early.ledgers[0], platform=None),), platform=None
    )
    old = record(early)
    assert 'seen.any = ["0.12.0"]' in baseline.dumps(old)
    assert kinds(old, seen(book())) == {"w": "better"}
    assert kinds(record(seen(book())), early) == {"w": "worse"}
    assert "any" not in baseline.dumps(baseline.recorded(seen(book()), old))


# Gates that one of the two did not check.


def test_a_loss_at_a_gate_that_is_not_checked_now_is_not_judged() -> None:
    old = record(seen(book({"w": "DT601"})))
    found = compare(old, seen(book(checked=AUDIT)))
    assert (found.changes, found.same) == ((), 3)
    assert found.notes == (
        "1 leaf was lost at gate honoured, which was not checked as closely now: no change is "
        "counted",
    )
    assert kinds(old, seen(book())) == {"w": "better"}


def test_a_loss_at_a_gate_that_was_not_checked_before_is_new_and_fails() -> None:
    old = record(seen(book(checked=AUDIT)))
    found = compare(old, seen(book({"w": "DT601"})))
    assert [(c.kind, c.before, c.after) for c in found.changes] == [("new", None, "DT601")]
    assert found.fails
    assert (
        "gate honoured, which was not checked as closely when this was recorded" in found.notes[0]
    )
    assert kinds(record(seen(book())), seen(book({"w": "DT601"}))) == {"w": "worse"}


def open_in_place(copy_of: str | None = None) -> Ledger:
    """Gate in place was looked at and stayed open, perhaps because of a copy."""
    made = book()
    entries = tuple(
        dataclasses.replace(each, evidence={"in_place": "not known"}) for each in made.entries
    )
    copies = (MadeCopy("copy.1", 16, (copy_of,), "x", costs=None),) if copy_of else ()
    return dataclasses.replace(made, entries=entries, copies=copies)


def test_gate_in_place_is_often_open() -> None:
    old = record(seen(book({"w": "DT501"})))
    assert kinds(old, seen(book())) == {}  # nobody looked
    assert kinds(old, seen(open_in_place("state.w"))) == {}  # the copy is still there
    assert kinds(old, seen(open_in_place("state.b"))) == {"w": "better"}  # it is gone
    assert kinds(record(seen(open_in_place())), seen(book({"w": "DT501"}))) == {"w": "worse"}
    assert kinds(record(seen(book())), seen(book({"w": "DT501"}))) == {"w": "new"}


def test_what_only_prove_can_see() -> None:
    undonated = sample.lesson().ledgers[0].live
    proved = seen(book({"w": "DT502"}, undonated=undonated))
    assert kinds(record(proved), seen(open_in_place())) == {}
    assert kinds(record(seen(open_in_place())), proved) == {"w": "new"}


# Findings that are ignored.


def test_an_ignored_loss_does_not_fail_and_is_counted() -> None:
    why = "pyproject.toml: kept for the old checkpoints"
    finding = Finding("DT402", "drift", ("state.w",), ignored=why)
    now = seen(book({"w": "DT402"}))
    ledgers = (dataclasses.replace(now.ledgers[0], findings=(finding,)),)
    ignored = dataclasses.replace(now, ledgers=ledgers)
    old = record(seen(book()))
    found = compare(old, ignored)
    assert (found.changes, found.notes) == ((), (f"1 leaf is lost and ignored: {why}",))
    assert kinds(old, now) == {"w": "worse"}
    assert kinds(record(ignored), now) == {}  # it is recorded as what it is


# Writing what was seen.


def test_only_what_was_met_is_replaced() -> None:
    old = record(
        seen(book({"w": "DT402"}), book({"b": "DT402"}, function="evaluate"), jax="0.10.2"),
        seen(book({"w": "DT402"}), platform="tpu"),
        seen(book({"w": "DT402"}, signature="(state, half)"), book({"b": "DT402"})),
    )
    new = baseline.recorded(seen(book()), old)
    assert kinds(new, seen(book())) == {}
    assert kinds(new, seen(book({"b": "DT402"}))) == {"b": "worse"}
    assert kinds(new, seen(book({"w": "DT402"}), platform="tpu")) == {}
    assert kinds(new, seen(book({"w": "DT402"}), jax="0.10.2")) == {}
    assert kinds(new, seen(book({"b": "DT402"}, function="evaluate"), jax="0.10.2")) == {}
    assert "(state, half)" not in baseline.dumps(new)  # not met any more


def test_what_was_written_behind_a_code_stays() -> None:
    text = baseline.dumps(record(seen(book({"w": "DT402", "b": "DT404"}))))
    edited = text.replace('"DT402"', '"DT402 until the old checkpoints are gone"')
    old = dataclasses.replace(reading.loads(edited, "donation.toml"), folder=HERE)
    now = seen(book({"w": "DT402", "b": "DT404"}))
    assert compare(old, now).changes == ()
    assert baseline.dumps(baseline.recorded(now, old)) == edited
    assert baseline.dumps(baseline.recorded(seen(book({"w": "DT404", "b": "DT404"})), old)) == (
        text.replace(
            'lost."state.b" = "DT404"\n', 'lost."state.{b,w}" = "DT404"  # 2 leaves\n'
        ).replace('lost."state.w" = "DT402"\n', "")
    )


def test_what_got_better_cannot_get_worse_unnoticed() -> None:
    old = record(seen(book({"w": "DT402", "b": "DT402"})))
    mixed = seen(book({"b": "DT402", "step": "DT404"}))
    new = baseline.ratcheted(old, mixed)
    assert new is not None
    assert kinds(new, seen(book({"w": "DT402", "b": "DT402"}))) == {"w": "worse"}
    assert kinds(new, mixed) == {"step": "worse"}  # what got worse was not taken over
    assert baseline.ratcheted(new, mixed) is None
    assert (
        baseline.ratcheted(old, seen(book({"w": "DT402", "b": "DT402", "step": "DT402"}))) is None
    )


def test_what_got_better_on_a_version_or_signature_that_is_not_recorded() -> None:
    old = record(seen(book({"w": "DT402", "b": "DT402"}), jax="0.10.2"))
    better, before = book({"b": "DT402"}), book({"w": "DT402", "b": "DT402"})
    new = baseline.ratcheted(old, seen(better, jax="0.12.0"))
    assert new is not None
    assert kinds(new, seen(before, jax="0.12.0")) == {"w": "worse"}
    assert kinds(new, seen(before, jax="0.10.2")) == {}
    half = dataclasses.replace(better, signature="(state, half)")
    new = baseline.ratcheted(old, seen(half, jax="0.10.2"))
    assert new is not None
    worse = dataclasses.replace(before, signature="(state, half)")
    assert kinds(new, seen(worse, jax="0.10.2")) == {"w": "worse"}
    failing = book({"b": "DT402", "step": "DT402"}, signature="(state, half)")
    assert baseline.ratcheted(old, seen(failing, jax="0.10.2")) is None


# Names of files.


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("/project/src/train.py", Name("src/train.py")),
        (
            "/project/.venv/lib/python3.11/site-packages/flax/nnx.py",
            Name("site-packages/flax/nnx.py"),
        ),
        ("/elsewhere/model.py", Name("model.py", outside=True)),
        ("<stdin>", Name("<stdin>")),
        ("<ipython-input-3-9f0c>", Name("<ipython-input-3-9f0c>")),
        ("/project/\udcff.py", Name("\\udcff.py")),
        (None, Name("")),
    ],
)
def test_names_of_files(file: str | None, name: Name) -> None:
    assert name_of(file, HERE) == name


def test_names_are_relative_to_the_baseline_and_not_to_where_one_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    account = seen(book(location=Location("src/train.py", 3)))
    old = baseline.recorded(account, folder=tmp_path)
    (tmp_path / "src").mkdir()
    monkeypatch.chdir(tmp_path / "src")
    assert [key.file for key in old.records] == ["src/train.py"]
    there = seen(book({"w": "DT402"}, location=Location("train.py", 3)))
    assert kinds(old, there) == {"w": "worse"}


def test_two_programs_have_a_function_of_one_name() -> None:
    fixed = Location("/project/train_repaired.py", 9)
    old = record(seen(book({"w": "DT402"}), book(location=fixed)))
    assert kinds(old, seen(book({"w": "DT402"}))) == {}
    assert kinds(old, seen(book({"w": "DT402"}, location=fixed))) == {"w": "worse"}


def test_functions_that_were_not_met() -> None:
    model = Location("/project/model.py", 9)
    old = record(seen(book(), book(function="evaluate"), book(function="apply", location=model)))
    found = compare(old, seen(book()))
    assert (found.missing, found.fails) == (("evaluate (train.py)",), False)
    assert found.notes == ("1 recorded function was not met, of other files: `model.py`",)
    none = compare(old, seen(program="/project/model.py"))
    assert none.missing == ("apply (model.py)",)
    assert not compare(old, old).missing


def test_a_function_that_was_renamed_may_have_moved() -> None:
    found = compare(record(seen(book())), seen(book({"w": "DT402"}, function="train_step")))
    assert [(c.kind, c.function) for c in found.changes] == [("new", "train_step")]
    assert found.missing == ("step (train.py)",)
    moved = (
        "`train_step (train.py)` has the leaves of `step (train.py)`, which was not met: it may "
        "have moved"
    )
    assert moved in found.notes


@pytest.mark.parametrize("format", ["plain", "markdown", "json"])
def test_reports_say_what_changed_and_since_which_jax(format: str) -> None:  # noqa: A002
    now = seen(book({"w": "DT402"}))
    compared = compare(record(seen(book(), jax="0.10.2")), now)
    text = render(dataclasses.replace(now, comparison=compared), format)
    assert "0.10.2" in text
    assert "state.w" in text
    assert "donation.toml" in text


def test_a_function_that_is_recorded_and_then_broken(tmp_path: Path) -> None:
    import jax
    import jax.numpy as jnp

    import donatree
    from donatree._jax import facts

    def account(dtype: Any, size: int) -> Account:
        def step(state: Any, x: Any) -> Any:
            return {"w": state["w"] + x.sum(), "n": (state["n"] + 1).astype(dtype)}

        state = {"w": jnp.zeros((4, 4)), "n": jnp.zeros((), "int32")}
        ledger = donatree.audit(jax.jit(step, donate_argnums=0), state, jnp.ones(size))
        return Account(ledgers=(ledger,), versions=facts.versions(), platform=ledger.platform)

    file = tmp_path / "donation.toml"
    baseline.write(file, baseline.recorded(account("int32", 3), folder=tmp_path))
    old = baseline.read(file)
    assert compare(old, account("int32", 3)) == compare(old, old)
    found = compare(old, account("float32", 8))
    assert [(c.kind, c.path) for c in found.changes] == [("worse", "state['n']")]
    assert found.changes[0].old_jax == found.changes[0].new_jax == jax.__version__
