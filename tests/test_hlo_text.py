"""Buffer assignments, live ranges and padded layouts, from what XLA dumps as text."""

from __future__ import annotations

import pickle
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from donatree.hlo.assignment import read_assignment
from donatree.hlo.assignment_text import TextAssignment, read_assignment_text, read_index
from donatree.hlo.copies import at_peak, find_copies
from donatree.hlo.error import AssignmentError, HloError
from donatree.hlo.header import read_header
from donatree.hlo.instructions import read_entry
from donatree.hlo.live_text import LiveRanges, TimedAssignment, read_live_ranges
from donatree.hlo.padding import padded_size_in_bytes
from donatree.hlo.scanner import Scanner
from donatree.hlo.shape import EntryShape, read_shape
from donatree.hlo.sharing import find_sharing
from saved_dumps import Dump, all_dumps, dump
from saved_modules import saved

ALL = all_dumps()
TPU = [each for each in ALL if each[0].startswith("tpu")]


def read(found: Dump) -> TextAssignment:
    return read_assignment_text(found.assignment.splitlines(keepends=True))


def timed(found: Dump) -> TimedAssignment:
    ranges = read_live_ranges(found.ranges.splitlines())
    assert ranges is not None
    return TimedAssignment(read(found), ranges, read_entry(found.text))


def shape(text: str) -> EntryShape:
    return read_shape(Scanner(text), {})


# The allocations


@pytest.mark.parametrize(("folder", "module"), ALL)
def test_the_totals_are_those_of_the_memory_usage_report(folder: str, module: str):
    found = dump(folder, module)
    assignment, totals = read(found), found.totals
    assert totals
    if -1 in totals:
        assert assignment.total_used == totals[-1]
        assert sum(each.size for each in assignment.allocations) == totals[-1]
    else:
        assert {space: assignment.total(space) for space in totals} == totals
        assert {each.memory_space for each in assignment.allocations} <= totals.keys()


@pytest.mark.parametrize(("folder", "module"), ALL)
def test_the_parts_add_up_to_the_total_in_every_memory_space(folder: str, module: str):
    found = read(dump(folder, module))
    for space in range(7):
        parts = found.arguments(space) + found.outputs(space) - found.alias(space)
        assert parts + found.temp(space) == found.total(space)
        assert found.preallocated_temp(space) <= found.temp(space)


@pytest.mark.parametrize(("folder", "module"), ALL)
def test_parameters_that_the_alias_map_names_are_live_out(folder: str, module: str):
    found = dump(folder, module)
    header, assignment = read_header(found.text), read(found)
    parameters = {each.parameter: each for each in assignment.allocations}
    assert header.aliases
    for alias in header.aliases:
        assert parameters[alias.parameter].is_output
        assert assignment.size_of_parameter(alias.parameter, alias.parameter_index)
    assert header.parameters is not None
    for number, each in enumerate(header.parameters):
        assert assignment.size_of_parameter(number) == padded_size_in_bytes(each)


def test_what_jax_counts_is_what_the_text_says():
    # CompiledMemoryStats of the same compile: 0.12.0.1, libtpu 0.0.50.1.
    lost = read(dump("tpu-0.12.0.1", "module_0069"))
    counted = (lost.arguments(), lost.outputs(), lost.alias(), lost.total())
    assert counted == (541184, 279552, 16896, 804352)
    host = read(dump("tpu-0.12.0.1", "jit_f."))
    counted = (host.arguments(), host.outputs(), host.alias(), host.total())
    assert counted == (4194304, 4194816, 4194304, 12632576)
    assert (host.arguments(5), host.outputs(5), host.alias(5), host.temp(5)) == (4194304,) * 3 + (
        0,
    )
    assert (host.temp(0), host.temp(1), host.temp(2)) == (8437760, 0, 4)


def test_the_text_and_the_message_of_one_program_agree():
    found = saved("0.12.0.1", "looped_and_read")
    message = read_assignment(found.assignment, found.module, read_entry(found.text))
    text = read(dump("cpu-0.12.0.1", "looped_and_read"))
    mine = [(each.size, each.parameter, each.is_output) for each in text.allocations]
    assert mine == [(each.size, each.parameter, each.live_out) for each in message.allocations]
    assert text.preallocated_temp() == message.temp_size


