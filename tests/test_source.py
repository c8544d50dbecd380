"""Reading the user's code: nodes at instructions, bindings, values."""

# ruff: noqa: E501 - programs in one line

from __future__ import annotations

import ast
import collections
import dataclasses
import linecache
import sys
import textwrap
from types import TracebackType

import pytest

from donatree.source.binding import bindings, prefixes
from donatree.source.evaluate import MISSING, evaluate, variables
from donatree.source.tree import Source, node_at, source_of


def parsed(text: str) -> Source:
    return Source("<test>", ast.parse(textwrap.dedent(text)))


def use(source: Source, name: str = "use") -> ast.Call:
    """The one call of `name` in a source."""
    [found] = [
        node
        for node in ast.walk(source.module)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == name
    ]
    return found


def places(text: str, path: str) -> list[tuple[int, str]]:
    """Line and kind of each binding of `path` that can reach the call `use(...)`."""
    source = parsed(text)
    return [(each.location.line, each.kind) for each in bindings(source, use(source), path)]


@pytest.mark.parametrize(
    ("text", "path", "found"),
    [
        ("a = 0\nold = a\nuse(old)", "old", [(2, "assignment")]),
        ("old = f()\nold = g()\nuse(old)", "old", [(2, "assignment")]),
        ("a, (b, *old) = f()\nuse(old)", "old", [(1, "assignment")]),
        ("old: T = f()\nuse(old)", "old", [(1, "assignment")]),
        ("old: T\nold = f()\nuse(old)", "old", [(2, "assignment")]),
        ("if (old := f()):\n    use(old)", "old", [(1, "assignment")]),
        ("with f() as old:\n    use(old)", "old", [(1, "assignment")]),
        ("for old in f():\n    use(old)", "old", [(1, "loop")]),
        ("use([g(old) for old in f()])", "old", []),
        ("[use(old) for old in f()]", "old", [(1, "loop")]),
        ("def g(x, old):\n    use(old)", "old", [(1, "parameter")]),
        ("def g(*, old=1, **kw):\n    use(kw)", "kw", [(1, "parameter")]),
        ("g = lambda old: use(old)", "old", [(1, "parameter")]),
        ("old = f()\nold += 1\nuse(old)", "old", [(2, "assignment")]),
        ("old = f()\ndel old\nuse(old)", "old", []),
        ("old = f()\nimport old\nuse(old)", "old", []),
        # constants hold no array
        ("old = None\nif a:\n    old = f()\nuse(old)", "old", [(3, "assignment")]),
        # branches
        ("if a:\n    old = f()\nelse:\n    old = g()\nuse(old)", "old", [(2, "assignment"), (4, "assignment")]),
        ("if a:\n    old = f()\n    raise E\nelse:\n    old = g()\nuse(old)", "old", [(5, "assignment")]),
        ("try:\n    old = f()\nexcept E:\n    old = g()\nuse(old)", "old", [(2, "assignment"), (4, "assignment")]),
        ("match a:\n    case 1:\n        old = f()\n    case _:\n        old = g()\nuse(old)", "old", [(3, "assignment"), (5, "assignment")]),
        # loops: the binding can stand later in the body
        ("s = f()\nfor i in r:\n    use(s)\n    s = g(s)", "s", [(1, "assignment"), (4, "assignment")]),
        ("s = f()\nfor i in r:\n    use(s)\n    t = g(s)", "s", [(1, "assignment")]),
        ("s = f()\nwhile True:\n    s = g(s)\n    if a:\n        break\nuse(s)", "s", [(3, "assignment")]),
        ("s = f()\nfor i in r:\n    if a:\n        continue\n    s = g(s)\n    break\nuse(s)", "s", [(1, "assignment"), (5, "assignment")]),
        # paths: what they go through counts, the last one wins
        ("s = f()\nuse(s)", "s['w']", [(1, "assignment")]),
        ("s = f()\ns['w'] = g()\nuse(s)", "s['w']", [(2, "assignment")]),
        ("s = f()\ns['w'] = g()\ns = h()\nuse(s)", "s['w']", [(3, "assignment")]),
        ("s = f()\ns['b'] = g()\nuse(s)", "s['w']", [(1, "assignment")]),
        # containers that began empty
        ("h = []\nfor i in r:\n    h.append(s)\nuse(h)", "h[0]", [(3, "fill")]),
        ("h = {}\nh[i] = s\nuse(h)", "h['a']", [(2, "fill")]),
        ("h = dict()\nuse(h)", "h['a']", []),
        # other scopes
        ("old = f()\ndef g():\n    use(old)", "old", [(1, "assignment")]),
        ("def g():\n    old = f()\n    def h():\n        use(old)", "old", [(2, "assignment")]),
        ("old = None\ndef g():\n    global old\n    old = f()\ndef h():\n    use(old)", "old", [(4, "assignment")]),
        ("class A:\n    old = g()\n    def h(self):\n        use(old)", "old", []),
        # attributes set by another method
        (
            "class A:\n    def __init__(self):\n        self.s = f()\n        self.old = self.s\n"
            "    def h(self):\n        use(self.old)",
            "self.old.w",
            [(4, "assignment")],
        ),
        (
            "class A:\n    def a(self):\n        self.h = []\n    def b(self):\n"
            "        self.h.append(self.s)\n    def c(self):\n        use(self.h)",
            "self.h[0]",
            [(5, "fill")],
        ),
    ],
)  # fmt: skip
def test_every_binding_that_can_be_the_last_is_found_and_no_other(text, path, found):
    assert places(text, path) == found


