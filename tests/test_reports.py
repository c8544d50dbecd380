"""What a user sees: sizes, funnel, tree, findings and the whole report."""

from __future__ import annotations

import dataclasses
import io
import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sample_accounts
from donatree import reports
from donatree.ledger import Account, Finding, Gate, Ledger, Live, Location
from donatree.reports import Options, diagnostic, folding, funnel, sizes, text, tree
from donatree.reports.text import ASCII, UNICODE
from sample_accounts import account, entry, ledger, spec


def plain(lines) -> str:
    return "".join("".join(part for part, _ in line) + "\n" for line in lines)


def shown_tree(made, **options) -> str:
    return plain(tree.lines(made, UNICODE, **options))


# Sizes


@pytest.mark.parametrize(
    ("n", "short", "size"),
    [
        (0, "0 bytes", "0 bytes"),
        (1, "1 byte", "1 byte"),
        (84, "84 bytes", "84 bytes"),
        (9_999, "9,999 bytes", "9,999 bytes"),
        (10_000, "9.77 KiB", "9.77 KiB (10,000 bytes)"),
        (1_572_864, "1.50 MiB", "1.50 MiB (1,572,864 bytes)"),
        (1024**2 - 1, "1.00 MiB", "1.00 MiB (1,048,575 bytes)"),
        (1000 * 1024, "1,000.00 KiB", "1,000.00 KiB (1,024,000 bytes)"),
        (3 * 1024**6, "3.00 EiB", "3.00 EiB (3,458,764,513,820,540,928 bytes)"),
        (4096 * 1024**6, "4,096.00 EiB", "4,096.00 EiB (4,722,366,482,869,645,213,696 bytes)"),
    ],
)
def test_sizes(n, short, size):
    assert sizes.short(n) == short
    assert sizes.size(n) == size


def test_exact_and_counts():
    assert sizes.exact(1_572_864) == "1,572,864 bytes"
    assert (sizes.leaves(1), sizes.leaves(1_000)) == ("1 leaf", "1,000 leaves")


# The funnel


def lesson_granted() -> Ledger:
    """The lesson's state where XLA and not JAX refused the counter."""
    (made,) = sample_accounts.lesson().ledgers
    *rows, lost = made.entries
    return replace(made, entries=(*rows, replace(lost, stopped_at=Gate.GRANTED)))


def test_the_funnel_on_one_line_is_that_of_the_lesson():
    line = funnel.line(lesson_granted())
    assert line == "promised 84 -> asked 84 -> kept 84 -> matched 84 -> granted 80"


def test_the_funnel_leaves_out_gates_that_were_not_checked():
    made = replace(lesson_granted(), checked=(Gate.ASKED, Gate.GRANTED, Gate.IN_PLACE))
    assert funnel.line(made) == "promised 84 -> asked 84 -> granted 80 -> in place 80"


def test_the_funnel_shows_each_narrowing_with_its_codes():
    rows = [
        entry("s.a", 0, spec("float32", 1), stopped_at=Gate.KEPT, finding="DT201"),
        entry("s.b", 1, spec("float32", 8), stopped_at=Gate.KEPT, finding="DT202"),
        entry("s.c", 2, spec("float32", 9)),
        entry("s.d", 3, spec("float32", 0), stopped_at=Gate.IN_PLACE),
    ]
    made = ledger(rows, checked=tuple(Gate))
    assert plain(funnel.lines(made, UNICODE)) == (
        "promised  72 bytes  4 leaves  ━━━━━━━━━━━━━━━━━━━━━━━━\n"
        "asked     72 bytes  4 leaves  ━━━━━━━━━━━━━━━━━━━━━━━━\n"
        "kept      36 bytes  2 leaves  ━━━━━━━━━━━━┄┄┄┄┄┄┄┄┄┄┄┄"
        "  36 bytes, 2 leaves lost  DT202, DT201\n"
        "matched   36 bytes  2 leaves  ━━━━━━━━━━━━┄┄┄┄┄┄┄┄┄┄┄┄\n"
        "granted   36 bytes  2 leaves  ━━━━━━━━━━━━┄┄┄┄┄┄┄┄┄┄┄┄\n"
        "in place  36 bytes    1 leaf  ━━━━━━━━━━━━┄┄┄┄┄┄┄┄┄┄┄┄  0 bytes, 1 leaf lost\n"
        "honoured  36 bytes    1 leaf  ━━━━━━━━━━━━┄┄┄┄┄┄┄┄┄┄┄┄\n"
        "36 of 72 bytes, 1 of 4 leaves\n"
    )
    assert plain(funnel.lines(made, ASCII)) == (
        "promised 72 -> asked 72 -> kept 36 -> matched 36 -> granted 36"
        " -> in place 36 -> honoured 36\n"
        "lost at kept: 36 bytes, 2 leaves  DT202, DT201\n"
        "lost at in place: 0 bytes, 1 leaf\n"
        "36 of 72 bytes, 1 of 4 leaves\n"
    )


