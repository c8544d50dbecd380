"""The unified diff of fixes that are one expression each, checked on libcst's tree of the file.

The text between an edit's columns is replaced and nothing else, so the user's formatting stays.
The tree then has to be the one in which just that expression was replaced, else the edit is left
out and the reason is told.
"""

from __future__ import annotations

import codecs
import difflib
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from donatree.ledger import Edit, Fix

if TYPE_CHECKING:
    import libcst

INSTALL = "a patch needs libcst: install `donatree[patch]`"

_ORDER = ("sure", "maybe")


class CannotPatch(Exception):  # noqa: N818, what is told is why
    """An edit cannot be made; the text says why in one line."""


@dataclass(frozen=True, slots=True)
class _Span:
    start: int
    end: int

    def overlaps(self, other: _Span) -> bool:
        return self.start < other.end and other.start < self.end


def patch(fixes: Iterable[Fix], root: str | os.PathLike[str] = ".") -> str:
    """The unified diff that makes the edits of the fixes that held.

    Args:
        fixes: those that did not hold are passed over. Of two for one leaf the one that saves more
            is taken, and likewise where two edits overlap.
        root: the folder to which the paths of the diff are relative, and from which ``git apply``
            or ``patch -p1`` applies it.

    Returns:
        The diff, one section a file. Lines before a section that begin with ``#`` tell the grade
        of each edit, and what was left out; both programs pass over them. Without libcst, one
        such line that says what to install; empty where no fix has anything to edit.
    """
    held = sorted((fix for fix in fixes if fix.held), key=_rank)
    with_edit, told = _one_a_leaf([fix for fix in held if fix.edit is not None])
    if with_edit and not is_installed():
        return f"# {INSTALL}\n"
    told += [
        f"# left out: {_name(fix)}: not an edit of one expression"
        for fix in held
        if fix.edit is None and fix.kind != "together"
    ]
    parts = [f"{line}\n" for line in dict.fromkeys(told)]
    for file, group in _by_file(with_edit, root).items():
        parts.append(_section(file, group, Path(root)))
    return "".join(parts)


def _rank(fix: Fix) -> tuple[int, bool, int]:
    """What saves most first; a promise is taken back where nothing else does as much."""
    live = fix.after.live if fix.after else None
    grade = _ORDER.index(fix.grade) if fix.grade in _ORDER else len(_ORDER)
    return live or 0, fix.kind == "drop_argument", grade


def _one_a_leaf(fixes: Sequence[Fix]) -> tuple[list[Fix], list[str]]:
    """The fixes without those for whose leaves there is another one already, and what is said."""
    chosen: list[Fix] = []
    told = []
    for fix in fixes:
        if any(_is_instead_of(fix, other) for other in chosen):
            told.append(f"# left out: {_name(fix)}: another edit is for the same leaves")
        else:
            chosen.append(fix)
    return chosen, told


def _is_instead_of(fix: Fix, other: Fix) -> bool:
    """Whether two fixes of one program are two ways to cure the same leaves."""
    same_program = fix.before == other.before  # leaves of two functions can have one name
    return same_program and fix.kind != other.kind and not set(fix.leaves).isdisjoint(other.leaves)


def is_installed() -> bool:
    """Whether libcst can be imported."""
    try:
        import libcst  # noqa: F401
    except ImportError:
        return False
    return True


def edited(data: bytes, edits: Sequence[Edit]) -> tuple[bytes, list[str | None]]:
    """A file with edits made.

    Args:
        data: the file.
        edits: in the order in which they count where two overlap.

    Returns:
        The new file, and for each edit None, or why it was left out.

    Raises:
        ImportError: libcst is not installed.
    """
    if data.startswith(codecs.BOM_UTF8):  # it counts for no column
        new, why = edited(data[len(codecs.BOM_UTF8) :], edits)
        return codecs.BOM_UTF8 + new, why
    made: list[tuple[_Span, bytes]] = []
    why: list[str | None] = []
    for edit in edits:
        try:
            span = _span(data, edit)
            replacement = _in_newlines_of(data, edit.replacement)
            if (span, replacement) in made:  # that of another signature
                why.append(None)
                continue
            if any(span.overlaps(other) for other, _ in made):
                raise CannotPatch("it overlaps with another edit")
            _check(data, span, replacement)
        except CannotPatch as error:
            why.append(str(error))
            continue
        made.append((span, replacement))
        why.append(None)
    for span, replacement in sorted(made, key=lambda each: -each[0].start):
        data = data[: span.start] + replacement + data[span.end :]
    if made:
        _parsed(data)
    return data, why


def _by_file(fixes: Iterable[Fix], root: str | os.PathLike[str]) -> Mapping[str, list[Fix]]:
    groups: dict[str, list[Fix]] = {}
    for fix in fixes:
        assert fix.edit is not None
        file = os.path.abspath(os.path.join(root, fix.edit.location.file))
        if not os.path.exists(file):  # it was named from where donatree started
            file = os.path.abspath(fix.edit.location.file)
        groups.setdefault(file, []).append(fix)
    return {file: groups[file] for file in sorted(groups)}


