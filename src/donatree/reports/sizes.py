"""Bytes as people read them: exact while short, binary units beside the exact figure when long."""

from __future__ import annotations

_UNITS = ("KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_EXACT_BELOW = 10_000


def exact(n: int) -> str:
    """The figure itself.

    Example:
        >>> exact(84), exact(1), exact(1572864)
        ('84 bytes', '1 byte', '1,572,864 bytes')
    """
    return f"{n:,} byte{'' if n == 1 else 's'}"


def short(n: int) -> str:
    """The figure for a table: exact below 10,000 bytes, else in a binary unit.

    Example:
        >>> short(84), short(1572864)
        ('84 bytes', '1.50 MiB')
    """
    if n < _EXACT_BELOW:
        return exact(n)
    scaled = float(n)
    for unit in _UNITS:
        scaled /= 1024
        # 1023.996 would be written 1024.00: it is one of the next unit.
        if scaled < 1023.995 or unit == _UNITS[-1]:
            return f"{scaled:,.2f} {unit}"
    raise AssertionError("unreachable")


def size(n: int) -> str:
    """The figure for a sentence: in a binary unit with the exact bytes beside it when long.

    Example:
        >>> size(84), size(1572864)
        ('84 bytes', '1.50 MiB (1,572,864 bytes)')
    """
    return exact(n) if n < _EXACT_BELOW else f"{short(n)} ({exact(n)})"


def count(n: int, noun: str, plural: str | None = None) -> str:
    """A number with its noun.

    Example:
        >>> count(1, "leaf", "leaves"), count(1200, "device")
        ('1 leaf', '1,200 devices')
    """
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"


def leaves(n: int) -> str:
    """A number of leaves.

    Example:
        >>> leaves(1), leaves(2)
        ('1 leaf', '2 leaves')
    """
    return count(n, "leaf", "leaves")
