"""The function that a command line names: `file.py::name` or `package.module:name`."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from donatree.errors import TargetError, in_one_line

Function = tuple[Any, tuple[Any, ...], dict[str, Any]]
"""A jitted function, its positional and its keyword arguments."""


def resolve(target: str) -> Function:
    """Finds a target and calls it.

    Args:
        target: ``file.py::name`` or ``package.module:name``.

    Returns:
        The jitted function, its positional and its keyword arguments.

    Raises:
        TargetError: with one line that says what is wrong.
    """
    if "::" in target:
        place, _, name = target.partition("::")
        load: Callable[[str], ModuleType] = _load_file
    elif ":" in target:
        place, _, name = target.partition(":")
        load = _load_module
    else:
        raise TargetError(
            f"`{target}` is no target: write `file.py::name` or `package.module:name`"
        )
    module = load(place)
    try:
        make = getattr(module, name)
    except AttributeError:
        raise TargetError(f"`{place}` has no `{name}`") from None
    if not callable(make):
        raise TargetError(f"`{name}` in `{place}` is a {type(make).__name__} and not a function")
    if hasattr(make, "lower"):
        raise TargetError(
            f"`{name}` in `{place}` is jitted itself; name a function that returns (jitted, args)"
        )
    try:
        made = make()
    except Exception as error:
        raise TargetError(f"`{name}` in `{place}` raised {_where(error)}") from error
    return _unpacked(name, made)


def _unpacked(name: str, made: Any) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    wanted = "(jitted, args) or (jitted, args, kwargs)"
    if not isinstance(made, tuple) or len(made) not in (2, 3):
        got = f"a tuple of {len(made)}" if isinstance(made, tuple) else f"a {type(made).__name__}"
        raise TargetError(f"`{name}` must return {wanted}, it returned {got}")
    jitted, args = made[0], made[1]
    kwargs = made[2] if len(made) == 3 else {}
    if not isinstance(args, (tuple, list)):
        raise TargetError(
            f"`{name}` must return {wanted}, its args are a {type(args).__name__} and not a tuple"
        )
    if not isinstance(kwargs, dict):
        raise TargetError(
            f"`{name}` must return {wanted}, its kwargs are a {type(kwargs).__name__}"
        )
    return jitted, tuple(args), kwargs


def _load_file(place: str) -> ModuleType:
    path = Path(place)
    if not path.is_file():
        raise TargetError(f"no such file: `{place}`")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise TargetError(f"`{place}` is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.resolve().parent))
    sys.modules[path.stem] = module
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        raise TargetError(f"syntax error at {place}:{error.lineno}: {error.msg}") from error
    except Exception as error:
        raise TargetError(f"importing `{place}` raised {_where(error)}") from error
    return module


def _load_module(place: str) -> ModuleType:
    sys.path.insert(0, "")
    try:
        return importlib.import_module(place)
    except ModuleNotFoundError as error:
        if error.name and (place == error.name or place.startswith(f"{error.name}.")):
            raise TargetError(f"no module named `{error.name}`") from None
        raise TargetError(f"importing `{place}` raised {_where(error)}") from error
    except SyntaxError as error:
        where = f"{error.filename}:{error.lineno}"
        raise TargetError(f"syntax error at {where}: {error.msg}") from error
    except Exception as error:
        raise TargetError(f"importing `{place}` raised {_where(error)}") from error


def _where(error: BaseException) -> str:
    """The error in one line, with the place where it was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""
    return in_one_line(error) + place
