from __future__ import annotations

import pickle
import re
import subprocess
import sys
import tracemalloc
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from donatree.hlo import Alias, Donor, EntryShape, Header, HeaderError, read_header

FILES = sorted((Path(__file__).parent / "data" / "headers").glob("*.txt"))
REAL = [line for path in FILES for line in path.read_text("utf-8").splitlines()]
SHORT = [line for line in REAL if len(line) < 2500]


def header_of(layout: str) -> Header:
    return read_header(f"HloModule m, entry_computation_layout={{{layout}}}")


def shape_of(text: str) -> EntryShape:
    parameters = header_of(f"({text})->()").parameters
    assert parameters is not None
    (shape,) = parameters
    return shape


# What is read


def test_every_part_of_a_header_is_read():
    line = (
        "HloModule jit_step, is_scheduled=true, "
        "input_output_alias={ {0}: (0, {}, may-alias), {1}: (3, {}, must-alias) }, "
        "buffer_donor={ (2, {}) }, "
        "entry_computation_layout={(f32[4,4]{1,0}, s32[], f32[77,9]{1,0}, token[])"
        "->(f32[4,4]{1,0}, bf16[77,9]{0,1:T(8,128)(2,1)S(5)})}, "
        "allow_spmd_sharding_propagation_to_output={true,false}, num_partitions=8, "
        'frontend_attributes={a="}\\", {",xla.sdy.meshes={mesh = #sdy.mesh<["x"=8, "y"=1]>}}'
    )
    assert read_header(line) == Header(
        module="jit_step",
        aliases=(Alias((0,), 0, (), "may-alias"), Alias((1,), 3, (), "must-alias")),
        donors=(Donor(2, ()),),
        parameters=(
            EntryShape("f32", (4, 4), (1, 0), 0, "f32[4,4]{1,0}"),
            EntryShape("s32", (), None, 0, "s32[]"),
            EntryShape("f32", (77, 9), (1, 0), 0, "f32[77,9]{1,0}"),
            EntryShape("token", (), None, 0, "token[]"),
        ),
        results=(
            EntryShape("f32", (4, 4), (1, 0), 0, "f32[4,4]{1,0}"),
            EntryShape("bf16", (77, 9), (0, 1), 5, "bf16[77,9]{0,1:T(8,128)(2,1)S(5)}"),
        ),
        num_partitions=8,
        attributes={
            "is_scheduled": "true",
            "allow_spmd_sharding_propagation_to_output": "{true,false}",
            "frontend_attributes": (
                '{a="}\\", {",xla.sdy.meshes={mesh = #sdy.mesh<["x"=8, "y"=1]>}}'
            ),
        },
    )


def test_a_result_that_is_no_tuple_is_output_0():
    header = read_header(
        "HloModule jit_f, input_output_alias={ {}: (0, {}, may-alias) }, "
        "entry_computation_layout={(f32[16]{0})->f32[16]{0}}"
    )
    assert header.aliases == (Alias((), 0, (), "may-alias"),)
    assert header.aliases[0].output == 0
    assert header.results == (EntryShape("f32", (16,), (0,), 0, "f32[16]{0}"),)


def test_a_header_with_nothing_but_a_name():
    assert read_header("HloModule jit_f") == Header("jit_f")
    assert read_header("HloModule jit_f").parameters is None


def test_a_header_printed_without_its_name():
    assert read_header("HloModule , is_scheduled=true").module == ""


def test_parameters_handed_over_as_one_tuple_are_counted_as_leaves():
    header = read_header(
        "HloModule m, input_output_alias={ {0}: (0, {1}, may-alias), {1}: (0, {0}, may-alias) }, "
        "buffer_donor={ (0, {2}) }, entry_computation_layout={((f32[2]{0}, s32[], u8[3]{0}))"
        "->(s32[], f32[2]{0})}"
    )
    assert [(alias.output, alias.input) for alias in header.aliases] == [(0, 1), (1, 0)]
    assert [donor.input for donor in header.donors] == [2]
    assert header.parameters is not None
    assert [shape.dtype for shape in header.parameters] == ["tuple"]
    assert header.inputs is not None
    assert [shape.text for shape in header.inputs] == ["f32[2]{0}", "s32[]", "u8[3]{0}"]


