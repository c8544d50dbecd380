"""What the files of one module say, each by itself."""

from __future__ import annotations

import mmap
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import cast

from donatree.dumps.stages import Stage
from donatree.dumps.text import WHOLE, read_text
from donatree.hlo.assignment_text import TextAssignment, read_assignment_text
from donatree.hlo.error import HloError, InstructionError
from donatree.hlo.header import Header, read_header
from donatree.hlo.instructions import EntryComputation, read_entry
from donatree.hlo.live_ranges import LiveRanges, read_live_ranges
from donatree.hlo.module_proto import read_module_proto
from donatree.hlo.stablehlo import Main, read_main
from donatree.ledger import Live

_BYTECODE = b"ML\xefR"
_MLIR_START = re.compile(rb"#loc|(?:builtin\.)?module[ \n](?:@|attributes|\{)|func\.func\b")
_PROBE = 4096
_LARGEST_ASSIGNMENT = 4 * WHOLE


@dataclass(frozen=True)
class Stated:
    """What one file says of a module.

    Attributes:
        header: its name, alias map, donors and shapes.
        is_compiled: whether it is the module after optimisation.
        given_names: of protobuf, what `names` says.
        text: where it is text, as much as was read.
        entry: the entry computation; None where there is none to read.
        live: the totals, where the file has them itself.
        remarks: what could not be read, in words.
    """

    header: Header
    is_compiled: bool
    given_names: Mapping[int, str] = field(default_factory=dict)
    text: str | None = None
    is_whole: bool = True
    entry: EntryComputation | None = None
    live: Live | None = None
    remarks: tuple[str, ...] = ()

    @cached_property
    def names(self) -> Mapping[int, str]:
        """The names that the framework gave its parameters, by their numbers."""
        return self.given_names if self.entry is None else names_of(self.entry)


@dataclass(frozen=True)
class Buffers:
    """A buffer assignment, and the file that says when its values live."""

    assignment: TextAssignment
    path: Path

    @cached_property
    def ranges(self) -> LiveRanges | None:
        """When its values live; None where that is not known.

        Raises:
            AssignmentError: the file is broken.
        """
        try:
            with self.path.open(encoding="utf-8", errors="replace") as lines:
                return read_live_ranges(lines)
        except OSError:
            return None


def read_stated(path: Path) -> Stated | Main:
    """Reads a file that says something of a module: text, protobuf or StableHLO.

    Raises:
        OSError: it cannot be read.
        HloError: it is none of these, or is broken where it was read.
    """
    with path.open("rb") as file:
        start = file.read(_PROBE)
    begin = start.removeprefix(b"\xef\xbb\xbf").lstrip()
    if start.startswith(_BYTECODE):
        raise InstructionError("MLIR bytecode, which only MLIR reads: write the module as text", 0)
    if path.suffix == ".mlir" or _MLIR_START.match(begin):
        return _main(path)
    if path.suffix == ".pb" or (begin[:1] == b"\n" and not begin.startswith(b"HloModule")):
        return _proto(path)
    if start and b"\x00" in start[:256] and not begin.startswith(b"HloModule"):
        return _proto(path)
    return _module(path)


def read_buffers(files: Mapping[Stage, Path]) -> tuple[Buffers | None, str | None]:
    """Reads the buffer assignment among a module's files.

    Returns:
        It, and why it could not be read where that is so.
    """
    path = files.get(Stage.ASSIGNMENT)
    if path is None:
        return None, None
    try:
        if path.stat().st_size > _LARGEST_ASSIGNMENT:
            return None, f"`{path.name}` is too large: totals and the peak were not read"
        with path.open(encoding="utf-8", errors="replace") as lines:
            return Buffers(read_assignment_text(lines), files.get(Stage.RANGES, path)), None
    except HloError as error:
        return None, str(error)
    except OSError as error:
        return None, f"`{path.name}` cannot be read: {error.strerror}"


def _module(path: Path) -> Stated:
    found = read_text(path)
    header = read_header(found.text)
    entry, remarks = None, [found.left_out] if found.left_out else []
    if found.text.find("\n") >= 0:
        entry, why = _entry(found.text)
        if why and found.is_whole:
            remarks.append(f"copies were not looked for: {why}")
    compiled = header.attributes.get("is_scheduled") == "true"
    return Stated(
        header,
        compiled,
        text=found.text,
        is_whole=found.is_whole,
        entry=entry,
        remarks=tuple(remarks),
    )


def names_of(entry: EntryComputation) -> dict[int, str]:
    """The names in the metadata of the parameters of an entry computation."""
    answer: dict[int, str] = {}
    try:
        for each in entry.of_opcode("parameter"):
            if each.parameter is not None and each.op_name:
                answer[each.parameter] = each.op_name
    except HloError:
        return {}  # what is broken there is told where copies are looked for
    return answer


def _main(path: Path) -> Main:
    with path.open("rb") as file:
        text = file.read(WHOLE)
    return read_main(text.decode("utf-8", "replace"))


def _proto(path: Path) -> Stated:
    if path.stat().st_size > WHOLE:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            found = read_module_proto(cast(bytes, data))
    else:
        found = read_module_proto(path.read_bytes())
    live = None
    if found.allocations:
        arguments = [each for each in found.allocations if each.parameter is not None]
        outputs = [each for each in found.allocations if each.live_out]
        alias = sum(each.size for each in arguments if each.live_out)
        total = sum(each.size for each in found.allocations)
        sizes = sum(each.size for each in arguments), sum(each.size for each in outputs)
        live = Live(*sizes, alias, total - sum(sizes) + alias)
    remark = "read from protobuf, in which copies are not looked for: the module's text has them"
    return Stated(found.header, found.is_scheduled, found.names, live=live, remarks=(remark,))


def _entry(text: str) -> tuple[EntryComputation | None, str | None]:
    """The entry computation, or why it cannot be read."""
    try:
        return read_entry(text), None
    except HloError as error:
        return None, str(error)
