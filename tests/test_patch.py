"""`patch`: edits of many shapes of code, applied for real, and the program audited again."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

import fixing
from donatree.fixes import declaration
from donatree.fixes import patch as patching
from donatree.fixes.patch import edited, patch
from donatree.ledger import Edit, Fix, Grade, Location, Tally
from fixing import HEADER
from programs import SOURCE, environment

pytestmark = pytest.mark.filterwarnings("ignore:Some donated buffers were not usable")

PROGRAMS = [program for program in ("git", "patch") if shutil.which(program)]


@dataclass(frozen=True)
class Shape:
    """A program, what of its text a patch changes, and how the edits are graded.

    Attributes:
        text: below the imports.
        old: what is replaced; it stands there once.
        new: by what.
        grade: of the edit.
        header: the imports.
        newline: of the file.
        left: codes of what else is found, before and after.
    """

    text: str
    old: str
    new: str
    grade: Grade = "sure"
    header: str = HEADER
    newline: str = "\n"
    left: tuple[str, ...] = ()

    @property
    def before(self) -> bytes:
        return (self.header + self.text).replace("\n", self.newline).encode()

    @property
    def after(self) -> bytes:
        assert self.text.count(self.old) == 1
        text = self.header + self.text.replace(self.old, self.new)
        return text.replace("\n", self.newline).encode()


def counter(expression: str, declared: str = "@partial(jax.jit, donate_argnums=0)") -> str:
    """A step whose counter is `expression`."""
    return f"""\
{declared}
def step(state, batch):
    return {{"n": {expression}, "w": state["w"] * batch}}


args = ({{"n": jnp.zeros((8,), jnp.int32), "w": jnp.ones((4, 4))}}, jnp.ones((4, 4)))
"""


TREE = """\
def train(params, grads):
    return {}


step = jax.jit(train, donate_argnums=0)
shapes = {{"w": (64, 8), "b": (8,)}}
args = (
    {{name: jnp.ones(shape, jnp.bfloat16) for name, shape in shapes.items()}},
    {{name: jnp.ones(shape) for name, shape in shapes.items()}},
)
"""

SHAPES = {
    "a binary operation in a dict": Shape(
        counter('state["n"] + 1.0'),
        'state["n"] + 1.0',
        '(state["n"] + 1.0).astype(state["n"].dtype)',
    ),
    "single quotes stay single": Shape(
        counter('state["n"] + 1.0').replace('"', "'"),
        "state['n'] + 1.0",
        "(state['n'] + 1.0).astype(state['n'].dtype)",
    ),
    "in parentheses already": Shape(
        counter('(state["n"] + 1.0)'),
        '(state["n"] + 1.0)',
        '(state["n"] + 1.0).astype(state["n"].dtype)',
    ),
    "a call": Shape(
        counter('jnp.multiply(state["n"], 0.5)'),
        'jnp.multiply(state["n"], 0.5)',
        'jnp.multiply(state["n"], 0.5).astype(state["n"].dtype)',
    ),
    "a ternary": Shape(
        counter('state["n"] * 1.5 if batch.ndim == 2 else state["n"]'),
        'state["n"] * 1.5 if',
        '(state["n"] * 1.5).astype(state["n"].dtype) if',
    ),
    "an operand of another operation": Shape(
        counter('1 + state["n"] * 1.5'),
        '1 + state["n"] * 1.5',
        '(1 + state["n"] * 1.5).astype(state["n"].dtype)',
    ),
    "several lines with comments": Shape(
        counter('(\n        state["n"]  # so far\n        + 1.0  # this one\n    )'),
        "# this one\n    )",
        '# this one\n    ).astype(state["n"].dtype)',
    ),
    "several lines with a comment before": Shape(
        counter('(  # new\n        # and old\n        state["n"]\n        + 1.0\n    )'),
        "+ 1.0\n    )",
        '+ 1.0\n    ).astype(state["n"].dtype)',
    ),
    "several lines without a comment at the end": Shape(
        counter('(\n        state["n"]  # so far\n        + 1.0\n    )'),
        "        + 1.0\n    )",
        '        + 1.0\n    ).astype(state["n"].dtype)',
    ),
    "a method called over several lines": Shape(
        counter('(state["n"] * batch[0, 0]).at[0].set(\n        2.0,\n    )'),
        "        2.0,\n    )",
        '        2.0,\n    ).astype(state["n"].dtype)',
    ),
    "a keyword argument and a comment": Shape(
        """\
