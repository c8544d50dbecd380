"""Which argument takes the keyword: what is advised, held against labels and against JAX itself."""

from __future__ import annotations

import ast
import contextlib
import io
import itertools
import json
import linecache
import textwrap
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import pytest

import advice_held_out
import advice_set
import donatree
import wording
from advice_set import Program
from donatree import findings
from donatree.advice import Advice, AdviceList
from donatree.advice.aliases import aliases
from donatree.advice.callers import Callers
from donatree.advice.keyword import keyword
from donatree.advice.making import advice_from, call_sites
from donatree.advice.opinion import passings
from donatree.advice.recording import Recorded, record
from donatree.advice.running import Adviser
from donatree.advice.search import Search
from donatree.advice.statement import site_of
from donatree.errors import CannotBuild, TargetError
from donatree.ledger import Location
from donatree.named import resolve
from donatree.proof.budget import Budget
from donatree.source.tree import Source, source_of
from programs import donatree as run_donatree
from programs import write
from test_findings import said, wrong_words

JAX = tuple(map(int, metadata.version("jax").split(".")[:2]))
FLAX = tuple(map(int, metadata.version("flax").split(".")[:2]))

pytestmark = pytest.mark.filterwarnings("ignore:Some donated buffers were not usable")

# What takes long and is the same on every JAX.
NEWEST = pytest.mark.skipif(JAX < (0, 12), reason="the newest JAX stands for all")

PARTS = {"tuned": advice_set.PROGRAMS, "held out": advice_held_out.PROGRAMS}


# The labelled set.


class Known(NamedTuple):
    """A labelled program and what donatree makes of it."""

    program: Program
    recorded: Recorded
    with_call: AdviceList
    without_call: AdviceList


def has_lower(program: Program) -> bool:
    """`nnx.jit` gives an object without `lower` up to flax 0.10."""
    return "nnx.jit" not in program.text or FLAX >= (0, 11)


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Known]]:
    folder = tmp_path_factory.mktemp("advice")
    number = itertools.count()
    return {
        part: [
            look(program, folder / f"advised_{next(number)}.py")
            for program in programs
            if has_lower(program)
        ]
        for part, programs in PARTS.items()
    }


def look(program: Program, path: Path) -> Known:
    path.write_text(program.source, encoding="utf-8")
    recorded = record(*resolve(f"{path}::target"))
    source = source_of(str(path))
    assert source is not None
    sites = call_sites(recorded.request, [source])
    return Known(
        program, recorded, advice_from(recorded, sites, None), advice_from(recorded, [], None)
    )


class Score(NamedTuple):
    """Arguments by label and advice: right and wrong to donate, right to keep, missed."""

    donated: int
    wrong: list[str]
    kept: int
    missed: list[str]


def score(rows: Sequence[tuple[Program, AdviceList]], *, leave_out_told: bool = False) -> Score:
    """Holds advice against the labels.

    What is donated already and ought to be counts as advised. An argument of which was measured
    that its donation saves nothing is told so; it is neither.
    """
    found = Score(0, [], 0, [])
    for program, advice in rows:
        for each in advice:
            if leave_out_told and each.argument in program.told:
                continue
            found = counted(found, program, each)
    return found


def counted(found: Score, program: Program, each: Advice) -> Score:
    name = f"{program.name}: {each}"
    wanted = program.labels[each.argument] == "donate"
    if each.verdict in ("donate", "donated already"):
        return found._replace(
            donated=found.donated + wanted, wrong=found.wrong + ([] if wanted else [name])
        )
    if each.verdict == "saves nothing" and wanted and each.measured:
        return found
    return found._replace(
        kept=found.kept + (not wanted), missed=found.missed + ([name] if wanted else [])
    )


def rows(known: Sequence[Known], field: str) -> list[tuple[Program, AdviceList]]:
    return [(each.program, getattr(each, field)) for each in known]


def test_the_set_is_as_large_as_the_docs_say() -> None:
    programs = [program for part in PARTS.values() for program in part]
    names = [program.name for program in programs]
    assert len(set(names)) == len(names) == 78
    assert sum(len(program.labels) for program in programs) == 198
    assert sum(len(program.donate) for program in programs) == 91
    held = sum(len(program.labels) for program in PARTS["held out"])
    assert held * 100 >= 198 * 30
    assert sum(program.rebinds for program in programs) >= 50
    for program in programs:
        assert not set(program.donate) & set(program.keep), program.name
        assert program.told | program.donated <= set(program.labels), program.name


