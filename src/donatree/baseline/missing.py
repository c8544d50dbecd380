"""The functions that are recorded and were not met."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from donatree.baseline.files import name_of
from donatree.baseline.judgement import Judgement
from donatree.baseline.lookup import Finder, Place


class Missing(NamedTuple):
    """The functions that are recorded and were not met.

    Attributes:
        expected: those of files in which something was met, or of the program itself.
        elsewhere: the others, of which a baseline that serves several programs has some.
    """

    expected: tuple[Place, ...]
    elsewhere: tuple[Place, ...]


def missing(
    finder: Finder,
    judgements: Sequence[Judgement],
    program: str | None,
    folder: Path,
    *,
    explicit: bool,
) -> Missing:
    """The functions that are recorded and were not met.

    Args:
        finder: the records.
        judgements: what was met.
        program: the file that was run; None where that is not known.
        folder: what names of files are relative to.
        explicit: whether two accounts are compared, so that all of them are expected.
    """
    there = {finder.function(each.met) for each in judgements}
    files = {each.met.key.file for each in judgements}
    files |= {place.file for place in there if place is not None}
    if program is not None:
        files.add(name_of(program, folder).text)
    absent = sorted(place for place in finder.functions if place not in there)
    expected = tuple(place for place in absent if explicit or place.file in files)
    return Missing(expected, tuple(place for place in absent if place not in expected))
