"""The magic of IPython and Jupyter: ``%load_ext donatree``, then ``%%donatree`` above a cell."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Mapping
from typing import Any

from donatree.audit import audit
from donatree.errors import DonatreeError, in_one_line
from donatree.ledger import Account, Ledger
from donatree.magic import line as lines
from donatree.magic import shells
from donatree.targets.context import target
from donatree.watch import Level, Watched

_AUDIT = "__donatree_audit__"  # in place of the function that a line calls
_NOTHING = """\
donatree: nothing that this cell compiled asked for donation
  = note: JAX compiles a function once; what an earlier cell compiled is not seen again
  = help: `%donatree step(state, batch)` audits one call without running it, and after
          `jax.clear_caches()` everything is compiled again"""


def register(shell: Any) -> None:
    """Adds ``%donatree`` and ``%%donatree`` to a shell.

    Args:
        shell: IPython's ``InteractiveShell``.
    """
    from IPython.core.magic import no_var_expand

    no_var_expand(Magic.donatree)  # or the braces of a dict would be filled in
    shell.register_magic_function(Magic(shell).donatree, "line_cell", "donatree")


class Magic:
    """The magic of one shell.

    Args:
        shell: IPython's ``InteractiveShell``.
    """

    def __init__(self, shell: Any) -> None:
        self._shell = shell

    def donatree(
        self, line: str, cell: str | None = None, local_ns: Mapping[str, Any] | None = None
    ) -> Ledger | None:
        """Tells, leaf by leaf, what became of the memory that a cell, or one call, donates.

        ``%%donatree [--check compile|calls|names] [--calls N] [--expand] [--target NAME] [NAME]``

        Runs the cell under ``donatree.watch`` and shows the account below its output. With a name
        the account is bound to it. ``--check`` and ``--calls`` are those of ``watch``, ``--expand``
        shows every leaf, ``--target tpu:v5e:1x1`` compiles for that hardware as well; it may be
        given several times.

        ``%donatree [--target NAME] step(state, batch)``

        Audits the call without running it: ``donatree.audit(step, state, batch)``.
        """
        if cell is not None:
            self._run(line, cell)
            return None
        return self._audit(line, local_ns or {})

    donatree.needs_local_scope = True  # type: ignore[attr-defined]

    def _run(self, line: str, cell: str) -> None:
        options = lines.options(line)
        if shells.awaits(self._shell, cell):
            lines.refuse(
                "a cell that awaits cannot run under `%%donatree`; "
                "write `with donatree.watch() as watched:` in it"
            )
        watched = Watched(Level(options.check, options.calls), options.targets)
        number = shells.number(self._shell)
        with watched, shells.numbered(self._shell, number):
            result = self._shell.run_cell(lines.body(cell))
        error = result.error_before_exec or result.error_in_exec
        account = dataclasses.replace(
            watched.for_targets(),
            program=f"cell [{number}]",
            ended=in_one_line(error) if error is not None else None,
        )
        if options.name:
            self._shell.push({options.name: account})
        self._show(account, expand=options.expand)
        if error is None:
            return
        del watched, result, account  # the error keeps this frame
        shells.say_no_more(self._shell, error)
        raise error

    def _show(self, account: Account, *, expand: bool) -> None:
        from donatree.reports import notebook

        learnt = (*account.ledgers, *account.all_findings(), *account.refusals, *account.faults)
        if not learnt:
            print(_NOTHING)
            return
        self._shell.display_pub.publish(data=notebook.bundle(account, expand=expand))

    def _audit(self, line: str, names: Mapping[str, Any]) -> Ledger:
        call = lines.call(line)
        # Under a file name of IPython's, by which the report says which cell it is.
        file = self._shell.compile.cache(call.source, shells.number(self._shell))
        code = compile(call.with_function(_AUDIT), file, "eval")
        try:
            with target(call.target or "host"):
                scope = collections.ChainMap({_AUDIT: audit}, dict(names))
                return eval(code, self._shell.user_ns, scope)
        except DonatreeError as error:
            lines.refuse(str(error))
