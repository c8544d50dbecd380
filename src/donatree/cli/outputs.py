"""Where a report goes, and in which formats."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import rich_click as click

from donatree import reports
from donatree.ledger import Account

F = TypeVar("F", bound=Callable[..., Any])

STREAM = "-"
"""The name that a file has where the report's own stream is meant."""

_SHORT = {"report": "plain", "json": "json", "html": "html"}  # options that name a file alone


@dataclass(frozen=True, slots=True)
class Outputs:
    """Where a report goes.

    Attributes:
        streams: formats for the report's own stream, in their order.
        files: formats and the files for them.
        options: how reports for people are written.
    """

    streams: tuple[str, ...] = ()
    files: tuple[tuple[str, Path], ...] = ()
    options: reports.Options = field(default_factory=reports.Options)

    @property
    def plain(self) -> bool:
        """Whether nothing but the report for people is wanted."""
        return not self.streams and all(name == "plain" for name, _ in self.files)

    def file(self, name: str) -> Path | None:
        """The file for a format, None where there is none."""
        return next((file for each, file in self.files if each == name), None)

    def without(self, name: str) -> Outputs:
        """The same without the files for a format."""
        return replace(self, files=tuple(each for each in self.files if each[0] != name))

    def or_else(self, formats: Sequence[str]) -> Outputs:
        """With the formats of the configuration, where none was asked for with ``--format``.

        Raises:
            click.ClickException: one of them is no format.
        """
        if self.streams or any(name not in _SHORT.values() for name, _ in self.files):
            return self
        more = _parsed(formats)
        return replace(self, streams=more.streams, files=(*self.files, *more.files))

    def absolute(self) -> Outputs:
        """The same for a program that may change the current folder."""
        return replace(self, files=tuple((name, file.absolute()) for name, file in self.files))

    def check(self) -> None:
        """Refuses a file that cannot be written before anything is run.

        Raises:
            click.ClickException: one clear line; exit code 2.
        """
        check_writable(*(file for _, file in self.files))

    def publish(self, account: Account, stream: Any) -> None:
        """Writes the report to its stream and to the files; a line where one cannot be written.

        Args:
            account: what was learnt.
            stream: the report's own stream; closed by nobody here.
        """
        for name in self.streams or ("terminal",):
            reports.write(account, stream, name, self.options)
        for name, file in self.files:
            write_file(file, reports.render(account, name, self.options))


def check_writable(*files: Path | None) -> None:
    """Refuses a file that cannot be written before anything is run.

    Raises:
        click.ClickException: one clear line; exit code 2.
    """
    for file in filter(None, files):
        if not file.absolute().parent.is_dir():
            raise click.ClickException(f"cannot write `{file}`: no such folder `{file.parent}`")
        if file.is_dir():
            raise click.ClickException(f"cannot write `{file}`: it is a folder")


def write_file(file: Path, text: str) -> None:
    """Writes a file, or a line on standard error where it cannot be written.

    What steps before this one wrote to a GitHub job's summary is kept.
    """
    mode = "a" if str(file) == os.environ.get("GITHUB_STEP_SUMMARY") else "w"
    try:
        with file.open(mode, encoding="utf-8", newline="") as stream:
            stream.write(text)
    except OSError as error:
        print(f"donatree: cannot write `{file}`: {error.strerror}", file=sys.stderr)


def file_option(name: str, text: str, *, may_be_left_out: bool = False) -> Callable[[F], F]:
    """An option that names a file to write.

    Args:
        name: ``json`` for ``--json FILE``, passed on as ``json_file``.
        text: its help.
        may_be_left_out: whether FILE may be: the report's own stream is meant then.
    """
    more = {"is_flag": False, "flag_value": STREAM} if may_be_left_out else {}
    return click.option(
        f"--{name}",
        f"{name}_file",
        metavar="FILE",
        type=click.Path(dir_okay=False, path_type=Path, allow_dash=True),
        help=text,
        **more,
    )


def report_options_of(json: str, expand: str, *, converts: bool = False) -> Callable[[F], F]:
    """`--report`, `--json`, `--html`, `--format`, `--expand` and `--show-evidence`.

    The command gets them as one argument ``outputs``.

    Args:
        json: what is written as JSON, for the help.
        expand: what is shown whole, for the help.
        converts: whether the command only writes in other formats: `--html` may stand alone then.
    """

    def decorated(function: F) -> F:
        @functools.wraps(function)
        def collected(*args: Any, **kwargs: Any) -> Any:
            show_evidence, whole = kwargs.pop("show_evidence"), kwargs.pop("expand")
            asked = _parsed(kwargs.pop("formats"))
            short = [(kind, kwargs.pop(f"{name}_file")) for name, kind in _SHORT.items()]
            files = [(kind, file) for kind, file in short if file is not None] + [*asked.files]
            streams = [*asked.streams, *(kind for kind, file in files if str(file) == STREAM)]
            options = reports.Options(expand=whole or show_evidence, evidence=show_evidence)
            own = tuple(each for each in files if str(each[1]) != STREAM)
            return function(*args, outputs=Outputs(tuple(streams), own, options), **kwargs)

        decorators = [
            file_option("report", "Write the report to FILE as well, as plain text."),
            file_option("json", json),
            file_option(
                "html",
                "Write the report to FILE as one page for a browser.",
                may_be_left_out=converts,
            ),
            click.option(
                "--format",
                "formats",
                multiple=True,
                metavar="NAME[=FILE]",
                help="Write the report in another format: to FILE as well, or in place of the "
                f"report for people. One of {', '.join(reports.FORMATS)}; may be given several "
                "times.",
            ),
            click.option("--expand", is_flag=True, help=expand),
            click.option(
                "--show-evidence",
                is_flag=True,
                help="Show what was read for each leaf at each gate.",
            ),
        ]
        made: Any = collected
        for decorate in reversed(decorators):
            made = decorate(made)
        return made

    return decorated


report_options = report_options_of("Write the report to FILE as JSON.", "Show every leaf.")
"""Those of a report on functions."""


def _parsed(formats: Sequence[str]) -> Outputs:
    """What ``--format`` asks for.

    Raises:
        click.ClickException: there is no such format.
    """
    streams, files = [], []
    for each in formats:
        name, equals, file = each.partition("=")
        name = "terminal" if name == "text" else name
        if name not in reports.FORMATS:
            known = ", ".join(reports.FORMATS)
            raise click.ClickException(f"there is no format `{name}`; there are {known}")
        if equals and not file:
            raise click.ClickException(f"`--format {each}` names no file")
        if equals:
            files.append((name, Path(file)))
        else:
            streams.append(name)
    return Outputs(tuple(streams), tuple(files))
