"""Where a leaf's value stopped being of the leaf's type, as data, and what the walk runs on.

Nothing here knows JAX. A program is a graph of numbered values in which every value names what it
was computed from, with a cost: little where the value is much the same (an addition, a cast), much
where it is another (a matrix product). `origin.walk` looks for the cheapest way back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

from donatree.ledger import Location

What = Literal["dtype", "shape", "weak_type"]

CONSTANT = "a constant is returned in its stead"
NO_FRAME = "JAX recorded no line of the user's code for it"


class Drift(NamedTuple):
    """A leaf's flat index, the index of its slot, and what differs between them."""

    leaf: int
    slot: int
    what: What


class Type(NamedTuple):
    """What can drift of a value."""

    dtype: str
    shape: tuple[int | str, ...]
    weak_type: bool

    @property
    def aval(self) -> str:
        """Type and shape in JAX's short form."""
        return f"{self.dtype}[{','.join(map(str, self.shape))}]"


class Place(NamedTuple):
    """The user's expression that made a value, and the library's line below it, if any."""

    user: Location | None
    library: Location | None = None


class Graph(Protocol):
    """Numbered values, each with what it was computed from."""

    def operands(self, value: int) -> Sequence[tuple[int, int]]:
        """What a value was computed from, but literals: numbers of values, each with its cost."""
        ...

    def everything(self, value: int) -> Sequence[int]:
        """What a value was computed from, literals as well."""
        ...

    def kind(self, value: int) -> str:
        """``input``, ``literal``, ``constant``, ``enter``, or the name of a primitive."""
        ...

    def type_of(self, value: int) -> Type:
        """The value's type."""
        ...

    def scopes(self, value: int) -> Sequence[int]:
        """The program that the value belongs to, then the one around it, and so on."""
        ...

    def passes_on(self, value: int) -> bool:
        """Whether the value is only handed out of an inner program."""
        ...

    def words(self, value: int) -> str | None:
        """What an input, literal or constant is called in a sentence."""
        ...

    def is_cast(self, value: int) -> bool:
        """Whether the value is a cast that somebody wrote, not one of JAX's own."""
        ...

    def place(self, value: int) -> Place | None:
        """Where the value was made; None where nobody can say."""
        ...


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a leaf's value stopped being of the leaf's type.

    Attributes:
        location: the user's expression, exact to columns; None where it cannot be known.
        library: the library's own line, where the expression calls a library that did it.
        primitive: JAX's name of the operation.
        because: what brought the new type in, or what else is known, in words; of thousands of
            leaves of one expression it is told for some.
        unknown: why there is no location, in words.
        also: the expressions that do the same in the other branches of a `cond` or `switch`.
    """

    location: Location | None = None
    library: Location | None = None
    primitive: str | None = None
    because: str | None = None
    unknown: str | None = None
    also: tuple[Location, ...] = ()
