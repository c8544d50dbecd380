"""The walk on graphs written by hand: no JAX, so what it must not do can be shown."""

from __future__ import annotations

import subprocess
import sys

import pytest

from donatree.ledger import Location
from donatree.origin import walk
from donatree.origin.drift import CONSTANT, Place, Type
from programs import environment

WIDE, LOW = Type("float32", (4,), False), Type("bfloat16", (4,), False)


class Written:
    """A graph from rows: number -> (kind, type, operands with costs)."""

    def __init__(self, rows):
        self.rows = rows
        self.asked = 0

    def operands(self, value):
        self.asked += 1
        return self.rows[value][2]

    def everything(self, value):
        return [operand for operand, _ in self.rows[value][2]]

    def kind(self, value):
        return self.rows[value][0]

    def type_of(self, value):
        return self.rows[value][1]

    def scopes(self, value):
        return (1,)

    def passes_on(self, value):
        return self.rows[value][0] in ("jit", "carry")

    def words(self, value):
        return "argument `lr`" if self.rows[value][0] == "input" else None

    def is_cast(self, value):
        return False

    def place(self, value):
        return Place(
            Location("step.py", self.rows[value][3] if len(self.rows[value]) > 3 else value)
        )


def test_the_last_step_is_shown_and_not_an_earlier_one():
    graph = Written(
        {
            0: ("input", WIDE, ()),
            1: ("convert_element_type", LOW, ((0, 1),)),
            2: ("convert_element_type", WIDE, ((1, 1),)),
            3: ("convert_element_type", LOW, ((2, 1),)),
            4: ("mul", LOW, ((3, 1),)),
        }
    )
    assert walk.Finder(graph).find(4, 0, "dtype").location == Location("step.py", 3)


def test_the_cheap_way_is_the_leafs_own_history():
    graph = Written(
        {
            0: ("input", LOW, ()),
            1: ("dot_general", WIDE, ((0, 100),)),
            2: ("convert_element_type", WIDE, ((0, 1),)),
            3: ("sub", WIDE, ((1, 1), (2, 1))),
        }
    )
    assert walk.Finder(graph).find(3, 0, "dtype").location == Location("step.py", 2)


def test_the_operand_is_named_where_it_is_the_only_source():
    rows = {
        0: ("input", LOW, ()),
        1: ("input", WIDE, ()),
        2: ("convert_element_type", WIDE, ((0, 1),), 9),
        3: ("sub", WIDE, ((2, 1), (1, 1)), 9),
    }
    told = walk.Finder(Written(rows)).find(3, 0, "dtype").because
    assert told == "the other operand is float32 because of argument `lr`"
    rows[3] = ("sub", WIDE, ((2, 1), (1, 1)), 10)  # another expression: somebody cast it himself
    assert walk.Finder(Written(rows)).find(3, 0, "dtype").because is None


def test_a_constant_has_no_place():
    graph = Written({0: ("input", WIDE, ()), 1: ("literal", LOW, ()), 2: ("jit", LOW, ((1, 0),))})
    origin = walk.Finder(graph).find(2, 0, "dtype")
    assert origin.location is None
    assert origin.unknown == CONSTANT


def test_a_loop_that_hands_itself_on_ends():
    rows = {0: ("input", WIDE, ()), 1: ("literal", LOW, ()), 2: ("carry", LOW, ((1, 0), (3, 0)))}
    rows[3] = ("jit", LOW, ((2, 0),))
    assert walk.Finder(Written(rows)).find(2, 0, "dtype").unknown == CONSTANT


@pytest.mark.parametrize("leaves", [1, 40])
def test_a_search_gives_up_in_time_and_says_so(monkeypatch, leaves):
    monkeypatch.setattr(walk, "_ALL", 2_000)
    monkeypatch.setattr(walk, "_MOST", 1_000)
    monkeypatch.setattr(walk, "_LEAST", 10)
    length = 5_000
    rows = {i: ("add", LOW, ((i + 1, 1),)) for i in range(1, length)}
    rows[length] = ("literal", LOW, ())
    rows[0] = ("input", WIDE, ())
    graph = Written(rows)
    finder = walk.Finder(graph)
    origins = [finder.find(1 + leaf, 0, "dtype") for leaf in range(leaves)]
    assert {origin.unknown for origin in origins} == {walk._TOO_LONG}
    assert graph.asked < 2_000 + 1_000 + leaves * 10 + 10


def test_leaves_that_lie_alike_are_not_searched_for(monkeypatch):
    rows = {}
    for leaf in range(0, 400, 4):
        rows[leaf] = ("input", WIDE, ())
        rows[leaf + 1] = ("mul", WIDE, ((leaf, 1),))
        rows[leaf + 2] = ("convert_element_type", LOW, ((leaf + 1, 1),), 7)
    finder = walk.Finder(Written(rows))
    searched = []
    search = walk.Finder._path
    monkeypatch.setattr(
        walk.Finder, "_path", lambda self, *where: searched.append(where) or search(self, *where)
    )
    origins = {finder.find(leaf + 2, leaf, "dtype") for leaf in range(0, 400, 4)}
    assert {origin.location for origin in origins} == {Location("step.py", 7)}
    assert len(searched) == 1


def test_a_known_way_that_leads_to_another_leaf_is_not_taken():
    rows = {
        0: ("input", WIDE, ()),
        1: ("input", WIDE, ()),
        2: ("convert_element_type", LOW, ((0, 1),), 20),
        3: ("convert_element_type", LOW, ((1, 1),), 30),
        4: ("add", LOW, ((2, 1), (3, 1)), 40),
        5: ("add", LOW, ((2, 1), (3, 1)), 50),
    }
    finder = walk.Finder(Written(rows))
    assert finder.find(4, 0, "dtype").location == Location("step.py", 20)
    assert finder.find(5, 1, "dtype").location == Location("step.py", 30)


def test_the_walk_needs_no_jax():
    code = "import sys, donatree.origin.walk, donatree.why.causes; print('jax' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment(), check=True
    )
    assert done.stdout.strip() == "False"
