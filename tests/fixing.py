"""Programs on disk whose fixes are tried, whose patch is applied, and which are audited again."""

from __future__ import annotations

import importlib.util
import itertools
import linecache
import shutil
import subprocess
import sys
import time
import warnings
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

from donatree.audit import examined
from donatree.fixes import attempts
from donatree.ledger import Fix, Ledger
from donatree.watch.proving import Examined

_loaded = itertools.count()

HEADER = """\
import functools
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp

"""


def write(folder: Path, text: str | bytes, name: str = "train.py") -> Path:
    """Writes a program as it is given, byte for byte."""
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def load(path: Path) -> ModuleType:
    """A new module from a file, whatever was loaded from it before."""
    spec = importlib.util.spec_from_file_location(f"{path.stem}_{next(_loaded)}", path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)  # for dataclasses
    linecache.checkcache(str(path))
    spec.loader.exec_module(module)
    return module


def examine(module: ModuleType) -> Examined:
    """What is known of a module's `step` and `args`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return examined(module.step, module.args, getattr(module, "kwargs", {}))


def tried(found: Examined, seconds: float = 600.0) -> tuple[Fix, ...]:
    """All fixes of a program, with what came of them."""
    deadline = time.monotonic() + seconds
    return attempts.try_all(found.program, found.ledger, found.observation, deadline)


def held(all_of_them: Iterable[Fix], kind: str) -> Fix:
    """The one fix of a kind, which has to have held."""
    (fix,) = [fix for fix in all_of_them if fix.kind == kind]
    assert fix.held, fix
    return fix


def fixes_of(folder: Path, text: str | bytes) -> tuple[Ledger, tuple[Fix, ...]]:
    """Ledger and fixes of a program's text."""
    found = examine(load(write(folder, text)))
    return found.ledger, tried(found)


def applied(folder: Path, diff: str, program: str) -> bytes:
    """The program's file after `patch` or `git` has applied a diff in its folder."""
    there = folder / program
    shutil.rmtree(there, ignore_errors=True)
    there.mkdir()
    shutil.copy(folder / "train.py", there)
    commands = {
        "git": ["git", "apply", "--whitespace=nowarn", "-"],
        "patch": ["patch", "-p1", "--binary", "--no-backup-if-mismatch"],
    }
    done = subprocess.run(
        commands[program],
        cwd=there,
        input=diff.encode("utf-8", "surrogateescape"),
        capture_output=True,
        check=False,
        env={"GIT_CEILING_DIRECTORIES": str(folder), "PATH": "/usr/bin:/bin:/usr/local/bin"},
    )
    assert done.returncode == 0, (done.stdout, done.stderr, diff)
    assert sorted(path.name for path in there.iterdir() if path.is_file()) == ["train.py"]
    return (there / "train.py").read_bytes()
