"""The patterns by which configuration names functions, leaves and codes."""

from __future__ import annotations

import re
from functools import cache
from pathlib import PurePath

from donatree.ledger import Location


def code_matches(pattern: str, code: str) -> bool:
    """Whether a code is meant: ``DT402``, or all that begin so, ``DT4``.

    Example:
        >>> code_matches("DT4", "DT402"), code_matches("DT402", "DT403")
        (True, False)
    """
    return code.startswith(pattern)


def leaf_matches(pattern: str, path: str) -> bool:
    """Whether a leaf is meant: by its path, by a part of the tree that it is in, or with ``*``.

    ``*`` stands for any characters; brackets are those of the path and nothing special.

    Example:
        >>> leaf_matches("state.opt_state[0]", "state.opt_state[0].mu['w']")
        True
        >>> leaf_matches("state.*.count", "state.opt_state[0].count")
        True
        >>> leaf_matches("state.opt", "state.opt_state[0].count")
        False
    """
    return _leaf(pattern).fullmatch(path) is not None


def function_matches(pattern: str, function: str, location: Location | None) -> bool:
    """Whether a function is meant: ``train_step``, ``*_step``, or ``train.py::train_step``.

    The file is the end of its path, in whole components.

    Example:
        >>> place = Location("/home/me/src/train.py", 3)
        >>> function_matches("src/train.py::*", "step", place)
        True
        >>> function_matches("rain.py::*", "step", place)
        False
    """
    file, colons, name = pattern.rpartition("::")
    if not _glob(name).fullmatch(function):
        return False
    if not colons:
        return True
    if location is None:
        return False
    parts, wanted = PurePath(location.file).parts, PurePath(file).parts
    return bool(wanted) and parts[-len(wanted) :] == wanted


@cache
def _leaf(pattern: str) -> re.Pattern[str]:
    return re.compile(_literal(pattern) + r"(?:[.\[].*)?", re.DOTALL)


@cache
def _glob(pattern: str) -> re.Pattern[str]:
    return re.compile(_literal(pattern), re.DOTALL)


def _literal(pattern: str) -> str:
    return ".*".join(map(re.escape, pattern.split("*")))
