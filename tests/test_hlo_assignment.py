from __future__ import annotations

import functools
import itertools
import pickle
import struct
from collections.abc import Mapping
from random import Random

import jax
import pytest
from hypothesis import given
from hypothesis import strategies as st

import programs_in_place
from donatree.hlo.allocation import read_allocation, read_assigned, read_location
from donatree.hlo.assignment import Assignment, Buffer, read_assignment
from donatree.hlo.error import HloError, ProtoError
from donatree.hlo.heap import ALLOC, FREE, SHARE_WITH, Event, live_at_peak
from donatree.hlo.ids import InstructionIds
from donatree.hlo.instructions import EntryComputation, read_entry
from donatree.hlo.wire import Message, nested, number, repeated
from programs_in_place import PROGRAMS, Compiled
from protos import field, message, varint, without
from saved_modules import Saved, all_saved, saved

SAVED = [each for each in all_saved() if "tpu" not in each[0]]
TRACES, PEAKS = 4, 5

VALUES = st.integers(0, 2**64 - 1) | st.binary(max_size=20)
FIELDS = st.lists(st.tuples(st.integers(1, 2**29 - 1), VALUES))


@functools.cache
def compiled(name: str, *, donated: bool = True) -> Compiled:
    return programs_in_place.compiled(PROGRAMS[name], None if donated else ())


def assignment_of(found: Compiled | Saved) -> Assignment:
    if found.assignment is None:
        pytest.skip("this jaxlib gives no buffer assignment (those before 0.6.2)")
    return read_assignment(found.assignment, found.module, read_entry(found.text))


def plain(proto: Message) -> list[tuple[int, int | bytes]]:
    return [
        (number, value if isinstance(value, int) else value.content()) for number, value in proto
    ]


# The wire format


@given(FIELDS)
def test_what_was_written_is_read(fields: list[tuple[int, int | bytes]]):
    assert plain(Message(message(*fields))) == fields


@given(FIELDS)
def test_messages_in_messages_are_read(fields: list[tuple[int, int | bytes]]):
    ((number, inner),) = Message(field(7, field(3, message(*fields))))
    assert number == 7
    assert isinstance(inner, Message)
    ((_, innermost),) = inner
    assert isinstance(innermost, Message)
    assert plain(innermost) == fields


@given(st.lists(st.integers(-(2**63), 2**63 - 1)))
def test_numbers_are_read_one_by_one_and_packed(numbers: list[int]):
    encoded = [each % 2**64 for each in numbers]
    one_by_one = [
        each
        for _, value in Message(message(*((4, each) for each in encoded)))
        for each in repeated(value)
    ]
    ((_, packed),) = Message(field(4, b"".join(map(varint, encoded))))
    assert one_by_one == repeated(packed) == numbers


def test_numbers_of_fixed_size_and_text_are_read():
    data = varint(1 << 3 | 1) + struct.pack("<Q", 2**63 + 5) + varint(2 << 3 | 5)
    data += struct.pack("<I", 7) + field(3, "é".encode())
    (first, second, (_, text)) = Message(data)
    assert (first, second) == ((1, 2**63 + 5), (2, 7))
    assert isinstance(text, Message)
    assert text.text() == "é"


@given(st.binary(max_size=60))
def test_any_bytes_give_fields_or_an_error(data: bytes):
    problem = ""
    try:
        for _, value in Message(data):
            if isinstance(value, Message):
                assert data[value.start : value.end] == value.content()
                value.numbers()
                value.text()
                list(value)
    except ProtoError as error:
        problem = str(error)
    assert "\n" not in problem


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"\x08", "at byte 1: field 1 breaks off before its value"),
        (b"\x08\x80", "at byte 1: number without its last byte"),
        (b"\x08" + b"\xff" * 11, "at byte 1: number of more than 10 bytes"),
        (b"\x08" + b"\xff" * 9 + b"\x02", "at byte 1: number of more than 64 bits"),
        (b"\x12\x05ab", "at byte 2: field 2 has 5 bytes, 2 are left"),
        (b"\x11abc", "at byte 1: field 2 has 8 bytes, 3 are left"),
        (b"\x0b", "at byte 0: field 1 is of the unknown kind 3"),
        (b"\x08\x01\x00\x01", "at byte 2: no field has the number 0"),
    ],
)
def test_malformed_bytes_are_an_error_that_names_the_place(data: bytes, text: str):
    with pytest.raises(ProtoError) as caught:
        list(Message(data))
    assert str(caught.value) == f"protobuf message cannot be read {text}"
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_values_of_the_wrong_kind_are_an_error():
    ((_, value),) = proto = Message(field(9, b"ab"))
    with pytest.raises(ProtoError, match="at byte 2: expected a number in field 9, found 2 bytes"):
        number(9, value)
    with pytest.raises(ProtoError, match="expected a message in field 9, found the number 3"):
        nested(proto, 9, 3)


