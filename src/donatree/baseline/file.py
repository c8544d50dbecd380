"""Baselines on disk."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import shutil
from pathlib import Path
from typing import Any

from donatree.baseline import reading
from donatree.baseline.record import Baseline, BaselineError
from donatree.baseline.toml import dumps
from donatree.ledger import SCHEMA_VERSION, Account
from donatree.reports import decode


def read(path: str | os.PathLike[str]) -> Baseline:
    """Reads a baseline.

    Args:
        path: the file.

    Returns:
        The baseline; names of files in it are relative to its folder.

    Raises:
        BaselineError: it cannot be read, or is no baseline; one line that names the file.
    """
    return _baseline(_text(path), path)


def write(path: str | os.PathLike[str], baseline: Baseline) -> None:
    """Writes a baseline at once: a reader finds the old file or the new one, never a part.

    The comment at the top of the file stays as it is, where there is one.

    Args:
        path: the file; it need not be there, its folder must.
        baseline: what is expected.

    Raises:
        OSError: it cannot be written.
    """
    target = Path(os.path.realpath(path))  # where it is a link, what it leads to is written
    with contextlib.suppress(FileNotFoundError):
        comment = reading.leading_comment(target.read_text("utf-8", errors="replace"))
        baseline = dataclasses.replace(baseline, comment=comment or baseline.comment)
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        part.write_bytes(dumps(baseline).encode())
        if target.exists():
            shutil.copymode(target, part)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def load(path: str | os.PathLike[str]) -> Baseline | Account:
    """Reads a JSON report, a ledger as JSON or a baseline: whichever a file holds.

    Args:
        path: the file.

    Raises:
        BaselineError: it cannot be read, or is none of them; one line that names the file.
    """
    text = _text(path)
    if not text.lstrip().startswith("{"):
        return _baseline(text, path)
    try:
        data: Any = json.loads(text)
    except json.JSONDecodeError as error:
        raise BaselineError(f"{path}:{error.lineno}: no JSON: {error.msg}") from None
    except (RecursionError, ValueError):
        raise BaselineError(f"{path}: nested too deep, or a number too long") from None
    if "schema_version" not in data and "entries" in data:  # one ledger of a report
        data = {**Account().to_dict(), "ledgers": [data]}
    try:
        return decode.account(data, SCHEMA_VERSION)
    except ValueError as error:
        raise BaselineError(f"{path}: {error}") from None


def _text(path: str | os.PathLike[str]) -> str:
    try:
        return Path(path).read_text("utf-8-sig")
    except OSError as error:
        raise BaselineError(f"cannot read `{path}`: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise BaselineError(f"cannot read `{path}`: it is no text in UTF-8") from None


def _baseline(text: str, path: str | os.PathLike[str]) -> Baseline:
    folder = Path(os.path.abspath(path)).parent
    return dataclasses.replace(reading.loads(text, str(path)), folder=folder)
