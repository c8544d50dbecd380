"""What a user sees of a comparison, of what is ignored, and of ignores that matched nothing."""

from __future__ import annotations

import dataclasses

import pytest

import sample_accounts
from donatree import reports
from donatree.ledger import Account, Change, Comparison, Finding, Location
from donatree.reports import Options
from donatree.reports import changes as changed
from sample_accounts import account, ledger

WORSE = Change(
    "worse",
    "step",
    "(state, batch)",
    "state.step",
    file="train.py",
    bytes=4,
    platform="cpu",
    before="reused",
    after="DT402",
    old_jax="0.10.2",
    new_jax="0.12.0.1",
    location=Location("no_such_file.py", 41),
)


def compared(*changes: Change, **more) -> str:
    found = Comparison("donation.toml", changes=changes, **more)
    return reports.render(Account(comparison=found, versions={"donatree": "0.1.0", "jax": "1"}))


def layers(kind="worse", number=12, **more) -> list[Change]:
    first = dataclasses.replace(WORSE, kind=kind, **more)
    return [
        dataclasses.replace(first, path=f"state.layers[{i}].kernel", bytes=64)
        for i in range(number)
    ]


def test_the_report_of_a_comparison():
    text = reports.render(sample_accounts.compared())
    assert text[text.index("error[worse]") :] == (
        "error[worse]: `step` no longer reuses a leaf\n"
        " --> train.py:41\n"
        "  = leaf: state.step, 4 bytes\n"
        "  = in: step (train.py)\n"
        "  = on: cpu\n"
        "  = was: reused -> DT402 (a donated leaf comes back with another dtype)\n"
        "  = since: reused on JAX 0.10.2, not on JAX 0.12.0.1\n"
        "\n"
        "error[new]: `step` loses a leaf that was not there before\n"
        " --> train.py:41\n"
        "  = leaf: state.ema['w'], 64 bytes\n"
        "  = in: step (train.py)\n"
        "  = on: cpu\n"
        "  = was: not there -> DT402 (a donated leaf comes back with another dtype)\n"
        "\n"
        "compared with donation.toml\n"
        "  1 leaf no longer reused, 1 leaf lost anew, 1 leaf now reused, 1 leaf lost for another"
        " reason, 1\n"
        "  leaf gone, 1 function not met, 2 leaves as before\n"
        "  now reused: state.mu['w'], 64 bytes, in step (train.py): DT402 -> reused; lost on JAX"
        " 0.10.2,\n"
        "              reused on JAX 0.12.0.1\n"
        "  lost for another reason: state.nu['w'], 64 bytes, in step (train.py): DT402 -> DT404;"
        " JAX 0.10.2\n"
        "                           -> 0.12.0.1\n"
        "  gone: state.old['<b>'], 16 bytes, in step (train.py): reused -> not there\n"
        "  not met: evaluate (train.py)\n"
        "  = note: a note\n"
        "\n"
        "1 finding ignored: DT402; `--expand` shows why\n"
        "warning: ignore that matched nothing: pyproject.toml: `DT801` in `nothing`\n"
        "\n"
        "next: donatree explain DT402\n"
    )


def test_an_account_of_nothing_but_a_comparison_does_not_say_that_nothing_was_donated():
    found = Comparison("old.json", "new.json", (WORSE,), 3)
    text = reports.render(Account(comparison=found, versions={"donatree": "0.1.0"}))
    assert text.startswith("donatree 0.1.0\n\nerror[worse]: `step` no longer reuses a leaf\n")
    assert "\nold.json -> new.json\n  1 leaf no longer reused, 3 leaves as before\n" in text
    assert text.endswith("next: donatree explain DT402\n")
    for said in ("asked for donation", "JAX was not used"):
        assert said not in text
        # A program that donated nothing, held against a baseline, is still one.
    assert "no function that was compiled asked for donation" in compared(missing=("step",))


def test_leaves_that_changed_alike_are_one_and_expand_names_each():
    changes = layers()
    text = compared(*changes)
    assert text.count("error[worse]") == 1
    assert "error[worse]: `step` no longer reuses 12 leaves\n" in text
    assert "  = leaves: state.layers[0..11].kernel (12 leaves), 768 bytes\n" in text
    assert "state.layers[7].kernel" not in text
    found = Account(comparison=Comparison("donation.toml", changes=tuple(changes)))
    whole = reports.render(found, options=Options(expand=True))
    assert [f"state.layers[{i}].kernel  64 bytes" in whole for i in range(12)] == [True] * 12