def test_parameters_that_are_no_tuple_are_the_inputs():
    header = header_of("(f32[2]{0}, s32[])->()")
    assert header.inputs == header.parameters
    assert [alias.input for alias in (Alias((0,), 3, (), "may-alias"),)] == [3]


def test_a_kind_left_out_is_may_alias_as_in_xla():
    aliases = read_header("HloModule m, input_output_alias={ {}: (0, {}) }").aliases
    assert aliases == (Alias((), 0, (), "may-alias"),)


@pytest.mark.parametrize(
    ("text", "dtype", "shape", "minor_to_major", "memory_space"),
    [
        ("f32[]", "f32", (), None, 0),
        ("f32[]{:T(128)}", "f32", (), (), 0),
        ("s32[]{:S(5)}", "s32", (), (), 5),
        ("f32[0,4]{1,0}", "f32", (0, 4), (1, 0), 0),
        ("f32[4,4]", "f32", (4, 4), None, 0),
        ("bf16[8,128]{1,0:T(8,128)(2,1)S(5)}", "bf16", (8, 128), (1, 0), 5),
        ("s4[2,8]{1,0:T(8,128)(8,1)E(4)S(1)}", "s4", (2, 8), (1, 0), 1),
        ("f32[<=4,?]{1,0}", "f32", (4, -1), (1, 0), 0),
        ("f32[8]{0:D(C+~)#(u32)*(u64)T(*,4)SC(0:2,4)M(16)}", "f32", (8,), (0,), 0),
        ("f32[8]{0:P((u8[9]{0:S(3)}, s32[]))S(2)}", "f32", (8,), (0,), 2),
        ("b(f32[4]{0:S(1)})", "f32", (4,), (0,), 1),
        ("f8e4m3b11fnuz[2]{0}", "f8e4m3b11fnuz", (2,), (0,), 0),
        ("token[]", "token", (), None, 0),
        ("opaque[]", "opaque", (), None, 0),
    ],
)
def test_shapes(text, dtype, shape, minor_to_major, memory_space):
    assert shape_of(text) == EntryShape(dtype, shape, minor_to_major, memory_space, text)


def test_a_nested_result_keeps_the_places_of_its_outputs():
    results = header_of("()->(f32[2]{0}, (s32[], (u8[3]{0}, ())), /*index=2*/pred[])").results
    assert results is not None
    assert [shape.text for shape in results] == [
        "f32[2]{0}",
        "(s32[], (u8[3]{0}, ()))",
        "pred[]",
    ]
    inner = results[1].elements[1]
    assert inner.is_tuple
    assert [shape.text for shape in inner.elements] == ["u8[3]{0}", "()"]
    assert Alias((1, 1, 0), 0, (), "may-alias").output == 1


def test_equal_shapes_with_different_layouts_are_told_apart():
    parameters = header_of("(f32[4,4]{1,0}, f32[4,4]{0,1}, f32[4,4], f32[4,4]{1,0:S(5)})->()")
    assert parameters.parameters is not None
    assert [(s.minor_to_major, s.memory_space) for s in parameters.parameters] == [
        ((1, 0), 0),
        ((0, 1), 0),
        (None, 0),
        ((1, 0), 5),
    ]


def test_a_table_that_goes_on_in_the_next_lines_is_left_open():
    header = read_header("HloModule m, num_partitions=2, origin_recovery_table={\n  x\n}\n")
    assert header.num_partitions == 2
    assert header.attributes == {"origin_recovery_table": "{"}


