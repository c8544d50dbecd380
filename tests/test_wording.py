"""The rules of wording, and the words of fixes held to them and to those for findings."""

from __future__ import annotations

import pytest

import fixing
import wording
from donatree.fixes.patch import patch
from donatree.ledger import Fix, Tally
from donatree.reports import fixes as report
from test_findings import faults
from test_fixes import CURES

pytestmark = pytest.mark.filterwarnings("ignore:Some donated buffers were not usable")


@pytest.mark.parametrize(
    "text",
    [
        "the leaf has 84",
        "84 of 96 are lost",
        "it needs 148 -> 144",
        "live memory is 12.",
        "123456 bytes are lost",
        "2 calls copied 96",
    ],
)
def test_a_number_without_a_unit_or_commas_is_found(text):
    assert wording.faults(text) != []


@pytest.mark.parametrize(
    "text",
    [
        "84 of 96 bytes are lost",
        "up to JAX 0.7.2 and since JAX 0.8.3 on 8 devices",
        "calls 1, 2 and 3 copied 1,024 bytes",
        "it is `x[3]` and comes back as bfloat16[64,32], P('data', None) on (data: 8)",
        "live memory 20,496 -> 16,400 bytes",
        "argument 0 is declared by position",
    ],
)
def test_numbers_that_say_what_they_count_are_let_pass(text):
    assert wording.faults(text) == []


def test_a_headline_is_as_long_as_its_words():
    long = "the leaf " * 12 + "is lost"
    assert wording.faults(long, "headline") != []
    assert wording.faults(long) == []
    code = f"`{'state.' * 40}step` is lost ({'P(a) ' * 20})"
    assert wording.faults(code, "headline") == []


@pytest.mark.parametrize("name", CURES)
def test_what_is_said_of_fixes_is_well_worded(name, tmp_path):
    _, found = fixing.fixes_of(tmp_path, CURES[name].text)
    said = [text for fix in found for text in words_of(fix)]
    assert len(said) > 1
    assert {text: faults(text) for text in said if faults(text)} == {}
    lines = patch(found, tmp_path).splitlines()
    assert all(line.startswith("# ") for line in lines[:1])


def words_of(fix: Fix) -> list[str]:
    reasons = [] if fix.why_not is None else [fix.why_not]
    return [report.sentence(fix), report.sentence(fix, 8), fix.change, *fix.notes, *reasons]


def test_the_words_of_a_fix_would_be_found_wanting():
    bad = Fix("cast", ("DT402",), ("x",), "With `x", "held", after=Tally(8, 8), notes=("84.",))
    assert [text for text in words_of(bad) if not faults(text)] == []