class State(NamedTuple):
    n: jax.Array
    w: jax.Array


@partial(jax.jit, donate_argnums=0)
def step(state, batch):
    new = state._replace(n=state.n + 1.0, w=state.w * batch)  # both
    return new


args = (State(jnp.zeros((8,), jnp.int32), jnp.ones((4, 4))), jnp.ones((4, 4)))
""",
        "n=state.n + 1.0",
        "n=(state.n + 1.0).astype(state.n.dtype)",
    ),
    "a name that is read twice": Shape(
        """\
@partial(jax.jit, donate_argnums=0)
def step(n):
    new = n + 1.0
    return new, new.sum()


args = (jnp.zeros((8,), jnp.int32),)
""",
        "return new, new.sum()",
        "return new.astype(n.dtype), new.sum()",
        left=("DT501",),
    ),
    "an augmented assignment": Shape(
        """\
@partial(jax.jit, donate_argnums=0)
def step(n, k):
    n += k * 2; k = k + 1
    return n, k


args = (jnp.zeros((8,), jnp.int32), jnp.ones((8,)))
""",
        "n += k * 2;",
        "n = (n + (k * 2)).astype(n.dtype);",
    ),
    "an argument of a function of one's own": Shape(
        """\
def scaled(x, by):
    return x * by


@partial(jax.jit, donate_argnums=0)
def step(n):
    return scaled(n + 0.5, by=2)


args = (jnp.zeros((8,), jnp.int32),)
""",
        "scaled(n + 0.5, by=2)",
        "scaled(n + 0.5, by=2).astype(n.dtype)",
    ),
    "another function than the jitted one": Shape(
        """\
def advanced(n):
    return n + 0.5


@partial(jax.jit, donate_argnums=0)
def step(state):
    return {"n": advanced(state["n"])}


args = ({"n": jnp.zeros((8,), jnp.int32)},)
""",
        'advanced(state["n"])}',
        'advanced(state["n"]).astype(state["n"].dtype)}',
    ),
    "tabs": Shape(
        counter('state["n"] + 1.0').replace("    return", "\treturn"),
        'state["n"] + 1.0',
        '(state["n"] + 1.0).astype(state["n"].dtype)',
    ),
    "letters of several bytes before it": Shape(
        """\
@partial(jax.jit, donate_argnums=0)
def step(größe):
    return {"größer": ("日本", größe["k"] * 2)[1], "ñ": größe["ñ"] + 1.0}


args = ({"k": jnp.ones((2,)), "ñ": jnp.zeros((8,), jnp.int32)},)
""",
        'größe["ñ"] + 1.0',
        '(größe["ñ"] + 1.0).astype(größe["ñ"].dtype)',
    ),
    "carriage returns": Shape(
        counter('(\n        state["n"]\n        + 1.0\n    )'),
        "        + 1.0\n    )",
        '        + 1.0\n    ).astype(state["n"].dtype)',
        newline="\r\n",
    ),
    "a lambda": Shape(
        """\
step = jax.jit(lambda state: {"n": state["n"] + 1.0}, donate_argnums=0)
args = ({"n": jnp.zeros((8,), jnp.int32)},)
""",
        'state["n"] + 1.0',
        '(state["n"] + 1.0).astype(state["n"].dtype)',
    ),
    "a decorator that is called": Shape(
        counter('state["n"] + 1.0', "@functools.partial(jax.jit, donate_argnums=(0,))"),
        'state["n"] + 1.0',
        '(state["n"] + 1.0).astype(state["n"].dtype)',
    ),
    "a method": Shape(
        """\
class Trainer:
    def __init__(self):
        self.rate = 0.5
        self.step = jax.jit(self._step, donate_argnums=0)

    def _step(self, state):
        return {"n": state["n"] + self.rate}


