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


def of(part: int, whole: int) -> str:
    """Two figures that are compared, in one unit where both have it.

    Exact where the two would read the same and are not.

    Example:
        >>> of(3 * 2**29, 4 * 2**30), of(5, 2**20), of(2**30 + 1, 2**30)
        ('1.50 of 4.00 GiB', '5 bytes of 1.00 MiB', '1,073,741,825 of 1,073,741,824 bytes')
    """
    first, second = short(part), short(whole)
    if first == second and part != whole:
        return f"{part:,} of {exact(whole)}"
    figure, _, unit = first.rpartition(" ")
    same = unit.removesuffix("s") == second.rpartition(" ")[2].removesuffix("s")
    return f"{figure} of {second}" if same else f"{first} of {second}"
