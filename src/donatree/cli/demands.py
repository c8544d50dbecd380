"""What is demanded of an account: by options, and by the project's configuration."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from traceback import format_exc
from typing import TYPE_CHECKING, Any, TypeVar

import rich_click as click

from donatree import policy
from donatree.cli import baselined
from donatree.cli.outputs import check_writable
from donatree.errors import DonatreeError
from donatree.ledger import Account, Fault

if TYPE_CHECKING:
    from donatree.baseline import Baseline
    from donatree.watch.level import Check

F = TypeVar("F", bound=Callable[..., Any])

FILE = "donation.toml"


@dataclass(frozen=True, slots=True)
class Demands:
    """What an account is held against.

    Attributes:
        settings: the project's configuration.
        strict: whether any finding fails.
        fail_under: percent of the promised bytes that must pass every gate checked.
        file: the baseline's file, absolute; None where there is none.
        name: that file as the user named it.
        write: whether to write the baseline.
        baseline: what the file said before anything was run; None where there was no file.
        notes: what the user should know of how the demands were made.
    """

    settings: policy.Settings
    strict: bool = False
    fail_under: float | None = None
    file: Path | None = None
    name: str = ""
    write: bool = False
    baseline: Baseline | None = None
    notes: tuple[str, ...] = ()

    @property
    def made(self) -> bool:
        """Whether anything is demanded, by which success is judged then."""
        return self.strict or self.fail_under is not None or self.file is not None

    def check(self, known: Sequence[Check]) -> Check | None:
        """How much the configuration wants to be looked at.

        Raises:
            click.ClickException: it names what is not known.
        """
        asked = self.settings.check
        for each in known:
            if each == asked:
                return each
        if asked is not None:
            text = f"{self.settings.file}: `check` is none of {', '.join(known)}"
            raise click.ClickException(text)
        return None

    def judged(self, account: Account) -> Account:
        """The account with the ignores applied, and what changed against the baseline.

        The baseline's file is written where that was asked for, and where a leaf got better, but
        not from a program that did not end well. A fault of donatree's own is told and not raised.
        """
        try:
            return self._judged(account)
        except Exception as error:
            fault = Fault("holding it against what is demanded", repr(error), format_exc())
            return dataclasses.replace(account, faults=(*account.faults, fault))

    def _judged(self, account: Account) -> Account:
        account = policy.applied(account, self.settings)
        account = dataclasses.replace(account, notes=(*account.notes, *self.notes))
        if self.file is None:
            return account
        from donatree import baseline

        old, folder = self.baseline, self.file.parent
        if self.write:
            new: Baseline | None = baseline.recorded(account, old, folder=folder)
            new = None if new == old else new
        else:
            assert old is not None
            new = baseline.ratcheted(old, account)
        note = self._written(new, account)
        told = (note,) if note else ()
        if old is None:
            return dataclasses.replace(account, notes=(*account.notes, *told))
        compared = baseline.compare(old, account, old_name=self.name)
        notes = (*compared.notes, *told)
        return dataclasses.replace(account, comparison=dataclasses.replace(compared, notes=notes))

    def _written(self, new: Baseline | None, account: Account) -> str | None:
        """Writes the baseline, and says so."""
        if new is None:
            return f"`{self.name}` is up to date" if self.write else None
        if account.ended:
            return f"`{self.name}` is left as it is: the program did not end well"
        from donatree import baseline

        assert self.file is not None
        try:
            baseline.write(self.file, new)
        except OSError as error:
            return f"`{self.name}` could not be written: {error.strerror}"
        if not self.write:
            return f"`{self.name}` was rewritten: what got better is to stay so"
        if self.baseline is not None:
            return f"`{self.name}` was written"
        leaves = sum(len(ledger.entries) for ledger in account.ledgers)
        lost = sum(len(ledger.lost) for ledger in account.ledgers)
        return f"`{self.name}` was written: {leaves:,} leaves, {lost:,} of them accepted as lost"

    def failed(self, account: Account) -> bool:
        """Whether a judged account falls short of what is demanded."""
        if self.fail_under is not None and account.judged_fraction * 100 < self.fail_under:
            return True
        if self.strict and has_findings(account):
            return True
        compared = account.comparison
        return compared is not None and compared.fails and not self.write


def has_findings(account: Account) -> bool:
    """Whether anything was found that is more than a note and is not ignored."""
    return any(each.level != "note" and not each.ignored for each in account.all_findings())


def demand_options(strict: str) -> Callable[[F], F]:
    """`--strict`, `--fail-under`, `--baseline`, `--write-baseline` and `--config`.

    The command gets them as one argument ``demands``.

    Args:
        strict: what `--strict` does, for the help.
    """

    def decorated(function: F) -> F:
        @functools.wraps(function)
        def collected(*args: Any, **kwargs: Any) -> Any:
            demands = _demands(
                strict=kwargs.pop("strict"),
                fail_under=kwargs.pop("fail_under"),
                file=kwargs.pop("baseline_file"),
                write=kwargs.pop("write_baseline"),
                config=kwargs.pop("config"),
            )
            return function(*args, demands=demands, **kwargs)

        decorators = [
            click.option("--strict", is_flag=True, help=strict),
            click.option(
                "--fail-under",
                type=click.FloatRange(0, 100),
                metavar="PERCENT",
                help="Exit 1 where less than PERCENT of the promised bytes pass every gate "
                "checked.",
            ),
            click.option(
                "--baseline",
                "baseline_file",
                type=click.Path(dir_okay=False, path_type=Path),
                metavar="FILE",
                help="Exit 1 where a leaf is lost that FILE does not accept as lost; say what "
                "changed, and since which JAX.",
            ),
            click.option(
                "--write-baseline",
                is_flag=True,
                help=f"Write what is lost and what is reused now to the baseline, {FILE} where "
                "none is named.",
            ),
            click.option(
                "--config",
                type=click.Path(dir_okay=False, path_type=Path),
                metavar="FILE",
                help="Read [tool.donatree] from FILE, not from the nearest pyproject.toml.",
            ),
        ]
        made: Any = collected
        for decorate in reversed(decorators):
            made = decorate(made)
        return made

    return decorated


def _demands(
    *, strict: bool, fail_under: float | None, file: Path | None, write: bool, config: Path | None
) -> Demands:
    """What the options and the configuration ask for, before anything is run.

    Raises:
        click.ClickException: the configuration or the baseline cannot be read.
    """
    try:
        settings = _settings(config)
        named = file
        file = file or _shown(settings.baseline) or (Path(FILE) if write else None)
        old: Baseline | None = None
        if file is not None and (file.exists() or not write):
            from donatree import baseline

            old = baseline.read(file)
    except DonatreeError as error:
        raise click.ClickException(str(error)) from None
    check_writable(file if write or named else None)
    least = settings.fail_under if fail_under is None else fail_under
    absolute = file.absolute() if file is not None else None
    return Demands(
        settings,
        strict or settings.strict,
        least,
        absolute,
        str(file or ""),
        write,
        old,
        baselined.notes(),
    )


def _settings(config: Path | None) -> policy.Settings:
    if config is None:
        return policy.load(Path.cwd())
    found = policy.read(config)
    if found is None:
        raise DonatreeError(f"`{config}` has no [tool.donatree]")
    return found


def _shown(file: Path | None) -> Path | None:
    """A file of the configuration as the user would name it."""
    if file is not None and file.is_relative_to(Path.cwd()):
        return file.relative_to(Path.cwd())
    return file
