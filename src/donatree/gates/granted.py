"""Gate *granted*: is the leaf in the compiled module's `input_output_alias`?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from donatree.hlo.header import Alias, Header
from donatree.observation import Observation


@dataclass(frozen=True, slots=True)
class AliasMap:
    """The header's alias map by flat parameter number."""

    aliases: Mapping[int, Alias]
    donors: frozenset[int]

    @classmethod
    def of(cls, header: Header) -> AliasMap:
        """Reads a header once for all leaves."""
        return cls(
            {each.input: each for each in header.aliases},
            frozenset(each.input for each in header.donors),
        )


def check(observation: Observation, granted: AliasMap, flat_index: int) -> tuple[bool, str]:
    """Whether the leaf passed, and what says so."""
    assert observation.parameter_of is not None
    number = observation.parameter_of[flat_index]
    alias = granted.aliases.get(number)
    if flat_index in observation.elsewhere:
        return False, observation.elsewhere[flat_index]
    if alias is not None:
        output = ", ".join(map(str, alias.output_index))
        return True, f"input_output_alias {{{output}}}: ({number}, {{}}, {alias.kind})"
    if number in granted.donors:
        return False, f"buffer_donor ({number}, {{}}), which XLA gave to no output"
    return False, f"parameter {number} is not in input_output_alias"
