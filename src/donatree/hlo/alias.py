"""Who takes whose memory: the pairs of a module header and the parameters left without one."""

from __future__ import annotations

import re
from dataclasses import dataclass

from donatree.hlo.scanner import Scanner

_KINDS = ("may-alias", "must-alias")

# An alias as XLA writes it for a flat tuple, with what parts it from the next one. It is taken as
# a single token because a large model has thousands. All else is read token by token.
_USUAL_ALIAS = re.compile(
    r"\{([0-9]{1,9})\}: \(([0-9]{1,9}), \{([0-9]{0,9})\}, (may-alias|must-alias)\), "
)


@dataclass(frozen=True, slots=True)
class Alias:
    """An output that takes the memory of a parameter: one pair of ``input_output_alias``.

    Attributes:
        output_index: place of the output in the module's result, ``()`` where that is no tuple.
        parameter: number of the parameter of the module.
        parameter_index: place inside the parameter, ``()`` where that is no tuple.
        kind: ``may-alias`` or ``must-alias``.
    """

    output_index: tuple[int, ...]
    parameter: int
    parameter_index: tuple[int, ...]
    kind: str

    @property
    def output(self) -> int:
        """Flat place of the slot: the first of ``output_index``, 0 where that is empty."""
        return self.output_index[0] if self.output_index else 0

    @property
    def input(self) -> int:
        """Flat place of the leaf: see `Donor.input`."""
        return self.parameter_index[0] if self.parameter_index else self.parameter


@dataclass(frozen=True, slots=True)
class Donor:
    """A parameter in ``buffer_donor``: XLA was free to use its memory and did not pair it.

    Attributes:
        parameter: number of the parameter of the module.
        parameter_index: place inside the parameter, ``()`` where that is no tuple.
    """

    parameter: int
    parameter_index: tuple[int, ...]

    @property
    def input(self) -> int:
        """Flat place of the leaf among the kept ones.

        That is ``parameter``, but the first of ``parameter_index`` where that is not empty: JAX
        hands over more than 2000 leaves to a TPU as one parameter, a tuple.
        """
        return self.parameter_index[0] if self.parameter_index else self.parameter


def read_aliases(scanner: Scanner) -> tuple[Alias, ...]:
    """Reads ``{ {0}: (0, {}, may-alias), ... }``."""
    aliases: dict[tuple[int, ...], Alias] = {}
    text = scanner.text
    scanner.expect("{", "before the aliases")
    if scanner.accept("}"):
        return ()
    while True:
        start = scanner.position
        if usual := _USUAL_ALIAS.match(text, start):
            output, parameter, inside, kind = usual.groups()
            alias = Alias((int(output),), int(parameter), (int(inside),) if inside else (), kind)
        else:
            scanner.skip()
            start = scanner.position
            alias = _read_alias(scanner)
        if alias.output_index in aliases:
            index = ", ".join(map(str, alias.output_index))
            raise scanner.error(f"output `{{{index[:60]}}}` is aliased twice", start)
        aliases[alias.output_index] = alias
        if usual:
            scanner.position = usual.end()
        elif scanner.accept("}"):
            return tuple(aliases.values())
        elif not scanner.accept(","):
            raise scanner.expected("`,` or `}` after an alias")


def _read_alias(scanner: Scanner) -> Alias:
    """Reads ``{0}: (0, {}, may-alias)`` with any blanks, comments and indices."""
    scanner.expect("{", "before an output index")
    output_index = scanner.numbers("an output index", "}")
    scanner.expect(":", "after the output index")
    parameter, parameter_index = _read_parameter(scanner)
    kind = _read_kind(scanner) if scanner.accept(",") else _KINDS[0]
    scanner.expect(")", "after the parameter index")
    return Alias(output_index, parameter, parameter_index, kind)


def read_donors(scanner: Scanner) -> tuple[Donor, ...]:
    """Reads ``{ (2, {}), ... }``."""
    donors: list[Donor] = []
    scanner.expect("{", "before the donors")
    while not scanner.accept("}"):
        if donors and not scanner.accept(","):
            raise scanner.expected("`,` or `}` after a donor")
        donors.append(Donor(*_read_parameter(scanner)))
        scanner.expect(")", "after the parameter index")
    return tuple(donors)


def _read_parameter(scanner: Scanner) -> tuple[int, tuple[int, ...]]:
    """Reads ``(0, {}``, what an alias and a donor have in common."""
    scanner.expect("(", "before a parameter number")
    parameter = scanner.number("a parameter number")
    scanner.expect(",", "after the parameter number")
    scanner.expect("{", "before the parameter index")
    return parameter, scanner.numbers("a parameter index", "}")


def _read_kind(scanner: Scanner) -> str:
    """Reads ``may-alias``. XLA takes a kind that is left out for that one."""
    scanner.skip()
    start = scanner.position
    kind = scanner.word("the kind of an alias")
    if kind not in _KINDS:
        known = " or ".join(f"`{known}`" for known in _KINDS)
        raise scanner.error(f"expected {known}, found the alias kind `{kind[:24]}`", start)
    return kind