def test_a_leaf_of_more_than_two_thousand_has_its_place_in_the_one_parameter():
    # The first lines of what libtpu 0.0.50 writes for 2,100 leaves, with fewer in the shapes.
    lines = [
        "BufferAssignment:",
        "allocation 0: size 8704, page 0, output shape is |(f32[4], /*index=5*/f32[4])|, "
        "maybe-live-out:",
        " value: <25201 tuple.3{} @0> (size=8704,offset=0): (f32[4]{0:T(128)}, f32[4]{0:T(128)})",
        "allocation 1: size 8704, page 0, parameter 0, shape |(f32[4], f32[4])| at ShapeIndex {}:",
        " value: <8400 arg_tuple.1{} @0> (size=8704,offset=0): (f32[4]{0:T(128)})",
        "allocation 2: size 512, page 0, parameter 0, shape |f32[4]| at ShapeIndex {0}, "
        "maybe-live-out:",
        " value: <8401 arg_tuple.1{0} @0> (size=512,offset=0): f32[4]{0:T(128)}",
        "allocation 3: size 512, page 0, parameter 0, shape |f32[4]| at ShapeIndex {1}, "
        "maybe-live-out:",
        " value: <8402 arg_tuple.1{1} @0> (size=512,offset=0): f32[4]{0:T(128)}",
    ]
    found = read_assignment_text(lines)
    assert [found.size_of_parameter(0, (leaf,)) for leaf in range(3)] == [512, 512, None]
    assert found.size_of_parameter(0) == 8704
    assert (found.arguments(), found.outputs(), found.alias()) == (9728, 9728, 1024)


def test_what_is_between_bars_is_not_taken_for_an_attribute():
    lines = [
        "BufferAssignment:",
        "allocation 0: size 4, parameter 0, shape |f32[], color 7, constant| at ShapeIndex {}:",
        "",
    ]
    (found,) = read_assignment_text(lines).allocations
    assert (found.memory_space, found.is_constant, found.parameter) == (0, False, 0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1, column 0: expected `BufferAssignment:`, found no text"),
        ("HloModule x", "line 1, column 0: expected `BufferAssignment:`, found `HloModule x`"),
        ("BufferAssignment:\nallocation 1: size 4:", "line 2, column 0: expected `allocation 0`"),
        ("BufferAssignment:\n value: <1 x @0> (size=4,offset=0): f32[]", "expected an allocation"),
        ("BufferAssignment:\nallocation 0: size 4, const", "expected an allocation or a value"),
        (
            "BufferAssignment:\nallocation 0: size 4:\n value: <1 x @0> (size=4,offset=1): f32[]",
            "line 3, column 0: the value is larger than its allocation",
        ),
    ],
)
def test_malformed_text_is_an_error_that_names_the_line(text: str, message: str):
    with pytest.raises(AssignmentError) as caught:
        read_assignment_text(text.split("\n"))
    assert message in str(caught.value)
    assert str(caught.value).startswith("buffer assignment cannot be read at line ")
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


# When values live


def test_each_dump_tells_when_every_temporary_lives():
    for folder, module in ALL:
        found = dump(folder, module)
        ranges = read_live_ranges(found.ranges.splitlines())
        assert ranges is not None, folder
        for allocation in read(found).allocations:
            for value in allocation.values if allocation.is_temp else ():
                first, last = ranges.ranges[value.instruction, value.index]
                assert 0 <= first <= last <= ranges.last


def test_the_largest_temporaries_at_the_peak_fill_the_allocation():
    found = timed(dump("tpu-0.7.2", "exchanged"))
    assert [(each.instruction, each.size) for each in found.peak_values()] == [
        ("copy.1", 268435456)
    ]
    found = timed(dump("cpu-0.12.0.1", "module_0032"))  # a branch
    sizes = [each.size for each in found.peak_values()]
    assert sizes[:2] == [65536, 65536]
    assert found.assignment.preallocated_temp() - sum(sizes) < 256  # what is between them