step = Trainer().step
args = ({"n": jnp.zeros((8,), jnp.int32)},)
""",
        'state["n"] + self.rate',
        '(state["n"] + self.rate).astype(state["n"].dtype)',
    ),
    "a lambda over a tree": Shape(
        TREE.format("jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)"),
        "p - 0.1 * g",
        "(p - 0.1 * g).astype(p.dtype)",
    ),
    "a comprehension": Shape(
        TREE.format("{k: params[k] - 0.1 * grads[k] for k in params}"),
        "params[k] - 0.1 * grads[k]",
        "(params[k] - 0.1 * grads[k]).astype(params[k].dtype)",
    ),
    "a function over a tree": Shape(
        """\
def updated(param, grad):
    scaled = 0.1 * grad
    return param - scaled


"""
        + TREE.format("jax.tree.map(updated, params, grads)"),
        "return param - scaled",
        "return (param - scaled).astype(param.dtype)",
        "maybe",
    ),
    "a map in a helper": Shape(
        """\
def updated(gradients, old):
    return jax.tree.map(lambda p, g: p - 0.1 * g, old, gradients)


def train(state, grads):
    return {"step": state["step"] + 1, "params": updated(grads, old=state["params"])}


step = jax.jit(train, donate_argnums=0)
params = {"w": jnp.ones((64, 8), jnp.bfloat16), "b": jnp.ones((8,))}
args = (
    {"step": jnp.int32(0), "params": params},
    {"w": jnp.ones((64, 8)), "b": jnp.ones((8,))},
)
""",
        "p - 0.1 * g",
        "(p - 0.1 * g).astype(p.dtype)",
        "maybe",
    ),
    "a cast": Shape(
        counter("0").replace('"n": 0', '"n": (state["n"] * 2).astype(jnp.float16)'),
        ".astype(jnp.float16)",
        '.astype(state["n"].dtype)',
    ),
    "a cast by a function": Shape(
        counter('jnp.asarray(state["n"] * 2, dtype=jnp.float16)'),
        "dtype=jnp.float16",
        'dtype=state["n"].dtype',
    ),
    "no name for jax.numpy": Shape(
        """\
def advanced(n):
    return n + 0.5


def train(n):
    if n.ndim == 0:
        return n
    return advanced(n)


step = jit(train, donate_argnums=0)
args = (zeros((8,), "int32"),)
""",
        "return n + 0.5",
        'return (n + 0.5).astype("int32")',
        "maybe",
        header="from jax import jit\nfrom jax.numpy import zeros\n",
    ),
    "another name for jax.numpy": Shape(
        """\
def advanced(n):
    return n + 0.5


def train(n):
    if n.ndim == 0:
        return n
    return advanced(n)


step = jax.jit(train, donate_argnums=0)
args = (np.zeros((8,), "int32"),)
""",
        "return n + 0.5",
        "return (n + 0.5).astype(np.int32)",
        "maybe",
        header="import jax\nfrom jax import numpy as np\n",
    ),
    "a parameter that has another value by then": Shape(
        """\
@partial(jax.jit, donate_argnums=0)
def step(state):
    state = {"n": state["n"] * 2}
    return {"n": state["n"] + 1.0}


args = ({"n": jnp.zeros((8,), jnp.int32)},)
""",
        'state["n"] + 1.0',
        '(state["n"] + 1.0).astype(jnp.int32)',
    ),
    "a batch that is donated": Shape(
        """\
@partial(jax.jit, donate_argnums=(0, 1))
def step(w, batch):
    return w * batch.sum()


args = (jnp.ones((4, 4)), jnp.ones((64,)))
""",
        "donate_argnums=(0, 1)",
        "donate_argnums=0",
    ),
    "an argument that nothing reads": Shape(
        """\
def train(old, x):
    return x * 2


