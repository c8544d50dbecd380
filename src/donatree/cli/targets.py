"""`donatree targets`: the hardware that can be compiled for, and whether it can from here."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

import rich_click as click

from donatree.cli.options import failure
from donatree.reports import sizes

if TYPE_CHECKING:
    from donatree.targets.listing import Family


@click.command("targets")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option(
    "--describe",
    metavar="GPU",
    help="Print the description of a GPU, to write your own for `--target cuda:FILE`.",
)
def command(as_json: bool, describe: str | None) -> None:
    """List what `--target` can name, with its memory, and whether it can be used here.

    Nothing is compiled, and JAX is not imported.
    """
    if describe is not None:
        click.echo(_description(describe), nl=False)
        return
    from donatree.targets import listing

    found = listing.families()
    if as_json:
        click.echo(json.dumps({"families": [family.to_dict() for family in found]}, indent=2))
        return
    for family in found:
        for line in _lines(family):
            click.echo(line)


def _lines(family: Family) -> Iterator[str]:
    yield family.title
    if family.why_not is None:
        yield "  can be used here"
    else:
        yield f"  cannot be used here: {family.why_not}"
    for note in family.notes:
        yield f"  note: {note}"
    rows = [
        (row.target, row.kind, sizes.short(row.memory), _shapes(row.shapes, row.devices_per_chip))
        for row in family.rows
    ]
    widths = [max((len(row[place]) for row in rows), default=0) for place in range(3)]
    for target, kind, memory, rest in rows:
        line = f"  {target:<{widths[0]}}  {kind:<{widths[1]}}  {memory:>{widths[2]}}  {rest}"
        yield line.rstrip()
    sources = dict.fromkeys(row.memory_source for row in family.rows)
    for source in sources:
        names = ", ".join(row.target for row in family.rows if row.memory_source == source)
        yield f"  memory of {names}: {source}" if len(sources) > 1 else f"  memory: {source}"
    yield ""


def _shapes(shapes: tuple[str, ...], per_chip: int) -> str:
    if not shapes:
        return ""
    each = " (2 devices a chip)" if per_chip == 2 else ""
    return f"{shapes[0]} ... {shapes[-1]}{each}"


def _description(name: str) -> str:
    from donatree.targets.gpus import GPUS

    gpu = GPUS.get(name.lower().removeprefix("cuda:"))
    if gpu is None:
        raise failure(f"no GPU is called `{name}`; there are {', '.join(GPUS)}")
    return gpu.text()