@pytest.mark.parametrize("before", ["", "\n\n", "\ufeff", "\ufeff \r\n\t\n", "  "])
@pytest.mark.parametrize("after", ["", "\r", "\n", "\r\n\r\nENTRY %main {{{ (((", "  \n}"])
def test_only_the_first_line_that_is_not_blank_counts(before, after):
    assert read_header(f"{before}HloModule m, a=b{after}") == Header("m", attributes={"a": "b"})


def test_a_large_module_is_not_copied():
    text = "\n" + SHORT[0] + "\n" + "x" * 20_000_000
    tracemalloc.start()
    try:
        read_header(text)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1_000_000


def test_headers_are_read_without_jax():
    check = "import sys, donatree.hlo; sys.exit('jax' in sys.modules or 'jaxlib' in sys.modules)"
    path = repr([entry for entry in sys.path if entry])
    code = f"import sys; sys.path[:0] = {path}; {check}"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# What is refused

ALIAS = "HloModule m, input_output_alias={ "


@pytest.mark.parametrize(
    ("text", "position", "problem"),
    [
        ("", 0, "expected `HloModule` at the start of the text, found no text"),
        (" \n ", 0, "expected `HloModule` at the start of the text, found no text"),
        ("ENTRY %main", 0, "expected `HloModule` at the start of the text, found `ENTRY %main`"),
        ("  {}", 2, "expected `HloModule` at the start of the text, found `{}`"),
        ("/* x", 0, "expected `HloModule` at the start of the text, found `/* x`"),
        (
            "HloModules m",
            0,
            "expected `HloModule` at the start of the text, found `HloModules m`",
        ),
        ("HloModule m x", 12, "expected `,` after the name of the module, found `x`"),
        ("HloModule m,", 12, "expected an attribute after `,`, found the end of the line"),
        ("HloModule m, a", 14, "expected `=` after the attribute `a`, found the end of the line"),
        ("HloModule m, a=", 15, "expected a value of the attribute `a`, found the end of the line"),
        ("HloModule m, a=1, a=2", 18, "the attribute `a` is given twice"),
        ("HloModule m, a={x=(1}", 20, "expected `)` for the `(` at column 18, found `}`"),
        (
            "HloModule m, a={x=(1",
            20,
            "expected `)` for the `(` at column 18, found the end of the line",
        ),
        ("HloModule m, a=x}", 16, "`}` closes nothing"),
        ('HloModule m, a={x="}\\"', 18, "string without its closing quote"),
        ("HloModule m /* x", 12, "comment without its closing `*/`"),
        ("HloModule m, num_partitions=two", 28, "expected a number of partitions, found `two`"),
        (
            "HloModule m, num_partitions=" + "9" * 20,
            28,
            "a number of partitions has more than 19 digits",
        ),
        (
            ALIAS + "{0}: (0, {} may-alias) }",
            46,
            "expected `)` after the parameter index, found `may`",
        ),
        (ALIAS + "{0} (0, {}, may-alias) }", 38, "expected `:` after the output index, found `(`"),
        (ALIAS + "{0}: (, {}, may-alias) }", 40, "expected a parameter number, found `,`"),
        (ALIAS + "{0}: (0, {-1}, may-alias) }", 44, "expected a parameter index, found `-`"),
        (ALIAS + "{0}: (\u00b2, {}) }", 40, "expected a parameter number, found `\u00b2`"),
        (
            ALIAS + "{0}: (0, {}, some-alias) }",
            47,
            "expected `may-alias` or `must-alias`, found the alias kind `some-alias`",
        ),
        (
            ALIAS + "{0}: (0, {}, may-alias) {1}: (1, {}, may-alias) }",
            58,
            "expected `,` or `}` after an alias, found `{`",
        ),
        (
            ALIAS + "{0}: (0, {}, may-alias), }",
            59,
            "expected `{` before an output index, found `}`",
        ),
        (
            ALIAS + "{0}: (0, {}, may-alias), {0}: (1, {}, may-alias) }",
            59,
            "output `{0}` is aliased twice",
        ),
        (
            ALIAS + "{1,0}: (0, {}), {1, 0}: (1, {}) }",
            50,
            "output `{1, 0}` is aliased twice",
        ),
        (
            "HloModule m, buffer_donor={ (0, {}, x) }",
            34,
            "expected `)` after the parameter index, found `,`",
        ),
        (
            "HloModule m, buffer_donor={ (0, {}) (1, {}) }",
            36,
            "expected `,` or `}` after a donor, found `(`",
        ),
    ],
)
def test_the_message_names_the_place(text, position, problem):
    with pytest.raises(HeaderError) as caught:
        read_header(text)
    assert (caught.value.position, caught.value.problem) == (position, problem)