def test_a_bar_is_full_only_where_nothing_is_lost():
    big, small = spec("float32", 1_000_000), spec("float32", 1)
    for lost, kept, cells in [(small, big, 23), (big, small, 1)]:
        rows = [entry("s.a", 0, kept), entry("s.b", 1, lost, stopped_at=Gate.GRANTED)]
        first, *_, last, _ = plain(funnel.lines(ledger(rows), UNICODE)).splitlines()
        assert (first.count("━"), first.count("┄")) == (24, 0)
        assert (last.count("━"), last.count("┄")) == (cells, 24 - cells)


def test_the_funnel_on_one_line_stays_exact_where_rounding_would_hide_a_loss():
    rows = [
        entry("s.a", 0, spec("uint8", 5 * 1024**3)),
        entry("s.b", 1, spec("uint8", 4), stopped_at=Gate.GRANTED),
    ]
    assert funnel.line(ledger(rows)).endswith("matched 5,368,709,124 -> granted 5,368,709,120")
    assert funnel.line(ledger(rows[:1])).endswith("matched 5.00 GiB -> granted 5.00 GiB")


# The tree


def test_a_short_tree_shows_every_leaf():
    (made,) = sample_accounts.lesson().ledgers
    assert shown_tree(made) == (
        "state\n"
        "  w: float32[4,4]  64 bytes  ✓ -> result.w\n"
        "  b: float32[4]    16 bytes  ✓ -> result.b\n"
        "  step: int32[]     4 bytes  ✗ matched DT402  returned as float32[]\n"
    )


def test_evidence_stands_under_its_leaf():
    (made,) = sample_accounts.lesson().ledgers
    assert shown_tree(made, evidence=True).endswith(
        "✗ matched DT402  returned as float32[]\n"
        "      asked: args_info: donated\n"
        "      matched: @main %arg2: no attribute\n"
    )


def test_an_argument_that_is_one_leaf_and_several_arguments():
    rows = [entry("x", 0, spec("float32", 2)), entry("args[1].w", 1, spec("int32"))]
    assert shown_tree(ledger(rows)) == (
        "x: float32[2]     8 bytes  ✓ -> result\nargs[1].w: int32[]  4 bytes  ✓ -> result[1].w\n"
    ).replace("x: float32[2]     8", "x: float32[2]       8")


def test_global_bytes_stand_beside_those_per_device():
    (made,) = sample_accounts.sharded().ledgers
    assert shown_tree(made) == (
        "params\n"
        "  ['w']: float32[4096,1024]     2.00 MiB (16.00 MiB global)  ✓ -> result['w']\n"
        "  ['b']: float32[4096]       2,048 bytes (16.00 KiB global)  ✗ granted DT404\n"
        "step: int32[]                                       4 bytes  ✓ -> result\n"
    )


def test_a_slot_that_is_not_the_successor_and_a_leaf_with_a_warning_are_told():
    rows = [
        entry("s.mu", 0, spec("float32", 2), slot="result.nu"),
        entry("s.step", 1, spec("int32"), finding="DT405"),
        replace(entry("s.w", 2, spec("int32")), slot=None),
    ]
    assert shown_tree(ledger(rows)) == (
        "s\n"
        "  mu: float32[2]  8 bytes  ✓ -> result.nu, not result.mu\n"
        "  step: int32[]   4 bytes  ✓ -> result.step DT405\n"
        "  w: int32[]      4 bytes  ✓\n"
    )


