"""What the user wants rehearsed: `--donate train_step:0`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Wish:
    """A function, and which of its arguments is to be rehearsed.

    Attributes:
        function: its name, or the end of its qualified name: ``step``, ``Trainer.step``.
        number: of the argument, as `donate_argnums` counts; None where it was not said.
        argument: its name; None where it was not said. With neither, the candidates are meant.

    Example:
        >>> Wish.parse("train_step:0")
        Wish(function='train_step', number=0, argument=None)
    """

    function: str
    number: int | None = None
    argument: str | None = None

    @classmethod
    def parse(cls, text: str) -> Wish:
        """Reads ``NAME``, ``NAME:NUMBER`` or ``NAME:ARGUMENT``.

        Raises:
            ValueError: it is none of these; one line.
        """
        function, colon, rest = text.partition(":")
        named = all(part.isidentifier() or part == "<lambda>" for part in function.split("."))
        if not named or (colon and not (rest.isdecimal() or rest.isidentifier())):
            raise ValueError(
                f"`{text}` is not NAME, NAME:NUMBER or NAME:ARGUMENT, as in `train_step:0`"
            )
        if not colon:
            return cls(function)
        if rest.isdecimal():
            return cls(function, number=int(rest))
        return cls(function, argument=rest)

    @property
    def is_open(self) -> bool:
        """Whether it names no argument."""
        return self.number is None and self.argument is None

    def means(self, name: str, qualified: str | None) -> bool:
        """Whether a function is meant.

        Args:
            name: the function's name.
            qualified: its qualified name, ``main.<locals>.step``; None where not known.
        """
        if self.function == name or self.function == qualified:
            return True
        return qualified is not None and qualified.endswith(f".{self.function}")

    def argument_of(self, positional: Sequence[str], arguments: Sequence[str]) -> str | None:
        """The name of the argument that is meant; None where the function has no such.

        Args:
            positional: names of the positional parameters, static ones included.
            arguments: names of all arguments that have leaves.
        """
        if self.number is None:
            return self.argument if self.argument in arguments else None
        if self.number < len(positional) and positional[self.number] in arguments:
            return positional[self.number]
        return None

    def __str__(self) -> str:
        rest = self.argument if self.number is None else str(self.number)
        return self.function if rest is None else f"{self.function}:{rest}"