def test_every_argument_has_a_label(known: dict[str, list[Known]]) -> None:
    for each in itertools.chain(*known.values()):
        assert {a.argument for a in each.with_call} == set(each.program.labels), each.program.name


def test_what_the_labels_say_was_donated_is_what_the_programs_donate(
    known: dict[str, list[Known]],
) -> None:
    for program, recorded, *_ in itertools.chain(*known.values()):
        leaves = recorded.request.leaves
        asked = {leaf.argument for leaf in leaves if leaf.flat_index in recorded.request.asked}
        assert asked == program.donated, program.name


@pytest.mark.parametrize("part", PARTS)
def test_with_the_call_statement_no_advice_is_wrong_and_at_most_one_in_fifty_is_missed(
    part: str, known: dict[str, list[Known]]
) -> None:
    found = score(rows(known[part], "with_call"))
    assert found.wrong == []
    assert len(found.missed) * 50 <= found.donated, found.missed
    assert found.donated >= 29
    assert found.kept >= 30


@pytest.mark.parametrize("part", PARTS)
def test_where_the_call_statement_rebinds_nothing_else_is_advised(
    part: str, known: dict[str, list[Known]]
) -> None:
    rebinding = [each for each in known[part] if each.program.rebinds]
    assert len(rebinding) >= 15
    for program, _, advice, _ in rebinding:
        named = {each.argument for each in advice if each.verdict == "donate"}
        assert named <= set(program.donate), program.name


@pytest.mark.parametrize("part", PARTS)
def test_without_a_call_statement_paths_and_dependence_say_nothing_wrong(
    part: str, known: dict[str, list[Known]]
) -> None:
    found = score(rows(known[part], "without_call"), leave_out_told=True)
    assert found.wrong == []
    # Adam's moments against the gradients, and a cast copy of the weights: see docs/advise.md.
    assert len(found.missed) <= {"tuned": 0, "held out": 3}[part], found.missed


def test_types_alone_would_advise_many_that_ought_to_stay(known: dict[str, list[Known]]) -> None:
    wrong = 0
    for program, recorded, *_ in itertools.chain(*known.values()):
        types = {(slot.spec.dtype, slot.spec.shape) for slot in recorded.slots}
        alike = {
            leaf.argument
            for leaf in recorded.request.leaves
            if (leaf.spec.dtype, leaf.spec.shape) in types
        }
        wrong += len(alike & set(program.keep))
    assert wrong >= 30


def test_a_call_was_found_in_each_program(known: dict[str, list[Known]]) -> None:
    for each in itertools.chain(*known.values()):
        assert each.with_call.calls, each.program.name
        assert each.without_call.calls == ()


def test_all_that_is_said_of_the_programs_is_well_worded(known: dict[str, list[Known]]) -> None:
    texts = []
    for each in itertools.chain(*known.values()):
        for advice in (each.with_call, each.without_call):
            texts += [reason for one in advice for reason in one.reasons]
            texts += [one.help for one in advice if one.help]
            texts += [*advice.notes, *said(found.to_dict() for found in advice.findings)]
    assert len(texts) > 400
    assert wrong_words(texts) == {}
    headlines = [
        found.headline
        for each in itertools.chain(*known.values())
        for found in (*each.with_call.findings, *each.without_call.findings)
    ]
    assert len(headlines) > 80
    assert [text for text in headlines if wording.faults(text, "headline")] == []


def labels_hold(program: Program, folder: Path) -> str | None:
    """Runs a program that donates what its labels say; the error that ended it, if one did."""
    original = jax.jit

    def jit(fun: Any = None, **given: Any) -> Any:
        if fun is None:
            return lambda fun: jit(fun, **given)
        code = getattr(fun, "__code__", None)
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount] if code else ()
        if set(program.labels) <= set(names):
            given.pop("donate_argnums", None)
            given["donate_argnames"] = tuple(program.donate)
        return original(fun, **given)

    path = folder / f"{program.name.replace(' ', '_').replace(':', '')}.py"
    linecache.cache[str(path)] = (1, None, program.source.splitlines(True), str(path))
    space: dict[str, Any] = {"__name__": path.stem}
    jax.jit = jit
    try:
        exec(compile(program.source, str(path), "exec"), space)
        main = space["main"]
        with contextlib.redirect_stdout(io.StringIO()):
            first = "params" in main.__code__.co_varnames[:1]
            given = [space["weights"]() if first else space["X"]]
            jax.device_get(main(*given[: main.__code__.co_argcount]))
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    finally:
        jax.jit = original
    return None