def test_a_path_that_comes_twice_stays_two_leaves():
    rows = [entry("s.a", 0, spec("int32")), entry("s.a", 1, spec("uint8"))]
    assert shown_tree(ledger(rows)) == (
        "s\n  a: int32[]  4 bytes  ✓ -> result.a\n  a: uint8[]   1 byte  ✓ -> result.a\n"
    )


def layers(number, odd=()):
    shapes = {"kernel": (256, 256), "bias": (256,), "scale": (256,)}
    for i in range(number):
        for name, shape in shapes.items():
            lost = name == "bias" or i in odd
            yield entry(
                f"state.layers[{i}].{name}",
                3 * i + list(shapes).index(name),
                spec("float32", *shape),
                stopped_at=Gate.GRANTED if lost else None,
                finding="DT401" if lost else None,
                successor=spec("bfloat16", *shape) if lost else None,
            )


def test_like_layers_are_folded_into_one():
    assert shown_tree(ledger(layers(24))) == (
        "state.layers\n"
        "  [0..23]\n"
        "    kernel: 24 x float32[256,256]   6.00 MiB  ✓ -> result.layers[0..23].kernel\n"
        "    bias: 24 x float32[256]        24.00 KiB  ✗ granted DT401"
        "  returned as bfloat16[256]\n"
        "    scale: 24 x float32[256]       24.00 KiB  ✓ -> result.layers[0..23].scale\n"
    )


def test_a_layer_that_fared_otherwise_is_not_folded_in():
    assert shown_tree(ledger(layers(24, odd=(5,)))) == (
        "state.layers\n"
        "  [0..4,6..23]\n"
        "    kernel: 23 x float32[256,256]    5.75 MiB  ✓ -> result.layers[0..4,6..23].kernel\n"
        "    bias: 23 x float32[256]         23.00 KiB  ✗ granted DT401"
        "  returned as bfloat16[256]\n"
        "    scale: 23 x float32[256]        23.00 KiB  ✓ -> result.layers[0..4,6..23].scale\n"
        "  [5]: 3 leaves                    258.00 KiB  ✗ granted DT401\n"
    )


def test_a_long_tree_is_folded_where_leaves_fared_alike():
    (made,) = sample_accounts.transformer().ledgers
    assert len(made.entries) == 184
    assert shown_tree(made) == (
        "state\n"
        "  step: int32[]         4 bytes  ✗ matched DT402  returned as float32[]\n"
        "  params: 61 leaves  158.62 MiB  ✓ -> result.params\n"
        "  opt_state[0]\n"
        "    mu: 61 leaves    158.62 MiB  ✗ granted DT401\n"
        "    nu: 61 leaves    158.62 MiB  ✓ -> result.opt_state[0].nu\n"
    )
    whole = shown_tree(made, expand=True)
    assert whole.count("✓") + whole.count("✗") == 184
    assert (
        "      ['attn']\n"
        "        ['qkv']['kernel']: float32[512,1536]         3.00 MiB  "
        "✓ -> result.params['block_0']['attn']['qkv']['kernel']\n"
    ) in whole


def test_slots_that_follow_no_pattern_are_counted():
    rows = [
        entry(f"s.p['{name}']", i, spec("uint8", 2), slot=f"result[{'dcba'.index(name[0])}]")
        for i, name in enumerate(f"{first}{n}" for n in range(11) for first in "abcd")
    ]
    rows.append(entry("s.q", 50, spec("uint8", 3)))
    assert shown_tree(ledger(rows)) == (
        "s\n  p: 44 leaves  88 bytes  ✓ -> 44 slots\n  q: uint8[3]    3 bytes  ✓ -> result.q\n"
    )


