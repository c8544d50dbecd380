"""Elements of tuples that a module's text names without an instruction: ``%while.6#1``.

So XLA writes most ``get-tuple-element`` instructions into its dumps with JAX 0.11 and 0.12
(measured; not with 0.10.2 and before, and not in ``compiled.as_text()``).
"""

from __future__ import annotations

import re

from donatree.hlo.instruction import Instruction

_ELEMENT = re.compile(r"(.+)#([0-9]{1,9})", re.S)
_DEEPEST = 32  # as tuples are nested in shapes


def split_element(name: str) -> tuple[str, int] | None:
    """The name of the tuple and the number of the element; None for the name of an instruction.

    Example:
        >>> split_element("while.6#1"), split_element("while.6#1#0"), split_element("while.6")
        (('while.6', 1), ('while.6#1', 0), None)
    """
    found = _ELEMENT.fullmatch(name) if name.count("#") <= _DEEPEST else None
    return (found[1], int(found[2])) if found else None


def element_of(instruction: Instruction, number: int) -> Instruction | None:
    """The ``get-tuple-element`` that the text left out; None where the tuple has no such element.

    It stands where the tuple does, so that it is before all that read it.
    """
    elements = instruction.shape.elements
    if number >= len(elements):
        return None
    return Instruction(
        f"{instruction.name}#{number}",
        "get-tuple-element",
        elements[number],
        (instruction.name,),
        position=instruction.position,
        index=number,
    )