@NEWEST
def test_a_program_that_donates_what_its_labels_say_runs_to_its_end(tmp_path: Path) -> None:
    """The labels are true: nothing that is donated is read again."""
    ran = 0
    for program in itertools.chain(*PARTS.values()):
        if program.needs in ("nnx", "equinox") or "metrics computed" in program.name:
            continue
        assert labels_hold(program, tmp_path) is None, program.name
        ran += bool(program.donate)
    assert ran > 45


@pytest.mark.parametrize(
    "name",
    [
        "the best state so far is kept",
        "a history of parameters",
        "the old state is compared with the new one",
        "the first parameters are compared at the end",
    ],
)
def test_a_wrong_label_would_be_found(name: str, tmp_path: Path) -> None:
    (program,) = [each for each in itertools.chain(*PARTS.values()) if each.name == name]
    wrong = Program(
        program.name, program.text, program.args, donate=program.keep, needs=program.needs
    )
    assert "deleted" in (labels_hold(wrong, tmp_path) or "")


# Measured.


def proved(each: Known) -> AdviceList:
    sites = call_sites(each.recorded.request, [])
    return advice_from(each.recorded, sites, Budget(60))


def of_name(known: dict[str, list[Known]], name: str) -> Known:
    (found,) = [each for each in itertools.chain(*known.values()) if each.program.name == name]
    return found


def live(program: Any, donated: set[int]) -> int:
    """JAX's own totals of the program that donates these leaves."""
    return program.with_(donated=donated).compile().live.total


@pytest.mark.parametrize(
    "name",
    [
        "params and optimiser state of optax",
        "diffusion sampling",
        "leapfrog with two fields",
        "accumulated gradients",
        "a batch of labels is donated for nothing",
        "the optimiser's state was forgotten",
    ],
)
def test_what_is_said_to_be_saved_is_the_difference_in_live_memory(
    name: str, known: dict[str, list[Known]]
) -> None:
    each = of_name(known, name)
    sites = [] if name == "diffusion sampling" else None
    advice = proved(each) if sites is None else advice_from(each.recorded, sites, Budget(60))
    leaves: dict[str, set[int]] = {}
    for leaf in each.recorded.request.leaves:
        leaves.setdefault(leaf.argument, set()).add(leaf.flat_index)
    taken = [a.argument for a in advice if a.verdict in ("donate", "donated already")]
    whole = set().union(*(leaves[name] for name in taken))
    measured = [a for a in advice if a.measured]
    assert measured
    for one in measured:
        own = leaves[one.argument]
        expected = live(each.recorded.program, whole - own) - live(
            each.recorded.program, whole | own
        )
        assert one.saved == expected, one
    assert advice.after == live(each.recorded.program, whole)


@NEWEST
@pytest.mark.parametrize("part", PARTS)
def test_advice_that_is_proved_is_never_wrong_and_never_costs(
    part: str, known: dict[str, list[Known]]
) -> None:
    sample = known[part][:: 3 if part == "tuned" else 2]
    made = [(each.program, proved(each)) for each in sample]
    assert len(made) >= 11
    found = score(made)
    assert (found.wrong, found.missed) == ([], [])
    assert found.donated >= 10
    for program, advice in made:
        assert not any("could not be compiled" in note for note in advice.notes), program.name
        assert all(each.measured and each.saved for each in advice if each.verdict == "donate")
        if advice.to_do and not any(a.verdict == "take back" for a in advice):
            assert advice.before is not None
            assert advice.after is not None
            assert advice.after < advice.before, program.name


def sums(table: dict[str, int]) -> Any:
    """A measure from a table: letters of the donated arguments to live bytes."""
    return lambda names: table["".join(sorted(names))]