def test_prefixes_of_a_path():
    assert prefixes("a.b['x.y'][0]") == ("a.b['x.y'][0]", "a.b['x.y']", "a.b", "a")


def test_names_of_an_outer_scope_are_read_where_the_outer_function_stands():
    source = parsed("old = f()\ndef g():\n    use(old)\ng()\nold = h()\ng()")
    first, second = source.module.body[2], source.module.body[4]
    for running, lines in [([first], [1]), ([second], [5]), ([], [1, 5])]:
        found = bindings(source, use(source), "old", running)
        assert [each.location.line for each in found] == lines


def test_names_of_a_cell_come_from_the_other_cells():
    made = {
        "<ipython-input-1-a>": "x = f()\ny = None\nz = g()\n",
        "<ipython-input-2-b>": "def h(old):\n    y = 1\ny = x\nz = 3\n",
        "<ipython-input-3-c>": "use(y, z)\n",
        "no_cell.py": "y = no()\n",
    }
    for name, text in made.items():
        linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    cell = source_of("<ipython-input-3-c>")
    assert cell is not None
    [found] = bindings(cell, use(cell), "y['w']")
    assert (found.location.file, found.location.line) == ("<ipython-input-2-b>", 3)
    [found] = bindings(cell, use(cell), "z")
    assert (found.location.file, found.location.line) == ("<ipython-input-1-a>", 3)


class Slots:
    __slots__ = ("w",)


class Boobytrapped:
    def __init__(self):
        self.plain = 1

    @property
    def w(self):
        raise AssertionError("a property ran")

    def __getattr__(self, name):
        raise AssertionError("__getattr__ ran")

    def __getitem__(self, key):
        raise AssertionError("__getitem__ ran")

    def __bool__(self):
        raise AssertionError("__bool__ ran")


class Missing(dict):
    def __missing__(self, key):
        raise AssertionError("__missing__ ran")


class Subclassed(list):
    def __getitem__(self, key):
        raise AssertionError("__getitem__ ran")


def value(text: str, **names):
    return evaluate(ast.parse(text, mode="eval").body, names)


def test_plain_data_is_followed():
    slots = Slots()
    slots.w = 3
    point = collections.namedtuple("P", "x y")(1, 2)
    data = dataclasses.make_dataclass("D", ["w"])(4)
    assert value("a", a=1) == 1
    assert value("s.w", s=slots) == 3
    assert value("p.y", p=point) == 2
    assert value("d.w", d=data) == 4
    assert value("m.path.sep", m=__import__("os")) == __import__("os").sep
    assert value("c['k'][-1][i]", c={"k": [0, (5, 6)]}, i=1) == 6
    assert value("(y := f())", y=7) == 7
    assert value("c[0, 'a']", c={(0, "a"): 1}) is MISSING  # a display is no plain key


def test_nothing_of_the_users_runs():
    trap = Boobytrapped()
    assert value("t.plain", t=trap) == 1
    for text in ("t.w", "t.other", "t[0]", "t.plain.real", "f()", "t + 1", "missing"):
        assert value(text, t=trap) is MISSING
    assert value("m['k']", m=Missing()) is MISSING
    assert value("m[0]", m=Subclassed([1])) is MISSING
    assert value("m[t]", m={1: 2}, t=trap) is MISSING
    assert value("e.w", e=Slots()) is MISSING


def last(trace: TracebackType | None) -> TracebackType:
    assert trace is not None
    while trace.tb_next is not None:
        trace = trace.tb_next
    return trace


def failing(text: str, name: str = "<cell 1>") -> TracebackType:
    """The innermost traceback of a program that is compiled as a notebook cell is."""
    text = textwrap.dedent(text)
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    with pytest.raises(ZeroDivisionError) as caught:
        exec(compile(text, name, "exec"), {})
    return last(caught.value.__traceback__)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("x = 1\ny = (3 +\n     x / 0)\n", "x / 0"),
        ("def f(a):\n    return 1 / a\nf(0)\n", "1 / a"),
        ("class A:\n    def b(self, c):\n        return 1 // c\nx = [A().b(\n    0) for _ in '1']", "1 // c"),
        ("é = 'ü' * (1 // 0)\n", "1 // 0"),
        ("for i in range(1 // 0):\n    pass\n", "1 // 0"),
    ],
)  # fmt: skip
def test_the_node_at_an_instruction_of_a_notebook_cell(text, found):
    trace = failing(text)
    place = node_at(trace.tb_frame.f_code, trace.tb_lasti)
    assert place is not None
    assert ast.unparse(place[1]) == found


def test_no_source_no_node():
    with pytest.raises(ZeroDivisionError) as caught:
        exec(compile("1 / 0", "<nowhere>", "exec"), {})
    trace = last(caught.value.__traceback__)
    assert node_at(trace.tb_frame.f_code, trace.tb_lasti) is None
    assert source_of("no_such_file.py") is None
    assert source_of("bad\0name") is None
    linecache.cache["<broken>"] = (3, None, ["a ="], "<broken>")
    assert source_of("<broken>") is None


def test_a_changed_cell_is_parsed_again():
    for text in ("a = 1\n", "b = 2\n"):
        linecache.cache["<cell 2>"] = (len(text), None, [text], "<cell 2>")
        made = source_of("<cell 2>")
        assert made is not None
        assert ast.unparse(made.module) + "\n" == text
        assert source_of("<cell 2>") is made


def test_reading_variables_keeps_nothing_alive():
    import weakref

    class Thing:
        pass

    def function():
        thing = Thing()
        ref = weakref.ref(thing)
        names = variables(sys._getframe())
        assert names["thing"] is thing
        assert names["len"] is len
        del names, thing
        return ref()

    assert function() is None
