"""The errors that donatree raises on purpose."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from donatree.ledger import Ledger


def first_line(error: BaseException) -> str:
    """The first line of an error's text."""
    text = str(error).strip()
    return text.splitlines()[0] if text else ""


def in_one_line(error: BaseException) -> str:
    r"""An error's class and the first line of its text, for what is told in one line.

    Example:
        >>> in_one_line(ValueError("no such axis: 3\nsee the docs")), in_one_line(KeyError())
        ('ValueError: no such axis: 3', 'KeyError')
    """
    return f"{type(error).__name__}: {first_line(error)}".rstrip(": ")


class DonatreeError(Exception):
    """Base of donatree's own errors; its text is one clear line."""


class TargetError(DonatreeError):
    """A target cannot be audited: not jitted, not found, refused by JAX."""


class CannotBuild(DonatreeError):  # noqa: N818, what is told is why
    """JAX or XLA refuses a changed program; the text says why in one line."""


class DonationError(DonatreeError):
    """A promise was broken: some donated leaf was lost.

    Attributes:
        ledger: the ledger that says what became of each leaf.
    """

    def __init__(self, message: str, ledger: Ledger) -> None:
        super().__init__(message)
        self.ledger = ledger
