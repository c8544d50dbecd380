"""The name of a source file, the same for everybody who has the repository."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

_PACKAGES = ("site-packages", "dist-packages")
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")


class Name(NamedTuple):
    """The name of a file.

    Attributes:
        text: with forward slashes.
        outside: whether it is no more than its last part, because it lies elsewhere.
    """

    text: str
    outside: bool = False


def name_of(file: str | None, folder: Path) -> Name:
    """The name of a file: relative to a folder where it lies below.

    Args:
        file: as a location has it, absolute or relative to the current folder; None where it is
            not known.
        folder: of the baseline.

    Returns:
        The name. Of an installed package it is what comes from ``site-packages`` on; of another
        file outside of the folder its last part alone; that of a notebook's cell, ``<stdin>`` and
        the like stay as they are.

    Example:
        >>> name_of("/usr/lib/python3/site-packages/flax/nnx.py", Path("/home")).text
        'site-packages/flax/nnx.py'
        >>> name_of("/home/me/train.py", Path("/home")), name_of("<stdin>", Path("/home")).text
        (Name(text='me/train.py', outside=False), '<stdin>')
    """
    if not file or file.startswith("<"):
        return Name(readable(file or ""))
    text = file.replace("\\", "/") if os.sep == "\\" or _DRIVE.match(file) else file
    parts = text.split("/")
    installed = [i for i, part in enumerate(parts) if part in _PACKAGES]
    if installed:
        return Name(readable("/".join(parts[installed[-1] :])))
    for resolve in (os.path.abspath, os.path.realpath):
        try:
            inside = Path(resolve(text)).relative_to(resolve(folder))
        except (ValueError, OSError):
            continue
        return Name(readable(inside.as_posix()))
    return Name(readable(parts[-1]), outside=True)


def readable(text: str) -> str:
    """Text that every file can hold: what no encoding has becomes an escape."""
    return text.encode("utf-8", "backslashreplace").decode()
