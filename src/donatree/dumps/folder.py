"""Finding the modules in a folder: the files that belong together."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from donatree.dumps.stages import Stage, stage_of

_MLIR = "module.mlir"
# JAX 0.7 to 0.9 name the folder of a module's StableHLO after the time.
_TIMED = re.compile(r"(.+)_[0-9]{10,}")
_BESIDE_MLIR = frozenset(("compile_options.pb", "topology.pb"))


@dataclass(frozen=True)
class Group:
    """The files of one module.

    Attributes:
        name: as the user would name it: below the folder that was given, without the stage.
        files: by what they say.
    """

    name: str
    files: Mapping[Stage, Path] = field(default_factory=dict)

    @property
    def file(self) -> Path:
        """The one that stands for all: of the latest stage."""
        order = (Stage.AFTER, Stage.UNKNOWN, Stage.BEFORE, Stage.MLIR)
        return next((self.files[each] for each in order if each in self.files), Path(self.name))


def find(path: Path | str) -> list[Group]:
    """Finds the modules at a place.

    Args:
        path: a file, whatever its name, or a folder, which is walked with all below it; links to
            folders are not followed.

    Returns:
        The modules by name. Files that XLA writes beside modules, and those with endings of other
        things, are not among them.

    Raises:
        OSError: there is no such place.
    """
    path = Path(path)
    if not path.is_dir():
        path.lstat()
        return [_alone(path)]
    groups: dict[tuple[str, str], dict[Stage, tuple[int, Path]]] = {}
    for folder, _, names in os.walk(path):
        for name in sorted(names):
            found = _of_folder(folder, name)
            if found is None:
                continue
            (where, module), stage, rank = found
            files = groups.setdefault((where, module), {})
            if stage not in files or rank < files[stage][0]:
                files[stage] = rank, Path(folder, name)
    answer = [
        Group(
            os.path.relpath(os.path.join(where, module), path),
            {stage: file for stage, (_, file) in files.items()},
        )
        for (where, module), files in _without_doubles(groups)
    ]
    return sorted((each for each in answer if _says_something(each)), key=lambda each: each.name)


def _alone(path: Path) -> Group:
    """A file that was named, with what belongs to it in its folder."""
    found = stage_of(path.name)
    if found is None or found[1] not in (Stage.AFTER, Stage.BEFORE):
        stage = found[1] if found is not None else Stage.UNKNOWN
        return Group(path.name, {stage: path})
    files: dict[Stage, tuple[int, Path]] = {}
    for name in sorted(os.listdir(path.parent)):
        other = stage_of(name)
        if other is not None and other[0] == found[0]:
            _, stage, rank = other
            if stage not in files or rank < files[stage][0]:
                files[stage] = rank, path.with_name(name)
    files[found[1]] = 0, path
    if found[1] is Stage.BEFORE and Stage.AFTER not in files:
        return Group(found[0], {Stage.BEFORE: path})
    mlir = path.with_name(found[0]) / _MLIR
    if mlir.is_file():
        files[Stage.MLIR] = 0, mlir
    return Group(found[0], {stage: file for stage, (_, file) in files.items()})


def _of_folder(folder: str, name: str) -> tuple[tuple[str, str], Stage, int] | None:
    """Where a file belongs: the folder and name of its module, its stage and rank."""
    if name == _MLIR:
        where, own = os.path.split(folder)
        return (where, own), Stage.MLIR, 0
    if name in _BESIDE_MLIR:
        return None
    found = stage_of(name)
    if found is None:
        return None
    return (folder, found[0]), found[1], found[2]


def _without_doubles(
    groups: Mapping[tuple[str, str], dict[Stage, tuple[int, Path]]],
) -> Iterator[tuple[tuple[str, str], dict[Stage, tuple[int, Path]]]]:
    """Leaves out StableHLO of which the compiled module is there under another name."""
    compiled = {
        (where, module.split(".")[1])
        for (where, module), files in groups.items()
        if Stage.AFTER in files and module.count(".")
    }
    for (where, module), files in groups.items():
        timed = _TIMED.fullmatch(module)
        if set(files) == {Stage.MLIR} and timed and (where, timed[1]) in compiled:
            continue
        yield (where, module), files


def _says_something(group: Group) -> bool:
    return not set(group.files) <= {Stage.ASSIGNMENT, Stage.RANGES}