def test_the_largest_losses_of_a_wide_tree_are_shown():
    rows = [
        entry(
            f"p['{chr(97 + i // 26)}{chr(97 + i % 26)}']",
            i,
            spec("uint8", i + 1),
            stopped_at=Gate.KEPT if i % 6 == 0 else None,
        )
        for i in range(600)
    ]
    lines = shown_tree(ledger(rows)).splitlines()
    assert len(lines) == 40
    assert lines[0] == "p"
    assert lines[1] == "  ['oi']: uint8[373]    373 bytes  ✗ kept"
    assert lines[38] == "  ['ww']: uint8[595]    595 bytes  ✗ kept"
    assert lines[39] == "  and 562 more leaves  158.11 KiB  ✗ 62 of 562 leaves lost, 11.14 KiB"


def test_a_few_lost_leaves_far_apart_are_shown_by_their_paths():
    rows = [
        entry(
            f"s['{a}']['{b}'].{c}",
            i,
            spec("uint8", 8),
            stopped_at=Gate.GRANTED if (a, b, c) in [("q", "b", "c"), ("r", "d", "a")] else None,
        )
        for i, (a, b, c) in enumerate((a, b, c) for a in "qrs" for b in "abcde" for c in "abcd")
    ]
    assert shown_tree(ledger(rows)) == (
        "s\n"
        "  ['q']['b'].c: uint8[8]    8 bytes  ✗ granted\n"
        "  ['r']['d'].a: uint8[8]    8 bytes  ✗ granted\n"
        "  and 58 more leaves      464 bytes  ✓\n"
    )


def test_a_slot_is_shortened_to_fit_and_whole_when_expanded():
    name = "a_long_name_of_a_submodule"
    made = ledger([entry(f"s.{name}.{name}.kernel", 0, spec("float32", 2))])
    start = f"s.{name}.{name}.kernel: float32[2]  8 bytes  ✓ -> "
    shown = shown_tree(made, width=120)
    assert shown == f"{start}result…\n", "what repeats the leaf's own path goes first"
    assert shown_tree(made, width=120, expand=True) == f"{start}result.{name}.{name}.kernel\n"
    elsewhere = dataclasses.replace(made.entries[0].slot, path=f"result.{name}.{name}.other")
    other = dataclasses.replace(made.entries[0], slot=elsewhere, successor=elsewhere)
    shown = shown_tree(ledger([other]), width=120)
    assert shown == f"{start}result.a_long_…submodule.other\n"
    assert len(shown) == 120 + 1


trees = st.lists(
    st.tuples(
        st.lists(
            st.sampled_from([".a", ".b", "['k']", *(f"[{i}]" for i in range(9))]),
            min_size=1,
            max_size=5,
        ).map("".join),
        st.integers(0, 9),
        st.sampled_from([None, None, None, Gate.KEPT, Gate.GRANTED]),
    ),
    min_size=1,
    max_size=300,
)


@settings(max_examples=60, deadline=None)
@given(trees, st.booleans())
def test_folding_loses_no_byte_and_stays_short(leaves, expand):
    rows = [
        entry(f"state{path}", i, spec("uint8", n), stopped_at=gate)
        for i, (path, n, gate) in enumerate(leaves)
    ]
    shown = shown_tree(ledger(rows), expand=expand).splitlines()
    figures = [re.search(r"  ([\d,]+) bytes?  [✓✗]", line) for line in shown]
    total = sum(int(found[1].replace(",", "")) for found in figures if found)
    assert total == sum(n for _, n, _ in leaves)
    assert expand or len(shown) <= folding.MAX_LINES + 1


def test_a_very_deep_tree_does_not_overflow():
    deep = "".join(f".n{i}" for i in range(1_500))
    rows = [entry(f"s{deep}", 0, spec("uint8", 1)), entry("s.m", 1, spec("uint8", 1))]
    assert shown_tree(ledger(rows)).startswith("s\n  n0.n1.n2.")
    forked = [entry("s" + ".a" * i + ".b", i, spec("uint8", 1)) for i in range(1_100)]
    assert shown_tree(ledger(forked), expand=True).count("✓") == 1_100


# One finding


