"""Whether a frame reads a name again before it is rebound: by bytecode, on every Python."""

from __future__ import annotations

import collections
import linecache
import sys
import textwrap
import threading
import weakref
from types import FrameType
from typing import Any

import pytest

from donatree._jax.frames import locals_of
from donatree.source.chain import Chain
from donatree.source.liveness import read_again


def run(text: str, name: str = "state", **names: Any) -> list[int | None]:
    """Runs a program; at each call of `step`, the line at which `name` is read next."""
    seen: list[int | None] = []

    def step(*values: Any) -> Any:
        place = read_again(sys._getframe(1), name)
        seen.append(place.line if place else None)
        return values[0] if len(values) == 1 else values

    source = textwrap.dedent(text)
    namespace = {"__name__": "program", "step": step, "show": lambda *_: None, **names}
    exec(compile(source, "program.py", "exec"), namespace)
    namespace["main"]()
    assert seen, "the program made no call"
    return seen


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("state = step(state)\nshow(state)", None),
        ("new = step(state)\nshow(new)", None),
        ("new = step(state)\nshow(state)", 4),
        ("new = step(state)\nif new:\n    state = new\nshow(state)", 6),
        ("new = step(state)\ndel state\nstate = 1\nshow(state)", None),
        ("state, loss = step(state, 1)\nshow(state)", None),
        ("new = other = step(state)\nstate = new\nshow(state)", None),
        ("show(step(state), state)", 3),
        ("show(state, step(state))", None),
        ("if (state := step(state)):\n    show(state)", None),
        ("return step(state)", None),
        ("with lock:\n    state = step(state)\nshow(state)", None),
        ("try:\n    state = step(state)\nexcept ValueError:\n    show(state)", None),
        ("try:\n    new = step(state)\n    show(new)\nexcept ValueError:\n    show(state)", 7),
        ("try:\n    new = step(state)\nfinally:\n    show(state)", 6),
        ("match step(state):\n    case 7:\n        show(state)", None),
        ("match step(state):\n    case 1:\n        show(state)", 5),
    ],
)
def test_a_statement(body: str, line: int | None) -> None:
    text = "def main():\n    state = 1\n" + textwrap.indent(body, "    ")
    if "case 7" in text:  # a branch that is not taken may be taken for all that is known
        line = 5
    assert run(text, lock=threading.Lock()) == [line]


def test_a_loop_reads_in_its_next_turn() -> None:
    lines = run(
        """\
        def main():
            state = 1
            for batch in range(2):
                new = step(state)
        """
    )
    assert lines == [4, 4]


def test_a_loop_that_stores_before_it_reads() -> None:
    lines = run(
        """\
        def main():
            for batch in range(2):
                state = batch
                new = step(state)
                show(new)
        """
    )
    assert lines == [None, None]


def test_a_loop_that_rebinds_in_the_call() -> None:
    lines = run(
        """\
        def main():
            state = 1
            while True:
                state, loss = step(state, 2)
                if loss:
                    break
            return state
        """
    )
    assert lines == [None]


def test_a_comprehension_with_a_variable_of_the_same_name_does_not_hide_a_later_read() -> None:
    lines = run(
        """\
        def main():
            state = 1
            new = step(state)
            names = [state for state in range(3)]
            show(names)
            show(state)
        """
    )
    assert lines == [6]


def test_a_comprehension_with_a_variable_of_the_same_name_reads_nothing() -> None:
    lines = run(
        """\
        def main():
            state = 1
            new = step(state)
            names = [state + 1 for state in range(3)]
            other = {state: state for state in names}
            state = new
            show(state, names, other)
        """
    )
    assert lines == [None]


def test_a_comprehension_reads_the_name_of_its_frame() -> None:
    lines = run(
        """\
        def main():
            state = 1
            new = step(state)
            show([state + each for each in range(3)])
        """
    )
    assert lines == [4]


def test_a_call_inside_a_comprehension_is_read_in_its_next_turn() -> None:
    lines = run(
        """\
        def main():
            state = 1
            show([step(state) for each in range(2)])
        """
    )
    assert lines == [3, 3]


def test_a_cell_is_read_by_a_function_that_is_called_later() -> None:
    lines = run(
        """\
        def main():
            state = 1
            def evaluate():
                return state + 1
            new = step(state)
            show(new)
            evaluate()
        """
    )
    assert lines == [4]


def test_a_cell_that_is_rebound_first_is_not_read() -> None:
    lines = run(
        """\
        def main():
            state = 1
            def evaluate():
                return state + 1
            for _ in range(2):
                state = step(state)
                evaluate()
        """
    )
    assert lines == [None, None]


def test_a_function_made_after_the_call_reads_the_cell() -> None:
    lines = run(
        """\
        def main():
            state = 1
            new = step(state)
            later = lambda: state
            return later()
        """
    )
    assert lines == [4]


def test_a_free_variable_is_rebound_by_nonlocal() -> None:
    lines = run(
        """\
        def main():
            state = 1
            def train():
                nonlocal state
                state = step(state)
                show(state)
            train()
        """
    )
    assert lines == [None]


def test_a_caller_further_out() -> None:
    seen: list[tuple[str, int | None]] = []

    def step(value: Any) -> Any:
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename == "outer.py":
            if "state" in frame.f_code.co_varnames:
                place = read_again(frame, "state")
                seen.append((frame.f_code.co_name, place and place.line))
            frame = frame.f_back
        return value

    source = """\
def train(state):
    state = step(state)
    return state
def main():
    state = 1
    state = train(state)
    return state
def careless():
    state = 1
    new = train(state)
    return new, state
"""
    namespace: dict[str, Any] = {"step": step}
    exec(compile(source, "outer.py", "exec"), namespace)
    namespace["main"]()
    assert seen == [("train", None), ("main", None)]
    seen.clear()
    namespace["careless"]()
    assert seen == [("train", None), ("careless", 11)]


