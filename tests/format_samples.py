"""Accounts of which `tests/data/formats` holds every format as it is to be written.

Write the files anew, and look at what changed:

    python tests/format_samples.py
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

import sample_accounts
from donatree import reports
from donatree.ledger import (
    Account,
    Edit,
    Finding,
    Fix,
    Gate,
    Label,
    Location,
    Tally,
)

FOLDER = Path(__file__).parent / "data" / "formats"
ENDINGS = {
    "plain": "txt",
    "markdown": "md",
    "sarif": "sarif",
    "github": "github.txt",
    "gitlab": "gitlab.json",
    "junit": "xml",
    "csv": "csv",
}
WORKSPACES = ("GITHUB_WORKSPACE", "CI_PROJECT_DIR")


def cured() -> Account:
    """A finding with several places, an ignored one, and fixes: one with an edit, one in words."""
    place = Location("no_such_file.py", 12, 11, 12, 27)
    finding = Finding(
        "DT402",
        "`state.step` is returned as float32",
        ("state.step",),
        4,
        location=place,
        notes=("`state.step` is int32[], `result.step` is float32[]",),
        help="return `state.step + 1`, which stays int32",
        labels=(
            Label(Location("no_such_file.py", 9, 4, 9, 9), "the leaf comes in here"),
            Label(place, "it becomes float32", primary=True),
        ),
    )
    accepted = Finding(
        "DT201",
        "`state.seed` is never used",
        ("state.seed",),
        4,
        location=Location("no_such_file.py", 9),
        ignored="no_such_file.py:9: read by a script of ours",
        ignored_leaves=("state.seed",),
    )
    edit = Edit(place, "state.step + 1.0", "state.step + 1")
    before = Tally(24, 16, 48)
    held = Fix(
        "cast",
        ("DT402",),
        ("state.step",),
        "with `state.step + 1`",
        "held",
        before=before,
        after=Tally(24, 20, 44),
        grade="sure",
        edit=edit,
    )
    words = Fix("keep_unused", ("DT201",), ("state.seed",), "with `keep_unused=True`", "untried")
    rows = [
        sample_accounts.entry("state.w", 0, sample_accounts.spec("float32", 4)),
        sample_accounts.entry(
            "state.step",
            1,
            sample_accounts.spec("int32"),
            stopped_at=Gate.MATCHED,
            finding="DT402",
        ),
        sample_accounts.entry(
            "state.seed",
            2,
            sample_accounts.spec("int32"),
            stopped_at=Gate.KEPT,
            finding="DT201",
        ),
    ]
    made = sample_accounts.ledger(
        rows, finding, accepted, location=Location("no_such_file.py", 9), fixes=(held, words)
    )
    return sample_accounts.account(made)


SAMPLES = {
    "lesson": sample_accounts.lesson,
    "compared": sample_accounts.compared,
    "cured": cured,
    "hostile": sample_accounts.hostile,
    "targets": sample_accounts.targets,
    "nothing": Account,
}


def file_of(sample: str, name: str) -> Path:
    """The file that holds a sample in a format."""
    return FOLDER / f"{sample}.{ENDINGS[name]}"


def main() -> None:
    for name in WORKSPACES:
        os.environ.pop(name, None)
    FOLDER.mkdir(parents=True, exist_ok=True)
    for sample, make in SAMPLES.items():
        for name in ENDINGS:
            text = reports.render(make(), name)
            file_of(sample, name).write_text(text, encoding="utf-8", newline="")


if __name__ == "__main__":
    main()