def test_a_finding_without_its_source():
    assert plain(diagnostic.lines(sample_accounts.DRIFT, UNICODE)) == (
        "error[DT402]: an int32 leaf is returned as float32\n"
        " --> no_such_file.py:41\n"
        "  = leaf: state.step, 4 bytes\n"
        "  = note: `state.step` is int32[], `result.step` is float32[]\n"
        "  = help: return `state.step + 1`, which stays int32\n"
    )


def source_of(tmp_path, line, location, width=100) -> list[str]:
    """The lines between the place and the first `=`."""
    file = tmp_path / "train.py"
    file.write_text("import jax\n" * 8 + line + "\n", "utf-8")
    finding = Finding("DT402", "headline", location=replace(location, file=str(file)), bytes=4)
    lines = plain(diagnostic.lines(finding, UNICODE, width)).splitlines()
    assert lines[1] == f" --> {file}:9"
    assert lines[-1] == "  = bytes: 4 bytes"
    return lines[2:-1]


def test_the_source_is_underlined_where_the_columns_are_known(tmp_path):
    line = "    return State(w, state.step + 1.0)"
    start = line.index("state.step")
    assert source_of(tmp_path, line, Location("", 9, start, 9, start + 16)) == [
        "  |",
        "9 |     return State(w, state.step + 1.0)",
        "  |                     ^^^^^^^^^^^^^^^^",
        "  |",
    ]
    assert source_of(tmp_path, line, Location("", 9)) == [
        "  |",
        "9 |     return State(w, state.step + 1.0)",
        "  |",
    ]


def test_columns_count_bytes_and_wide_letters_take_two_places(tmp_path):
    line = "\tf(漢字, é, step)"
    start = line.encode().index(b"step")
    assert source_of(tmp_path, line, Location("", 9, start, 9, start + 4)) == [
        "  |",
        "9 |     f(漢字, é, step)",
        "  |                ^^^^",
        "  |",
    ]


@pytest.mark.parametrize("columns", [(999, 1_000), (5, 5), (7, 2), (0, 400)])
def test_columns_that_do_not_fit_the_file_underline_nothing(tmp_path, columns):
    assert len(source_of(tmp_path, "x = 1 + 2", Location("", 9, columns[0], 9, columns[1]))) == 3


def test_a_long_line_is_cut_around_what_it_underlines(tmp_path):
    line = "y = " + "a + " * 60 + "step * 1.0" + " + b" * 40
    start = line.index("step")
    shown = source_of(tmp_path, line, Location("", 9, start, 9, start + 10), width=60)
    assert shown[1].startswith("9 | …")
    assert shown[1].endswith("…")
    assert len(shown[1]) <= 60
    under = shown[2].index("^")
    assert shown[1][under : shown[2].rindex("^") + 1] == "step * 1.0"


def test_many_leaves_are_folded_and_long_notes_wrapped():
    finding = Finding(
        "DT401",
        "leaves are returned as bfloat16",
        leaves=tuple(f"s.p['{name}']['w']" for name in ("q", "k", "v", "o")),
        bytes=40_000,
        level="warning",
        notes=("one `code with spaces` " + "word " * 12,),
    )
    assert plain(diagnostic.lines(finding, UNICODE, 50, ["step", "step2"])) == (
        "warning[DT401]: leaves are returned as bfloat16\n"
        "  = leaves: s.p[*]['w'] (4 leaves), 39.06 KiB\n"
        "            (40,000 bytes)\n"
        "  = largest: s.p['q']['w']\n"
        "  = in: step, step2\n"
        "  = note: one `code with spaces` word word word\n"
        "          word word word word word word word word\n"
        "          word\n"
    )


# The whole report