# The simulated heap


def test_the_heap_is_replayed_up_to_its_first_peak():
    sizes = {1: 100, 2: 50, 3: 100, 4: 60, 5: 90}
    events = [
        Event(ALLOC, 1),
        Event(ALLOC, 2),  # 150
        Event(FREE, 1),
        Event(SHARE_WITH, 3, 1),  # in the memory that was free: 150 again
        Event(SHARE_WITH, 4, 2),  # in memory that is in use: adds nothing
        Event(FREE, 3),
        Event(ALLOC, 5),  # 140
    ]
    assert live_at_peak(events, sizes) == {1, 2}
    assert live_at_peak(events[:5], {**sizes, 2: 10, 3: 110}) == {2, 3}
    assert live_at_peak(events, {4: 60, 5: 90}) == {4, 5}
    assert live_at_peak([], sizes) == frozenset()


@given(st.integers(0, 2**32))
def test_the_peak_is_where_most_is_live(seed: int):
    random = Random(seed)
    sizes = {each: random.randint(1, 9) for each in range(8)}
    events, live, history = [], set[int](), []
    for _ in range(random.randint(1, 30)):
        buffer = random.choice(list(sizes))
        events.append(Event(FREE if buffer in live else ALLOC, buffer))
        live ^= {buffer}
        history.append(frozenset(live))
    most = max(history, key=lambda live: sum(sizes[each] for each in live))
    assert live_at_peak(events, sizes) == most


# Compiled programs


def shape_bytes(entry: EntryComputation, name: str, index: tuple[int, ...]) -> int:
    shape = entry[name].shape
    for place in index:
        shape = shape.elements[place]
    # The table of a tuple has a pointer of 8 bytes for each element.
    return 8 * len(shape.elements) if shape.is_tuple else shape.size_in_bytes


def check_numbers_of_instructions(found: Compiled | Saved) -> int:
    """Holds what the assignment says of numbered instructions against those of that name."""
    assert found.assignment is not None
    entry, ids = read_entry(found.text), InstructionIds(found.module)
    places: dict[int, tuple[int, tuple[int, ...]]] = {}
    checked = 0
    for number_, part in Message(found.assignment):
        assert isinstance(part, Message)
        if number_ == 1:  # a logical buffer: id, size, where it is defined
            parts = dict(part)
            location = parts[3]
            assert isinstance(location, Message)
            id_, size = parts.get(1, 0), parts.get(2, 0)
            assert isinstance(id_, int)
            places[id_] = instruction, index = read_location(location)
            name = ids.in_entry.get(instruction)
            if name is not None:
                assert size == shape_bytes(entry, name, index), name
                assert ids.number(name) == instruction
                checked += 1
        elif number_ == 3:
            allocation = read_allocation(part)
            if allocation.parameter is not None:
                names = {ids.in_entry.get(each.instruction) for each in read_assigned(part, places)}
                assert entry.parameter(allocation.parameter).name in names
    return checked


@pytest.mark.parametrize(("version", "name"), SAVED)
def test_numbers_name_the_instructions_of_saved_modules(version: str, name: str):
    assert check_numbers_of_instructions(saved(version, name)) >= 3


@pytest.mark.parametrize("name", PROGRAMS)
def test_numbers_name_the_instructions_of_this_jax(name: str):
    assignment_of(compiled(name))
    assert check_numbers_of_instructions(compiled(name)) >= 3


def test_numbers_of_another_module_are_noticed():
    """The check of the two tests above can fail."""
    right, wrong = saved("0.12.0.1", "trained"), saved("0.12.0.1", "momentum")
    with pytest.raises((AssertionError, HloError)):
        check_numbers_of_instructions(Saved(right.text, right.assignment, wrong.module))


@pytest.mark.parametrize("donated", [True, False])
@pytest.mark.parametrize("name", PROGRAMS)
def test_temporaries_are_those_that_jax_counts(name: str, donated: bool):
    found = compiled(name, donated=donated)
    assignment = assignment_of(found)
    assert assignment.temp_size == found.temp
    parameters = [each for each in assignment.allocations if each.parameter is not None]
    reused = sum(each.size for each in parameters if each.live_out)
    assert reused == found.alias
    assert all(
        each.offset + each.size <= found.temp and each.size >= 0 for each in assignment.temp_buffers
    )


