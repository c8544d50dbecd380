"""Doing something right after a module is imported, without importing it."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any


def after_import(name: str, act: Callable[[], None]) -> None:
    """Calls `act` once the module `name` has been imported; at once where it already is.

    A program may set `os.environ` before it imports JAX, so donatree must not import JAX first.
    The finder leaves `sys.meta_path` as soon as the module is found, and the module keeps its own
    loader.

    Args:
        name: a top-level module.
        act: what to do; it must not raise.
    """
    if name in sys.modules:
        act()
    else:
        sys.meta_path.insert(0, _Finder(name, act))


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, name: str, act: Callable[[], None]) -> None:
        self._name = name
        self._act = act

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self._name:
            return None
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec = find(fullname, path, target) if find is not None else None
            if spec is not None:
                if spec.loader is not None:
                    spec.loader = _Loader(spec.loader, self._act)  # type: ignore[assignment]
                return spec
        sys.meta_path.insert(0, self)  # not found: the program may mend its path and try again
        return None


class _Loader:
    """Stands in for the module's own loader during the import."""

    def __init__(self, original: Any, act: Callable[[], None]) -> None:
        self._original = original
        self._act = act

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._original.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__.loader = self._original
        module.__loader__ = self._original
        self._original.exec_module(module)
        self._act()