@pytest.mark.parametrize(
    ("table", "chosen", "saved"),
    [
        # Each pays alone.
        ({"": 100, "a": 60, "b": 90, "ab": 50}, "ab", {"a": 40, "b": 10}),
        # They pay only together.
        ({"": 100, "a": 100, "b": 100, "ab": 40}, "ab", {"a": 60, "b": 60}),
        # The pair saves only if one is left out.
        ({"": 100, "a": 60, "b": 70, "ab": 100}, "a", {"a": 40, "b": -40}),
        # One of the two is enough.
        ({"": 100, "a": 60, "b": 60, "ab": 60}, "a", {"a": 40, "b": 0}),
        # Nothing is saved at all.
        ({"": 100, "a": 100, "b": 100, "ab": 100}, "", {"a": 0, "b": 0}),
    ],
)
def test_the_search_finds_which_arguments_pay_together(
    table: dict[str, int], chosen: str, saved: dict[str, int]
) -> None:
    found = Search(sums(table), Budget(9)).run((), ["a", "b"], weight={"a": 2.0, "b": 1.0})
    assert "".join(found.chosen) == chosen
    assert found.saved == saved
    assert (found.before, found.after) == (100, table[chosen])
    assert found.compiles == 4


def test_the_search_ends_with_its_budget_and_says_so() -> None:
    ticks = iter([0.0, 4.0, 4.0, 9.0])
    search = Search(sums({"": 100, "a": 60, "b": 90, "ab": 50}), Budget(8, clock=ticks.__next__))
    found = search.run((), ["a", "b"])
    assert found.left == "the budget was used up"
    assert (found.before, found.after, found.chosen) == (100, None, ("a", "b"))


def test_a_program_that_cannot_be_built_leaves_the_rest_open() -> None:
    def measure(names: frozenset[str]) -> int:
        if names:
            raise CannotBuild("no such layout")
        return 100

    found = Search(measure, Budget(9)).run((), ["a"])
    assert found.left == "a changed program could not be compiled (no such layout)"
    assert found.saved == {}


# The call statement.

STEP = "import jax\n\n\n@jax.jit\ndef step(state, batch):\n    return state, 1\n\n\n"


def fates(body: str) -> dict[str, tuple[str, str | None]]:
    """What becomes of the arguments of all calls, and through what."""
    source = Source("/somewhere/train.py", ast.parse(STEP + textwrap.dedent(body)))
    found = Callers(source, "step", Location("train.py", 4)).find()
    assert found
    passed = passings([site_of(each, ("state", "batch"), [source]) for each in found])
    return {name: (each.fate, each.through or each.borrowed) for name, each in passed.items()}


