"""The first line of a compiled module: which outputs took the memory of which parameters."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from donatree.hlo.alias import Alias, Donor, read_aliases, read_donors
from donatree.hlo.error import HeaderError
from donatree.hlo.scanner import Scanner
from donatree.hlo.shape import EntryShape, read_shape

__all__ = ["Alias", "Donor", "EntryShape", "Header", "HeaderError", "read_header"]

_KEYWORD = re.compile(r"HloModule(?=[\s,]|\Z)")


@dataclass(frozen=True, slots=True)
class Header:
    """What the first line of a compiled module says.

    Attributes:
        module: the module's name, ``jit_train_step``.
        aliases: the pairs of ``input_output_alias`` in the order of the text.
        donors: what is left in ``buffer_donor``.
        parameters: shapes of the module's parameters; None without
            ``entry_computation_layout``.
        results: shapes of the module's outputs, the one shape where the result is no tuple;
            None without ``entry_computation_layout``.
        num_partitions: how many devices the program is partitioned over.
        attributes: the other attributes as raw text by name.
    """

    module: str
    aliases: tuple[Alias, ...] = ()
    donors: tuple[Donor, ...] = ()
    parameters: tuple[EntryShape, ...] | None = None
    results: tuple[EntryShape, ...] | None = None
    num_partitions: int = 1
    attributes: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def inputs(self) -> tuple[EntryShape, ...] | None:
        """Shapes of the kept leaves, in the order that ``Alias.input`` and ``Donor.input`` count.

        They are the parameters, but the elements of a lone parameter that is a tuple.
        """
        if self.parameters and len(self.parameters) == 1 and self.parameters[0].is_tuple:
            return self.parameters[0].elements
        return self.parameters


def read_header(text: str) -> Header:
    """Reads the header of a compiled module.

    Blank lines and a byte order mark before it are passed over; nothing after it is looked at.

    Args:
        text: the module's text, or its first line.

    Raises:
        HeaderError: where the line is no module header, or breaks off inside one.

    Example:
        >>> read_header("HloModule jit_f, input_output_alias={ {}: (0, {}, may-alias) }").aliases
        (Alias(output_index=(), parameter=0, parameter_index=(), kind='may-alias'),)
    """
    line = _first_line(text)
    scanner = Scanner(line, len(line) - len(line.lstrip()))
    if not _KEYWORD.match(line, scanner.position):
        found = f"found `{line[scanner.position :][:24]}`" if line else "found no text"
        raise scanner.error(f"expected `HloModule` at the start of the text, {found}")
    scanner.expect("HloModule", "at the start of the text")
    at_end = scanner.done() or line.startswith(",", scanner.position)
    module = "" if at_end else scanner.word("the name of the module")
    aliases: tuple[Alias, ...] = ()
    donors: tuple[Donor, ...] = ()
    parameters = results = None
    num_partitions = 1
    attributes: dict[str, str] = {}
    read: set[str] = set()
    after = "the name of the module"
    while not scanner.done():
        scanner.expect(",", f"after {after}")
        scanner.skip()
        start = scanner.position
        name = scanner.word("an attribute after `,`")
        after = f"the attribute `{name[:60]}`"
        if name in read:
            raise scanner.error(f"{after} is given twice", start)
        read.add(name)
        scanner.expect("=", f"after {after}")
        if name == "input_output_alias":
            aliases = read_aliases(scanner)
        elif name == "buffer_donor":
            donors = read_donors(scanner)
        elif name == "entry_computation_layout":
            parameters, results = _read_entry_layout(scanner)
        elif name == "num_partitions":
            num_partitions = scanner.number("a number of partitions")
        else:
            attributes[name] = scanner.value(name)
    return Header(module, aliases, donors, parameters, results, num_partitions, attributes)


def _first_line(text: str) -> str:
    """The first line that is not blank, without copying what follows."""
    start = 1 if text.startswith("\ufeff") else 0
    while True:
        end = text.find("\n", start)
        line = text[start:] if end < 0 else text[start:end]
        if end < 0 or (line and not line.isspace()):
            return line.rstrip()
        start = end + 1


def _read_entry_layout(scanner: Scanner) -> tuple[tuple[EntryShape, ...], tuple[EntryShape, ...]]:
    """Reads ``{(f32[4]{0})->(f32[4]{0})}``: the parameters and the results."""
    known: dict[str, EntryShape] = {}
    scanner.expect("{", "before the layout of the entry computation")
    scanner.skip()
    start = scanner.position
    parameters = read_shape(scanner, known)
    if not parameters.is_tuple:
        scanner.position = start
        raise scanner.expected("`(` before the parameters")
    scanner.expect("->", "after the parameters")
    result = read_shape(scanner, known)
    scanner.expect("}", "after the result")
    return parameters.elements, result.elements if result.is_tuple else (result,)