@pytest.mark.parametrize(
    ("layout", "column", "problem"),
    [
        ("f32[4]->f32[4]", 0, "expected `(` before the parameters, found `f32`"),
        ("(f32[4])", 8, "expected `->` after the parameters, found `}`"),
        ("(f32[4] f32[4])->()", 8, "expected `,` or `)` after a shape, found `f32`"),
        ("(f32[4],)->()", 8, "expected a shape, found `)`"),
        ("(f32)->()", 4, "expected `[` after the type of a shape, found `)`"),
        ("(4f[])->()", 1, "`4f` is no type"),
        ("(f32[4 4])->()", 7, "expected `,` or `]` after a dimension, found `4`"),
        ("(f32[x])->()", 5, "expected a dimension, found `x`"),
        (
            "(f32[4]{0;})->()",
            9,
            "expected `,`, `:` or `}` after a dimension of a layout, found `;`",
        ),
        ("(f32[4]{0:t(8)})->()", 10, "expected a property of a layout or `}`, found `t`"),
        ("(f32[4]{0:T8})->()", 11, "expected `(` after `T` of a layout, found `8`"),
        ("(f32[4]{0:S(x)})->()", 12, "expected a memory space, found `x`"),
        ("(b(f32[4])->()", 10, "expected `,` or `)` after a shape, found `-`"),
    ],
)
def test_the_message_names_the_place_in_a_layout(layout, column, problem):
    with pytest.raises(HeaderError) as caught:
        header_of(layout)
    before = len("HloModule m, entry_computation_layout={")
    assert (caught.value.position - before, caught.value.problem) == (column, problem)


def test_a_message_is_one_line_with_the_text_around_the_place():
    line = (
        "HloModule jit_train_step, is_scheduled=true, "
        "input_output_alias={ {0}: (0, {} may-alias), {1}: (1, {}, may-alias) }"
    )
    with pytest.raises(HeaderError) as caught:
        read_header(line)
    assert caught.value.excerpt == "...s={ {0}: (0, {} may-alias), {1}: (1, {},..."
    assert str(caught.value) == (
        "module header cannot be read at column 78: expected `)` after the parameter index, "
        "found `may`: ...s={ {0}: (0, {} may-alias), {1}: (1, {},..."
    )


def test_what_could_break_a_line_is_escaped():
    with pytest.raises(HeaderError) as caught:
        read_header("HloModule m, a=1\u2028, \x1b[31m\u2029=\ud800}\x00")
    assert str(caught.value) == (
        "module header cannot be read at column 20: expected `=` after the attribute `\\x1b`, "
        "found `[`: ...odule m, a=1\\u2028, \\x1b[31m\\u2029=\\ud800}\\x00"
    )


def test_the_error_is_a_value_error_that_can_be_sent_between_processes():
    with pytest.raises(ValueError, match="column 11") as caught:
        read_header("HloModule m=")
    copy = pickle.loads(pickle.dumps(caught.value))
    assert isinstance(copy, HeaderError)
    assert (str(copy), copy.position) == (str(caught.value), 11)


