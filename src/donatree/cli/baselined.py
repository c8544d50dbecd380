"""Where `--baseline` and `--write-baseline` may stand, and how the latter may name a file."""

from __future__ import annotations

from collections.abc import Sequence

import rich_click as click

_MOVED = "donatree.moved"


class Baselined(click.RichCommand):
    """A command whose `--write-baseline` may be followed by the file, as `--baseline FILE` is.

    Of what follows a program's name, which is the program's own, it takes these options alone, and
    only where they cannot be the program's: FILE is a baseline, or both of them are there.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Reads the options wherever they stand."""
        place = len(args) if ctx.allow_interspersed_args else self._program_at(args)
        own, program = args[:place], args[place:]
        taken, rest = _taken(program[1:])
        ctx.meta[_MOVED] = tuple(taken)
        return super().parse_args(ctx, [*_spelt_out([*taken, *own]), *program[:1], *rest])

    def _program_at(self, args: Sequence[str]) -> int:
        """Where the program's name stands: the first word that is no option and no value of one."""
        with_value = {
            name
            for each in self.params
            if isinstance(each, click.Option) and not each.is_flag
            for name in each.opts
        }
        at = 0
        while at < len(args):
            word = args[at]
            if word == "--write-baseline" and _is_file(args, at + 1):
                at += 2
            elif not word.startswith("-"):
                break
            else:
                at += 2 if word in with_value else 1
        return at


def notes() -> tuple[str, ...]:
    """What the user should know of options that stood after the program's name."""
    context = click.get_current_context(silent=True)
    moved = context.meta.get(_MOVED) if context is not None else None
    if not moved:
        return ()
    return (f"`{' '.join(moved)}` stands after the program and was taken as donatree's own",)


def _spelt_out(args: Sequence[str]) -> list[str]:
    """``--write-baseline donation.toml`` as the two options that it stands for."""
    found = []
    for at, word in enumerate(args):
        found.append(word)
        if word == "--write-baseline" and _is_file(args, at + 1):
            found.append("--baseline")
    return found


def _is_file(args: Sequence[str], at: int) -> bool:
    return at < len(args) and args[at].endswith(".toml") and not args[at].startswith("-")


def _taken(program: Sequence[str]) -> tuple[list[str], list[str]]:
    """The words after the program's name that are donatree's, and the others."""
    end = program.index("--") if "--" in program else len(program)
    words = list(program[:end])
    written = "--write-baseline" in words
    named = any(word.partition("=")[0] == "--baseline" for word in words)
    taken, rest, at = [], [], 0
    while at < len(words):
        name, equals, value = words[at].partition("=")
        length = 1
        mine = False
        if name == "--baseline" and (equals or at + 1 < len(words)):
            length = 1 if equals else 2
            mine = written or _is_baseline(value if equals else words[at + 1])
        elif words[at] == "--write-baseline":
            length = 2 if _is_file(words, at + 1) else 1
            mine = named or length == 2
        (taken if mine else rest).extend(words[at : at + length])
        at += length
    return taken, [*rest, *program[end:]]


def _is_baseline(file: str) -> bool:
    from donatree import baseline

    try:
        return bool(baseline.read(file).records)
    except (baseline.BaselineError, ValueError):  # a name that no file can have, too
        return False
