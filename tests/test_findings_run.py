"""The two programs of every finding that only a run shows, run as a reader would run them."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import pytest

from donatree import findings
from programs import Ended, donatree, python, write

# DT706 is what `--before` finds: tests/test_before.py runs its programs; DT8xx is what `advise`
# finds: tests/test_advice.py does.
ELSEWHERE = ("DT706", "DT801", "DT802", "DT803")
CODES = [code for code in findings.CODES if findings.rule(code).runs and code not in ELSEWHERE]
RULES = {code: findings.rule(code) for code in CODES}
LOST = {"DT601", "DT604", "DT605"}  # their newest call looked at copied
ENDS_BADLY = {code for code in RULES if code.startswith("DT70") and code >= "DT702"}


class Shown(NamedTuple):
    """One program, run without donatree (the failing ones) and with it, and the report."""

    plain: Ended | None
    watched: Ended
    account: dict[str, Any]


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Shown]:
    folder = tmp_path_factory.mktemp("pages")

    def run(name: str, text: str) -> Shown:
        own = folder / name
        write(own, text)
        plain = python("train.py", cwd=own) if name.endswith("failing") else None
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
def test_donatree_changes_neither_output_nor_exit_code(code: str, shown: dict[str, Shown]) -> None:
    plain, watched, _ = shown[f"{code} failing"]
    assert plain is not None
    assert (plain.code != 0) == (code in ENDS_BADLY), plain.err
    assert (watched.code, watched.out) == (plain.code, plain.out)
    repaired = shown[f"{code} repaired"].watched
    assert repaired.code == 0
    if code in ENDS_BADLY:  # the program's own traceback comes first, unchanged
        _, _, trace = plain.err.partition("Traceback (most recent call last)")
        assert trace.split("For simplicity, JAX")[0].rstrip(" -\n") in watched.err


def test_there_are_programs_to_run() -> None:
    assert {"DT601", "DT605", "DT701", "DT705"} <= set(RULES)