@pytest.mark.parametrize(
    "text",
    [
        "HloModule m, entry_computation_layout={" + "(" * 100_000,
        "HloModule m, entry_computation_layout={()->" + "(" * 100_000 + ")" * 100_000 + "}",
        "HloModule m, a=" + "{" * 100_000 + "}" * 99_999,
        "HloModule m, a=" + '{"' * 100_001,
        "HloModule m" + " /*" * 100_000,
        "HloModule m, a={" + "\\" * 100_000 + '"',
        "HloModule m, entry_computation_layout={(" + "f32[4]{" * 50_000,
        ALIAS + "{0" * 50_000,
    ],
)
def test_hostile_nesting_is_an_error_of_the_header(text):
    with pytest.raises(HeaderError):
        read_header(text)


def test_raw_values_may_nest_as_deep_as_they_like():
    value = "{" * 100_000 + "}" * 100_000
    assert read_header(f"HloModule m, a={value}, b=1").attributes == {"a": value, "b": "1"}


# Headers that compilers wrote


@pytest.mark.parametrize("line", REAL)
def test_real_headers_agree_with_a_crude_count(line):
    header = read_header(line)
    pair = r"\{([0-9, ]*)\}: \((\d+), \{([0-9, ]*)\}, (may|must)-alias\)"
    crude = [
        (tuple(map(int, output.split(","))) if output else (), int(parameter), inside, kind)
        for output, parameter, inside, kind in re.findall(pair, line)
    ]
    assert [
        (a.output_index, a.parameter, ", ".join(map(str, a.parameter_index)), a.kind[:-6])
        for a in header.aliases
    ] == crude
    _, _, donors = line.partition("buffer_donor={ ")
    donors = donors.partition(" }, ")[0]
    assert [donor.parameter for donor in header.donors] == [
        int(number) for number in re.findall(r"\((\d+), \{\}\)", donors)
    ]
    _, _, partitions = line.partition("num_partitions=")
    assert header.num_partitions == int(partitions.partition(",")[0] or 1)
    assert header.module == line.split()[1].rstrip(",")


@pytest.mark.parametrize("line", REAL)
def test_real_layouts_hold_every_alias(line):
    header = read_header(line)
    assert header.inputs is not None
    assert header.results is not None
    _, _, layout = line.partition("entry_computation_layout={")
    parameters, _, result = layout.partition("->")
    result = re.split(r"\}, [a-z_]+=", result)[0]
    assert len(header.inputs) == len(re.findall(r"[a-z0-9]\[", parameters))
    assert len(header.results) == len(re.findall(r"[a-z0-9]\[", result))
    for alias in header.aliases:
        assert alias.input < len(header.inputs)
        assert alias.output < len(header.results)
    for donor in header.donors:
        assert donor.input < len(header.inputs)


def test_the_real_headers_show_what_they_were_collected_for():
    assert [path.name for path in FILES] == [
        "jax-0.10.2-tpu.txt",
        "jax-0.10.2.txt",
        "jax-0.12.0.1.txt",
        "jax-0.5.3.txt",
        "jax-0.7.2.txt",
    ]
    assert len(REAL) > 120
    assert len(SHORT) > 100
    for sign in (
        "buffer_donor={ (0, {}), (1, {}), (2, {}) }",
        "num_partitions=8",
        "replica_count=8",
        "input_output_alias={ {}: (",
        "input_output_alias={ {1}: (0,",
        "(0, {2000}, may-alias)",
        "/*index=5*/",
        "token[]",
        "f32[0,4]",
        "S(5)}",
        "E(4)}",
        ":T(8,128)(2,1)}",
        '["data"=2, "model"=4]',
        "->()}",
        "={()->",
    ):
        assert any(sign in line for line in REAL), sign
    assert any("input_output_alias" not in line for line in REAL)
    assert not [line for line in REAL if re.search(r"/(home|root|usr|tmp|work|opt)\b", line)]


# Headers that are made up

indices = st.lists(st.integers(0, 10**18), max_size=3).map(tuple)
aliases = st.builds(
    Alias, indices, st.integers(0, 10**18), indices, st.sampled_from(["may-alias", "must-alias"])
)
alias_maps = st.lists(aliases, max_size=30, unique_by=lambda alias: alias.output_index).map(tuple)
donor_lists = st.lists(st.builds(Donor, st.integers(0, 10**9), indices), max_size=10).map(tuple)
names = st.from_regex(r"[a-zA-Z_][a-zA-Z0-9_.\-]{0,20}", fullmatch=True)