STATEMENTS: dict[str, tuple[str, tuple[str, str | None]]] = {
    "a loop": (
        "def main(state):\n    for b in load():\n        state, x = step(state, b)\n",
        ("rebound", None),
    ),
    "a script": (
        "state = init()\nfor b in load():\n    state, x = step(state, b)\nprint(state)\n",
        ("rebound", None),
    ),
    "a walrus": (
        "def main(s):\n    while (s := step(s, 1))[1]:\n        pass\n",
        ("rebound", None),
    ),
    "a star": ("def main(s):\n    s, *rest = step(s, 1)\n", ("rebound", None)),
    "an attribute": (
        "class T:\n    def fit(self):\n        self.s, x = step(self.s, 1)\n",
        ("rebound", None),
    ),
    "an item": ("def main(d):\n    d['s'], x = step(d['s'], 1)\n", ("rebound", None)),
    "a global": (
        "s = init()\n\n\ndef main():\n    global s\n    s, x = step(s, 1)\n",
        ("rebound", None),
    ),
    "a condition": ("def main(s, ok):\n    s = step(s, 1) if ok else s\n", ("rebound", None)),
    "keywords": ("def main(s):\n    s, x = step(batch=1, state=s)\n", ("rebound", None)),
    "another name for the step": (
        "def main(s):\n    run = step\n    s, x = run(s, 1)\n",
        ("rebound", None),
    ),
    "ahead of time": (
        "run = step.lower(1, 2).compile()\n\n\ndef main(s):\n    s, x = run(s, 1)\n",
        ("rebound", None),
    ),
    "the statement after": (
        "def main():\n    s = init()\n    for b in load():\n        n, x = step(s, b)\n"
        "        s = n\n",
        ("not read", None),
    ),
    "a method that stores it": (
        "class T:\n    def fit(self, b):\n        n, x = step(self.s, b)\n        self.s = n\n",
        ("not read", None),
    ),
    "a call that returns it": (
        "def up(s):\n    return step(s, 1)\n\n\ndef main():\n    s = init()\n    s, x = up(s)\n",
        ("rebound", None),
    ),
    "one of two callers reads it": (
        "def up(s):\n    return step(s, 1)\n\n\ndef main():\n    s = init()\n    s, x = up(s)\n\n\n"
        "def test():\n    s = init()\n    n, x = up(s)\n    check(s, n)\n",
        ("read", None),
    ),
    "no name": ("def main():\n    s, x = step(init(), 1)\n", ("not read", None)),
    "the result is thrown away": (
        "def main():\n    s = init()\n    step(s, 1)\n    s, x = step(s, 1)\n",
        ("read", None),
    ),
    "read after": (
        "def main():\n    s = init()\n    n, x = step(s, 1)\n    log(s)\n",
        ("read", None),
    ),
    "read in the same statement": (
        "def main():\n    s = init()\n    s, old = step(s, 1), s\n    log(old)\n",
        ("read", None),
    ),
    "read in the next turn": (
        "def main():\n    s = init()\n    for b in load():\n        n, x = step(s, b)\n",
        ("read", None),
    ),
    "a closure reads it": (
        "def main():\n    s = init()\n\n    def show():\n        log(s)\n\n"
        "    n, x = step(s, 1)\n    show()\n",
        ("read", None),
    ),
    "an older name": (
        "def main(s):\n    for b in load():\n        old = s\n        s, x = step(s, b)\n"
        "        log(old, s)\n",
        ("read", "`old`"),
    ),
    "a list": (
        "def main(s):\n    kept = []\n    for b in load():\n        kept.append(s)\n"
        "        s, x = step(s, b)\n    return kept\n",
        ("read", "`kept`"),
    ),
    "an attribute that stays": (
        "class T:\n    def fit(self):\n        s = self.s\n        for b in load():\n"
        "            s, x = step(s, b)\n        return s\n",
        ("read", "`self.s`"),
    ),
    "an attribute that is written back": (
        "class T:\n    def fit(self):\n        s = self.s\n        for b in load():\n"
        "            s, x = step(s, b)\n        self.s = s\n",
        ("rebound", None),
    ),
    "a part that is taken before": (
        "def main(s):\n    p = s.params\n    s, x = step(s, 1)\n    log(p)\n",
        ("read", "`p`"),
    ),
    "its shape that is taken before": (
        "def main(s):\n    p = s.w.shape\n    s, x = step(s, 1)\n    log(p)\n",
        ("rebound", None),
    ),
    "a method of the same object reads it": (
        "class T:\n    def fit(self, b):\n        n, x = step(self.s, b)\n        self.log()\n"
        "        self.s = n\n\n    def log(self):\n        print(self.s)\n",
        ("read", None),
    ),
    "a method of the same object does not": (
        "class T:\n    def fit(self, b):\n        n, x = step(self.s, b)\n        self.log()\n"
        "        self.s = n\n\n    def log(self):\n        print(self.t)\n",
        ("not read", None),
    ),
    "the variable of a loop": (
        "def main(xs):\n    for s in xs:\n        y, x = step(s, 1)\n",
        ("not read", "xs"),
    ),
    "the variable of a comprehension": (
        "def main(xs):\n    return [step(s, 1) for s in xs]\n",
        ("not read", "xs"),
    ),
    "an attribute that nobody rebinds": (
        "class T:\n    def run(self, b):\n        return step(self.s, b)\n",
        ("read", "`self.s` itself"),
    ),
    "only looked at by donatree": (
        "def main():\n    s = init()\n    n, x = step(s, 1)\n    donatree.advise(step, s, 1)\n",
        ("not read", None),
    ),
    "a caller that nobody knows": ("def main(s):\n    return step(s, 1)\n", ("unknown", None)),
}


@pytest.mark.parametrize("name", STATEMENTS)
def test_the_fate_of_an_argument_is_read_from_its_call_statement(name: str) -> None:
    body, expected = STATEMENTS[name]
    assert fates(body)["state"] == expected


