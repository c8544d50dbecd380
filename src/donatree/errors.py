"""The errors that donatree raises on purpose."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from donatree.ledger import Ledger


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
