"""Options that several commands share, and what they do at the end."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import rich_click as click

from donatree import reports
from donatree.ledger import Account

BUDGET = 60.0  # seconds

F = TypeVar("F", bound=Callable[..., Any])


def file_option(name: str, text: str) -> Callable[[F], F]:
    """An option that names a file to write.

    Args:
        name: ``json`` for ``--json FILE``, passed on as ``json_file``.
        text: its help.
    """
    return click.option(
        f"--{name}",
        f"{name}_file",
        metavar="FILE",
        type=click.Path(dir_okay=False, path_type=Path),
        help=text,
    )


def report_options_of(json: str, expand: str) -> Callable[[F], F]:
    """`--report`, `--json`, `--expand` and `--show-evidence`.

    Args:
        json: what is written as JSON, for the help.
        expand: what is shown whole, for the help.
    """

    def decorated(function: F) -> F:
        decorators = [
            file_option("report", "Write the report to FILE as well, as plain text."),
            file_option("json", json),
            click.option("--expand", is_flag=True, help=expand),
            click.option(
                "--show-evidence",
                is_flag=True,
                help="Show what was read for each leaf at each gate.",
            ),
        ]
        for decorate in reversed(decorators):
            function = decorate(function)
        return function

    return decorated


report_options = report_options_of("Write the report to FILE as JSON.", "Show every leaf.")
"""Those of a report on functions."""


def prove_options(default: str, patch_where: str) -> Callable[[F], F]:
    """`--prove`, `--prove-budget` and `--patch`.

    Args:
        default: what happens without `--prove`, for the help.
        patch_where: where the diff goes, for the help.
    """

    def decorated(function: F) -> F:
        prove = click.option(
            "--prove",
            is_flag=True,
            help="Compile the program without its donation as well and measure what it saves. "
            + default,
        )
        budget = click.option(
            "--prove-budget",
            type=click.FloatRange(min=0),
            default=BUDGET,
            show_default=True,
            metavar="SECONDS",
            help="How long all further compiles may take together.",
        )
        patch = click.option(
            "--patch",
            is_flag=True,
            help="Print the fixes that held and are one expression each as a unified diff. "
            + patch_where,
        )
        return prove(budget(patch(function)))

    return decorated


def target_options(function: F) -> F:
    """`--target` and `--full`."""
    target = click.option(
        "--target",
        "targets",
        multiple=True,
        metavar="NAME",
        help="Compile for this hardware, which need not be here: `tpu:v5e:4x4`, `cuda:h100`, "
        "`host`, `host:8`; may be given several times. `donatree targets` lists them.",
    )
    full = click.option(
        "--full",
        is_flag=True,
        help="With --target: compile to the end. Without it a compile is stopped as soon as the "
        "compiler has said where everything goes.",
    )
    return target(full(function))


def check_writable(*files: Path | None) -> None:
    """Refuses a file that cannot be written before anything is run.

    Raises:
        click.ClickException: one clear line; exit code 2.
    """
    for file in files:
        if file is not None and not file.absolute().parent.is_dir():
            raise failure(f"cannot write `{file}`: no such folder `{file.parent}`")


def failure(message: str) -> click.ClickException:
    """What to raise to end a command with one line on standard error and exit code 2."""
    return click.ClickException(message)


def publish(
    account: Account,
    stream: Any,
    report_file: Path | None,
    json_file: Path | None,
    options: reports.Options,
) -> None:
    """Writes the report to `stream` and to the files that were asked for."""
    reports.write(account, stream, "terminal", options)
    for file, kind in ((report_file, "plain"), (json_file, "json")):
        if file is not None:
            write_file(file, reports.render(account, kind, options))


def write_file(file: Path, text: str) -> None:
    """Writes a file, or a line on standard error where it cannot be written."""
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        print(f"donatree: cannot write `{file}`: {error.strerror}", file=sys.stderr)


def put_patch(account: Account, stream: Any) -> None:
    """Writes the unified diff of the fixes that held, byte for byte as the files have it."""
    from donatree.fixes.patch import patch

    text = patch(fix for ledger in account.ledgers for fix in ledger.fixes)
    stream.flush()
    stream.buffer.write(text.encode("utf-8", "surrogateescape"))
    stream.buffer.flush()


def has_findings(account: Account) -> bool:
    """Whether anything was found that is more than a note."""
    return any(each.level != "note" for each in account.all_findings())