def test_all_fates_are_met() -> None:
    assert {fate for _, (fate, _) in STATEMENTS.values()} == {
        "rebound",
        "not read",
        "read",
        "unknown",
    }


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("best = s", ["best"]),
        ("log.append(best)\nbest = s", ["best", "log"]),
        ("s = best = init()", ["best"]),
        ("a, b = s, 1", ["a"]),
        ("kept[n] = s", ["kept[n]"]),
        ("n = f(s)", []),
        ("n = s + 1", []),
        ("kept = {'s': s} if ok else None", ["kept"]),
    ],
)
def test_other_names_for_the_same_arrays_are_found(text: str, found: list[str]) -> None:
    assert sorted(each.path for each in aliases(ast.parse(text), "s")) == found


def test_a_function_that_another_file_imports_is_found_there() -> None:
    home = Source("/somewhere/steps.py", ast.parse(STEP))
    place = Location("steps.py", 4)
    searched = Callers(home, "step", place)
    for text, calls in {
        "from steps import step\nstate = step(state, 1)": 1,
        "from steps import step as go\nrun = go\nstate = run(state, 1)": 1,
        "import steps\nstate = steps.step(state, 1)": 1,
        "import others\nstate = others.step(state, 1)": 0,
    }.items():
        other = Source("/somewhere/train.py", ast.parse(text))
        assert len(Callers(other, "step", place, searched).find()) == calls, text


def test_an_attribute_of_another_object_is_not_the_function() -> None:
    text = (
        "class Learner:\n    def __init__(self):\n        self.update = jax.jit(step_)\n\n"
        "    def learn(self, s):\n        s = self.update(s, 1)\n        tx.update(s, 2)\n"
        "        return s\n"
        "\n\nlearner = Learner()\nlearner.update(1, 2)\nothers.update(3, 4)\n"
    )
    head = "import jax\n\n\ndef step_(state, batch):\n    return state\n\n\n"
    source = Source("/somewhere/train.py", ast.parse(head + text))
    found = Callers(source, "step_", Location("train.py", 4)).find()
    assert sorted(ast.unparse(each.call) for each in found) == [
        "learner.update(1, 2)",
        "self.update(s, 1)",
    ]


# What a user sees.


@jax.jit
def swap(params, momentum):
    return params - 0.1 * momentum, 0.9 * momentum


@jax.jit
def swap_returning_the_other_way_round(params, momentum):
    return 0.9 * momentum, params - 0.1 * momentum


def rebinding() -> None:
    """Never run: the statements of these calls are read."""
    params, momentum = jnp.ones((64, 64)), jnp.ones((64, 64))
    params, momentum = swap(params, momentum)
    momentum, params = swap_returning_the_other_way_round(params, momentum)


def test_of_two_that_pay_only_alone_one_is_advised() -> None:
    """Surprise 1: with both donated the second way round costs a temporary of 16,384 bytes."""
    leaf = jax.ShapeDtypeStruct((64, 64), jnp.float32)
    for step in (swap, swap_returning_the_other_way_round):
        advice = donatree.advise(step, leaf, leaf)
        verdicts = sorted(each.verdict for each in advice)
        assert verdicts == ["donate", "saves nothing"]
        assert (advice[0].saved, advice[0].measured) == (16_384, True)
        assert advice.before is not None
        assert advice.after == advice.before - 16_384
    assert advice[1].saved is not None
    assert advice[1].saved <= 0


def test_what_is_advised_reads_as_a_table() -> None:
    step = jax.jit(lambda state, x: {"w": state["w"] - x.mean()})
    advice = donatree.advise(step, {"w": jnp.ones((4, 4))}, jnp.ones(8))
    lines = str(advice).splitlines()
    assert lines[2] == "  state  donate  saves 64 of 64 bytes (measured)"
    assert lines[3].startswith("    = why: replaced by its successor `result`: its one leaf")
    assert any(line.strip().startswith("write `donate_argnums=0`: live memory") for line in lines)
    assert lines[-2].startswith("  = note: no call statement was found")
    assert lines[-1] == "  = note: measured by compiling for cpu; another platform can differ"
    assert [each.code for each in advice.findings] == ["DT801"]


