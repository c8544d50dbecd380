"""The files of one module joined: what was promised, and what became of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from donatree.dumps.folder import Group
from donatree.dumps.module import Buffers, Stated, read_buffers, read_stated
from donatree.dumps.stages import Stage, platform_of
from donatree.hlo.error import HloError
from donatree.hlo.shape import EntryShape
from donatree.hlo.stablehlo import Main


@dataclass(frozen=True)
class Joined:
    """All that is known of a module.

    Attributes:
        name: the module's own name.
        file: the file that stands for it, below the folder that was given.
        after: the compiled module; None where only what was given to XLA is there.
        promised: what says that a parameter is donated, by its number.
        promises_known: whether that is all that was promised.
        names: of the parameters, by their numbers.
        results: names of the results; empty where no file has them.
        parameters: shapes of the parameters, of one device where it is compiled.
        shapes: of the results.
        buffers: the buffer assignment, where there is one.
        platform: where a file's name tells.
        remarks: what could not be read, or cannot be known, in words.
    """

    name: str
    file: str
    after: Stated | None
    promised: Mapping[int, str]
    promises_known: bool
    names: Mapping[int, str]
    results: tuple[str, ...]
    parameters: tuple[EntryShape, ...]
    shapes: tuple[EntryShape, ...]
    buffers: Buffers | None
    platform: str | None
    remarks: tuple[str, ...]


def join(group: Group) -> Joined:
    """Reads the files of a module.

    Raises:
        OSError: none of them can be read.
        HloError: none of them says anything.
    """
    after, before, main, remarks = _read(group)
    stated = after or before
    aliases, donors = {}, {}
    inputs: tuple[EntryShape, ...] = ()
    if stated is not None:
        aliases = {each.input: each for each in stated.header.aliases}
        donors = {each.input: each for each in stated.header.donors}
        inputs = _shapes(stated)
    promised: dict[int, str] = {}
    known = True
    if before is not None and _fits(before, inputs):
        for alias in before.header.aliases:
            output = ", ".join(map(str, alias.output_index))
            promised[alias.input] = f"before optimisation: input_output_alias {{{output}}}"
        for donor in before.header.donors:
            promised[donor.input] = "before optimisation: buffer_donor"
    elif main is not None and (not inputs or len(main.arguments) == len(inputs)):
        promised = _promised(main)
    else:
        known = False
        promised = dict.fromkeys((*aliases, *donors), "")
    for number in (*aliases, *donors):
        promised.setdefault(number, "")
    names = _names(main, before, after, len(inputs))
    buffers, why = (None, None) if after is None else read_buffers(group.files)
    remarks += [why] if why else []
    first = group.files.get(Stage.AFTER, group.file)
    return Joined(
        name=(stated.header.module if stated else main.module if main else "") or group.name,
        file=group.name,
        after=after,
        promised=dict(sorted(promised.items())),
        promises_known=known,
        names=names,
        results=() if main is None else main.results,
        parameters=inputs or _of_main([each.shape for each in main.arguments] if main else []),
        shapes=_results(stated, main),
        buffers=buffers,
        platform=platform_of(first.name) if after is not None else None,
        remarks=tuple(remarks),
    )


def _read(group: Group) -> tuple[Stated | None, Stated | None, Main | None, list[str]]:
    """The compiled module, what it was before, its StableHLO, and what could not be read."""
    after = before = None
    main: Main | None = None
    remarks: list[str] = []
    first: HloError | OSError | None = None
    for stage in (Stage.AFTER, Stage.UNKNOWN, Stage.BEFORE, Stage.MLIR):
        path = group.files.get(stage)
        if path is None:
            continue
        try:
            found = read_stated(path)
        except (HloError, OSError) as error:
            first = first or error
            remarks.append(f"`{path.name}` was left out: {said(error)}")
            continue
        if isinstance(found, Main):
            main = main or found
        elif stage is Stage.AFTER or (stage is Stage.UNKNOWN and found.is_compiled):
            after, remarks = found, [*remarks, *found.remarks]
        else:
            before = before or found
    if first is not None and after is None and before is None and main is None:
        raise first
    return after, before, main, remarks


def said(error: HloError | OSError) -> str:
    """An error in words that do not repeat the file's name."""
    return (error.strerror or type(error).__name__) if isinstance(error, OSError) else str(error)


def _fits(before: Stated, inputs: Sequence[EntryShape]) -> bool:
    """Whether the two stages have the same parameters; XLA keeps all, it seems (measured)."""
    return not inputs or len(_shapes(before)) == len(inputs)


def _shapes(stated: Stated) -> tuple[EntryShape, ...]:
    """The shapes of the parameters, as `Alias.input` counts them."""
    if stated.header.inputs is not None:
        return stated.header.inputs
    if stated.entry is None:
        return ()
    try:
        found = {each.parameter: each.shape for each in stated.entry.of_opcode("parameter")}
    except HloError:
        return ()
    shapes = [found[number] for number in range(len(found)) if number in found]
    if len(shapes) != len(found):
        return ()
    return shapes[0].elements if len(shapes) == 1 and shapes[0].is_tuple else tuple(shapes)


def _results(stated: Stated | None, main: Main | None) -> tuple[EntryShape, ...]:
    if stated is None:
        return _of_main(main.shapes if main else ())
    if stated.header.results is not None:
        return stated.header.results
    try:
        shape = stated.entry.root.shape if stated.entry is not None else None
    except HloError:
        shape = None
    return () if shape is None else shape.elements if shape.is_tuple else (shape,)


def _of_main(shapes: Sequence[EntryShape | None]) -> tuple[EntryShape, ...]:
    known = [each for each in shapes if each is not None]
    return tuple(known) if len(known) == len(shapes) else ()


def _promised(main: Main) -> dict[int, str]:
    answer: dict[int, str] = {}
    for number, argument in enumerate(main.arguments):
        if argument.aliasing_output is not None:
            which = f"tf.aliasing_output = {argument.aliasing_output}"
            answer[number] = f"@main argument {number}: {which}"
        elif argument.is_donor:
            answer[number] = f"@main argument {number}: jax.buffer_donor = true"
    return answer


def _names(
    main: Main | None, before: Stated | None, after: Stated | None, inputs: int
) -> dict[int, str]:
    """The names of the parameters from wherever they are, those that JAX wrote first."""
    names = {}
    if main is not None and (not inputs or len(main.arguments) == inputs):
        names = {number: each.name for number, each in enumerate(main.arguments) if each.name}
    for stated in (before, after):
        if stated is not None and not names and (not inputs or len(_shapes(stated)) == inputs):
            names = dict(stated.names)
    return names