MEASURED = {
    # The verdict that the message of the same compile gives, where it tells.
    ("cpu-0.5.3", "crossed"): {"copy": False, "copy.1": False, "copy.2": True, "copy.3": True},
    ("cpu-0.7.2", "looped_and_read"): {"copy.6": False},
    ("cpu-0.12.0.1", "looped_and_read"): {"copy.6": False},
    ("cpu-0.12.0.1", "module_0032"): {"copy.3": True},
    ("tpu-0.7.2", "exchanged"): {"copy.1": True},
    ("tpu-0.12.0.1", "exchanged"): {"copy.1": True},
    ("tpu-0.12.0.1", "module_0084"): {},
    ("cuda-0.12.0.1", "exchanged"): {"copy.1": True},
    ("cuda-0.12.0.1", "sized"): {"copy.1": False, "copy": True},
}


@pytest.mark.parametrize(("folder", "module"), MEASURED)
def test_the_copies_that_cost_memory_are_told_from_those_that_do_not(folder: str, module: str):
    found = dump(folder, module)
    copies = find_copies(read_entry(found.text), read_header(found.text).aliases)
    answer = at_peak(copies, timed(found))
    assert (
        dict(zip((each.name for each in copies), answer, strict=True)) == MEASURED[folder, module]
    )


def test_what_goes_through_a_loop_is_at_one_place():
    found = find_sharing(read_entry(dump("tpu-0.12.0.1", "module_0084").text))
    assert ("wide.arg_tuple.0", (0,)) in found["copy.17", ()]
    assert ("while", (0,)) in found["copy.17", ()]
    assert ("while", (1,)) not in found["copy.17", ()]
    # What a `dynamic-update-slice` in the body writes into is what comes out.
    assert ("dynamic_update_slice.3", ()) in found["while", (2,)]


def test_without_a_range_it_is_not_known_and_without_the_memory_it_costs_nothing():
    found = dump("tpu-0.12.0.1", "exchanged")
    assignment = read(found)
    nothing = TimedAssignment(assignment, LiveRanges(9, {}), read_entry(found.text))
    assert nothing.at_peak([("copy.1", ()), ("b.1", ()), ("no such", ())]) == (None, False, None)


def test_ranges_that_break_off_are_an_error_and_files_without_them_are_not():
    whole = dump("cpu-0.12.0.1", "looped_and_read").ranges
    cut = whole[: whole.index("  Live ranges at")]
    with pytest.raises(AssignmentError, match="the live ranges break off"):
        read_live_ranges(cut.splitlines())
    with pytest.raises(AssignmentError, match=r"expected a live range, found `tuple\{\}:`"):
        read_live_ranges(re.sub(r"(tuple\{\}:)\S+", r"\1", whole).splitlines())
    assert read_live_ranges(["BufferAssignment:", "allocation 0: size 4:"]) is None


# Padding


@pytest.mark.parametrize(("folder", "module"), ALL)
def test_every_value_takes_what_its_layout_says(folder: str, module: str):
    checked = 0
    for allocation in read(dump(folder, module)).allocations:
        for value in allocation.values:
            found = shape(value.shape)
            if not found.is_tuple:
                assert padded_size_in_bytes(found) == value.size, value.shape
                checked += 1
    assert checked


@pytest.mark.parametrize(
    ("text", "size"),
    [
        # Sizes of allocations of libtpu 0.0.50.
        ("f32[]{:T(128)}", 512),
        ("f32[1024,3]{0,1:T(4,128)}", 16384),
        ("bf16[1024,3]{0,1:T(4,128)(2,1)}", 8192),
        ("s8[1000,3]{0,1:T(4,128)(4,1)}", 4096),
        ("pred[7]{0:T(512)(128)(4,1)}", 512),
        ("f16[2,3,5,7]{3,0,2,1:T(2,128)(2,1)}", 7680),
        ("f32[513]{0:T(1024)}", 4096),
        ("s4[100,300]{0,1:T(8,128)(8,1)E(4)}", 19456),
        ("s4[4,129,300]{2,1,0:T(8,128)(8,1)E(4)}", 104448),
        ("u4[64,128]{1,0:T(64,128)(8,1)E(4)}", 4096),
        ("s4[7]{0:T(1024)(128)(8,1)E(4)}", 512),
        ("c64[100,3]{0,1:T(4,128)}", 4096),
        ("s64[7]{0:T(128)}", 1024),
        ("f32[0,3]{1,0}", 0),
        ("f32[64,64]{1,0:T(8,128)S(1)}", 32768),
        # Sizes of allocations on a CPU.
        ("s4[7]{0:E(4)}", 4),
        ("f32[1024,3]{1,0}", 12288),
    ],
)
def test_sizes_that_were_measured(text: str, size: int):
    assert padded_size_in_bytes(shape(text)) == size