def test_the_report_of_the_lesson():
    assert reports.render(sample_accounts.lesson()) == (
        "donatree 0.1.0: train.py, jax 0.12.0.1, cpu\n"
        "\n"
        "drifted (train.py:41)  cpu\n"
        "  (state: State, g: float32[4,4]) #1f0c\n"
        "\n"
        "  promised  84 bytes  3 leaves  ━━━━━━━━━━━━━━━━━━━━━━━━\n"
        "  asked     84 bytes  3 leaves  ━━━━━━━━━━━━━━━━━━━━━━━━\n"
        "  kept      84 bytes  3 leaves  ━━━━━━━━━━━━━━━━━━━━━━━━\n"
        "  matched   80 bytes  2 leaves  ━━━━━━━━━━━━━━━━━━━━━━┄┄  4 bytes, 1 leaf lost  DT402\n"
        "  granted   80 bytes  2 leaves  ━━━━━━━━━━━━━━━━━━━━━━┄┄\n"
        "  80 of 84 bytes, 2 of 3 leaves\n"
        "\n"
        "  state\n"
        "    w: float32[4,4]  64 bytes  ✓ -> result.w\n"
        "    b: float32[4]    16 bytes  ✓ -> result.b\n"
        "    step: int32[]     4 bytes  ✗ matched DT402  returned as float32[]\n"
        "\n"
        "error[DT402]: an int32 leaf is returned as float32\n"
        " --> no_such_file.py:41\n"
        "  = leaf: state.step, 4 bytes\n"
        "  = note: `state.step` is int32[], `result.step` is float32[]\n"
        "  = help: return `state.step + 1`, which stays int32\n"
        "\n"
        "next: donatree explain DT402\n"
    )


def test_the_report_where_nothing_is_lost_asks_for_nothing():
    assert reports.render(sample_accounts.kept()) == (
        "donatree 0.1.0: train.py, jax 0.12.0.1, cpu\n"
        "\n"
        "kept (train.py:41)  cpu\n"
        "  (state, batch)\n"
        "\n"
        "  promised 84 -> asked 84 -> kept 84 -> matched 84 -> granted 84\n"
        "  84 of 84 bytes, 3 of 3 leaves\n"
        "\n"
        "  state\n"
        "    w: float32[4,4]  64 bytes  ✓ -> result.w\n"
        "    b: float32[4]    16 bytes  ✓ -> result.b\n"
        "    step: int32[]     4 bytes  ✓ -> result.step\n"
    )


def test_several_ledgers_are_totalled_and_a_shared_finding_is_shown_once():
    (first,) = sample_accounts.lesson().ledgers
    second = replace(first, function="other", signature="(state) #2")
    again = replace(first, signature="(state, g) #3")
    large = Finding("DT301", "no slot is left", bytes=5_000)
    cheap = Finding("DT405", "costs nothing", bytes=9_000, level="note")
    report = reports.render(
        account(
            first, replace(second, findings=(*second.findings, large)), again, findings=(cheap,)
        )
    )
    assert report.count("error[DT402]") == 1
    assert report.endswith(
        "error[DT301]: no slot is left\n"
        "  = bytes: 5,000 bytes\n"
        "  = in: other\n"
        "\n"
        "error[DT402]: an int32 leaf is returned as float32\n"
        " --> no_such_file.py:41\n"
        "  = leaf: state.step, 4 bytes\n"
        "  = in: drifted (2 signatures), other\n"
        "  = note: `state.step` is int32[], `result.step` is float32[]\n"
        "  = help: return `state.step + 1`, which stays int32\n"
        "\n"
        "note[DT405]: costs nothing\n"
        "  = bytes: 9,000 bytes\n"
        "\n"
        "all 3 compiled functions: 240 of 252 bytes (95.2%), 6 of 9 leaves\n"
        "\n"
        "next: donatree explain DT301\n"
        "codes seen: DT301, DT402, DT405\n"
    )


def test_a_percentage_is_never_rounded_up_to_all():
    rows = [
        entry("s.a", 0, spec("uint8", 10**9)),
        entry("s.b", 1, spec("uint8", 1), stopped_at=Gate.GRANTED),
    ]
    assert "1,000,000,001 bytes (99.9%)" in reports.render(
        account(ledger(rows[:1]), ledger(rows[1:]))
    )


def test_devices_the_whole_arrays_and_an_alias_size_that_does_not_add_up_are_told():
    report = reports.render(sample_accounts.sharded())
    assert "\nstep (train.py:41)  cpu, 8 devices\n" in report
    assert (
        "  2,097,156 of 2,099,204 bytes, 2 of 3 leaves\n"
        "  bytes are per device; the whole arrays have 16.02 MiB (16,793,604 bytes)\n"
        "  alias_size_in_bytes 2,097,172 = 2,097,156 granted + 16 that donatree cannot explain\n"
    ) in report