def test_a_suspended_generator_reads_when_it_goes_on() -> None:
    def reads(old: int) -> Any:
        yield 1
        yield old

    def drops(old: int) -> Any:
        yield old
        yield 1

    for function, expected in ((reads, True), (drops, False)):
        generator = function(3)
        next(generator)
        assert (read_again(generator.gi_frame, "old") is not None) is expected, function


def test_a_generator_that_has_not_begun_reads_its_argument() -> None:
    def reads(old: int) -> Any:
        yield old

    assert read_again(reads(3).gi_frame, "old") is not None


def chained(text: str, ask: Any, file: str = "<chained>") -> list[Any]:
    """Runs a program; at each call of `step` what `ask` says of the frames outwards."""
    source = textwrap.dedent(text)
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    seen: list[Any] = []

    def step(value: Any) -> Any:
        frames = []
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename == file:
            frames.append(frame)
            frame = frame.f_back
        chain = Chain(frames, lambda f: collections.ChainMap(locals_of(f), f.f_globals))
        seen.append(ask(chain, frames))
        return value

    namespace: dict[str, Any] = {"__name__": "chained", "step": step, "show": lambda *_: None}
    exec(compile(source, file, "exec"), namespace)
    assert seen, "the program made no call"
    return seen


def of_global(chain: Chain, frames: list[FrameType]) -> tuple[int | None, bool]:
    fate = chain.of_global(frames[-1].f_globals, "state")
    return fate.read_at and fate.read_at.line, fate.rebound


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("state = 1\nstate = step(state)\nshow(state)", (None, True)),
        ("state = 1\nnew = step(state)\nshow(state)", (3, False)),
        ("state = 1\nnew = step(state)\nshow(new)", (None, False)),
        ("state = 1\nfor _ in [1]:\n    new = step(state)", (3, False)),
        ("state = 1\ndef train():\n    return step(state)\nstate = train()", (None, True)),
        ("state = 1\ndef train():\n    return step(state)\nnew = train()\nshow(state)", (5, False)),
        ("state = 1\ndef f():\n    return state\nnew = step(state)\nf()", (3, False)),
        ("state = 1\ndef f():\n    return state\nstate = step(state)\nf()", (None, True)),
        (
            "state = 1\ndef g():\n    f()\ndef f():\n    return state\nx = step(state)\ng()",
            (5, False),
        ),
        (
            "state = 1\nclass T:\n    def fit(self):\n        return state\n"
            "t = T()\nx = step(state)\nt.fit()",
            (4, False),
        ),
        (
            "state = 1\ndef f():\n    global state\n    state = step(state)\n    show(state)\nf()",
            (None, True),
        ),
    ],
)
def test_a_global(text: str, expected: tuple[int | None, bool]) -> None:
    assert chained(text, of_global)[0] == expected


TRAINER = """\
class Trainer:
    def __init__(self):
        self.state = 1
        self.best = 1
    def fit(self):
{body}
trainer = Trainer()
trainer.fit()
"""


@pytest.mark.parametrize(
    ("body", "name", "expected"),
    [
        ("self.state = step(self.state)", "state", (None, True)),
        ("new = step(self.state)\nshow(new)\nself.state = new", "state", (None, True)),
        ("self.state = step(self.state)", "best", (None, False)),
        ("self.state = step(self.state)\nshow(self.best)", "best", (7, False)),
        ("new = step(self.state)\nshow(self.state)\nself.state = new", "state", (7, False)),
        ("other = Trainer()\nother.state = step(self.state)", "state", (None, False)),
    ],
)
def test_an_attribute(body: str, name: str, expected: tuple[int | None, bool]) -> None:
    def ask(chain: Chain, frames: list[FrameType]) -> Any:
        fate = chain.of_attribute(frames[-1].f_globals["trainer"], name)
        return fate.read_at and fate.read_at.line, fate.rebound

    text = TRAINER.format(body=textwrap.indent(body, " " * 8))
    assert chained(text, ask)[0] == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("d['s'] = step(d['s'])", (None, True)),
        ("d['t'] = step(d['s'])", (None, False)),
        ("d['t'] = step(d['s']); show(d['s'])", (2, False)),
        ("d['t'] = step(d['s']); d['s'] = d['t']", (None, True)),
        ("d['t'] = step(d['s']); del d['s']", (None, True)),
        ("e['s'] = step(d['s'])", (None, False)),
    ],
)
def test_an_item(line: str, expected: tuple[int | None, bool]) -> None:
    def ask(chain: Chain, frames: list[FrameType]) -> Any:
        fate = chain.of_item(frames[-1].f_globals["d"], "s")
        return fate.read_at and fate.read_at.line, fate.rebound

    assert chained(f"d = {{'s': 1}}; e = {{}}\n{line}\n", ask)[0] == expected


class Thing:
    """Something a weak reference can watch."""


def test_reading_locals_keeps_nothing_alive() -> None:
    def main(read: Any) -> bool:
        thing = Thing()
        seen = weakref.ref(thing)
        read(sys._getframe())
        del thing
        return seen() is None

    assert main(lambda frame: locals_of(frame).keys() >= {"thing"})


def test_locals_that_the_program_holds_stay() -> None:
    def main() -> dict[str, Any]:
        thing = 7
        mine = locals()
        locals_of(sys._getframe())
        assert thing
        return mine

    assert main()["thing"] == 7
