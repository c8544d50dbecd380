"""The fenced blocks of the docs: what is marked to be run, and running it in this process.

A comment before a block says what becomes of it:

========================= ========================================================================
`<!-- program: NAME -->`  a whole program, written as NAME (`train.py` without it) and run as it
                          is, unless a later command of the page runs it
`<!-- file: NAME -->`     a file that the commands after it need
`<!-- edit: NAME -->`     a diff that is made in that file
`<!-- run -->`            shell commands: `donatree ...`, `python FILE`, `cat FILE`
`<!-- output -->`         what the last of these printed, whole; a line `...` is any lines
`<!-- part of output -->` lines that follow each other in it
`<!-- given A, B -->`     a fragment that is run with these names; `GIVEN` of the test has them
`<!-- continued -->`      a fragment that is run with all names of the one before it
`<!-- raises NAME -->`    beside one of the last two: it ends with that error
`<!-- not run: WHY -->`   a block that is not run, and why
========================= ========================================================================
"""

from __future__ import annotations

import gc
import io
import linecache
import os
import re
import shlex
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from donatree._jax import frames
from donatree.cli import group
from donatree.holders import outlive
from donatree.watch.outcome import Outcome
from donatree.watch.session import Session

BLOCK = re.compile(
    r"(?P<marks>(?:^[ ]*<!--(?:(?!-->).)*-->\n+)*)"
    r"^(?P<indent>[ ]*)```(?P<language>[\w{}-]*)[^\n]*\n"
    r"(?P<text>.*?)^(?P=indent)```[ ]*$",
    re.S | re.M,
)
MARK = re.compile(r"<!--\s*(.*?)\s*-->", re.S)
WHOLE = ("program", "given", "continued", "not run")
VERSIONS = re.compile(r"(?<=donatree )[\d.]+(?=: )|(?<=jax )[\d.]+\d")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: where it stands, its language, its text, the comments before it."""

    place: str
    language: str
    text: str
    marks: tuple[str, ...]

    def mark(self, name: str) -> str | None:
        """What follows NAME in its comments, `` where nothing does; None without it."""
        for mark in self.marks:
            found = re.fullmatch(rf"{name}(?:[: ]\s*(.*))?", mark, re.S)
            if found:
                return found[1] or ""
        return None


def blocks(text: str, page: str) -> Iterator[Block]:
    """The fenced blocks of a page, in order."""
    for found in BLOCK.finditer(text):
        line = text.count("\n", 0, found.start("language")) + 1
        body = re.sub(rf"^{found['indent']}", "", found["text"], flags=re.M)
        marks = tuple(MARK.findall(found["marks"]))
        yield Block(f"{page}:{line}", found["language"], body, marks)


def says_what_becomes_of_it(block: Block) -> bool:
    """Whether a block of Python is marked to be run, or says why it is not."""
    named = [name for name in WHOLE if block.mark(name) is not None]
    return len(named) == 1 and block.mark("not run") != ""


# Commands.


def commands(text: str) -> Iterator[list[str]]:
    """The simple commands of shell lines, without comments, variables and redirections."""
    for line in text.replace("\\\n", " ").splitlines():
        lexer = shlex.shlex(line.replace("2>&1", ""), posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        words: list[str] = []
        to_file = False
        for word in [*lexer, ";"]:
            if to_file:
                to_file = False
            elif set(word) <= set("<>"):
                to_file = True
            elif set(word) <= set("();|&"):
                if words:
                    yield words
                words = []
            elif words or not re.match(r"\w+=", word):
                words.append(word)


def of_donatree(words: list[str]) -> list[str] | None:
    """What follows `donatree` in a command, also behind a launcher; None where it is not called."""
    for place, word in enumerate(words):
        if word.rpartition("/")[2] == "donatree" and words[place - 1 : place] != ["install"]:
            return words[place + 1 :]
    return None


# Running.


@contextmanager
def _as_it_was() -> Iterator[None]:
    """Puts back what a program of its own process may change."""
    kept = sys.argv, list(sys.path), sys.getrecursionlimit(), sys.modules["__main__"]
    modules, folder = set(sys.modules), frames._START_FOLDER
    linecache.clearcache()  # each page has its own `train.py`
    frames._START_FOLDER = os.getcwd()  # a process of its own would have begun there
    try:
        yield
    finally:
        frames._START_FOLDER = folder
        sys.argv, path, limit, sys.modules["__main__"] = kept
        sys.path[:] = path
        sys.setrecursionlimit(limit)
        here = str(Path.cwd())
        for name in set(sys.modules) - modules:
            if str(getattr(sys.modules[name], "__file__", None) or "").startswith(here):
                del sys.modules[name]


def run_command(words: list[str]) -> str:
    """Runs `donatree ...`, `python FILE` or `cat FILE` here; all that it prints."""
    stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    with _as_it_was(), redirect_stdout(stream), redirect_stderr(stream):
        arguments = of_donatree(words)
        if arguments is not None:
            _donatree(arguments)
        elif words[0] == "python" and len(words) == 2:
            run_program(Path(words[1]))
        elif words[0] == "cat":
            stream.write("".join(Path(name).read_text("utf-8") for name in words[1:]))
        else:
            raise AssertionError(f"not a command that is run here: {shlex.join(words)}")
    return stream.buffer.getvalue().decode()  # type: ignore[attr-defined]


def _donatree(arguments: list[str]) -> None:
    """The command line, with the ends that a process of its own would bring."""
    sessions: list[Session] = []
    run = Session.run

    def noted(session: Session) -> Outcome:
        sessions.append(session)
        return run(session)

    gc.collect()
    gc.freeze()  # walks of the heap see what the program makes, as in a process of its own
    try:
        with (
            mock.patch.object(Session, "run", noted),
            mock.patch.object(threading, "_shutdown", return_value=None),
            # What stands below the program is pytest, which xdist starts as a line at a prompt.
            mock.patch.object(outlive, "_is_interactive", return_value=False),
        ):
            group.main(arguments, prog_name="donatree", standalone_mode=False)
    finally:
        gc.unfreeze()
        for session in sessions:
            if session._recorder is not None:
                session._recorder.stop()


def run_program(path: Path) -> None:
    """Runs a script; its error is printed, as Python does at its end."""
    space = {"__name__": "__main__", "__file__": str(path)}
    try:
        exec(compile(path.read_text("utf-8"), str(path), "exec"), space)
    except Exception as error:
        trace = error.__traceback__ and error.__traceback__.tb_next
        traceback.print_exception(type(error), error, trace)


class Page:
    """Runs the blocks of a page in order, in the current folder."""

    def __init__(self, given: dict[str, Callable[[], Any]]) -> None:
        self._given = given
        self._space: dict[str, Any] = {}
        self.output: str | None = None
        self.compared = 0

    def run(self, page: list[Block]) -> None:
        """Runs what is marked, and holds what is shown against what was printed."""
        for place, block in enumerate(page):
            try:
                self._block(block, page[place + 1 :])
            except Exception as error:
                error.add_note(f"in the block at {block.place}")
                raise

    def _block(self, block: Block, later: list[Block]) -> None:
        name = next((n for n in map(block.mark, ("program", "file")) if n is not None), None)
        if name is not None:
            path = Path(name or "train.py")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
            if block.mark("program") is not None and not _is_run(path.name, later):
                self.output = run_command(["python", str(path)])
                assert "Traceback (most" not in self.output, self.output
        elif (edited := block.mark("edit")) is not None:
            _edit(Path(edited), block.text)
        elif block.mark("run") is not None:
            for words in commands(block.text):
                self.output = run_command(words)
        elif block.mark("given") is not None or block.mark("continued") is not None:
            self._fragment(block)
        elif block.mark("output") is not None:
            self._compare(block, whole=True)
        elif block.mark("part of output") is not None:
            self._compare(block, whole=False)

    def _fragment(self, block: Block) -> None:
        names = block.mark("given")
        if names is not None:
            self._space = {name: self._given[name]() for name in re.split(r"[,\s]+", names)}
        expected = block.mark("raises")
        code = compile(block.text, block.place.replace(":", "_"), "exec")
        stream = io.StringIO()
        with redirect_stdout(stream):
            try:
                exec(code, self._space)
                for name in code.co_names:
                    if name.startswith("test_"):
                        self._space[name]()
            except Exception as error:
                if type(error).__name__ != expected:
                    raise
            else:
                assert expected is None, f"no {expected} was raised"
        self.output = stream.getvalue()

    def _compare(self, block: Block, *, whole: bool) -> None:
        assert self.output is not None, "nothing was run before"
        shown, printed = _lines(block.text), _lines(self.output)
        assert shows(shown, printed, whole=whole), "\n".join(
            ("shown:", *shown, "", "printed:", *printed)
        )
        self.compared += 1


def shows(shown: list[str], printed: list[str], *, whole: bool) -> bool:
    """Whether lines are those that were printed, where `...` stands for any lines.

    Args:
        shown: the lines of the page.
        printed: the lines that came.
        whole: from the first line to the last; otherwise they may begin and end anywhere.
    """
    parts: list[list[str]] = [[]]
    for line in shown:
        if line.strip() == "...":
            parts.append([])
        else:
            parts[-1].append(line)
    last = parts.pop() if whole and len(parts) > 1 else []
    place, end = 0, len(printed) - len(last)
    for number, part in enumerate(parts):
        room = range(place, end - len(part) + 1)
        if whole and number == 0:
            room = room[:1]
        found = next((n for n in room if printed[n : n + len(part)] == part), None)
        if found is None:
            return False
        place = found + len(part)
    complete = not whole or "..." in map(str.strip, shown) or place == len(printed)
    return complete and place <= end and printed[end:] == last


def _lines(text: str) -> list[str]:
    return [VERSIONS.sub("N", line.rstrip()) for line in text.strip("\n").splitlines()]


def _edit(path: Path, diff: str) -> None:
    """Replaces lines of a file: each `-` line by the `+` lines that follow it."""
    text = path.read_text("utf-8")
    for old, new in re.findall(r"^-(.*\n)((?:\+.*\n)*)", diff, re.M):
        assert text.count(old) == 1, old
        text = text.replace(old, re.sub(r"^\+", "", new, flags=re.M))
    path.write_text(text, encoding="utf-8")


def _is_run(name: str, later: list[Block]) -> bool:
    """Whether a later command of the page, before the file is written anew, names it."""
    for block in later:
        if any((block.mark(kind) or None) == name for kind in ("program", "file")):
            return False
        if block.mark("run") is not None and re.search(rf"\b{re.escape(name)}\b", block.text):
            return True
    return False