def test_an_alias_that_no_donation_made_is_told():
    (made,) = sample_accounts.kept().ledgers
    made = replace(
        made,
        live=Live(100, 100, 100, 0),
        alias_not_donated_bytes=16,
        call=Location("train.py", 60),
        notes=("a ref is aliased without a donation",),
    )
    report = reports.render(account(made))
    assert "84 granted + 16 that belong to no donated leaf\n" in report
    assert "cannot explain" not in report
    assert "\n  called at train.py:60\n" in report
    assert report.endswith("✓ -> result.step\n  = note: a ref is aliased without a donation\n")


def test_a_program_that_asks_for_no_donation_is_told_what_to_do():
    assert reports.render(account()) == (
        "donatree 0.1.0: train.py, jax 0.12.0.1, cpu\n"
        "\n"
        "no function that was compiled asked for donation\n"
        "  = help: name the argument that the call replaces, most often the training state, in\n"
        "          `jax.jit(step, donate_argnums=0)`\n"
    )
    assert reports.render(Account(program="a.py")) == (
        "donatree: a.py\n\nJAX was not used, so there is nothing to account for\n"
    )


def test_faults_stand_at_the_end_with_what_a_bug_report_needs():
    assert reports.render(sample_accounts.faulty()) == (
        "donatree 0.1.0: train.py, jax 0.12.0.1, cpu\n"
        "the program ended with ValueError: shapes do not match; this is what was learnt until"
        " then\n"
        "\n"
        "no function could be accounted for\n"
        "\n"
        "donatree itself failed here; your program was not touched\n"
        "  in reading the header of train_step: HeaderError: no `}` after place 17 (2 times)\n"
        "    Traceback (most recent call last):\n"
        '      File "header.py", line 3, in read\n'
        "        raise\n"
        "  = versions: donatree 0.1.0, jax 0.12.0.1, jaxlib 0.12.0.1, python 3.13.1, platform cpu\n"
        "  = help: put these lines and what `donatree debug` prints into a bug report\n"
    )
    whole = replace(sample_accounts.lesson(), faults=sample_accounts.faulty().faults)
    report = reports.render(whole)
    assert report.index("next: ") < report.index("donatree itself failed here")


def test_names_from_the_program_are_never_read_as_markup_or_codes():
    report = reports.render(sample_accounts.hostile())
    assert "\x1b" not in report
    assert report.startswith("donatree 0.1.0: [b]x[/b].py, jax 0.12.0.1, cpu\n")
    assert "\n<lambda>[red] (train.py:41)  cpu\n" in report
    assert (
        "  state\n"
        "    ['[red]x[/]']: float32[4]  16 bytes  ✓ -> result['[red]x[/]']\n"
        "    ['\\x1b[31m']: float32[4]   16 bytes  ✓ -> result['\\x1b[31m']\n"
        "    ['a.b']['c]']: float32[4]  16 bytes  ✓ -> result['a.b']['c]']\n"
        "    \\x1b[2J: float32[4]        16 bytes  ✓ -> result.\\x1b[2J\n"
        "    ['漢字']: float32[4]       16 bytes  ✓ -> result['漢字']\n"
        "    [':smile:']: float32[4]    16 bytes  ✓ -> result[':smile:']\n"
        "    ['[/]']: uint8[7]           7 bytes  ✗ kept DT201\n"
    ) in report
    assert "error[DT201]: `state['[/]']` is \\x1b[31mnever used\n --> [bold]a.py:3\n" in report