def test_leaves_that_changed_differently_stay_apart():
    odd = dataclasses.replace(layers()[0], after="DT401")
    text = compared(odd, *layers()[1:])
    assert text.count("error[worse]") == 2
    assert "reused -> DT401 (" in text
    assert "reused -> DT402 (" in text
    other = dataclasses.replace(WORSE, function="evaluate")
    assert compared(WORSE, other).count("error[worse]") == 2


def test_platforms_on_which_the_same_leaves_changed_are_told_together():
    platforms = ["cpu", "tpu:v5e:4x4", "gpu", "host"]
    changes = [dataclasses.replace(each, platform=p) for p in platforms for each in layers()]
    text = compared(*changes)
    assert text.count("error[worse]") == 1
    assert "  = on: cpu, tpu:v5e:4x4, gpu and 1 more\n" in text
    assert "12 leaves), 768 bytes\n" in text
    fewer = [*changes[:12], *changes[12:20]]
    assert compared(*fewer).count("error[worse]") == 2


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, "reused on JAX 0.10.2, not on JAX 0.12.0.1"),
        ({"old_jax": "0.12.0.1"}, "JAX is the same, 0.12.0.1"),
        ({"old_jax": None}, None),
        ({"before": None}, None),
        (
            {"kind": "better", "before": "DT402", "after": "reused"},
            "lost on JAX 0.10.2, reused on JAX 0.12.0.1",
        ),
        ({"kind": "other", "before": "DT401"}, "JAX 0.10.2 -> 0.12.0.1"),
        ({"kind": "gone", "after": None}, None),
    ],
)
def test_since_which_jax(change, said):
    turn = changed.Turn((dataclasses.replace(WORSE, **change),))
    assert changed.since(turn) == said


def test_a_signature_is_named_where_several_of_a_function_changed():
    other = dataclasses.replace(WORSE, signature="(state, batch) #2")
    assert "  = in: step (state, batch) #2 (train.py)\n" in compared(WORSE, other)
    assert "(state, batch)" not in compared(WORSE)


def test_what_fails_is_told_first_whatever_the_order():
    better = dataclasses.replace(WORSE, kind="better", before="DT402", after="reused")
    text = compared(better, dataclasses.replace(WORSE, kind="new", before=None), WORSE)
    order = [text.index(each) for each in ("error[worse]", "error[new]", "now reused:")]
    assert order == sorted(order)


def test_nothing_that_changed():
    text = compared(same=1_200)
    assert "\ncompared with donation.toml\n  nothing changed, 1,200 leaves as they were\n" in text
    assert "error" not in text


def test_hostile_names_are_never_acted_on():
    name = "\x1b[31m[red]x\n"
    change = dataclasses.replace(WORSE, function=name, path=name, file=name, platform=name)
    text = compared(change, missing=(name,), notes=(name,))
    assert "\x1b" not in text
    assert "`\\x1b[31m[red]x\\n` no longer reuses a leaf" in text


def ignored(*codes: str, why: str = "pyproject.toml: old checkpoints") -> Account:
    findings = [
        Finding(code, f"it is {n}", (f"s[{n}]",), 4, ignored=why) for n, code in enumerate(codes)
    ]
    return account(ledger([], *findings))


def test_ignored_findings_are_one_line_and_expand_shows_each_with_its_reason():
    made = ignored("DT501", "DT402", "DT402")
    text = reports.render(made)
    assert "\n3 findings ignored: DT402 (2), DT501; `--expand` shows why\n" in text
    assert "it is 1" not in text
    assert "donatree explain" not in text
    whole = reports.render(made, options=Options(expand=True))
    assert "\n3 findings ignored: DT402 (2), DT501\n" in whole
    assert "  DT402: it is 1\n         pyproject.toml: old checkpoints\n" in whole


def test_a_finding_that_is_ignored_for_one_function_only_is_told_for_the_other():
    drift = sample_accounts.DRIFT
    one = ledger([], drift, function="step")
    two = ledger([], dataclasses.replace(drift, ignored="pyproject.toml"), function="other")
    text = reports.render(account(one, two))
    assert text.count("error[DT402]") == 1
    assert "  = in: step\n" in text
    assert "1 finding ignored: DT402" in text


def test_ignores_that_matched_nothing_and_notes_are_told_where_there_are_any():
    text = reports.render(account(unmatched=("pyproject.toml: `DT8`",), notes=("a note",)))
    assert "\nwarning: ignore that matched nothing: pyproject.toml: `DT8`\nnote: a note\n" in text
    assert "ignore" not in reports.render(account())
