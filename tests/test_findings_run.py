"""The two programs of every finding that only a run shows, run as a reader would run them."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from programs import Ended, donatree, python, write

from donatree import findings

RULES = {code: findings.rule(code) for code in findings.CODES if findings.rule(code).runs}
LOST = {"DT601", "DT604", "DT605"}  # their newest call looked at copied
ENDS_BADLY = {code for code in RULES if code.startswith("DT70") and code >= "DT702"}


class Shown(NamedTuple):
    """One program, run without and with donatree, and the report."""

    plain: Ended
    watched: Ended
    account: dict[str, Any]


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Shown]:
    folder = tmp_path_factory.mktemp("pages")

    def run(name: str, text: str) -> Shown:
        own = folder / name
        write(own, text)
        plain = python("train.py", cwd=own)
        watched = donatree("run", "--json", "report.json", "train.py", cwd=own)
        return Shown(plain, watched, json.loads((own / "report.json").read_text()))

    programs = {f"{code} failing": rule.failing for code, rule in RULES.items()}
    programs |= {f"{code} repaired": rule.repaired for code, rule in RULES.items()}
    with ThreadPoolExecutor(2) as pool:
        found = pool.map(run, programs, programs.values())
        return dict(zip(programs, found, strict=True))


def all_findings(account: dict[str, Any]) -> list[dict[str, Any]]:
    ledgers = [found for ledger in account["ledgers"] for found in ledger["findings"]]
    return [*account["findings"], *ledgers]


@pytest.mark.parametrize("code", RULES)
def test_the_failing_program_of_a_page_shows_its_code(code: str, shown: dict[str, Shown]) -> None:
    account = shown[f"{code} failing"].account
    assert account["faults"] == []
    (found,) = [each for each in all_findings(account) if each["code"] == code]
    assert found["help"]
    if code.startswith("DT6"):
        assert found["bytes"] > 0
        assert (found["level"] == "error") == (code in LOST)
        entries = [e for each in account["ledgers"] for e in each["entries"]]
        lost = [entry for entry in entries if entry["stopped_at"] == "honoured"]
        assert bool(lost) == (code in LOST)
        assert [e["path"] for e in entries if e["finding"] == code] == found["leaves"]


@pytest.mark.parametrize("code", RULES)
def test_the_repaired_program_keeps_every_byte_and_has_no_finding(
    code: str, shown: dict[str, Shown]
) -> None:
    account = shown[f"{code} repaired"].account
    assert (account["faults"], all_findings(account), account["ended"]) == ([], [], None)
    assert account["ledgers"]
    for ledger in account["ledgers"]:
        assert ledger["bytes_after"]["honoured"] == ledger["promised_bytes"] > 0


@pytest.mark.parametrize("code", RULES)
def test_a_page_says_of_its_failing_program_how_it_ends(code: str, shown: dict[str, Shown]) -> None:
    ended = shown[f"{code} failing"].plain
    assert (ended.code != 0) == (code in ENDS_BADLY), ended.err
    assert shown[f"{code} repaired"].plain.code == 0


@pytest.mark.parametrize("kind", ["failing", "repaired"])
@pytest.mark.parametrize("code", RULES)
def test_donatree_changes_neither_output_nor_exit_code(
    code: str, kind: str, shown: dict[str, Shown]
) -> None:
    program = shown[f"{code} {kind}"]
    assert (program.watched.code, program.watched.out) == (program.plain.code, program.plain.out)
    if program.plain.code:  # the program's own traceback comes first, unchanged
        assert program.watched.err.startswith(program.plain.err)


def test_there_are_programs_to_run() -> None:
    assert {"DT601", "DT602", "DT603", "DT604", "DT605"} <= set(RULES)
