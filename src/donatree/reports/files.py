"""Places in source as programs want them: relative paths, URIs, columns counted in characters."""

from __future__ import annotations

import ntpath
import os
import posixpath
import re
from urllib.parse import quote

from donatree.ledger import Location
from donatree.reports.places import source_line

_DRIVE = re.compile(r"[A-Za-z]:[\\/]")


def workspace() -> str | None:
    """The folder of the repository in a job of GitHub's or GitLab's; None outside of one."""
    return os.environ.get("GITHUB_WORKSPACE") or os.environ.get("CI_PROJECT_DIR") or None


def relative(file: str, root: str | None = None) -> str:
    """A file as it is named from the folder that a program shows files from.

    Args:
        file: as a ledger has it: relative to the current folder, or absolute.
        root: the folder that names start from where the current one lies in it, for example
            ``workspace()``; else the current folder.

    Returns:
        The path with forward slashes: relative where the file lies below that folder, else
        absolute. A name that is no path, as ``<stdin>``, stays what it is.

    Example:
        >>> relative("src/../train.py"), relative("<stdin>")
        ('train.py', '<stdin>')
    """
    if file.startswith("<") and file.endswith(">"):
        return file
    here = os.getcwd().replace(os.sep, "/")
    top = _top(here, root)
    path = _slashes(file)
    if not _is_absolute(path):
        path = posixpath.join(here, path)
    path = posixpath.normpath(path)
    inside = path.startswith(top.rstrip("/") + "/")
    return path[len(top.rstrip("/")) + 1 :] if inside else path


def _top(here: str, root: str | None) -> str:
    """The folder that names start from."""
    if not root:
        return here
    top = posixpath.normpath(_slashes(root))
    return top if (here + "/").startswith(top.rstrip("/") + "/") else here


def _slashes(file: str) -> str:
    """A path with forward slashes, by the rule of Windows where it is one of its paths."""
    if os.sep == "\\" or _DRIVE.match(file):
        return file.replace("\\", "/")
    return file


def _is_absolute(path: str) -> bool:
    return path.startswith("/") or bool(ntpath.splitdrive(path)[0] and _DRIVE.match(path))


def uri(file: str, root: str | None = None) -> str:
    r"""A file as a URI reference: relative as ``relative`` has it, else of the scheme ``file``.

    Example:
        >>> uri("a b#1.py"), uri("C:\\x\\y.py")
        ('a%20b%231.py', 'file:///C:/x/y.py')
    """
    path = relative(file, root)
    if _DRIVE.match(path):
        return f"file:///{path[:2]}{_quoted(path[2:])}"
    return ("file://" if path.startswith("/") else "") + _quoted(path)


def _quoted(path: str) -> str:
    return quote(path.encode("utf-8", "surrogatepass"), safe="/")


def span(location: Location) -> tuple[int | None, int | None, int | None]:
    """The columns and the last line of a place, as programs count them.

    Args:
        location: a place; its columns count bytes of UTF-8 from 0, as Python's do.

    Returns:
        The first column and the one after the last, in characters from 1, and the last line; each
        None where it is not known. A place that does not fit the line that stands there has none.
    """
    start = _character(location.file, location.line, location.column)
    if start is None:
        return None, None, None
    last = location.end_line if location.end_line is not None else location.line
    end = _character(location.file, last, location.end_column)
    if last < location.line or (last == location.line and (end or start) <= start):
        return start, None, location.line
    return start, end, last


def _character(file: str, line: int, column: int | None) -> int | None:
    """A column in characters from 1; as it is where the source cannot be read."""
    if column is None or column < 0 or line < 1:
        return None
    text = source_line(Location(file, line))
    if text is None:
        return column + 1
    data = text.encode("utf-8", "surrogatepass")
    if column > len(data):
        return None
    return len(data[:column].decode("utf-8", "ignore")) + 1
