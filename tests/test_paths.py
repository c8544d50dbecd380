"""Paths are taken apart without loss, and many fold into one pattern that a reader can undo."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from donatree.paths import fold, merge, split

names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True)
# Keys as repr() writes them, with everything in them that could mislead a reader of brackets.
texts = st.text(max_size=12) | st.text(alphabet="ab.[](){}'\"\\\n\t\x1b漢", max_size=12)
scalars = texts | st.integers() | st.binary(max_size=6) | st.floats() | st.none()
keys = scalars | st.tuples(scalars, scalars) | st.frozensets(scalars, max_size=2)
components = (
    names.map(lambda name: f".{name}")
    | st.integers(0, 999).map(lambda index: f"[{index}]")
    | keys.map(lambda key: f"[{key!r}]")
    | st.integers(0, 9).map(lambda index: f"[<flat index {index}>]")
)


@settings(deadline=None)
@given(names, st.lists(components, max_size=6))
def test_split_gives_the_components_that_a_path_was_made_of(argument, parts):
    assert split("".join([argument, *parts])) == (argument, *parts)


@settings(deadline=None)
@given(st.text() | st.text(alphabet="ab.[]'\"\\(", max_size=30))
def test_split_loses_nothing_of_any_text(path):
    assert "".join(split(path)) == path


@pytest.mark.parametrize(
    ("path", "parts"),
    [
        ("state", ["state"]),
        ("", [""]),
        ("state.opt_state[0].mu['dense']", ["state", ".opt_state", "[0]", ".mu", "['dense']"]),
        ("args[1]['a.b']", ["args", "[1]", "['a.b']"]),
        ("s['it\\'s \"x\"]'].w", ["s", "['it\\'s \"x\"]']", ".w"]),
        ('s["it\'s]"][2]', ["s", '["it\'s]"]', "[2]"]),
        ("s[('a]', [1])].b", ["s", "[('a]', [1])]", ".b"]),
        ("s[<it's>].b['x']", ["s", "[<it's>]", ".b", "['x']"]),
        ("s['never closed", ["s", "['never closed"]),
        ("s[(1].b", ["s", "[(1]", ".b"]),
    ],
)
def test_split_of_paths_that_were_met(path, parts):
    assert list(split(path)) == parts


@pytest.mark.parametrize(
    ("paths", "folded"),
    [
        ([], ""),
        (["state.w"], "state.w"),
        (["state.w", "state.w"], "state.w"),
        (
            [f"state.layers[{i}].kernel" for i in range(12)],
            "state.layers[0..11].kernel (12 leaves)",
        ),
        (
            [f"s.layers[{i}].{name}" for i in range(12) for name in ("w", "b")],
            "s.layers[0..11].{b,w} (24 leaves)",
        ),
        (
            [f"state.params['{name}']['kernel']" for name in ("q", "k", "v", "o")],
            "state.params[*]['kernel'] (4 leaves)",
        ),
        (
            [f"p['Dense_{i}']['kernel']" for i in range(4)],
            "p['Dense_0..3']['kernel'] (4 leaves)",
        ),
        (["s.mu['w']", "s.nu['w']"], "s.{mu,nu}['w'] (2 leaves)"),
        ([f"s.{name}" for name in "abcd"], "s.* (4 leaves)"),
        (["s[0]", "s[2]", "s[5]"], "s[0,2,5] (3 leaves)"),
        ([f"s[{i}]" for i in range(12) if i != 5], "s[0..4,6..11] (11 leaves)"),
        ([f"s[{i}].w" for i in range(0, 24, 2)], "s[0,2,...,22].w (12 leaves)"),
        (["s.layers_0", "s.layers_3"], "s.layers_{0,3} (2 leaves)"),
        (["state.step", "state.opt[0].count"], "state.step and state.opt[0].count"),
        (["s.a", "s.b[0]", "s.b[1].c"], "s... (3 leaves)"),
        (["a.x", "b[0].y", "c[1][2]"], "{a,b,c}... (3 leaves)"),
        (["a['\\x00']", "a['\\x01']"], "a[*] (2 leaves)"),
        (["a['" + "9" * 5000 + "']", "a['1']"], "a[*] (2 leaves)"),
    ],
)
def test_fold_writes_what_paths_have_in_common(paths, folded):
    assert fold(paths) == folded


@settings(deadline=None)
@given(st.lists(st.tuples(names, st.lists(components, max_size=3)), max_size=6), st.randoms())
def test_fold_does_not_depend_on_the_order_of_like_paths(parts, random):
    paths = ["".join([name, *below]) for name, below in parts]
    shuffled = list(paths)
    random.shuffle(shuffled)
    assert sorted(fold(shuffled).split(" and ")) == sorted(fold(paths).split(" and "))


def test_merge_tells_a_range_from_numbers_with_gaps():
    assert merge(["[0]", "[1]", "[2]"]) == "[0..2]"
    assert merge(["[0]", "[2]"]) == "[0,2]"
    assert merge(["['layer_08']", "['layer_09']", "['layer_10']"]) == "['layer_08..10']"