def test_a_function_that_was_called_before_is_measured_all_the_same() -> None:
    step = jax.jit(lambda state, x: {"w": state["w"] - x.mean()})
    state = {"w": jnp.ones((4, 4))}
    jax.block_until_ready(step(state, jnp.ones(8)))
    for _ in range(2):
        advice = donatree.advise(step, state, jnp.ones(8))
        assert (advice[0].verdict, advice[0].measured) == ("donate", True)


def test_nothing_is_donated_and_nothing_runs() -> None:
    ran = []

    def fun(state: jax.Array) -> jax.Array:
        jax.debug.callback(ran.append, state[0])
        return state + 1

    state = jnp.ones(4)
    advice = donatree.advise(jax.jit(fun), jax.ShapeDtypeStruct((4,), jnp.float32))
    assert advice.before is not None
    assert donatree.advise(jax.jit(lambda state: state + 1), state).keyword == "donate_argnums=0"
    jax.effects_barrier()
    assert (ran, state.is_deleted()) == ([], False)


def test_what_is_not_jitted_is_refused_in_one_line() -> None:
    with pytest.raises(TargetError, match="`<lambda>` is not jitted: advise needs"):
        donatree.advise(lambda x: x, 1)
    with pytest.raises(TargetError, match="JAX refuses `step` with these arguments"):
        donatree.advise(_named(jax.jit(lambda x: x @ jnp.ones((3, 3)))), jnp.ones(4))


def _named(step: Any) -> Any:
    step.__name__ = "step"
    return step


@pytest.mark.parametrize(
    ("names", "dialect", "text"),
    [
        ({"b", "a"}, "jax", "donate_argnums=(0, 1)"),
        ({"k", "a"}, "jax", "donate_argnames=('a', 'k')"),
        (set(), "jax", ""),
        ({"b"}, "nnx", "donate_argnums=1"),
        ({"b", "k"}, "equinox", 'donate="all-except-first"'),
        ({"a", "b", "k"}, "equinox", 'donate="all"'),
    ],
)
def test_the_keyword_is_in_the_words_of_what_jitted_it(
    names: set[str], dialect: str, text: str
) -> None:
    assert keyword(names, ["a", "b"], ["a", "b", "k"], dialect) == text


@pytest.mark.parametrize("code", ["DT801", "DT802", "DT803"])
def test_the_programs_of_the_pages_show_their_code_and_none(code: str, tmp_path: Path) -> None:
    rule = findings.rule(code)
    write(tmp_path, rule.failing, "failing.py")
    write(tmp_path, rule.repaired, "repaired.py")
    failing = run_donatree("advise", "failing.py::target", "--json", "out.json", cwd=tmp_path)
    assert (failing.code, failing.err) == (1, "")
    (function,) = json.loads((tmp_path / "out.json").read_text())["functions"]
    (finding,) = function["findings"]
    assert finding["code"] == code
    assert [each["codes"] for each in function["advice"] if each["codes"]] == [[code]]
    assert f"`{function['keyword']}`" in failing.out
    assert f"jax.jit(train_step, {function['keyword']})" in rule.repaired
    assert wrong_words(said([finding])) == {}
    repaired = run_donatree("advise", "repaired.py::target", cwd=tmp_path)
    assert (repaired.code, repaired.err) == (0, "")
    assert "nothing to change" in repaired.out


def test_the_report_on_the_page_is_the_one_that_is_printed(tmp_path: Path) -> None:
    page = (Path(__file__).parents[1] / "docs" / "advise.md").read_text("utf-8")
    program = page.split("```python\n")[1].split("```")[0]
    report = page.split("```text\n")[1].split("```")[0]
    write(tmp_path, program)
    ended = run_donatree("advise", "train.py::target", cwd=tmp_path)
    assert (ended.code, ended.err) == (1, "")
    if JAX >= (0, 11):
        assert ended.out == report
    else:
        assert "write `donate_argnums=(0, 1)`" in ended.out


def test_a_budget_of_nothing_estimates(tmp_path: Path) -> None:
    write(tmp_path, findings.rule("DT801").failing)
    ended = run_donatree("advise", "--budget", "0", "train.py::target", cwd=tmp_path)
    assert ended.code == 1
    assert "(estimated)" in ended.out
    assert "nothing was compiled: bytes are estimated from types" in ended.out


