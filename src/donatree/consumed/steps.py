"""The frames of a traceback that are the user's, and the expressions in which they stand."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from types import CodeType, FrameType, TracebackType
from typing import Any

from donatree._jax.frames import is_user_file, location_at
from donatree.consumed.leaves import Leaf, leaves, path_in
from donatree.ledger import Location
from donatree.source.evaluate import MISSING, Names, evaluate, variables
from donatree.source.tree import Source, node_at

_OWN = ("jax", "jaxlib", "numpy")


class Step:
    """A frame of a traceback.

    Attributes:
        frame: the frame.
        lasti: where it stood when the error passed.
    """

    def __init__(self, frame: FrameType, lasti: int) -> None:
        self.frame = frame
        self.lasti = lasti

    @property
    def code(self) -> CodeType:
        """The frame's code."""
        return self.frame.f_code

    @cached_property
    def names(self) -> Names:
        """What its names stand for."""
        return variables(self.frame)

    @cached_property
    def place(self) -> tuple[Source, ast.expr | ast.stmt] | None:
        """The expression in which it stood; None where the source cannot be read."""
        return node_at(self.code, self.lasti)

    @cached_property
    def location(self) -> Location:
        """Where that is."""
        return location_at(self.code, self.lasti)

    @property
    def is_user(self) -> bool:
        """Whether it is the user's own code; what is marked as donatree's is not."""
        if "__donatree__" in self.frame.f_globals:
            return False
        return is_user_file(self.code.co_filename)

    @property
    def is_comprehension(self) -> bool:
        """Whether it is the frame that a comprehension or generator expression has to itself."""
        return self.code.co_name.endswith(("comp>", "<genexpr>"))

    @cached_property
    def package(self) -> str | None:
        """For code of an installed library its file below ``site-packages``, else None."""
        parts = self.code.co_filename.split(os.sep)
        for folder in ("site-packages", "dist-packages"):
            if folder in parts:
                return "/".join(parts[len(parts) - parts[::-1].index(folder) :])
        return None

    @property
    def is_library(self) -> bool:
        """Whether it is code of a library that is not JAX's own."""
        return self.package is not None and self.package.split("/")[0] not in _OWN


def steps(traceback: TracebackType | None) -> list[Step]:
    """The frames of a traceback, outermost first."""
    found = []
    while traceback is not None:
        found.append(Step(traceback.tb_frame, traceback.tb_lasti))
        traceback = traceback.tb_next
    return found


@dataclass(frozen=True, slots=True)
class Mention:
    """An expression that stands for an array, or for a tree that holds it.

    Attributes:
        node: the expression.
        text: the expression as it is written.
        inside: the path of the array below it; empty if it is the array.
        leaves: all arrays of the tree.
    """

    node: ast.expr
    text: str
    inside: str
    leaves: tuple[Leaf, ...]

    @property
    def path(self) -> str:
        """The array as a user would write it."""
        return self.text + self.inside


def expressions(node: ast.AST) -> Iterator[ast.expr]:
    """The expressions in a node whose value may be looked up, outer ones first."""
    if isinstance(node, ast.stmt) and hasattr(node, "body"):
        return
    for each in ast.walk(node):
        match each:
            case ast.Name(ctx=ast.Load()) | ast.Attribute(ctx=ast.Load()):
                yield each
            case ast.Subscript(ctx=ast.Load()) | ast.NamedExpr():
                yield each


def mention(node: ast.AST, names: Names, array: Any) -> Mention | None:
    """The expression in a node that says most exactly which array is meant.

    Args:
        node: where to look.
        names: what the names in it stand for.
        array: the array.

    Returns:
        The array itself before a tree, and the smaller tree before the larger; None where no
        expression that can be looked up holds it.
    """
    best: Mention | None = None
    for each in expressions(node):
        value = evaluate(each, names)
        if value is MISSING:
            continue
        inside = path_in(value, array)
        if inside is None:
            continue
        found = tuple(leaves(value))
        if best is None or len(found) < len(best.leaves) or (inside == "" != best.inside):
            best = Mention(each, ast.unparse(each), inside, found)
    return best


def by_elimination(step: Step, array: Any) -> Mention | None:
    """The variable of a comprehension that stands for an array, where nothing else can.

    From Python 3.12 on those variables are gone when the error is explained. A call whose other
    arguments can be looked up, and do not hold the array, had it from the one that cannot.
    """
    if step.place is None or not isinstance(step.place[1], ast.Call):
        return None
    source, call = step.place[0], step.place[1]
    bound = {
        each.id
        for outer in source.outwards(call)
        for clause in getattr(outer, "generators", ())
        for each in ast.walk(clause.target)
        if isinstance(each, ast.Name)
    }
    arguments = [*call.args, *(each.value for each in call.keywords)]
    if any(isinstance(each, ast.Call) for each in ast.walk(call) if each is not call):
        return None
    left = [
        each
        for argument in arguments
        for each in ast.walk(argument)
        if isinstance(each, ast.Name) and (each.id in bound or each.id not in step.names)
    ]
    if len({each.id for each in left}) != 1 or left[0].id not in bound:
        return None
    return Mention(left[0], left[0].id, "", (Leaf("", array),))
