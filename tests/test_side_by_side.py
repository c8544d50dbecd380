"""One program on several targets: the table, what fits, the copies, the findings, the refusals."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sample_accounts
from donatree import reports
from donatree.ledger import Account, ArraySpec, Finding, Gate, Leaf, Ledger, Live, Target
from donatree.reports import Options, fit, group, made_copies, per_device, sizes, standing, text
from donatree.reports.text import ASCII, UNICODE
from sample_accounts import GIB, H100, IN_PLACE, V5E, account, entry, ledger, on_target, spec


def plain(lines) -> str:
    return "".join("".join(part for part, _ in line) + "\n" for line in lines)


def rendered(made: Account, width: int = 100, **options) -> str:
    return reports.render(made, options=Options(width=width, **options))


def table(report: str) -> str:
    """The part of a report that compares leaf by leaf."""
    return report.split("\n\n")[2]


def test_the_report_of_one_step_on_three_targets():
    assert rendered(sample_accounts.targets(), 120) == (
        "donatree 0.1.0: train.py, jax 0.12.0.1, cpu\n"
        "\n"
        "train_step (train.py:41)  3 targets\n"
        "  (state: State, tokens: int32[16,2048]) #9f02\n"
        "\n"
        "                                global bytes  host             tpu:v5e:4x4      "
        "cuda:h100:1x1x8\n"
        "  state\n"
        "    step: int32[]                    4 bytes  ✗ matched DT402  ✗ matched DT402  "
        "✗ matched DT402\n"
        "    params: 12 leaves               1.25 GiB  ✓ in place       ✓ in place       "
        "✓ in place\n"
        "    mu: 12 leaves                   1.25 GiB  ✓ in place       ✓ in place       "
        "✓ in place\n"
        "    flipped: float32[8192,512]     16.00 MiB  ✗ copy DT501     ✓ in place       "
        "✓ in place\n"
        "  copy: granted, and a copy takes the bytes back; a gate's name: where the leaf was lost\n"
        "\n"
        "  per device                                bytes in place                   live memory\n"
        "  host             cpu                      2.50 of 2.52 GiB                 "
        "4.00 GiB, device memory not known\n"
        "  tpu:v5e:4x4      TPU v5 lite, 16 devices  all but 512 bytes of 161.01 MiB  "
        "19.86 of 15.75 GiB, does not fit\n"
        "  cuda:h100:1x1x8  NVIDIA H100, 8 devices   all but 4 bytes of 322.02 MiB    "
        "4.00 of 79.11 GiB, fits\n"
        "  tpu:v5e:4x4 pads arrays to its own layout: the promised 168,828,932 bytes of values "
        "take 168,829,440\n"
        "\n"
        "  copies of donated leaves\n"
        "    only the CPU: 1 copy, 16.00 MiB, of state.flipped\n"
        "    tpu:v5e:4x4 and cuda:h100:1x1x8: none\n"
        "\n"
        "  does not fit tpu:v5e:4x4: 4.11 GiB (4,413,078,896 bytes) per device too much\n"
        "    needs 19.86 GiB (21,324,512,624), a device has 15.75 GiB (16,911,433,728, XLA refuses "
        "more than that)\n"
        "    its largest buffers:\n"
        "      6.00 GiB  argument and output  state.params[0..3]['mlp']: f32[4,4096,16384]\n"
        "      6.00 GiB  argument and output  state.mu[0..3]['mlp']: f32[4,4096,16384]\n"
        "      3.50 GiB  temporary            transpose(jvp(dot_general)): bf16[4,16,2048,16384] "
        "(train.py:57)\n"
        "  = note: on cuda:h100:1x1x8: temporaries are an estimate: they depend on what the card "
        "itself would choose\n"
        "\n"
        "not compiled: evaluate for cuda:h100:1x1x8 (2 signatures): a `pure_callback` inside\n"
        "\n"
        "warning[DT501]: the leaf is reused, but a copy protects a value that is still to be read: "
        "16,777,216 bytes not saved\n"
        " --> no_such_file.py:50\n"
        "  = leaf: state.flipped, 16.00 MiB (16,777,216 bytes)\n"
        "  = on: host only\n"
        "  = note: only the CPU makes this copy: on tpu:v5e:4x4 and cuda:h100:1x1x8 the leaf stays "
        "in place\n"
        "  = help: let the last read of the old value come before the new one is written\n"
        "\n"
        "error[DT402]: an int32 leaf is returned as float32\n"
        " --> no_such_file.py:41\n"
        "  = leaf: state.step, 512 bytes\n"
        "  = on: all 3 targets: host, tpu:v5e:4x4, cuda:h100:1x1x8\n"
        "  = note: `state.step` is int32[], `result.step` is float32[]\n"
        "  = note: 4 bytes on host, 512 bytes on tpu:v5e:4x4 and 4 bytes on cuda:h100:1x1x8, each "
        "as its target lays them out\n"
        "  = help: return `state.step + 1`, which stays int32\n"
        "\n"
        "next: donatree explain DT402\n"
        "codes seen: DT402, DT501\n"
    )


def test_on_a_narrow_page_targets_that_agree_share_a_column_and_each_has_its_own_lines():
    report = rendered(sample_accounts.targets(), 80)
    assert table(report) == (
        "                                                               tpu:v5e:4x4\n"
        "                                global bytes  host             cuda:h100:1x1x8\n"
        "  state\n"
        "    step: int32[]                    4 bytes  ✗ matched DT402  ✗ matched DT402\n"
        "    params: 12 leaves               1.25 GiB  ✓ in place       ✓ in place\n"
        "    mu: 12 leaves                   1.25 GiB  ✓ in place       ✓ in place\n"
        "    flipped: float32[8192,512]     16.00 MiB  ✗ copy DT501     ✓ in place\n"
        "  copy: granted, and a copy takes the bytes back; a gate's name: where the leaf\n"
        "  was lost"
    )
    assert (
        "  per device\n"
        "    host  cpu\n"
        "      bytes in place: 2.50 of 2.52 GiB\n"
        "      live memory: 4.00 GiB, device memory not known\n"
        "    tpu:v5e:4x4  TPU v5 lite, 16 devices\n"
        "      bytes in place: all but 512 bytes of 161.01 MiB\n"
        "      live memory: 19.86 of 15.75 GiB, does not fit\n"
    ) in report


def test_too_many_targets_for_columns_become_a_line_for_each_verdict():
    report = rendered(sample_accounts.many_targets(), 80)
    assert table(report).startswith(
        "                                bytes per device\n"
        "  state\n"
        "    step: int32[]                        4 bytes  ✗ matched DT402 on all\n"
        "    params: 12 leaves                  80.00 MiB\n"
        "        ✓ in place  host, tpu:v2:4x4, tpu:v3:4x4, tpu:v4:2x2x4, tpu:v5e:4x4,\n"
        "                    tpu:v5p:2x2x4, tpu:v6e:4x4, tpu:tpu7x:2x2x2, cuda:h100:1x1x8\n"
        "        ? open      cuda:mine.txt\n"
    )
    assert "open: granted, and not known whether the bytes stay saved" in report
    assert "    the other 8 targets: none\n    cuda:mine.txt: not known\n" in report
    assert (
        "  = note: only the CPU makes this copy: on the other 8 targets the leaf stays in\n"
        "          place; on cuda:mine.txt that is not known\n"
    ) in report
    assert "      bytes in place: all but 4 bytes of 161.01 MiB, all of it open\n" in report


# What no source line or code can make longer; both are given, and the reader's own.
_OF_FINDINGS = re.compile(r"^(error|warning|note)\[|^alias|^  alias")


@pytest.mark.parametrize("name", ["targets", "one target", "many targets"])
@pytest.mark.parametrize("width", [80, 100, 120])
@pytest.mark.parametrize("unicode", [True, False])
def test_nothing_is_wider_than_the_page(name, width, unicode):
    # The tree of one target has its own floor for a slot's path, which is not looked at here.
    report = rendered(sample_accounts.everything()[name], width, unicode=unicode)
    lines = [line for line in report.splitlines() if not _OF_FINDINGS.match(line)]
    wide = [line for line in lines if text.cells(line) > width and "->" not in line]
    assert [line for line in wide if "returned as" not in line] == []


def state(*standings: tuple[Gate | None, str | None], **more) -> Ledger:
    """A ledger of leaves that fared so."""
    rows = [
        entry(f"s.{'abcdefgh'[i]}", i, spec("float32", 8), stopped_at=gate, finding=code)
        for i, (gate, code) in enumerate(standings)
    ]
    return ledger(rows, **{"checked": IN_PLACE, "live": Live(64, 64, 64, 0), **more})


def on(name: str, made: Ledger, platform: str = "tpu", memory: int | None = GIB) -> Ledger:
    return replace(made, target=Target(name, platform, memory=memory), platform=platform)


KEPT = (None, None)
LOST = (Gate.GRANTED, "DT401")


def test_the_table_shows_a_difference_and_without_one_it_has_none():
    """The meta-test: the same leaves, once alike and once not."""
    same = [on(f"t{i}", state(KEPT, KEPT)) for i in range(3)]
    alike = table(rendered(account(*same)))
    assert (alike.count("in place"), alike.count("granted")) == (6, 0)
    for number in range(3):
        made = list(same)
        made[number] = on(f"t{number}", state(KEPT, LOST))
        shown = table(rendered(account(*made))).splitlines()
        heads, (row,) = shown[0], [line for line in shown if "    b: " in line]
        assert row.count("✗ granted DT401") == 1
        assert row.index("✗") == heads.index(f"t{number}")
        narrow = table(rendered(account(*made), 40))
        assert f"✗ granted DT401  t{number}\n" in narrow


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.lists(st.sampled_from([KEPT, LOST, (Gate.IN_PLACE, "DT501")]), min_size=3, max_size=3),
        min_size=2,
        max_size=5,
    ),
    st.sampled_from([40, 80, 120]),
)
def test_every_verdict_of_every_leaf_can_be_read_from_the_table(fared, width):
    made = [on(f"target{i}", state(*each)) for i, each in enumerate(fared)]
    report = rendered(account(*made), width, expand=True)
    words = {KEPT: "✓ in place", LOST: "✗ granted DT401", (Gate.IN_PLACE, "DT501"): "✗ copy DT501"}
    names = [f"target{i}" for i in range(len(fared))]
    assert read_back(table(report), names) == [
        {f"target{i}": words[each[leaf]] for i, each in enumerate(fared)} for leaf in range(3)
    ]


def read_back(shown: str, every: list[str]) -> list[dict[str, str]]:
    """What a reader makes of a table: for each leaf, of each target, its verdict."""
    verdict = re.compile(r"(✓ in place|✗ granted DT401|✗ copy DT501)")
    names = re.compile(r"target\d")
    lines = shown.splitlines()
    start = next(i for i, line in enumerate(lines) if line.strip() == "s")
    heads: dict[int, list[str]] = {}
    for line in lines[:start]:
        for found in names.finditer(line):
            heads.setdefault(found.start(), []).append(found[0])
    leaves: list[dict[str, str]] = []
    held = ""
    for line in lines[start + 1 :]:
        if re.match(r"    [abc]: ", line):
            leaves.append({})
            for found in verdict.finditer(line):
                leaves[-1] |= dict.fromkeys(heads.get(found.start(), ()), found[0])
            if line.endswith(" on all"):
                leaves[-1] |= {name: verdict.findall(line)[0] for name in every}
            held = ""
        elif leaves and (names.search(line)):
            held = (verdict.findall(line) or [held])[0]
            leaves[-1] |= dict.fromkeys(names.findall(line), held)
    return leaves


# Which ledgers belong together


def test_ledgers_of_one_signature_belong_together_and_a_target_stands_once_in_each():
    first = state(KEPT)
    other = replace(first, signature="(other) #2")
    made = [first, other, on("tpu:a", first), on("tpu:a", other), replace(first)]
    found = group.groups(made)
    assert [[group.name_of(each) for each in one.ledgers] for one in found] == [
        ["host", "tpu:a"],
        ["host", "tpu:a"],
        ["host"],
    ]
    assert [one.first.signature for one in found] == [
        "(state, batch)",
        "(other) #2",
        "(state, batch)",
    ]


def test_arguments_that_follow_the_number_of_devices_are_still_one_program():
    made = [
        on(f"tpu:{n}", replace(state(KEPT), signature=f"(s, batch: int32[{n}])", devices=n))
        for n in (4, 8)
    ]
    report = rendered(account(*made))
    assert "step (train.py:41)  2 targets\n" in report
    assert "  tpu:4: (s, batch: int32[4])\n  tpu:8: (s, batch: int32[8])\n" in report
    third = on("tpu:4", replace(state(KEPT), signature="(s, batch: int32[9])"))
    assert [len(one.ledgers) for one in group.groups([*made, third])] == [1, 1, 1]


def test_another_function_stands_alone_and_each_target_has_its_total():
    made = [state(KEPT), on("tpu:a", state(LOST)), state(KEPT, function="other")]
    report = rendered(account(*made))
    assert "\nother (train.py:41)  cpu\n" in report
    assert "all 2 compiled functions on host: 64 of 64 bytes (100.0%), 2 of 2 leaves\n" in report
    assert "on tpu:a: " not in report


def test_of_many_signatures_on_targets_the_first_and_the_worst_are_shown():
    made = [
        each
        for n in range(5)
        for each in (
            replace(state(KEPT), signature=f"#{n}"),
            on("tpu:a", replace(state(LOST if n == 3 else KEPT), signature=f"#{n}")),
        )
    ]
    report = rendered(account(*made))
    assert ("\n  #0\n" in report, "\n  #3\n" in report, "\n  #1\n" in report) == (True, True, False)
    assert "and 3 more signatures of `step`: 192 of 192 bytes over all targets; " in report
    assert rendered(account(*made), expand=True).count("2 targets") == 5


# What became of a leaf


@pytest.mark.parametrize(
    ("gate", "code", "evidence", "checked", "shown"),
    [
        (None, None, None, IN_PLACE, "✓ in place"),
        (None, "DT408", None, IN_PLACE, "✓ in place DT408"),
        (None, None, None, IN_PLACE[:-1], "? open"),
        (None, None, "not known: no copy", IN_PLACE[:-1], "? open"),
        (None, None, "temporaries hold 0 bytes", IN_PLACE[:-1], "✓ in place"),
        (None, None, None, IN_PLACE[:-2], "? not compiled"),
        (Gate.ASKED, "DT101", None, IN_PLACE, "✗ asked DT101"),
        (Gate.IN_PLACE, "DT501", None, IN_PLACE, "✗ copy DT501"),
        (Gate.IN_PLACE, "DT502", None, IN_PLACE, "✗ copy DT502"),
        (Gate.IN_PLACE, "DT503", None, IN_PLACE, "✗ taken back DT503"),
        (Gate.HONOURED, None, None, tuple(Gate), "✗ honoured"),
    ],
)
def test_the_words_of_a_cell(gate, code, evidence, checked, shown):
    read = {"in_place": evidence} if evidence else {}
    row = entry("s.w", 0, spec("int32"), stopped_at=gate, finding=code, evidence=read)
    made = ledger([row], checked=checked)
    assert plain([standing.cell([standing.of(made, row)], UNICODE)]) == shown + "\n"


def test_a_cell_of_leaves_that_fared_differently_counts_them():
    rows = [
        entry("s.a", 0, spec("int32")),
        entry("s.b", 1, spec("int32"), stopped_at=Gate.KEPT, finding="DT201"),
    ]
    made = ledger(rows, checked=IN_PLACE)
    fared = [standing.of(made, row) for row in rows]
    assert plain([standing.cell([*fared, fared[0]], ASCII)]) == "x  1 of 3 lost\n"
    assert plain([standing.cell([standing.ABSENT], ASCII)]) == "-  not donated\n"


def test_a_leaf_that_one_target_was_not_promised_is_told():
    both = [state(KEPT, KEPT), on("tpu:a", state(KEPT))]
    shown = table(rendered(account(*both)))
    assert re.search(r"b: float32\[8\] +32 bytes  ✓ in place  - not donated$", shown)


# Memory


def needs(total: int, memory: int | None) -> Ledger:
    return replace(on("tpu:x", state(KEPT), memory=memory), live=Live(total, 0, 0, 0))


@pytest.mark.parametrize(
    ("total", "memory", "shown"),
    [
        (3 * GIB, 4 * GIB, "3.00 of 4.00 GiB, fits"),
        (4 * GIB, 4 * GIB, "4.00 of 4.00 GiB, fits"),
        (4 * GIB + 1, 4 * GIB, "4,294,967,297 of 4,294,967,296 bytes, does not fit"),
        (4 * GIB - 1, 4 * GIB, "4,294,967,295 of 4,294,967,296 bytes, fits"),
        (512, 4 * GIB, "512 bytes of 4.00 GiB, fits"),
        (512, None, "512 bytes, device memory not known"),
    ],
)
def test_live_memory_against_the_device(total, memory, shown):
    assert plain([fit.verdict(needs(total, memory))]) == shown + "\n"
    told = plain(fit.lines(needs(total, memory), UNICODE))
    assert told.startswith("does not fit tpu:x: 1 byte per device too much\n") == (
        "does not fit" in shown
    )


def test_figures_that_are_compared_never_read_the_same_where_they_differ():
    assert sizes.of(84, 84) == "84 of 84 bytes"
    assert sizes.of(1, 84) == "1 of 84 bytes"
    assert sizes.of(0, 1) == "0 of 1 byte"
    assert sizes.of(GIB, GIB) == "1.00 of 1.00 GiB"


def test_a_single_ledger_of_a_target_has_it_in_its_heading_and_says_what_does_not_fit():
    report = rendered(sample_accounts.one_target())
    assert "\ntrain_step (train.py:41)  tpu:v5e:4x4, TPU v5 lite, 16 devices\n" in report
    assert "\n  live memory per device 19.86 of 15.75 GiB, does not fit\n" in report
    assert (
        "\n"
        "  does not fit tpu:v5e:4x4: 4.11 GiB (4,413,078,896 bytes) per device too much\n"
        "    needs 19.86 GiB (21,324,512,624), a device has 15.75 GiB (16,911,433,728, XLA refuses"
        " more than\n"
        "    that)\n"
        "    its largest buffers:\n"
        "      6.00 GiB  argument and output  state.params[0..3]['mlp']: f32[4,4096,16384]\n"
    ) in report
    assert "= on: " not in report
    assert "only the CPU" not in report


def test_a_program_that_spans_fewer_devices_than_its_target_says_so():
    made = replace(on_target(V5E, 1), devices=1)
    assert "  tpu:v5e:4x4, TPU v5 lite, 1 of 16 devices\n" in rendered(account(made))


def test_padding_is_told_where_the_layout_has_other_bytes():
    assert per_device.plain_bytes(ArraySpec("key<fry>", (4,), (2,), 4096, 32)) == 16
    assert per_device.plain_bytes(ArraySpec("float32", (0, 4), (0, 4), 0, 0)) == 0
    assert plain(per_device.padding(on_target(V5E, 16))) == ""
    assert plain(per_device.padding(on_target(None, 1, pads_to=512))) == ""
    wide = Leaf("s.w", "s", 0, ArraySpec("float32", (1024, 3), (1024, 3), 524288, 12288))
    made = on("tpu:x", ledger([replace(entry("s.w", 0, spec("int32")), leaf=wide)]))
    assert plain(per_device.padding(made)) == (
        "tpu:x pads arrays to its own layout: the promised 12.00 KiB of values take 512.00 KiB\n"
    )


# Copies and findings


def test_a_copy_that_another_target_makes_too_is_not_called_the_cpus():
    finding = sample_accounts.copied("state.flipped", 4)
    host, tpu, gpu = (
        on_target(None, 1, copies=True),
        on_target(V5E, 1),
        on_target(H100, 1, copies=True),
    )
    assert made_copies.only(finding, [host], [tpu]) == (
        "only the CPU makes this copy: on tpu:v5e:4x4 the leaf stays in place"
    )
    assert made_copies.only(finding, [host], [tpu, gpu]) is None
    assert made_copies.only(finding, [host], []) is None
    assert made_copies.only(replace(finding, code="DT503"), [host], [tpu]) is None
    assert made_copies.only(finding, [gpu], [host]) is None, "the CPU copies it as well"
    small = on_target(replace(V5E, name="tpu:v5e:1x1"), 1, copies=True)
    assert (made_copies.only(finding, [small], [tpu]) or "").startswith("only tpu:v5e:1x1 makes")
    report = rendered(account(host, tpu, gpu))
    assert "    host and cuda:h100:1x1x8: 1 copy on host, 16.00 MiB, of state.flipped\n" in report
    assert "  = on: host, cuda:h100:1x1x8\n" in report
    assert "only the CPU" not in report


def test_a_target_of_which_nothing_was_read_is_not_said_to_save_the_copy():
    host, tpu = on_target(None, 1, copies=True), on_target(V5E, 1)
    rows = tuple(replace(e, evidence={}) for e in tpu.entries)
    unread = replace(tpu, entries=rows, checked=IN_PLACE[:-1], live=None)
    report = rendered(account(host, unread))
    assert "makes this copy" not in report
    assert "    tpu:v5e:4x4: not known\n" in report


def test_no_copies_anywhere_is_one_line():
    made = [on_target(None, 1), on_target(V5E, 16)]
    assert "\n  copies of donated leaves: none on host and tpu:v5e:4x4\n" in rendered(
        account(*made)
    )


def test_a_finding_of_two_programs_is_counted_by_program_and_not_by_target():
    finding = Finding("DT401", "returned as bfloat16", leaves=("s.a",), bytes=32)
    one = state(LOST, findings=(finding,))
    two = replace(one, signature="#2")
    made = [one, on("tpu:a", one), two, on("tpu:a", two)]
    report = rendered(account(*made))
    assert report.count("error[DT401]") == 1
    assert "  = in: step (2 signatures)\n  = on: both targets: host, tpu:a\n" in report
    assert "signatures is shown" not in report


def test_whose_facts_a_shared_finding_tells_is_said_where_they_differ():
    finding = Finding(
        "DT401", "returned as bfloat16", leaves=("s.a",), bytes=32, notes=("`copy.1`",)
    )
    one = state(LOST, findings=(finding,))
    same = rendered(account(one, on("tpu:a", one)))
    assert "these facts" not in same
    two = replace(one, findings=(replace(finding, notes=("`copy.2`",)),))
    report = rendered(account(one, on("tpu:a", two)))
    assert "  = note: `copy.1`\n  = note: these facts are those of host\n" in report
    assert "copy.2" not in report


def test_a_note_of_all_targets_stands_once():
    made = [replace(state(KEPT), notes=("of all", "of host"))]
    made.append(on("tpu:a", replace(state(KEPT), notes=("of all",))))
    report = rendered(account(*made))
    assert report.count("of all") == 1
    assert "  = note: of all\n  = note: on host: of host\n" in report


def test_what_donation_saves_has_a_column_where_it_was_measured():
    proved = replace(state(KEPT), undonated=Live(64, 64, 0, 32))
    report = rendered(account(proved, on("tpu:a", state(KEPT))), 120)
    assert re.search(r"live memory +donation saves\n  host +cpu .* 96 bytes\n", report)


# Refusals and names


def test_refusals_alone_are_the_whole_report():
    made = replace(sample_accounts.targets(), ledgers=())
    assert rendered(made) == (
        "donatree 0.1.0: train.py, jax 0.12.0.1, cpu\n"
        "\n"
        "not compiled: evaluate for cuda:h100:1x1x8 (2 signatures): a `pure_callback` inside\n"
    )


def test_names_of_targets_and_buffers_are_never_read_as_markup_or_codes():
    for width in (60, 100, 160):
        report = rendered(sample_accounts.hostile_targets(), width)
        assert "\x1b" not in report
        assert "\x9b" not in report
        assert "cuda:[red]\\x1b[31m/漢字.txt" in report
        assert "3.00 GiB  \\x1b[1m  state['[/]\\x1b']" in report
        assert "not compiled: <lambda>[red]\\x1b for" in report


def test_evidence_stands_under_its_leaf_by_target():
    report = rendered(sample_accounts.targets(), 120, evidence=True)
    assert (
        "        host, granted: input_output_alias {25}\n"
        "        host, in place: no copy protects it\n"
        "        tpu:v5e:4x4, granted: input_output_alias {25}\n"
    ) in report
