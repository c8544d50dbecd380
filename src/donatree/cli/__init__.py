"""The command line: one file a command; the list of commands is data."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from typing import Any

import rich_click as click

from donatree._version import __version__
from donatree.watch.outcome import Outcome, leave

COMMANDS: tuple[str, ...] = (
    "run",
    "audit",
    "advise",
    "hlo",
    "report",
    "diff",
    "explain",
    "demo",
    "targets",
    "debug",
)


class _Commands(click.RichGroup):
    """Imports a command's file when the command is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        return importlib.import_module(f"donatree.cli.{cmd_name}").command


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="donatree")
def group() -> None:
    """donatree tells, leaf by leaf, what became of the memory you donated to a JAX function."""


def main(arguments: Sequence[str] | None = None) -> None:
    """The entry point: exit 0, 1 for findings, 2 where it could not be done, in one line.

    A command returns its exit code, or the outcome of the program that it ran: that is left as
    Python would leave it, outside of click, which takes a `KeyboardInterrupt` for its own.
    """
    try:
        ended: Any = group.main(arguments, prog_name="donatree", standalone_mode=False)
    except click.ClickException as error:
        print(f"donatree: {_in_one_line(error)}", file=sys.stderr)
        ended = 2
    except click.Abort:
        ended = 130
    if isinstance(ended, Outcome):
        leave(ended)
    sys.exit(ended)


def _in_one_line(error: click.ClickException) -> str:
    text = " ".join(error.format_message().split())
    text = text[:1].lower() + text[1:] if text[1:2].islower() else text
    context = getattr(error, "ctx", None)
    hint = f" (see `{context.command_path} --help`)" if context is not None else ""
    return text.rstrip(".") + hint
