"""The examples in the docstrings of donatree's public names run as they stand."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import donatree

MODULES = sorted(
    each.name
    for each in pkgutil.walk_packages(donatree.__path__, "donatree.")
    if not each.name.endswith("__main__")
)
# Examples that start a process of their own or name files of the reader's.
NOT_RUN = {"donatree.watch.runner", "donatree.watch.witness", "donatree.watch.totals"}


def examples(module: str) -> list[doctest.DocTest]:
    found = doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(module))
    return [each for each in found if each.examples]


@pytest.mark.parametrize("module", [m for m in MODULES if m not in NOT_RUN and examples(m)])
def test_examples_of(module: str) -> None:
    for test in examples(module):
        assert doctest.DocTestRunner().run(test).failed == 0, test.name


def test_there_are_examples_to_run() -> None:
    with_examples = {m for m in MODULES if examples(m)}
    assert {"donatree.audit", "donatree.watch", "donatree.whole", "donatree.paths"} <= with_examples


def test_every_public_function_has_an_example() -> None:
    for name in ("audit", "require", "watch", "whole"):
        assert ">>>" in (getattr(donatree, name).__doc__ or ""), name