UNDECIDED = """\
import jax
import jax.numpy as jnp

step = jax.jit(lambda one, two: 0.5 * one + 0.5 * two)


def target():
    return step, (jnp.ones((8, 8)), jnp.ones((8, 8)))
"""


def test_what_cannot_be_decided_is_said_and_counts_with_strict_alone(tmp_path: Path) -> None:
    write(tmp_path, UNDECIDED)
    plain = run_donatree("advise", "train.py::target", cwd=tmp_path)
    assert plain.code == 0
    assert "undecided" in plain.out
    assert "could as well replace `two`" in plain.out
    assert run_donatree("advise", "--strict", "train.py::target", cwd=tmp_path).code == 1


@pytest.mark.parametrize("target", ["train.py::nothing", "none.py::target", "train.py"])
def test_a_target_that_is_none_ends_in_one_line_and_2(target: str, tmp_path: Path) -> None:
    write(tmp_path, UNDECIDED)
    ended = run_donatree("advise", target, cwd=tmp_path)
    assert (ended.code, ended.out) == (2, "")
    assert len(ended.err.splitlines()) == 1


def test_importing_donatree_for_its_advice_imports_no_jax(tmp_path: Path) -> None:
    text = "import sys, donatree; donatree.advise, donatree.Advice; print('jax' in sys.modules)"
    from programs import python

    assert python("-c", text, cwd=tmp_path).out == "False\n"


# A running program.

PROGRAM = """\
import jax
import jax.numpy as jnp


@jax.jit
def step(params, slots, batch):
    slots = jax.tree.map(lambda s, p: 0.9 * s + p * batch.mean(), slots, params)
    return jax.tree.map(jnp.subtract, params, slots), slots


@jax.jit
def small(x):
    return x + 1


class Trainer:
    def __init__(self):
        self.params = {"w": jnp.ones((64, 64))}
        self.slots = {"w": jnp.zeros((64, 64))}

    def fit(self):
        for turn in range(3):
            self.params, self.slots = step(self.params, self.slots, jnp.ones(8) * turn)


Trainer().fit()
x = small(jnp.ones(4))
"""


@contextlib.contextmanager
def advised(least: int) -> Iterator[Adviser]:
    faults: list[BaseException] = []
    adviser = Adviser(lambda _, error: faults.append(error), least)
    adviser.start()
    try:
        yield adviser
    finally:
        adviser.stop()
    assert faults == []


def execute(text: str) -> None:
    name = "<advised program>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    exec(compile(text, name, "exec"), {"__name__": name})


def test_a_running_program_is_advised_from_its_own_call_without_a_compile() -> None:
    with advised(least=1_000) as adviser:
        execute(PROGRAM)
    (advice,) = adviser.learnt()
    assert advice.function == "step"
    assert {each.argument: each.verdict for each in advice} == {
        "params": "donate",
        "slots": "donate",
        "batch": "keep",
    }
    assert all(not each.measured for each in advice)
    assert advice.keyword == "donate_argnums=(0, 1)"
    assert advice.calls == ("<advised program>:23",)


def test_a_program_of_many_leaves_is_advised_by_its_statement_alone() -> None:
    step = jax.jit(lambda many, x: [each + x.mean() for each in many])
    recorded = record(step, ([jnp.ones(2)] * 5, jnp.ones(8)), {})
    (walked, _), (blind, _) = (advice_from(recorded, [], None, most) for most in (9, 3))
    assert (walked.verdict, blind.verdict) == ("donate", "keep")


def test_functions_with_little_to_donate_are_passed_over() -> None:
    with advised(least=1 << 20) as adviser:
        execute(PROGRAM)
    assert adviser.learnt() == []


def test_a_function_that_donates_all_it_ought_to_needs_no_advice() -> None:
    text = PROGRAM.replace("@jax.jit\ndef step", "@jax.jit\ndef before", 1)
    donating = text.replace(
        "@jax.jit\ndef small",
        "step = jax.jit(before, donate_argnums=(0, 1))\n\n\n@jax.jit\ndef small",
    )
    with advised(least=32) as adviser:
        execute(donating)
    assert [each.function for each in adviser.learnt() if each.function == "before"] == []
