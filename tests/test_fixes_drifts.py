"""Every program of drifts: what a fix tells is what the program does once it is edited so."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

import drifting
import drifts_control
import drifts_libraries
import drifts_plain
import fixing
from donatree.fixes.patch import edited
from donatree.ledger import Fix, Ledger
from donatree.watch.proving import Examined
from drifting import PROGRAMS

pytestmark = pytest.mark.filterwarnings("ignore:Some donated buffers were not usable")

MODULES = (drifts_plain, drifts_control, drifts_libraries)
SEEN: dict[str, list[Fix]] = {}


def examined(make: object) -> Examined | None:
    """What is known of a program; None for one that has to be called (nnx up to 0.10)."""
    step, args = make()  # type: ignore[operator]
    if not hasattr(step, "lower"):
        return None
    module = type("Module", (), {"step": staticmethod(step), "args": args})
    module.step = step  # type: ignore[attr-defined]
    return fixing.examine(module)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_verified_is_what_the_edited_program_does(name, tmp_path, monkeypatch):
    make = PROGRAMS[name].make
    found = examined(make)
    if found is None:
        pytest.skip("this step has no `lower`")
    SEEN[name] = []
    for fix in fixing.tried(found):
        if fix.kind != "cast" or not fix.held or fix.edit is None:
            continue
        if "other casts" in fix.change:
            continue
        file = Path(inspect.getsourcefile(make) or "")
        data, told = edited(file.read_bytes(), [fix.edit])
        assert told == [None]
        monkeypatch.setattr(drifting, "PROGRAMS", {})
        fixing.load(fixing.write(tmp_path, data, file.name))
        after = examined(drifting.PROGRAMS[name].make)
        assert after is not None
        assert same(fix, after.ledger), (fix, after.ledger)
        SEEN[name].append(fix)


def same(fix: Fix, ledger: Ledger) -> bool:
    """Whether a ledger is what a fix told, and nothing of its leaves drifts."""
    assert fix.after is not None
    assert ledger.live is not None
    drifted = {path for each in ledger.findings if each.code in fix.codes for path in each.leaves}
    told = (fix.after.promised, fix.after.in_place, fix.after.live)
    return drifted.isdisjoint(fix.leaves) and told == (
        ledger.promised,
        ledger.kept_in_place,
        ledger.live.total,
    )


def test_most_drifts_have_an_edit_that_held():
    if len(SEEN) < len(PROGRAMS) - 2:
        pytest.skip("needs all programs")
    assert sum(map(bool, SEEN.values())) >= 28
    assert {fix.grade for each in SEEN.values() for fix in each} == {"sure", "maybe"}


def test_another_program_than_the_edited_one_would_be_found():
    found = examined(PROGRAMS["int_counter"].make)
    assert found is not None
    fix = fixing.held(fixing.tried(found), "cast")
    assert not same(fix, found.ledger)
