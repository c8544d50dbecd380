"""The docs, the README and the map of the house hold true of the code."""

from __future__ import annotations

import ast
import json
import re
import runpy
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

import donatree
from donatree import findings, reports
from donatree.cli import explain
from donatree.reports import json as json_report
from programs import donatree as run_donatree

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "src" / "donatree"
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.glob("*.md"))]
MADE_BY_THE_BUILD = {"codes/index.md"}

SINCE_08 = tuple(map(int, metadata.version("jax").split(".")[:2])) >= (0, 8)


def read(path: Path) -> str:
    return path.read_text("utf-8")


def block(text: str, name: str) -> str:
    """The fenced block that follows the comment `<!-- NAME -->`."""
    found = re.search(rf"<!-- {name} -->\n```\w+\n(.*?)```", text, re.S)
    assert found is not None, name
    return found[1]


# Pages of the codes.


@pytest.fixture(scope="module")
def conf() -> dict[str, Any]:
    """Sphinx's configuration, which needs no Sphinx to be read."""
    path = list(sys.path)
    try:
        return runpy.run_path(str(DOCS / "conf.py"))
    finally:
        sys.path[:] = path


def test_every_code_has_its_page_and_its_row_in_the_index(conf: Any, tmp_path: Path) -> None:
    (tmp_path / "DT999.md").write_text("a code that is gone")
    conf["write_code_pages"](tmp_path)
    assert {page.stem for page in tmp_path.iterdir()} == {"index", *findings.CODES}
    index = read(tmp_path / "index.md")
    for code in findings.CODES:
        rule = findings.rule(code)
        assert read(tmp_path / f"{code}.md") == explain.page(rule)
        gate = rule.gate.label if rule.gate else ""
        assert f"| [{code}]({code}.md) | {rule.name} | {gate} | {rule.title} |\n" in index
    assert index.split("```{toctree}")[1].split() == [":hidden:", *findings.CODES, "```"]


def test_pages_that_are_up_to_date_are_not_written_again(conf: Any, tmp_path: Path) -> None:
    conf["write_code_pages"](tmp_path)
    before = {page: page.stat().st_mtime_ns for page in tmp_path.iterdir()}
    (tmp_path / "DT101.md").write_text("old")
    conf["write_code_pages"](tmp_path)
    after = {page: page.stat().st_mtime_ns for page in tmp_path.iterdir()}
    assert {page.name for page in before if before[page] != after[page]} == {"DT101.md"}


def test_the_pages_of_the_codes_are_not_in_the_repository() -> None:
    assert "docs/codes/" in read(ROOT / ".gitignore").splitlines()


# The API page, the other pages, the README.


def test_every_public_name_is_on_the_api_page() -> None:
    documented = re.findall(
        r"^\.\. (?:auto\w+|py:data):: donatree\.(\w+)$", read(DOCS / "api.md"), re.M
    )
    assert sorted(documented) == sorted(donatree.__all__)


def test_every_page_is_in_the_table_of_contents() -> None:
    index = read(DOCS / "index.md")
    trees = re.findall(r"```{toctree}\n:hidden:\n:caption: [^\n]+\n\n(.*?)```", index, re.S)
    assert len(trees) == index.count("```{toctree}") == 4
    listed = [name for tree in trees for name in tree.split()]
    assert sorted(listed) == sorted(
        [page.stem for page in DOCS.glob("*.md") if page.stem != "index"] + ["codes/index"]
    )
    linked = [target.removesuffix(".md") for target in links(index) if target.endswith(".md")]
    assert linked == listed, "the page itself has them in the order of the sidebar"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in links(read(page)):
        assert target in MADE_BY_THE_BUILD or (page.parent / target).exists(), target


def links(text: str) -> list[str]:
    return [target.split("#")[0] for target in re.findall(r"\]\(([^)#\s][^)\s]*)\)", text)]