def test_a_layout_that_is_not_known_has_no_size():
    assert padded_size_in_bytes(shape("f32[8]{0:T(8)P(f32[2])}")) is None
    assert padded_size_in_bytes(shape("f32[8]{0:T(*,8)}")) is None
    assert padded_size_in_bytes(shape("f32[?]{0:T(128)}")) is None
    assert padded_size_in_bytes(shape("(f32[8]{0}, f32[?]{0})")) is None
    assert padded_size_in_bytes(shape("(f32[8]{0:T(128)}, f32[2]{0})")) == 520


DIMENSIONS = st.lists(st.integers(0, 300), max_size=4)
TILE = st.lists(st.integers(1, 16), min_size=1, max_size=3)


@given(DIMENSIONS, TILE, st.sampled_from(["f32", "bf16", "s8", "pred", "c64"]))
def test_padding_never_takes_away_and_is_whole_tiles(sizes: list[int], tile: list[int], dtype: str):
    order = ",".join(map(str, reversed(range(len(sizes)))))
    tiles = ",".join(map(str, tile))
    dimensions = ",".join(map(str, sizes))
    plain = shape(f"{dtype}[{dimensions}]{{{order}}}")
    padded = padded_size_in_bytes(shape(f"{dtype}[{dimensions}]{{{order}:T({tiles})}}"))
    assert padded is not None
    assert padded >= plain.size_in_bytes
    one = shape(f"{dtype}[{tiles}]").size_in_bytes
    assert padded % one == 0


@given(DIMENSIONS, st.data())
def test_a_tile_that_divides_pads_nothing(sizes: list[int], data: st.DataObject):
    sizes = [each + 1 for each in sizes]
    tile = [data.draw(st.sampled_from([1, size])) for size in sizes] or [1]
    order = ",".join(map(str, reversed(range(len(sizes)))))
    text = f"f32[{','.join(map(str, sizes))}]{{{order}:T({','.join(map(str, tile))})}}"
    assert padded_size_in_bytes(shape(text)) == shape(text).size_in_bytes


# Damaged text


@st.composite
def damaged(draw: st.DrawFn) -> Dump:
    found = dump(*draw(st.sampled_from(ALL)))
    texts = []
    for text in (found.assignment, found.ranges, found.text):
        for _ in range(draw(st.integers(0, 3))):
            at = draw(st.integers(0, len(text)))
            length = draw(st.sampled_from([0, 1, 7, 80, 1000]))
            other = draw(st.sampled_from(["", "0", "\n", "}", "{", ",", "|", "9" * 30, "é\x00"]))
            text = text[:at] + other + text[at + length :]
        texts.append(text)
    return Dump(texts[0], texts[1], found.report, texts[2])


@settings(max_examples=150, deadline=None)
@given(damaged())
def test_damaged_text_gives_an_answer_or_an_error_of_its_own(found: Dump):
    problem = ""
    try:
        assignment = read(found)
        assert assignment.total() >= 0
        ranges = read_live_ranges(found.ranges.splitlines())
        entry = read_entry(found.text)
        copies = find_copies(entry, read_header(found.text).aliases)
        if ranges is not None:
            given_ = TimedAssignment(assignment, ranges, entry)
            assert len(at_peak(copies, given_)) == len(copies)
            given_.peak_values()
    except HloError as error:
        problem = str(error)
    assert "\n" not in problem


def test_the_damage_is_often_seen():
    whole = dump("tpu-0.12.0.1", "module_0084").assignment
    seen = 0
    for at in range(20, len(whole), 97):
        try:
            read_assignment_text((whole[:at] + "#" + whole[at + 1 :]).splitlines())
        except AssignmentError:
            seen += 1
    assert seen > len(range(20, len(whole), 97)) // 4


@given(st.lists(st.integers(0, 10**9), max_size=5))
def test_a_place_in_a_value_is_read_as_it_is_written(index: list[int]):
    assert read_index("{" + ",".join(map(str, index)) + "}") == tuple(index)
