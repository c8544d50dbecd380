"""``[tool.donatree]`` of pyproject.toml, read and checked."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from donatree.errors import DonatreeError
from donatree.findings import CODES
from donatree.policy.ignore import Ignore

FILE = "pyproject.toml"


@dataclass(frozen=True, slots=True)
class Settings:
    """What a project asks for. What is None or empty is not asked for.

    Attributes:
        functions: the functions that are judged and told; all where empty.
        fail_under: percent of the promised bytes that must pass every gate checked.
        strict: whether any finding fails.
        ignore: findings that are not to be told.
        baseline: the file of the baseline, absolute.
        targets: hardware to compile for, as ``--target`` names it.
        formats: ``NAME`` or ``NAME=FILE``, as ``--format`` takes them; files are absolute.
        check: how much is looked at, as ``--check`` takes it.
        file: where this was read from; None where there is nothing.
    """

    functions: tuple[str, ...] = ()
    fail_under: float | None = None
    strict: bool = False
    ignore: tuple[Ignore, ...] = ()
    baseline: Path | None = None
    targets: tuple[str, ...] = ()
    formats: tuple[str, ...] = ()
    check: str | None = None
    file: Path | None = None


def load(folder: Path) -> Settings:
    """The settings for a folder: of the nearest pyproject.toml with a `[tool.donatree]`, upwards.

    Args:
        folder: where the command was started.

    Returns:
        The settings; empty ones where no such file is there.

    Raises:
        DonatreeError: the table has something that it cannot have; one line.
    """
    folder = folder.absolute()
    for each in (folder, *folder.parents):
        file = each / FILE
        if file.is_file() and (found := read(file)) is not None:
            return found
    return Settings()


def read(file: Path) -> Settings | None:
    """The settings of one file; None where it has no `[tool.donatree]`.

    Raises:
        DonatreeError: the file cannot be read, is not TOML, or has something that the table
            cannot have; one line.
    """
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise DonatreeError(f"cannot read `{file}`: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DonatreeError(f"cannot read `{file}`: {error}") from None
    tool = data.get("tool")
    table = tool.get("donatree") if isinstance(tool, Mapping) else None
    if table is None:
        return None
    if not isinstance(table, Mapping):
        raise DonatreeError(f"{file}: `tool.donatree` is not a table")
    return _settings(table, file)


def _settings(table: Mapping[str, Any], file: Path) -> Settings:
    made = Settings(file=file)
    for key, value in table.items():
        field = _FIELDS.get(key)
        if field is None:
            known = ", ".join(_FIELDS)
            raise DonatreeError(f"{file}: `tool.donatree` has no `{key}`; it has {known}")
        made = field(made, value, f"{file}: `tool.donatree.{key}`")
    return made


def _functions(made: Settings, value: Any, place: str) -> Settings:
    return replace(made, functions=_texts(value, place))


def _fail_under(made: Settings, value: Any, place: str) -> Settings:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 100:
        raise DonatreeError(f"{place} is not a percentage, 0 to 100")
    return replace(made, fail_under=float(value))


def _strict(made: Settings, value: Any, place: str) -> Settings:
    if not isinstance(value, bool):
        raise DonatreeError(f"{place} is not true or false")
    return replace(made, strict=value)


def _baseline(made: Settings, value: Any, place: str) -> Settings:
    return replace(made, baseline=_below(made, _text(value, place)))


def _targets(made: Settings, value: Any, place: str) -> Settings:
    return replace(made, targets=_texts(value, place))


def _formats(made: Settings, value: Any, place: str) -> Settings:
    found = []
    for each in _texts(value, place):
        name, equals, file = each.partition("=")
        found.append(f"{name}={_below(made, file)}" if equals else name)
    return replace(made, formats=tuple(found))


def _check(made: Settings, value: Any, place: str) -> Settings:
    return replace(made, check=_text(value, place))


def _ignores(made: Settings, value: Any, place: str) -> Settings:
    if not isinstance(value, list):
        raise DonatreeError(f"{place} is not a list")
    found = [_ignore(each, _in(place, f"[{number}]")) for number, each in enumerate(value)]
    return replace(made, ignore=tuple(found))


def _ignore(value: Any, place: str) -> Ignore:
    if isinstance(value, str):
        return Ignore(codes=(_code(value, place),))
    if not isinstance(value, Mapping):
        raise DonatreeError(f"{place} is neither a code nor a table")
    unknown = [key for key in value if key not in ("code", "function", "path", "reason")]
    if unknown:
        known = "code, function, path, reason"
        raise DonatreeError(f"{place} has no `{unknown[0]}`; it has {known}")
    if "code" not in value:
        raise DonatreeError(f"{place} has no `code`")
    at = _in(place, ".code")
    return Ignore(
        codes=tuple(_code(each, at) for each in _one_or_more(value["code"], at)),
        functions=_one_or_more(value.get("function", []), _in(place, ".function")),
        paths=_one_or_more(value.get("path", []), _in(place, ".path")),
        reason=_text(value.get("reason", ""), _in(place, ".reason")),
    )


def _in(place: str, more: str) -> str:
    """A place inside the value at a place."""
    return f"{place.removesuffix('`')}{more}`"


def _code(value: str, place: str) -> str:
    if not value.startswith("DT") or not any(code.startswith(value) for code in CODES):
        raise DonatreeError(f"{place}: there is no code `{value}`")
    return value


def _one_or_more(value: Any, place: str) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else _texts(value, place)


def _texts(value: Any, place: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise DonatreeError(f"{place} is not a list of strings")
    return tuple(value)


def _text(value: Any, place: str) -> str:
    if not isinstance(value, str):
        raise DonatreeError(f"{place} is not a string")
    return value


def _below(made: Settings, name: str) -> Path:
    assert made.file is not None
    return made.file.parent / name


_FIELDS: Mapping[str, Callable[[Settings, Any, str], Settings]] = {
    "functions": _functions,
    "fail-under": _fail_under,
    "strict": _strict,
    "ignore": _ignores,
    "baseline": _baseline,
    "targets": _targets,
    "formats": _formats,
    "check": _check,
}