step = jax.jit(
    train,
    donate_argnums=(
        0,
    ),  # the old one
)
args = (jnp.ones((4, 4)), jnp.ones((4, 4)))
""",
        "    ),  # the old one",
        "    ),\n    keep_unused=True,  # the old one",
        "maybe",
    ),
}


@pytest.mark.parametrize("name", SHAPES)
def test_the_edit_is_the_expected_one_and_cures(name, tmp_path):
    shape = SHAPES[name]
    ledger, found = fixing.fixes_of(tmp_path, shape.before)
    assert ledger.findings
    diff = patch(found, tmp_path)
    told = [line for line in diff.splitlines() if line.startswith("# ")]
    graded = [line for line in told if "another edit is for the same leaves" not in line]
    assert [line.split(":")[0].removeprefix("# ") for line in graded] == [shape.grade], diff
    for program in PROGRAMS:
        assert fixing.applied(tmp_path, diff, program) == shape.after, diff
    repaired = fixing.examine(fixing.load(fixing.write(tmp_path, shape.after))).ledger
    assert tuple(finding.code for finding in repaired.findings) == shape.left
    fix = next(fix for fix in found if fix.held and fix.edit)
    assert fix.after is not None
    assert repaired.live is not None
    assert (repaired.promised, repaired.kept_in_place) == (
        fix.after.promised,
        fix.after.in_place,
    )
    assert shape.left or repaired.kept_in_place == repaired.promised


def test_there_is_a_program_that_applies_patches():
    assert PROGRAMS


def test_the_whole_diff_of_one_program(tmp_path):
    shape = SHAPES["a keyword argument and a comment"]
    _, found = fixing.fixes_of(tmp_path, shape.before)
    code = found[0].codes[0]
    old = "    new = state._replace(n=state.n + 1.0, w=state.w * batch)  # both"
    assert patch(found, tmp_path).splitlines() == [
        f"# sure: train.py:15 {code} with `n=(state.n + 1.0).astype(state.n.dtype)`",
        "--- a/train.py",
        "+++ b/train.py",
        "@@ -12,7 +12,7 @@",
        " ",
        " @partial(jax.jit, donate_argnums=0)",
        " def step(state, batch):",
        f"-{old}",
        f"+{old.replace('state.n + 1.0', '(state.n + 1.0).astype(state.n.dtype)')}",
        "     return new",
        " ",
        " ",
    ]


def test_an_argument_that_is_donated_by_name_is_taken_out_of_the_names(tmp_path):
    text = """\
def train(w, *, batch, extra):
    return w * batch.sum() + extra


step = jax.jit(train, donate_argnames=("w", "batch", "extra"))
args = ()
kwargs = {"w": jnp.ones((4, 4)), "batch": jnp.ones((64,)), "extra": jnp.ones((5, 4, 4)).sum(0)}
"""
    _, found = fixing.fixes_of(tmp_path, HEADER + text)
    kept = [fix for fix in found if fix.held and "batch" in fix.change]
    diff = patch(kept, tmp_path)
    assert '+step = jax.jit(train, donate_argnames=("w", "extra"))\n' in diff


TWO = """\
@partial(jax.jit, donate_argnums=0)
def step(state):
    return {"m": state["m"] * 2.5, "n": state["n"] + 1.0}