@st.composite
def arrays(draw: st.DrawFn) -> EntryShape:
    dimensions = draw(st.lists(st.integers(0, 10**12) | st.just(-1), max_size=4))
    dtype = draw(st.sampled_from(["f32", "bf16", "s4", "pred", "u8", "c128", "f8e5m2fnuz"]))
    written = ["?" if d < 0 else draw(st.sampled_from(["", "<="])) + str(d) for d in dimensions]
    text = f"{dtype}[{','.join(written)}]"
    if not draw(st.booleans()):
        return EntryShape(dtype, tuple(dimensions), None, 0, text)
    order = tuple(draw(st.permutations(range(len(dimensions)))))
    properties = draw(st.sampled_from(["", "T(8,128)", "T(8,128)(2,1)", "T(*,2)E(4)", "#(u32)"]))
    space = draw(st.integers(0, 9))
    properties += f"S({space})" if space else ""
    text += "{" + ",".join(map(str, order)) + (":" + properties if properties else "") + "}"
    return EntryShape(dtype, tuple(dimensions), order, space, text)


def as_tuple(elements: list[EntryShape]) -> EntryShape:
    marked = [f"/*index={i}*/" * (i % 5 == 0 < i) + e.text for i, e in enumerate(elements)]
    return EntryShape("tuple", (), None, 0, f"({', '.join(marked)})", tuple(elements))


shapes = st.recursive(
    arrays(), lambda inner: st.lists(inner, max_size=7).map(as_tuple), max_leaves=9
)
tuples = st.lists(shapes, max_size=12).map(as_tuple)
strings = st.text(st.characters(exclude_characters="\n", exclude_categories=("Cs",))).map(
    lambda text: '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
)
values = (
    st.sampled_from(["true", "8", "{true,false}", "{}", "[2,4]<=[8]", "{a={b=(1, 2)}}"])
    | strings
    | st.dictionaries(names, strings, min_size=1, max_size=3).map(
        lambda items: "{" + ",".join(f"{name}={value}" for name, value in items.items()) + "}"
    )
)
KNOWN = {"input_output_alias", "buffer_donor", "entry_computation_layout", "num_partitions"}
attribute_maps = st.dictionaries(names.filter(lambda name: name not in KNOWN), values, max_size=4)


def index_text(index: tuple[int, ...]) -> str:
    return "{" + ", ".join(map(str, index)) + "}"


def alias_tokens(alias: Alias) -> list[str]:
    output, inside = index_text(alias.output_index), index_text(alias.parameter_index)
    return [output, ":", " (", str(alias.parameter), ", ", inside, ", ", alias.kind, ")"]


@st.composite
def written_headers(draw: st.DrawFn) -> tuple[str, Header]:
    parameters, result = draw(tuples), draw(shapes | tuples)
    header = Header(
        module=draw(names),
        aliases=draw(alias_maps),
        donors=draw(donor_lists),
        parameters=parameters.elements,
        results=result.elements if result.is_tuple else (result,),
        num_partitions=draw(st.integers(1, 2**31)),
        attributes=draw(attribute_maps),
    )
    pairs = ", ".join("".join(alias_tokens(alias)) for alias in header.aliases)
    donors = ", ".join(f"({d.parameter}, {index_text(d.parameter_index)})" for d in header.donors)
    parts = [
        f"input_output_alias={{ {pairs} }}",
        f"buffer_donor={{ {donors} }}",
        f"entry_computation_layout={{{parameters.text}->{result.text}}}",
        f"num_partitions={header.num_partitions}",
        *(f"{name}={value}" for name, value in header.attributes.items()),
    ]
    parts = draw(st.permutations(parts))
    return ", ".join([f"HloModule {header.module}", *parts]), header


