"""Rules of DESIGN for whatever is said to users, beside those that `test_findings.faults` holds."""

from __future__ import annotations

import re

# What a number without a unit may follow or stand in.
_NAMED = r"(?:JAX|Python|jaxlib|calls?|argument|parameter|output|index|number|line|DT)"
_NUMBER = r"\d+(?:[.,]\d+)*"
_UNIT = r"(?:of them )?(?!(?:are|is|was|were|and|or|of|in|to|by)\b)[a-z`]\w*"
_ALLOWED = (
    rf"{_NAMED} ?{_NUMBER}(?:(?:, | and | to ){_NUMBER})*",  # JAX 0.7.2, calls 1, 2 and 3
    r"\b(?:u?int|float|bfloat|complex|key)\d+\w*",  # float32
    r"\[[\d, ]*\]",  # [64,32]
    r"\(\w+: \d+(?:, \w+: \d+)*\)",  # (data: 8)
    r"\{\d*\}",
    r"\w=\([\d, ]*\)",  # major_to_minor=(1, 0)
    r":\d+\b",  # train.py:7
    rf"{_NUMBER}(?: of the| of| ->| to)? {_NUMBER} {_UNIT}",  # 84 of 84 bytes, 148 -> 144 bytes
    rf"{_NUMBER} {_UNIT}",  # 84 bytes
)
_LONGEST = {"headline": 110, "label": 80}  # without code and what is in parentheses


def without_code(text: str) -> str:
    """A text without what stands in backticks."""
    return re.sub(r"`[^`]*`", "``", text)


def bare_numbers(text: str) -> list[str]:
    """Numbers that neither a unit nor a name says anything of."""
    rest = without_code(text)
    for allowed in _ALLOWED:
        rest = re.sub(allowed, " ", rest)
    return re.findall(r"(?<!\w)\d[\d.,]*", rest)


def faults(text: str, kind: str = "note") -> list[str]:
    """What is wrong with a text.

    Args:
        text: what is said.
        kind: ``headline``, ``note``, ``help`` or ``label``.
    """
    wrong = [f"has {number} without a unit" for number in bare_numbers(text)]
    words = re.sub(r" ?\([^()]*(?:\([^()]*\)[^()]*)*\)", "", without_code(text))
    longest = _LONGEST.get(kind)
    if longest is not None and len(words) > longest:
        wrong.append(f"has {len(words)} columns of words")
    if re.search(r"\d{4,}", without_code(text)):
        wrong.append("has a number without commas")
    return wrong
