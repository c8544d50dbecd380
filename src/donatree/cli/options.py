"""Options that several commands share, and what they do at the end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import rich_click as click

from donatree.ledger import Account

BUDGET = 60.0  # seconds

F = TypeVar("F", bound=Callable[..., Any])


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


def failure(message: str) -> click.ClickException:
    """What to raise to end a command with one line on standard error and exit code 2."""
    return click.ClickException(message)


def put_patch(account: Account, stream: Any) -> None:
    """Writes the unified diff of the fixes that held, byte for byte as the files have it."""
    from donatree.fixes.patch import patch

    text = patch(fix for ledger in account.ledgers for fix in ledger.fixes)
    stream.flush()
    stream.buffer.write(text.encode("utf-8", "surrogateescape"))
    stream.buffer.flush()