def _section(file: str, fixes: Sequence[Fix], root: Path) -> str:
    edits = [fix.edit for fix in fixes if fix.edit is not None]
    name = _relative(file, root)
    diff = ""
    why: list[str | None]
    try:
        old = Path(file).read_bytes()
        new, why = edited(old, edits)
        diff = _diff(old, new, name)
    except (OSError, CannotPatch) as error:
        why = [_line(error)] * len(fixes)
    told = [
        f"# {'left out' if reason else fix.grade}: {name}:{edit.location.line} {_name(fix)}"
        + (f": {reason}" if reason else "")
        for fix, edit, reason in zip(fixes, edits, why, strict=True)
    ]
    return "".join(f"{line}\n" for line in dict.fromkeys(told)) + diff


def _diff(old: bytes, new: bytes, name: str) -> str:
    """The difference in the form of `diff -u`; carriage returns stay in the lines."""
    if old == new:
        return ""
    lines = difflib.unified_diff(_lines(old), _lines(new), f"a/{name}", f"b/{name}", lineterm="\n")
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )


def _lines(data: bytes) -> list[str]:
    """Lines as `diff` counts them: only a line feed ends one."""
    text = data.decode("utf-8", "surrogateescape")
    return [f"{line}\n" for line in text.split("\n")[:-1]] + (
        [text.rpartition("\n")[2]] if not text.endswith("\n") and text else []
    )


def _relative(file: str, root: Path) -> str:
    return os.path.relpath(file, root.resolve()).replace(os.sep, "/")


def _name(fix: Fix) -> str:
    return f"{', '.join(fix.codes)} {fix.change}"


def _line(error: BaseException) -> str:
    text = str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__


def _span(data: bytes, edit: Edit) -> _Span:
    """The bytes of the file that an edit is about; its columns count bytes of UTF-8."""
    where = edit.location
    if where.column is None or where.end_line is None or where.end_column is None:
        raise CannotPatch("its columns are not known")
    starts = [0]
    for line in data.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    if where.end_line > len(starts):
        raise CannotPatch("the file has changed since it was read")
    start, end = starts[where.line - 1] + where.column, starts[where.end_line - 1]
    span = _Span(start, end + where.end_column)
    there = data[span.start : span.end].replace(b"\r\n", b"\n")
    if there != edit.original.replace("\r\n", "\n").encode():
        raise CannotPatch("the file has changed since it was read")
    return span


def _in_newlines_of(data: bytes, text: str) -> bytes:
    plain = text.replace("\r\n", "\n")
    first = data.find(b"\n")
    if first > 0 and data[first - 1 : first] == b"\r":
        plain = plain.replace("\n", "\r\n")
    return plain.encode()


def _parsed(data: bytes) -> libcst.Module:
    import libcst

    try:
        module = libcst.parse_module(data)
    except Exception as error:
        raise CannotPatch(f"the file would not parse: {_line(error)}") from error
    if module.encoding != "utf-8":
        raise CannotPatch(f"the file is not UTF-8 but {module.encoding}")
    return module


def _check(data: bytes, span: _Span, replacement: bytes) -> None:
    """Holds the edited text against the tree in which the expression alone is another one."""
    import libcst

    module = _parsed(data)
    after = data[: span.start] + replacement + data[span.end :]
    new = _parsed(after)
    node = _node_at(module, data, span)
    if node is None:
        raise CannotPatch("its place is not one expression of the file")
    put = _node_at(new, after, _Span(span.start, span.start + len(replacement)))
    if put is None:
        raise CannotPatch("what it writes is not one expression there")
    expected = module.deep_replace(node, put)
    if not isinstance(expected, libcst.Module) or not expected.deep_equals(new):
        raise CannotPatch("it would change more than its expression")


def _node_at(module: libcst.Module, data: bytes, span: _Span) -> libcst.CSTNode | None:
    """The outermost expression or small statement that takes up just these bytes."""
    import libcst
    from libcst.metadata import ByteSpanPositionProvider, MetadataWrapper

    wrapper = MetadataWrapper(module, unsafe_skip_copy=True)
    kinds = (libcst.BaseExpression, libcst.BaseSmallStatement)
    for node, place in wrapper.resolve(ByteSpanPositionProvider).items():
        start, end = place.start, place.start + place.length
        if not isinstance(node, kinds) or start < span.start or end > span.end:
            continue
        layers = len(node.lpar) if isinstance(node, libcst.BaseExpression) else 0
        before, after = _code(data[span.start : start]), _code(data[end : span.end])
        taken = len(before)  # of its parentheses; those outside of the span stay as they are
        if taken <= layers and before == b"(" * taken and after == b")" * taken:
            return node
    return None


def _code(data: bytes) -> bytes:
    """What is left without white space and comments, of text between parentheses."""
    return b"".join(re.sub(rb"#[^\n]*", b"", data).split())