@pytest.mark.parametrize("donated", [True, False])
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_live_at_the_peak_fills_the_temporaries(name: str, donated: bool):
    found = compiled(name, donated=donated)
    assignment = assignment_of(found)
    if assignment.peak_buffers is None:
        pytest.skip("this jaxlib does not tell what is live at the peak (0.7 to 0.9)")
    # The rest is what aligning buffers costs.
    assert found.temp - 1024 <= sum(each.size for each in assignment.peak_buffers) <= found.temp


def test_assignments_are_read_wherever_there_are_any():
    """The tests above are left out on JAX 0.5 and 0.6.0 alone."""
    given = jax.__version_info__ >= (0, 6, 2)
    assert (compiled("squared").assignment is not None) == given


def described(buffers: tuple[Buffer, ...] | None, assignment: Assignment) -> list[str] | None:
    if buffers is None:
        return None
    return [
        f"{assignment.name(each) or 'inside'}{list(each.index)}: {each.size}" for each in buffers
    ]


PEAK_OF_TRAINED = {
    "0.6.2": (
        1638400,
        ["inside[]: 524288", "inside[]: 524288", "dot.22[]: 524288", "copy.1[]: 65536"],
    ),
    "0.7.2": (1245184, None),
    "0.10.2": (
        1245184,
        [
            "wrapped_tanh[]: 524288",
            "ynn_fusion[]: 524288",
            "broadcast_multiply_fusion[]: 131072",
            "copy.1[]: 65536",
        ],
    ),
    "0.12.0.1": (
        1245184,
        [
            "wrapped_tanh[]: 524288",
            "ynn_fusion[]: 524288",
            "broadcast_multiply_fusion[]: 131072",
            "copy.1[]: 65536",
        ],
    ),
}


@pytest.mark.parametrize("version", PEAK_OF_TRAINED)
def test_the_peak_of_a_training_step(version: str):
    assignment = assignment_of(saved(version, "trained"))
    size, peak = PEAK_OF_TRAINED[version]
    assert assignment.temp_size == size
    assert described(assignment.peak_buffers, assignment) == peak


def test_each_way_to_tell_the_peak_was_saved():
    ways = {
        version: {number for number, _ in Message(saved(version, "trained").assignment)}
        for version in PEAK_OF_TRAINED
    }
    assert {version: found & {TRACES, PEAKS} for version, found in ways.items()} == {
        "0.6.2": {TRACES},
        "0.7.2": set(),
        "0.10.2": {PEAKS},
        "0.12.0.1": {PEAKS},
    }


def test_buffers_outside_of_the_trace_count_once():
    """XLA adds allocations to the heap after its simulation; values of a loop share one."""
    assignment = assignment_of(saved("0.6.2", "looped_and_read"))
    assert assignment.peak_buffers is not None
    spans = sorted((each.offset, each.offset + each.size) for each in assignment.peak_buffers)
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(spans))


# Assignments by hand


def by_hand(buffers: Mapping[int, tuple[int, int, int]], peak: list[int] | None = None) -> bytes:
    """A temporary allocation: the number of an instruction, an offset and a size by id."""
    logical = [
        (1, message((1, id_), (2, size), (3, field(4, instruction))))
        for id_, (instruction, _, size) in buffers.items()
    ]
    assigned = [
        (9, message((1, id_), (2, offset), (3, size))) for id_, (_, offset, size) in buffers.items()
    ]
    end = max((offset + size for _, offset, size in buffers.values()), default=0)
    peaks = [] if peak is None else [(5, message((1, 1), (2, bytes(peak))))]
    return message(
        *logical,
        (3, message((2, 64), (5, 1), (6, 0))),
        (3, message((1, 1), (2, end), *assigned)),
        *peaks,
    )


def module_by_hand(*names: str) -> bytes:
    """A module whose instructions are numbered from 0."""
    instructions = [
        (2, message((1, name.encode()), *([(35, at)] if at else [])))
        for at, name in enumerate(names)
    ]
    return message((3, message(*instructions, (5, 4))), (6, 4))


def test_values_are_looked_up_in_an_assignment_by_hand():
    proto = by_hand({7: (0, 0, 64), 8: (1, 64, 128)}, peak=[8])
    assignment = read_assignment(proto, module_by_hand("a", "b", "c"))
    assert assignment.temp_size == 192
    assert [(each.parameter, each.is_temp) for each in assignment.allocations] == [
        (0, False),
        (None, True),
    ]
    assert assignment.temp_buffers == (Buffer(7, 1, 0, 64, 0), Buffer(8, 1, 64, 128, 1))
    assert assignment.peak_buffers == (Buffer(8, 1, 64, 128, 1),)
    values = [("a", ()), ("b", ()), ("b", (0,)), ("c", ()), ("unknown", ())]
    assert assignment.at_peak(values) == (False, True, None, None, None)


