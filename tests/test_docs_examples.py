"""What the docs show is run: their programs, their commands' options, the output below them."""

from __future__ import annotations

import functools
import importlib
import re
import runpy
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import click
import pytest

import donatree
from donatree import findings
from donatree.cli import COMMANDS, explain
from pages import Block, Page, blocks, commands, of_donatree, run_command, says_what_becomes_of_it

ROOT = Path(__file__).resolve().parents[1]
FILES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "examples/README.md")),
    *sorted((ROOT / "docs").glob("*.md")),
]
TEXTS = {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in FILES}
BLOCKS = {name: list(blocks(text, name)) for name, text in TEXTS.items()}
RUN = ("program", "run", "given", "continued")
RUNNING = [
    name
    for name, page in BLOCKS.items()
    if any(block.mark(mark) is not None for block in page for mark in RUN)
]

SINCE_08 = tuple(map(int, metadata.version("jax").split(".")[:2])) >= (0, 8)


# Marks.


@pytest.mark.parametrize("page", BLOCKS)
def test_every_program_is_run_or_says_why_not(page: str) -> None:
    unmarked = [
        block.place
        for block in BLOCKS[page]
        if block.language == "python" and not says_what_becomes_of_it(block)
    ]
    assert unmarked == []


def test_no_block_is_missed() -> None:
    for name, text in TEXTS.items():
        fences = len(re.findall(r"^ *```", text, re.M))
        assert fences == 2 * len(BLOCKS[name]), name
    assert sum(map(len, BLOCKS.values())) > 100


def block_of(text: str) -> Block:
    (found,) = blocks(text, "page.md")
    return found


def test_a_program_without_a_mark_would_be_found() -> None:
    code = "```python\nx = 1\n```\n"
    assert not says_what_becomes_of_it(block_of(code))
    assert not says_what_becomes_of_it(block_of(f"<!-- not run: -->\n{code}"))
    assert not says_what_becomes_of_it(block_of(f"<!-- run -->\n{code}"))
    assert not says_what_becomes_of_it(block_of(f"<!-- program -->\n\ntext\n\n{code}"))
    for mark in ("not run: it needs a TPU", "program", "program: a.py", "given step", "continued"):
        assert says_what_becomes_of_it(block_of(f"<!-- {mark} -->\n{code}"))


# Running.


def _step() -> Any:
    import jax

    def train_step(state: Any, batch: Any) -> Any:
        return {"w": state["w"] - 0.1 * batch, "step": state["step"] + 1}

    return jax.jit(train_step, donate_argnums=0)


def _state() -> Any:
    import jax.numpy as jnp

    return {"w": jnp.ones((64, 32)), "step": jnp.int32(0)}


GIVEN: dict[str, Callable[[], Any]] = {
    "donatree": lambda: donatree,
    "functools": lambda: functools,
    "jax": lambda: importlib.import_module("jax"),
    "jnp": lambda: importlib.import_module("jax.numpy"),
    "np": lambda: importlib.import_module("numpy"),
    "pytest": lambda: pytest,
    "step": _step,
    "state": _state,
    "mesh": lambda: importlib.import_module("jax").make_mesh((1,), ("data",)),
    "NamedSharding": lambda: importlib.import_module("jax.sharding").NamedSharding,
    "P": lambda: importlib.import_module("jax.sharding").PartitionSpec,
    "batch": lambda: importlib.import_module("jax.numpy").ones((64, 32)),
}
"""What a fragment may be given by name: modules, and a step that reuses all of its state."""


