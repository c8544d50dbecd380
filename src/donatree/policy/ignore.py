"""One ignore: which findings it is for, why, and where it is written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from donatree.ledger import Finding, Ledger
from donatree.policy import pattern


@dataclass(frozen=True, slots=True)
class Ignore:
    """Findings that are not to be told.

    Attributes:
        codes: of these codes, or of all that begin so.
        functions: of these functions; of every one where empty.
        paths: about these leaves; about any, or none, where empty.
        reason: why, in the user's words; empty where none was given.
        where: where it is written, for people.
    """

    codes: tuple[str, ...]
    functions: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    reason: str = ""
    where: str = "pyproject.toml"

    def is_for(self, code: str, ledger: Ledger | None) -> bool:
        """Whether it is for findings of this code about this function, None for the program."""
        if not any(pattern.code_matches(each, code) for each in self.codes):
            return False
        if not self.functions:
            return True
        return ledger is not None and any(
            pattern.function_matches(each, ledger.function, ledger.location)
            for each in self.functions
        )

    def leaves_of(self, finding: Finding) -> tuple[str, ...]:
        """The leaves of a finding that it is for."""
        if not self.paths:
            return finding.leaves
        return tuple(
            path
            for path in finding.leaves
            if any(pattern.leaf_matches(each, path) for each in self.paths)
        )

    @property
    def why(self) -> str:
        """What stands in the report: where it is written, and the reason."""
        return f"{self.where}: {self.reason}" if self.reason else self.where

    def __str__(self) -> str:
        return f"{self.where}: {''.join(self._words())}"

    def _words(self) -> Iterator[str]:
        yield ", ".join(f"`{each}`" for each in self.codes)
        if self.functions:
            yield " in " + ", ".join(f"`{each}`" for each in self.functions)
        if self.paths:
            yield " for " + ", ".join(f"`{each}`" for each in self.paths)