args = ({"m": jnp.zeros((8,), jnp.int32), "n": jnp.zeros((3,), jnp.int32)},)
"""


def test_two_edits_of_one_file_are_one_diff(tmp_path):
    _, found = fixing.fixes_of(tmp_path, HEADER + TWO)
    diff = patch(found, tmp_path)
    assert diff.count("--- a/train.py\n") == 1
    assert diff.count("# sure: train.py:10 ") == 2
    assert (
        '+    return {"m": (state["m"] * 2.5).astype(state["m"].dtype), '
        '"n": (state["n"] + 1.0).astype(state["n"].dtype)}\n'
    ) in diff
    after = fixing.applied(tmp_path, diff, PROGRAMS[0])
    repaired = fixing.examine(fixing.load(fixing.write(tmp_path, after))).ledger
    assert repaired.findings == ()
    together = fixing.held(found, "together")
    assert together.after is not None
    assert repaired.live is not None
    assert repaired.live.total == together.after.live


def test_of_two_edits_that_overlap_the_second_is_left_out_and_said(tmp_path):
    path = fixing.write(tmp_path, "def step(m, n):\n    return m + (n * 2.0)\n")
    data = path.read_bytes()
    outer = edit(data, "m + (n * 2.0)", "(m + (n * 2.0)).astype(m.dtype)", path)
    inner = edit(data, "n * 2.0", "(n * 2.0).astype(n.dtype)", path)
    diff = patch([fix(inner, leaves=("n",)), fix(outer, leaves=("m",))], tmp_path)
    assert diff.splitlines()[:2] == [
        "# sure: train.py:2 DT402 with `x`",
        "# left out: train.py:2 DT402 with `x`: it overlaps with another edit",
    ]
    assert "+    return m + ((n * 2.0).astype(n.dtype))\n" in diff


def test_of_two_kinds_of_edit_for_one_leaf_the_one_that_saves_more_is_made(tmp_path):
    path = fixing.write(tmp_path, "def step(m, n):\n    return m + 1.0, n * 2.0\n")
    data = path.read_bytes()
    less = fix(edit(data, "m + 1.0", "m", path), after=Tally(8, 8, 200))
    more = fix(edit(data, "n * 2.0", "n", path), after=Tally(8, 8, 100), kind="keep_unused")
    diff = patch([less, more], tmp_path)
    assert diff.startswith("# left out: DT402 with `x`: another edit is for the same leaves\n")
    assert "+    return m + 1.0, n\n" in diff


def test_leaves_of_one_name_in_two_functions_are_both_cured(tmp_path):
    text = "def step(n):\n    return n + 1.0\n\n\ndef other(n):\n    return n * 2.0\n"
    path = fixing.write(tmp_path, text)
    data = path.read_bytes()
    one = fix(edit(data, "n + 1.0", "n", path), before=Tally(8, 4, 100))
    two = fix(edit(data, "n * 2.0", "n", path), before=Tally(8, 4, 200), kind="keep_unused")
    assert patch([one, two], tmp_path).count("\n+    return n\n") == 2


def test_the_same_edit_for_two_signatures_is_made_and_told_once(tmp_path):
    path = fixing.write(tmp_path, "def step(n):\n    return n + 1.0\n")
    one = edit(path.read_bytes(), "n + 1.0", "(n + 1.0).astype(n.dtype)", path)
    diff = patch([fix(one, before=Tally(8, 4, size)) for size in (100, 200)], tmp_path)
    assert diff.count("# ") == 1
    assert diff.startswith("# sure: train.py:2 DT402 with `x`\n")
    assert diff.count("\n+ ") == 1


def test_edits_of_two_files_are_two_sections_relative_to_the_folder(tmp_path):
    inside = tmp_path / "package"
    inside.mkdir()
    helper = fixing.write(inside, "def advanced(n):\n    return n + 0.5\n", "helper.py")
    main = fixing.write(tmp_path, "def step(n):\n    return n * 2.0\n", "main.py")
    fixes = [
        fix(edit(helper.read_bytes(), "n + 0.5", "(n + 0.5).astype(n.dtype)", helper)),
        fix(edit(main.read_bytes(), "n * 2.0", "(n * 2.0).astype(t)", main), leaves=("m",)),
    ]
    diff = patch(fixes, tmp_path)
    names = [line for line in diff.splitlines() if line.startswith(("---", "+++"))]
    assert names == [
        "--- a/main.py",
        "+++ b/main.py",
        "--- a/package/helper.py",
        "+++ b/package/helper.py",
    ]


def fix(change: Edit | None, **more: object) -> Fix:
    fields = {"status": "held", "grade": "sure", "edit": change, "leaves": ("n",), **more}
    fields = {"kind": "cast", **fields}
    return Fix(codes=("DT402",), change="with `x`", **fields)  # type: ignore[arg-type]


def edit(data: bytes, old: str, new: str, file: Path | str = "train.py") -> Edit:
    """An edit of the one place where `old` stands, in Python's columns."""
    text = data.decode("utf-8-sig").replace("\r\n", "\n").encode()
    assert text.count(old.encode()) == 1
    start = text.index(old.encode())
    places = []
    for offset in (start, start + len(old.encode())):
        places += [text[:offset].count(b"\n") + 1, offset - text.rfind(b"\n", 0, offset) - 1]
    return Edit(Location(str(file), *places), old, new)


