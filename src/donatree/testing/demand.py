"""What a marker or an assertion demands of the functions that donate."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from donatree.findings import CODES
from donatree.policy.ignore import Ignore

MARKER = "@pytest.mark.donated"


class BadDemand(ValueError):  # noqa: N818, it is about the demand and not about the program
    """What was demanded cannot be; the text is one clear line."""


@dataclass(frozen=True, slots=True)
class Demand:
    """What is demanded.

    Attributes:
        minimum: the fraction of the promised bytes that must pass every gate checked, 0 to 1, by
            each function and signature; 0 demands nothing.
        functions: patterns of the functions that are judged, all where empty; each must donate.
        ignore: findings that do not count, beside those of the project's configuration.
    """

    minimum: float = 1.0
    functions: tuple[str, ...] = ()
    ignore: tuple[Ignore, ...] = ()

    @property
    def words(self) -> str:
        """The minimum as it stands at the end of a headline."""
        if self.minimum >= 1:
            return "all were to be kept"
        return f"at least {percent(self.minimum)} of the bytes were to be kept"


def percent(fraction: float) -> str:
    """A fraction as a percentage that is never rounded up to the whole.

    Example:
        >>> percent(0.99), percent(12 / 76), percent(0.999999)
        ('99 %', '15.78 %', '99.99 %')
    """
    hundredths = int(fraction * 10_000 + 1e-9)
    return f"{hundredths / 100:.2f}".rstrip("0").rstrip(".") + " %"


def minimum_of(value: Any, place: str) -> float:
    """A fraction, checked.

    Args:
        value: what was given.
        place: the marker or the assertion, for the error: ``assert_at_least``.

    Raises:
        BadDemand: it is no number from 0 to 1.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadDemand(f"`{place}` takes a fraction from 0 to 1, not {value!r}")
    if 1 < value <= 100:
        raise BadDemand(
            f"`{place}` takes a fraction from 0 to 1, not a percentage: "
            f"{value / 100:g} and not {value!r}"
        )
    if not 0 <= value <= 1:
        raise BadDemand(f"`{place}` takes a fraction from 0 to 1, not {value!r}")
    return float(value)


def marked(arguments: tuple[Any, ...], keywords: Mapping[str, Any]) -> Demand:
    """The demand of a marker ``donated(min=1.0, function=None, ignore=())``.

    Args:
        arguments: its positional arguments; there are to be none.
        keywords: its keyword arguments.

    Raises:
        BadDemand: it has something that it cannot have.

    Example:
        >>> marked((), {"min": 0.5, "function": "train_step"}).functions
        ('train_step',)
    """
    if arguments:
        raise BadDemand(f"`{MARKER}` takes keywords alone: `min=0.99`")
    unknown = [key for key in keywords if key not in ("min", "function", "ignore")]
    if unknown:
        raise BadDemand(f"`{MARKER}` has no `{unknown[0]}`; it has min, function, ignore")
    return Demand(
        minimum_of(keywords.get("min", 1.0), f"{MARKER}(min=...)"),
        _texts(keywords.get("function"), "function"),
        tuple(_ignores(keywords.get("ignore", ()))),
    )


def _texts(value: Any, key: str) -> tuple[str, ...]:
    if value is None:
        return ()
    found = (value,) if isinstance(value, str) else value
    if isinstance(found, Iterable):
        found = tuple(found)
        if all(isinstance(each, str) for each in found):
            return found
    raise BadDemand(f"`{MARKER}({key}=...)` takes a name or several, not {value!r}")


def _ignores(value: Any) -> Iterable[Ignore]:
    if isinstance(value, str | Mapping):
        value = (value,)
    if not isinstance(value, Iterable):
        raise BadDemand(f"`{MARKER}(ignore=...)` takes codes, not {value!r}")
    for each in value:
        table = {"code": each} if isinstance(each, str) else each
        if not isinstance(table, Mapping) or not {"code"} <= set(table) <= _KEYS:
            raise BadDemand(
                f"`{MARKER}(ignore=...)` takes codes, or dicts of code, path, reason, not {each!r}"
            )
        codes = _texts(table["code"], "ignore")
        for code in codes:
            if not code.startswith("DT") or not any(known.startswith(code) for known in CODES):
                raise BadDemand(f"`{MARKER}(ignore=...)`: there is no code `{code}`")
        paths = _texts(table.get("path"), "ignore")
        yield Ignore(codes, paths=paths, reason=str(table.get("reason", "")), where=MARKER)


_KEYS = {"code", "path", "reason"}