def without_codes(report: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", report)


@pytest.mark.parametrize("name", sample_accounts.everything())
def test_colour_changes_nothing_but_colour(name):
    made = sample_accounts.everything()[name]
    colored = reports.render(made, "terminal", Options(color=True))
    assert "\x1b[" in colored
    assert without_codes(colored) == reports.render(made)
    assert "\x1b" not in without_codes(colored)


@pytest.mark.parametrize("name", sample_accounts.everything())
def test_no_line_ends_in_blanks_and_the_report_is_the_same_each_time(name):
    for options in (Options(), Options(unicode=False), Options(expand=True, evidence=True)):
        report = reports.render(sample_accounts.everything()[name], options=options)
        assert report == reports.render(sample_accounts.everything()[name], options=options)
        assert [line for line in report.splitlines() if line.endswith(" ")] == []


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("environ", "terminal", "colored"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"NO_COLOR": "1"}, True, False),
        ({"NO_COLOR": ""}, True, True),
        ({"FORCE_COLOR": "1"}, False, True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, True, False),
        ({"TERM": "dumb"}, True, False),
    ],
)
def test_colour_follows_the_environment_and_the_stream(monkeypatch, environ, terminal, colored):
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    stream = Terminal() if terminal else io.StringIO()
    reports.write(sample_accounts.lesson(), stream)
    assert ("\x1b[" in stream.getvalue()) == colored


def test_plain_is_without_colour_and_100_wide_whatever_the_environment(monkeypatch):
    expected = reports.render(sample_accounts.lesson(), "plain")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "60")
    stream = Terminal()
    reports.write(sample_accounts.lesson(), stream, "plain")
    assert stream.getvalue() == expected


def test_a_terminal_gives_the_width_and_a_file_is_100_wide(monkeypatch):
    monkeypatch.setenv("COLUMNS", "50")
    monkeypatch.setenv("NO_COLOR", "1")
    for stream, widest in ((Terminal(), 50), (io.StringIO(), 100)):
        reports.write(account(), stream)
        longest = max(len(line) for line in stream.getvalue().splitlines())
        assert widest - 20 < longest <= widest


def written(made: Account, encoding: str = "utf-8") -> bytes:
    """What reaches a file of that encoding."""
    raw = io.BytesIO()
    with io.TextIOWrapper(raw, encoding, newline="\n") as stream:
        reports.write(made, stream)
        return raw.getvalue()


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_a_stream_without_the_marks_gets_ascii(encoding):
    report = written(sample_accounts.lesson(), encoding).decode("ascii")
    assert (
        "  promised 84 -> asked 84 -> kept 84 -> matched 80 -> granted 80\n"
        "  lost at matched: 4 bytes, 1 leaf  DT402\n"
        "  80 of 84 bytes, 2 of 3 leaves\n"
        "\n"
        "  state\n"
        "    w: float32[4,4]  64 bytes  ok -> result.w\n"
        "    b: float32[4]    16 bytes  ok -> result.b\n"
        "    step: int32[]     4 bytes  x  matched DT402  returned as float32[]\n"
    ) in report


def test_a_name_that_the_encoding_lacks_is_written_as_an_escape():
    assert rb"['\u6f22\u5b57']: float32[4]" in written(sample_accounts.hostile(), "ascii")
    assert rb"lone \udc80 surrogate.py" in written(account(program="lone \udc80 surrogate.py"))


def test_an_unknown_format_is_refused():
    with pytest.raises(
        ValueError, match="no report format `yaml`; there are terminal, plain, json"
    ):
        reports.render(Account(), "yaml")


def test_every_format_of_the_registry_writes():
    for name in reports.FORMATS:
        assert reports.render(sample_accounts.lesson(), name).endswith("\n")


def test_clean_takes_out_what_a_terminal_acts_on():
    assert text.clean("a\x1b[31m\n\r\x9b\u202e漢é ok") == r"a\x1b[31m\n\r\x9b\u202e漢é ok"


def test_of_a_function_with_many_signatures_the_first_and_the_worst_are_shown() -> None:
    lost = [
        ledger(
            [entry("s.w", 0, spec("float32", size), stopped_at=Gate.MATCHED)],
            signature=f"(s: float32[{size}]) #{size}",
        )
        for size in (2, 9, 3, 4, 5)
    ]
    text = reports.render(account(*lost))
    assert text.count("promised") == 2
    assert "#2" in text
    assert "#9" in text
    assert "and 3 more signatures of `step`: 0 of 48 bytes; `--expand` shows them" in text
    whole = reports.render(account(*lost), options=Options(expand=True))
    assert whole.count("promised") == 5