def test_links_are_found() -> None:
    assert links("[a](b.md), ![two\nlines](c/d.svg) and [e](f.md#g), not [h](#i)") == [
        "b.md",
        "c/d.svg",
        "f.md",
    ]
    assert "docs/index.md" in links(read(ROOT / "README.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_programs_in_the_pages_are_python(page: Path) -> None:
    for number, text in enumerate(re.findall(r"```python\n(.*?)```", read(page), re.S)):
        compile(text, f"{page.name} {number}", "exec")


def pattern_of_ci(name: str) -> str:
    """The pattern by which `.ci/run` takes a command out of the README."""
    found = re.search(r're\.search\(rf"(.+?)", text, re\.S\)', read(ROOT / ".ci" / "run"))
    assert found is not None
    return found[1].replace("{sys.argv[1]}", name)


def test_the_commands_of_the_readme_are_found_as_ci_finds_them() -> None:
    names = re.findall(r"\(command_of_readme ([\w-]+)\)", read(ROOT / ".ci" / "run"))
    assert sorted(names) == ["main-job", "tests"]
    commands = {}
    for name in names:
        found = re.findall(pattern_of_ci(name), read(ROOT / "README.md"), re.S)
        assert len(found) == 1, name
        commands[name] = found[0].strip()
    for command in commands.values():
        assert command.startswith("python3 -m venv "), "each makes an environment of its own"
        assert len(command.splitlines()) == 1
    assert commands["main-job"].endswith("donatree run examples/train.py")
    assert " -m pytest" in commands["tests"]


def test_a_command_that_lost_its_comment_is_missed() -> None:
    text = read(ROOT / "README.md").replace("<!-- tests -->", "")
    assert re.search(pattern_of_ci("tests"), text, re.S) is None
    assert re.search(pattern_of_ci("main-job"), text, re.S) is not None


def test_the_keys_that_the_json_page_names_are_in_the_schema() -> None:
    schema = json_report.schema()
    parts = {
        "The whole report": schema,
        "A ledger": schema["$defs"]["ledger"],
        "An entry": schema["$defs"]["entry"],
        "A finding": schema["$defs"]["finding"],
    }
    text = read(DOCS / "json.md")
    for heading, part in parts.items():
        section = text.split(f"## {heading}\n")[1].split("\n## ")[0]
        keys = re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (`.+?) \|", section, re.M)))
        assert len(keys) >= 6, heading
        assert set(keys) <= set(part["required"]), heading


@pytest.mark.skipif(not SINCE_08, reason="the page shows what JAX does since 0.8")
def test_the_report_on_the_audit_page_is_the_one_that_is_printed(tmp_path: Path) -> None:
    page = read(DOCS / "audit.md")
    (tmp_path / "train.py").write_text(block(page, "program"), encoding="utf-8")
    ended = run_donatree("audit", "--json", "out.json", "train.py::target", cwd=tmp_path)
    assert (ended.code, ended.err) == (1, "")
    assert ended.out.splitlines()[1:] == block(page, "report").splitlines()[1:]
    (shown,) = re.findall(r"```json\n(.*?)```", read(DOCS / "json.md"), re.S)
    (ledger,) = json.loads(read(tmp_path / "out.json"))["ledgers"]
    assert json.loads(shown).items() <= ledger["entries"][1].items()


@pytest.mark.skipif(not SINCE_08, reason="the page shows what JAX does since 0.8")
def test_the_evidence_on_the_page_of_the_gates_is_what_is_printed() -> None:
    printed = ""
    for code in ("DT103", "DT105", "DT201", "DT301", "DT402", "DT403", "DT501", "DT601"):
        space: dict[str, Any] = {}
        with donatree.watch() as watched:
            exec(compile(findings.rule(code).failing, f"{code}.py", "exec"), space)
            if not findings.rule(code).runs:
                space["step"](*space["args"])
        options = reports.Options(expand=True, evidence=True)
        printed += in_short(reports.render(watched.account, "plain", options))
    shown = re.findall(r"```text\n(.*?)```", read(DOCS / "gates.md"), re.S)
    shown = [each for each in shown if "asked:" in each]
    assert len(shown) == 9
    for extract in shown:
        assert "    asked: args_info: donated=" in extract
        assert in_short(extract) in printed


def in_short(text: str) -> str:
    """Lines without their indent and the blanks that fill columns."""
    return "".join(f"{' '.join(line.split())}\n" for line in text.splitlines())


# The picture.


def test_the_picture_names_nothing_on_a_network_and_shows_the_example() -> None:
    picture = read(DOCS / "report.svg")
    addresses = set(re.findall(r"\w+://[^\s\"')]+", picture))
    assert addresses == {"http://www.w3.org/2000/svg"}, "the name of SVG itself, never fetched"
    text = re.sub(r"<[^>]+>", "\n", picture).replace("&#160;", " ")
    lost = re.search(r"([\d,]+) of ([\d,]+) bytes", read(ROOT / "examples" / "README.md"))
    assert lost is not None
    kept = int(lost[2].replace(",", "")) - int(lost[1].replace(",", ""))
    assert f"{kept:,} of {lost[2]} bytes" in text
    assert "donatree explain DT402" in text


# The map of the house.


@dataclass(frozen=True)
class Room:
    """One row of the map: what the room may import."""

    inside: frozenset[str]
    outside: frozenset[str]


def map_of(text: str) -> dict[str, Room]:
    """The rooms of CONTRIBUTING's table by their name there, `ledger.py` or `hlo/`."""
    rows = re.findall(r"^\| `([\w./]+)` \| [^|]+ \| ([^|]+) \| ([^|]+) \|$", text, re.M)
    return {name: Room(_names(inside), _names(outside)) for name, inside, outside in rows}


def _names(cell: str) -> frozenset[str]:
    assert cell == "nothing" or re.fullmatch(r"`[\w.]+`(, `[\w.]+`)*", cell), cell
    return frozenset(re.findall(r"`([\w.]+)`", cell))


MAP = map_of(read(ROOT / "CONTRIBUTING.md"))


def bare(room: str) -> str:
    return room.removesuffix(".py").removesuffix("/")


def room_of(path: str) -> str:
    """The room of a file, by its path below `src/donatree`."""
    first, *rest = path.split("/")
    return f"{first}/" if rest else first


def imported(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Every import, wherever it stands, with its line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            source = "." * node.level + (node.module or "")
            if source in ("donatree", "jax"):
                yield from ((node.lineno, f"{source}.{alias.name}") for alias in node.names)
            else:
                yield node.lineno, source


def violations(path: str, text: str) -> list[str]:
    """What a file does against the map.

    Args:
        path: below `src/donatree`.
        text: its source.
    """
    name = room_of(path)
    if name not in MAP:
        return [f"{path}: the map has no room `{name}`"]
    room, tree, found = MAP[name], ast.parse(text), []
    for line, module in imported(tree):
        top, _, rest = module.partition(".")
        if top == "donatree":
            other = rest.split(".")[0]
            allowed = other == bare(name) or other in room.inside
        elif module.startswith("jax._src"):
            allowed = "jax._src" in room.outside
        else:
            allowed = top in room.outside or top in sys.stdlib_module_names
        if not allowed:
            found.append(f"{path}:{line}: imports {module}")
    if name != "_jax/":
        found += [f"{path}:{line}: reads {what}" for line, what in private_attributes(tree)]
    return found


def private_attributes(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Attributes with an underscore of what is neither the file's own nor Python's."""
    own = {"self", "cls"} | {module for _, module in imported(tree)} & sys.stdlib_module_names
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute) or not re.match(r"_(?!_)", node.attr):
            continue
        if not (isinstance(node.value, ast.Name) and node.value.id in own):
            yield node.lineno, ast.unparse(node)


def files() -> dict[str, str]:
    return {
        path.relative_to(SOURCES).as_posix(): read(path) for path in sorted(SOURCES.rglob("*.py"))
    }


def test_the_map_names_every_room_and_none_that_is_not_there() -> None:
    there = {f"{path.parent.name}/" for path in SOURCES.glob("*/__init__.py")}
    there |= {path.name for path in SOURCES.glob("*.py")}
    assert set(MAP) == there
    assert len(MAP) > 15


def test_a_room_imports_only_rooms_that_stand_above_it() -> None:
    above: set[str] = set()
    for name, room in MAP.items():
        assert room.inside <= above, name
        above.add(bare(name))


def test_every_import_keeps_to_the_map() -> None:
    found = files()
    assert len(found) > 60
    assert sum(len(list(imported(ast.parse(text)))) for text in found.values()) > 300
    assert [each for path, text in found.items() for each in violations(path, text)] == []


def test_the_rules_that_the_house_rests_on_are_on_the_map() -> None:
    without_jax = ("ledger/", "paths.py", "hlo/", "observation.py", "why/", "findings/", "gates/")
    for name in without_jax:
        assert not MAP[name].outside, name
    assert MAP["reports/"] == Room(
        frozenset({"ledger", "paths", "findings"}), frozenset({"rich", "jinja2", "markupsafe"})
    )
    learning = [name for name in MAP if name in ("watch/", "gates/", "audit.py", "targets/")]
    assert len(learning) == 4
    assert not [name for name in learning if "reports" in MAP[name].inside]
    private = {"jax._src", "jaxlib"}
    assert [name for name, room in MAP.items() if room.outside & private] == ["_jax/"]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("reports/new.py", "from donatree.gates import asked"),
        ("reports/new.py", "from donatree import why"),
        ("reports/new.py", "import donatree.gates.asked as it"),
        ("gates/new.py", "def late():\n    from donatree import reports"),
        ("hlo/new.py", "if TYPE_CHECKING:\n    from donatree.ledger import Leaf"),
        ("ledger/new.py", "import jax"),
        ("paths.py", "import numpy as np"),
        ("observation.py", "from jax import numpy"),
        ("watch/new.py", "from jax._src import core"),
        ("watch/new.py", "from donatree.reports import late"),
        ("cli/new.py", "from jax import _src"),
        ("why/new.py", "import donatree"),
        ("why/new.py", "from donatree import audit"),
        ("why/new.py", "from .causes import Group"),
        ("audit.py", "def computation(lowered):\n    return lowered._lowering"),
        ("audit.py", "def computation(platform):\n    return platform._lowering"),
        ("attic/new.py", ""),
        ("attic.py", ""),
    ],
)
def test_a_violation_would_be_found(path: str, text: str) -> None:
    assert len(violations(path, text)) == 1


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (
            "reports/new.py",
            "import os\nfrom donatree import paths\nfrom donatree.reports import json",
        ),
        ("_jax/new.py", "from jax._src import core\nimport jax\nx = core._private"),
        ("cli/new.py", "from donatree import reports\nimport jax.numpy as jnp"),
        ("watch/new.py", "import sys\ndef f(self):\n    self._frame = sys._getframe()"),
    ],
)
def test_what_the_map_allows_is_not_a_violation(path: str, text: str) -> None:
    assert violations(path, text) == []