def test_an_empty_message_tells_nothing():
    assignment = read_assignment(b"", module_by_hand("a"))
    assert (assignment.allocations, assignment.temp_size) == ((), 0)
    assert assignment.at_peak([("a", ())]) == (None,)


ONE_AFTER_THE_OTHER = """ENTRY %main {
  %x = f32[16]{0} parameter(0)
  %a = f32[16]{0} negate(%x)
  %b = f32[16]{0} negate(%a)
  %y = f32[] reduce(%b, %x), dimensions={0}, to_apply=%add
  %c = f32[16]{0} broadcast(%y), dimensions={}
  ROOT %d = f32[16]{0} negate(%c)
}"""
NUMBERED = module_by_hand("x", "a", "b", "c", "d", "y")


def test_lifetimes_stand_in_for_a_peak_that_is_not_told():
    entry = read_entry(ONE_AFTER_THE_OTHER)
    # `a` is read while `b` is made: together they are the peak; `c` has the memory for itself.
    proto = by_hand({1: (1, 0, 64), 2: (2, 64, 64), 3: (3, 32, 64)})
    assert read_assignment(proto, NUMBERED).peak_buffers is None
    assert read_assignment(proto, NUMBERED).at_peak([("a", ())]) == (None,)
    assignment = read_assignment(proto, NUMBERED, entry)
    assert assignment.at_peak([("a", ()), ("b", ())]) == (True, True)
    assert assignment.at_peak([("c", ())]) == (False,)


def test_memory_that_is_needed_anyway_is_excused():
    entry = read_entry(ONE_AFTER_THE_OTHER)
    # `c` needs the memory of `a` again, so that `a` costs nothing.
    proto = by_hand({1: (1, 0, 64), 3: (3, 0, 64)}, peak=[1])
    assert read_assignment(proto, NUMBERED, entry).at_peak([("a", ())]) == (False,)
    # Two that take turns do not excuse each other.
    values = [("a", ()), ("c", ())]
    assert read_assignment(proto, NUMBERED, entry).at_peak(values) == (True, False)


LOOPED = """ENTRY %main {
  %x = f32[16]{0} parameter(0)
  %a = f32[16]{0} negate(%x)
  %b = f32[16]{0} while(%x), condition=%c, body=%d
  %c = f32[16]{0} add(%a, %b)
  ROOT %d = f32[16]{0} negate(%c)
}"""


def test_what_goes_on_in_a_loop_may_leave_it_open():
    # 9 is a buffer inside of the loop's body, which is in none of the entry computation's lines.
    entry = read_entry(LOOPED)
    alive = by_hand({1: (1, 0, 64), 9: (99, 32, 64)})
    assert read_assignment(alive, NUMBERED, entry).at_peak([("a", ())]) == (True,)
    entry = read_entry(LOOPED.replace("while(%x)", "while(%a)").replace("(%a, %b)", "(%x, %b)"))
    assert read_assignment(alive, NUMBERED, entry).at_peak([("a", ())]) == (None,)


@pytest.mark.parametrize(("version", "name"), SAVED)
def test_lifetimes_agree_with_what_xla_tells(version: str, name: str):
    found = saved(version, name)
    entry = read_entry(found.text)
    told = read_assignment(found.assignment, found.module, entry)
    silent = read_assignment(without(found.assignment, (TRACES, PEAKS)), found.module, entry)
    values = [
        (name, each.index) for each in told.temp_buffers if (name := told.name(each)) is not None
    ]
    both = zip(told.at_peak(values), silent.at_peak(values), strict=True)
    assert not [pair for pair in both if set(pair) == {True, False}]


@given(st.integers(0, 2**32))
def test_damaged_messages_give_answers_or_an_error(seed: int):
    random = Random(seed)
    found = saved(*random.choice(SAVED))
    damaged = []
    for proto in (found.assignment, found.module):
        data = bytearray(proto)
        for _ in range(random.randint(0, 2)):
            start = random.randrange(len(data))
            data[start : start + random.choice([0, 1, 1, 5])] = random.randbytes(
                random.randrange(3)
            )
        damaged.append(bytes(data))
    problem = ""
    try:
        assignment = read_assignment(damaged[0], damaged[1], read_entry(found.text))
        names = [assignment.name(each) for each in assignment.temp_buffers]
        assignment.at_peak([(name, ()) for name in names if name])
        assert assignment.peak_buffers is None or assignment.temp_size is not None
    except HloError as error:
        problem = str(error)
    assert "\n" not in problem