@pytest.mark.parametrize(
    ("data", "old", "new", "why"),
    [
        ("y = a * b + c\n", "b + c", "(b + c)", "its place is not one expression of the file"),
        ("y = a * b + c\n", "a * b", "a * b)(", "the file would not parse: "),
        ("y = c - a * b\n", "a * b", "a + b", "what it writes is not one expression there"),
        ("y = a * b + c\n", "a * b", "a * b  #", "it would change more than its expression"),
        ("y = a; z = 1\n", "a", "a; w = 2", "what it writes is not one expression there"),
        ("y = 'a' + c\n", "a", "b", "its place is not one expression of the file"),
    ],
)
def test_an_edit_that_is_not_one_expression_is_left_out(data, old, new, why):
    made, told = edited(data.encode(), [edit(data.encode(), old, new)])
    assert made == data.encode()
    (said,) = told
    assert said is not None
    assert said.startswith(why)


def test_an_edit_of_a_file_that_has_changed_since_is_left_out(tmp_path):
    path = fixing.write(tmp_path, "def step(n):\n    return n + 1.0\n")
    change = edit(path.read_bytes(), "n + 1.0", "(n + 1.0).astype(n.dtype)", path)
    fixing.write(tmp_path, "def step(m):\n    return m + 1.0\n")
    assert patch([fix(change)], tmp_path) == (
        "# left out: train.py:2 DT402 with `x`: the file has changed since it was read\n"
    )
    path.write_bytes(b"")
    assert "the file has changed since it was read" in patch([fix(change)], tmp_path)
    path.unlink()
    assert patch([fix(change)], tmp_path).startswith("# left out: train.py:2 DT402 with `x`: ")


def test_a_file_with_a_byte_order_mark_and_carriage_returns_keeps_both():
    data = b"\xef\xbb\xbfy = (x\r\n  + 1)\r\nz = 2"
    made, told = edited(data, [edit(data, "(x\n  + 1)", "(x\n  + 1).astype(t)")])
    assert told == [None]
    assert made == b"\xef\xbb\xbfy = (x\r\n  + 1).astype(t)\r\nz = 2"


def test_a_file_that_is_not_utf_8_is_left_alone():
    data = b"# coding: latin-1\nn = x + 1\n"
    made, told = edited(data, [edit(data, "x + 1", "(x + 1).astype(t)")])
    assert made == data
    assert told == ["the file is not UTF-8 but iso-8859-1"]


def test_a_last_line_without_a_newline_is_said_to_have_none(tmp_path):
    path = fixing.write(tmp_path, "def step(n): return n + 1.0")
    diff = patch([fix(edit(path.read_bytes(), "n + 1.0", "(n + 1.0).astype(t)", path))], tmp_path)
    for program in PROGRAMS:
        after = fixing.applied(tmp_path, diff, program)
        assert after == b"def step(n): return (n + 1.0).astype(t)"


def test_what_did_not_hold_is_not_in_the_patch(tmp_path):
    path = fixing.write(tmp_path, "def step(n): return n + 1.0")
    change = edit(path.read_bytes(), "n + 1.0", "(n + 1.0).astype(t)", path)
    assert patch([fix(change, status="failed")], tmp_path) == ""
    assert patch([], tmp_path) == ""
    assert patch([fix(None)], tmp_path) == (
        "# left out: DT402 with `x`: not an edit of one expression\n"
    )


def test_without_libcst_it_is_said_what_to_install(tmp_path, monkeypatch):
    path = fixing.write(tmp_path, "def step(n): return n + 1.0")
    change = edit(path.read_bytes(), "n + 1.0", "(n + 1.0).astype(t)", path)
    monkeypatch.setitem(sys.modules, "libcst", None)
    assert patch([fix(change)], tmp_path) == f"# {patching.INSTALL}\n"