@settings(deadline=None)
@given(written_headers())
def test_what_is_written_is_read_back(written):
    text, header = written
    assert read_header(text) == header


@settings(deadline=None)
@given(
    alias_maps, st.lists(st.sampled_from(["", " ", "  ", "\t", "/*x*/", " /*{0}:*/ "]), min_size=1)
)
def test_blanks_and_comments_between_tokens_change_nothing(pairs, fillers):
    text = "HloModule m, input_output_alias={"
    for number, alias in enumerate(pairs):
        for place, token in enumerate([", "] * (number > 0) + alias_tokens(alias)):
            text += fillers[(number + place) % len(fillers)] + token
    assert read_header(text + "}").aliases == pairs


# Headers that are broken

CHARACTERS = '{}()[]",=:<>/*\\ \t?-;.09amSTb\x00\x1b\r\u00b2\u00e9\u2028\ud800'
FRAGMENTS = [
    *CHARACTERS,
    *("/*", "*/", "may-alias", "{0}: (0, {}, may-alias), ", "S(", "<=", "->", "{" * 40, "9" * 25),
    *("HloModule", "num_partitions=", ", x=", "(f32[4]{0})", "b("),
]


def mutate(line: str, random: Random) -> str:
    """Breaks a header in one to four places."""
    for _ in range(random.randint(1, 4)):
        start = random.randint(0, len(line))
        end = start + random.randint(1, 6)
        fragment = random.choice(FRAGMENTS)
        match random.choice(["delete", "insert", "replace", "duplicate", "truncate"]):
            case "delete":
                line = line[:start] + line[end:]
            case "insert":
                line = line[:start] + fragment + line[start:]
            case "replace":
                line = line[:start] + fragment + line[start + 1 :]
            case "duplicate":
                line = line[:end] + line[start:]
            case "truncate" if random.random() < 0.3:
                line = line[:start]
    return line


def read_broken(line: str) -> Header | HeaderError:
    """Reads a header that may be broken; all but a HeaderError comes through."""
    outcome: Header | HeaderError
    try:
        outcome = read_header(line)
    except HeaderError as error:
        outcome = error
    if isinstance(outcome, HeaderError):
        assert 0 <= outcome.position <= len(line)
        assert len(str(outcome).splitlines()) == 1
        assert str(outcome).isprintable()
        assert len(str(outcome)) < 500
        return outcome
    outputs = [alias.output_index for alias in outcome.aliases]
    assert len(outputs) == len(set(outputs))
    assert all(alias.kind in ("may-alias", "must-alias") for alias in outcome.aliases)
    assert repr(outcome)
    return outcome


@settings(deadline=None, max_examples=400)
@given(st.sampled_from(SHORT), st.randoms(use_true_random=False))
def test_broken_headers_are_read_or_refused_and_nothing_else(line, random):
    read_broken(mutate(line, random))


@settings(deadline=None)
@given(
    st.text(CHARACTERS, max_size=60),
    st.sampled_from(["", "HloModule", "HloModule m, a=", ALIAS]),
)
def test_noise_is_read_or_refused_and_nothing_else(noise, before):
    read_broken(before + noise)


def test_the_mutations_do_break_headers():
    random = Random(0)
    seen = [read_broken(mutate(random.choice(SHORT), random)) for _ in range(1500)]
    errors = [outcome for outcome in seen if isinstance(outcome, HeaderError)]
    kinds = {re.sub(r", found .*|`[^`]*`|\d+", "", error.problem) for error in errors}
    assert len(errors) > 700
    assert len(seen) - len(errors) > 100
    assert len(kinds) > 25, sorted(kinds)


def test_a_header_cut_anywhere_inside_its_aliases_is_refused():
    line = next(line for line in SHORT if line.count("may-alias") == 3)
    start = line.index("input_output_alias")
    end = line.index("}, entry_computation_layout")
    for cut in range(start, end + 1):
        with pytest.raises(HeaderError) as caught:
            read_header(line[:cut])
        assert caught.value.position <= cut