@pytest.mark.skipif(not SINCE_08, reason="the pages show what JAX does since 0.8")
@pytest.mark.parametrize("page", RUNNING)
def test_what_a_page_runs_does_what_it_shows(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, value in (("NO_COLOR", "1"), ("COLUMNS", "100")):
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    run = Page(GIVEN)
    run.run(BLOCKS[page])
    shown = [block for block in BLOCKS[page] if _is_output(block)]
    assert run.compared == len(shown)


def _is_output(block: Block) -> bool:
    return block.mark("output") is not None or block.mark("part of output") is not None


def test_the_guides_show_what_they_print() -> None:
    for page in ("docs/out-of-memory.md", "docs/deleted.md"):
        assert page in RUNNING
        assert len([block for block in BLOCKS[page] if _is_output(block)]) >= 4


def test_the_readme_shows_what_the_page_of_names_runs() -> None:
    (shown,) = [b.text for b in BLOCKS["README.md"] if b.text.startswith("RuntimeError: Array")]
    (held,) = [b.text for b in BLOCKS["docs/names.md"] if b.mark("part of output") is not None]
    assert held.startswith(shown.split("\n", 1)[1])


def run_text(text: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Page:
    monkeypatch.chdir(folder)
    page = Page(GIVEN)
    page.run(list(blocks(text, "page.md")))
    return page


PRINTS = "<!-- program -->\n```python\nprint('a')\nprint('b')\nprint('c')\n```\n"


@pytest.mark.parametrize("shown", ["a\nb\nc", "a\n...", "...\nc", "a\n...\nc", "...\nb\n..."])
def test_output_that_is_so_is_taken(
    shown: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = f"{PRINTS}\n<!-- output -->\n```text\n{shown}\n```\n"
    assert run_text(text, tmp_path, monkeypatch).compared == 1


@pytest.mark.parametrize(
    ("mark", "shown"),
    [
        ("output", "a\nb"),
        ("output", "b\nc"),
        ("output", "a\nc"),
        ("output", "c\n...\na"),
        ("part of output", "a\nc"),
        ("part of output", "B"),
    ],
)
def test_output_that_is_not_so_is_an_error(
    mark: str, shown: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = f"{PRINTS}\n<!-- {mark} -->\n```text\n{shown}\n```\n"
    with pytest.raises(AssertionError) as caught:
        run_text(text, tmp_path, monkeypatch)
    assert caught.value.__notes__ == ["in the block at page.md:9"]


@pytest.mark.parametrize(
    "text",
    [
        "<!-- program -->\n```python\n1 / 0\n```\n",
        "<!-- given jnp -->\n```python\nnp.ones(3)\n```\n",
        "<!-- given np -->\n<!-- raises ValueError -->\n```python\nnp.ones(3)\n```\n",
        "<!-- run -->\n```sh\ngit status\n```\n",
        "<!-- output -->\n```text\na\n```\n",
    ],
)
def test_a_page_that_is_wrong_is_an_error(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(Exception) as caught:  # noqa: PT011 - which one is the page's own affair
        run_text(text, tmp_path, monkeypatch)
    assert caught.value.__notes__[-1].startswith("in the block at page.md:")


def test_a_program_that_a_command_runs_is_not_run_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (
        "<!-- program: a.py -->\n```python\nprint('ran')\n1 / 0\n```\n"
        "<!-- run -->\n```sh\npython a.py\n```\n"
    )
    output = run_text(text, tmp_path, monkeypatch).output
    assert output is not None
    assert output.count("ran\n") == 1
    assert output.endswith("ZeroDivisionError: division by zero\n")


# Options.


def command_lines() -> Iterator[tuple[str, list[str]]]:
    """Every `donatree ...` that a page shows, in a block of shell or YAML or in a line of text."""
    texts = {**TEXTS, **{code: explain.page(findings.rule(code)) for code in findings.CODES}}
    for page, text in texts.items():
        for block in blocks(text, page):
            if block.language in ("sh", "console"):
                for words in commands(block.text):
                    arguments = of_donatree(words)
                    if arguments:
                        yield block.place, arguments
            elif block.language == "yaml":
                for line in re.findall(r"^.*?\b(donatree [a-z-]+(?: .*)?)$", block.text, re.M):
                    yield from ((block.place, words) for words in _called(line))
        for line in re.findall(r"(?<!`)`(donatree [a-z][^`]*)`(?!`)", text):
            for words in _called(" ".join(line.split())):
                named = words[-1].startswith("-") and why_wrong(words)  # `donatree audit --target`
                yield page, [*words, "x"] if named else words


def _called(line: str) -> Iterator[list[str]]:
    yield from filter(None, map(of_donatree, commands(line)))


def why_wrong(arguments: list[str]) -> str | None:
    """What the command line has against these arguments; nothing is run."""
    name, *rest = arguments
    if name not in COMMANDS:
        return f"no command `{name}`"
    command: click.Command = importlib.import_module(f"donatree.cli.{name}").command
    context = click.Context(command, info_name=name, **command.context_settings)
    try:
        command.parse_args(context, [word for word in rest if word != "[OPTIONS]"])
    except click.MissingParameter:
        return None  # a page may name `donatree run` as such
    except click.exceptions.Exit:
        return None  # --help
    except click.UsageError as error:
        return error.format_message()
    program = str(context.params.get("name", ""))
    is_one = re.search(r"(\.py|[A-Z]{3,}\.?)$", program.removesuffix("..."))
    if name == "run" and not context.params["module"] and is_one is None:
        return f"`{program}` would be run"
    return f"no option `{program}`" if program.startswith("-") else None


COMMAND_LINES = list(command_lines())


def test_every_option_that_a_page_names_is_there() -> None:
    wrong = [(place, args, why) for place, args in COMMAND_LINES if (why := why_wrong(args))]
    assert wrong == []


def test_command_lines_are_found() -> None:
    assert len(COMMAND_LINES) > 80
    assert {arguments[0] for _, arguments in COMMAND_LINES} >= set(COMMANDS) - {"demo"}
    assert ("README.md", ["explain", "DT402"]) not in COMMAND_LINES, "that one is in a block"
    assert len({place.split(":")[0] for place, _ in COMMAND_LINES}) > 15


@pytest.mark.parametrize(
    "line",
    [
        "donatree walk train.py",
        "donatree run --fail-over 99 train.py",
        "donatree run --fail-under lots train.py",
        "donatree run --check everything train.py",
        "donatree audit train.py::target --no-such",
        "donatree run --json",
        "donatree run --strict donation.toml train.py",
    ],
)
def test_an_option_that_is_not_there_would_be_found(line: str) -> None:
    ((_, *arguments),) = commands(line)
    assert why_wrong(arguments)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("donatree run a.py --x  # why\n", [["donatree", "run", "a.py", "--x"]]),
        ("A=1 donatree run a.py > b 2>&1 &\n", [["donatree", "run", "a.py"]]),
        ("pip install 'x[y]' && .venv/bin/donatree hlo d | less\n", [
            ["pip", "install", "x[y]"], [".venv/bin/donatree", "hlo", "d"], ["less"]
        ]),
        ("donatree run \\\n  --strict a.py\n", [["donatree", "run", "--strict", "a.py"]]),
    ],
)  # fmt: skip
def test_commands_are_told_apart(text: str, found: list[list[str]]) -> None:
    assert list(commands(text)) == found


@pytest.mark.parametrize(
    ("line", "arguments"),
    [
        ("srun donatree run a.py", ["run", "a.py"]),
        ("python -m donatree run a.py", ["run", "a.py"]),
        ("pip install donatree jax", None),
        ("python a.py", None),
    ],
)
def test_calls_of_donatree_are_found(line: str, arguments: list[str] | None) -> None:
    assert of_donatree(line.split()) == arguments


def test_two_runs_in_one_process_do_not_see_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").write_text(findings.rule("DT702").failing + "step(*args)\n", "utf-8")
    first, second = (run_command(["donatree", "run", "a.py"]) for _ in range(2))
    assert first.count("error[DT702]") == second.count("error[DT702]") == 2


# The pictures of the gates.


def test_the_pictures_of_the_gates_are_those_that_the_script_draws() -> None:
    drawn = runpy.run_path(str(ROOT / "docs" / "gates_pictures.py"))["pictures"]()
    saved = {path.name: path.read_text("utf-8") for path in (ROOT / "docs/pictures").glob("*.svg")}
    assert saved == drawn
    assert set(saved) == {"funnel.svg"} | {
        f"{gate.label.replace(' ', '-')}.svg" for gate in donatree.Gate
    }
    shown = re.findall(r"^!\[(.+)\]\(pictures/([\w-]+\.svg)\)$", TEXTS["docs/gates.md"], re.M)
    assert sorted(name for _, name in shown) == sorted(saved)


def test_the_pictures_can_be_read_in_light_and_dark_and_aloud() -> None:
    for path in (ROOT / "docs" / "pictures").glob("*.svg"):
        text = path.read_text("utf-8")
        tree = ElementTree.fromstring(text)
        names = {child.tag.rpartition("}")[2]: child for child in tree}
        assert tree.get("role") == "img"
        assert tree.get("aria-labelledby") == "title desc"
        assert len(names["title"].text or "") > 10
        assert len(names["desc"].text or "") > 60
        assert "prefers-color-scheme: dark" in text
        assert len(tree.findall("{http://www.w3.org/2000/svg}text")) > 5, "text is text"
        assert set(re.findall(r"\w+://[^\s\"')]+", text)) == {"http://www.w3.org/2000/svg"}