def test_libcst_is_imported_for_a_patch_only():
    code = (
        "import sys, donatree.fixes.patch as it; it.patch([]); "
        "assert 'libcst' not in sys.modules; assert it.is_installed()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert SOURCE.is_dir()


# Declarations.

DECLARED = {
    "@jax.jit\ndef step(x): ...\n": (
        "from functools import partial\n",
        "@partial(jax.jit, keep_unused=True)",
    ),
    "@jax.jit\ndef step(y): ...\n": (
        "import functools as ft\n",
        "@ft.partial(jax.jit, keep_unused=True)",
    ),
    "@jax.jit()\ndef step(x): ...\n": ("", "@jax.jit(keep_unused=True)"),
    "@partial(jax.jit, donate_argnums=0)\ndef step(x): ...\n": (
        "",
        "@partial(jax.jit, donate_argnums=0, keep_unused=True)",
    ),
    "@partial(jax.jit, keep_unused=False)\ndef step(x): ...\n": (
        "",
        "@partial(jax.jit, keep_unused=True)",
    ),
    "def step(x): ...\nf = jit(step)\n": ("", "f = jit(step, keep_unused=True)"),
    "def step(x): ...\nf = jit((step), donate_argnums=(0))\n": (
        "",
        "f = jit((step), donate_argnums=(0), keep_unused=True)",
    ),
    "def step(x): ...\nf = jit(step)\ng = jit(step)\n": ("", None),
    "def step(x): ...\n": ("", None),
    "@jax.jit\n@partial(jax.jit)\ndef step(x): ...\n": ("", None),
    "f = jit(lambda x: x, donate_argnums=0)\n": (
        "",
        "f = jit(lambda x: x, donate_argnums=0, keep_unused=True)",
    ),
}


@pytest.mark.parametrize("text", DECLARED)
def test_a_keyword_is_added_where_a_function_is_jitted(text, tmp_path):
    header, wanted = DECLARED[text]
    path = fixing.write(tmp_path, header + text)
    name = "<lambda>" if "lambda" in text else "step"
    found = declaration.find(Location(str(path), header.count("\n") + 1, function=name))
    change = found and found.with_keyword("keep_unused", "True")
    if wanted is None:
        assert change is None
        return
    assert change is not None
    new, told = edited(path.read_bytes(), [change])
    assert told == [None]
    assert wanted in new.decode().splitlines()


def test_where_the_last_donated_argument_goes_the_keyword_goes(tmp_path):
    text = "def step(x): ...\nf = jit(\n    step,\n    donate_argnums=0,\n    inline=True,\n)\n"
    path = fixing.write(tmp_path, text)
    found = declaration.find(Location(str(path), 1, function="step"))
    assert found is not None
    change = found.without("x", ("x",))
    assert change is not None
    new, told = edited(path.read_bytes(), [change])
    assert told == [None]
    assert new.decode() == text.replace("    donate_argnums=0,\n", "")


@pytest.mark.parametrize("value", ["NUMBERS", "(0, last)", "range(2)", "f()"])
def test_what_is_not_written_with_literals_is_not_edited(value, tmp_path):
    path = fixing.write(tmp_path, f"def step(x, y): ...\nf = jit(step, donate_argnums={value})\n")
    found = declaration.find(Location(str(path), 1, function="step"))
    assert found is not None
    assert found.without("x", ("x", "y")) is None


def test_the_edit_of_the_first_example_is_that_of_its_repaired_twin(monkeypatch):
    examples = Path(__file__).resolve().parents[1] / "examples"
    monkeypatch.syspath_prepend(str(examples))
    module = fixing.load(examples / "train.py")
    train, _ = module.digits.load()
    batch = next(iter(module.digits.batches(*train, module.BATCH, 1)))
    module.step, module.args = module.train_step, (module.init(seed=0), *batch)
    casts = [fix for fix in fixing.tried(fixing.examine(module)) if fix.kind == "cast"]
    lines = patch(casts, examples).splitlines()
    written = [line[1:] for line in lines if line.startswith("+    ")]
    assert len(written) == 1
    assert written[0] in (examples / "train_repaired.py").read_text("utf-8").splitlines()
    assert written[0] not in (examples / "train.py").read_text("utf-8").splitlines()
