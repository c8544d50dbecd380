"""What records show of themselves, without a kernel, and the magic in a shell of this process."""

from __future__ import annotations

import copy
import gc
import io
import pickle
import re
import subprocess
import sys
import weakref
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import donatree
import sample_accounts
from donatree import reports
from donatree.advice import Advice, AdviceList
from donatree.holders import Holder, Holders
from donatree.holders.twins import Twins, TwinsList
from donatree.ledger import Account, Ledger
from donatree.reports import notebook
from programs import environment

ACCOUNTS = sample_accounts.everything()
HOSTILE = "s['</td><script>alert(1)</script>\x1b[31m']"

HOLDERS = Holders(
    HOSTILE,
    [Holder(HOSTILE, "view", f"local `{HOSTILE}` of `f`", bytes=64, what="numpy array <x>")],
)
TWINS = TwinsList([Twins((HOSTILE, "s.b"), "float32[<4>]", 64, (True, True))])
ADVICE = AdviceList(
    f"<{HOSTILE}>",
    [Advice(HOSTILE, "donate", 64, 64, True, "", (f"`{HOSTILE}` <b>", "why"), help="do <it>")],
    keyword="donate_argnums=<0>",
    notes=("a <note>",),
)
LISTS = {"holders": HOLDERS, "twins": TWINS, "advice": ADVICE}
NOTHING = {
    "nothing else holds `tree`": Holders(),
    "no two leaves are one buffer": TwinsList(),
    "nothing to change": AdviceList("step"),
}

FINDINGS = [each for account in ACCOUNTS.values() for each in account.all_findings()]
LEDGERS = [each for account in ACCOUNTS.values() for each in account.ledgers]


class Tags(HTMLParser):
    """The tags of a piece; fails where they are not closed in their order."""

    EMPTY = frozenset({"br", "rect", "polygon"})

    def __init__(self, piece: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.text = ""
        self.feed(piece)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        assert not [name for name, _ in attrs if name.startswith("on")]
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] != ["style"]:
            self.text += data


def tags(piece: str) -> Tags:
    """A piece that is one element and needs neither a script nor a network."""
    found = Tags(piece)
    assert piece.startswith('<div class="donatree">')
    assert {"script", "link", "img", "iframe"}.isdisjoint(found.seen)
    assert "://" not in piece
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f]", piece)
    return found


# Records of the ledger.


@pytest.mark.parametrize("account", ACCOUNTS.values(), ids=list(ACCOUNTS))
def test_an_account_is_its_report(account: Account) -> None:
    report = reports.render(account, "plain").rstrip("\n")
    assert str(account) == report
    bundle = account._repr_mimebundle_()
    assert bundle == {"text/plain": report, "text/html": account._repr_html_()}
    assert len(tags(bundle["text/html"]).text) > 20


def test_a_ledger_is_its_part_of_the_report() -> None:
    assert len(LEDGERS) > 15
    for ledger in LEDGERS:
        whole = str(Account(ledgers=(ledger,)))
        assert whole == f"donatree\n\n{ledger}"
        assert tags(ledger._repr_html_()).text.count(ledger.summary) == 1


def test_a_finding_is_drawn_by_itself() -> None:
    assert len(FINDINGS) > 8
    for finding in FINDINGS:
        assert str(finding).startswith(f"{finding.level}[{finding.code}]: ")
        text = tags(finding._repr_html_()).text
        assert finding.code in text
        assert finding.help is None or finding.help.replace("`", "") in text


def test_the_repr_stays_pythons_own() -> None:
    account = sample_accounts.lesson()
    assert repr(account).startswith("Account(ledgers=(Ledger(function='drifted', ")
    assert repr(account.ledgers[0].findings[0]).startswith("Finding(code='DT402', headline=")
    assert repr(HOLDERS) == repr(list(HOLDERS))


def test_a_watch_shows_what_it_learnt_so_far() -> None:
    with donatree.watch() as watched:
        assert "no function" in str(watched) or "JAX was not used" in str(watched)
        jax.jit(lambda x: x + 1, donate_argnums=0)(jnp.ones(4))
        assert "16 of 16 bytes, 1 of 1 leaves" in str(watched)
    assert str(watched) == str(watched.account)
    assert watched._repr_html_() == watched.account._repr_html_()
    assert repr(watched).startswith("<donatree.watch.Watched object")


def test_only_what_is_asked_for_is_made() -> None:
    finding = sample_accounts.DRIFT
    assert list(finding._repr_mimebundle_(include={"text/plain"})) == ["text/plain"]
    assert list(finding._repr_mimebundle_(exclude={"text/plain"})) == ["text/html"]
    assert finding._repr_mimebundle_(include={"image/png"}) == {}


def test_what_is_no_record_is_not_shown() -> None:
    for show in (notebook.text, notebook.html):
        with pytest.raises(TypeError, match="cannot show dict"):
            show({"kind": "riddle"})


def test_printing_never_fails_for_what_standard_output_cannot_take(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii"))
    print(ACCOUNTS["hostile"])
    print(ACCOUNTS["hostile"].ledgers[0])
    sys.stdout.flush()
    assert rb"['\u6f22\u5b57']" in written.getvalue()
    assert b"ok ->" in written.getvalue(), "marks of ASCII"


def test_a_record_can_be_made_without_its_report() -> None:
    code = (
        "import sys, donatree; finding = donatree.Finding('DT402', 'x'); repr(finding)\n"
        "heavy = ('rich', 'jinja2', 'jax', 'numpy', 'IPython', 'donatree.magic')\n"
        "print([name for name in heavy if name in sys.modules])\n"
        "print(finding)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment(), check=True
    )
    assert ran.stdout == "[]\nerror[DT402]: x\n"


# Lists.


@pytest.mark.parametrize("made", LISTS.values(), ids=list(LISTS))
def test_the_lists_are_shown_and_names_are_escaped(made: Any) -> None:
    bundle = made._repr_mimebundle_()
    assert bundle["text/plain"] == str(made)
    text = tags(bundle["text/html"]).text
    assert "alert(1)" in text
    assert r"\x1b[31m" in text, "seen, not acted on"
    assert made._repr_html_() == bundle["text/html"]


@pytest.mark.parametrize("made", LISTS.values(), ids=list(LISTS))
def test_one_of_a_list_is_shown_as_a_list_of_one(made: Any) -> None:
    bundle = made[0]._repr_mimebundle_()
    text = tags(bundle["text/html"]).text
    assert "alert(1)" in text
    assert bundle["text/plain"].splitlines()[1:]
    assert "\n" not in str(made[0]), "printed, it stays one line"


@pytest.mark.parametrize("said", NOTHING)
def test_a_list_without_anything_says_so(said: str) -> None:
    made = NOTHING[said]
    assert said in str(made)
    assert said.replace("`", "") in tags(made._repr_html_()).text


def test_the_text_of_the_lists() -> None:
    state = {"w": jnp.ones((4, 4)), "b": jnp.ones(4)}
    best = [state["w"]]
    found = donatree.holders(state)
    lines = str(found).splitlines()
    assert lines[:2] == [
        "1 other holder of `state`",
        "  state['w']  64 bytes, the array itself",
    ]
    held = " ".join(each.strip() for each in lines[2:-1])
    assert re.fullmatch(r"local `best` of `test_the_text_of_the_lists` \(\S+\) -> \[0\]", held)
    assert re.fullmatch(r"    read again at \S+:\d+", lines[-1])
    assert str(donatree.twins({"a": best[0], "b": [best[0]]})).splitlines() == [
        "1 buffer is shared by several leaves: to donate them is an error",
        "  float32[4,4], 64 bytes, one array",
        "    tree['a']",
        "    tree['b'][0]",
    ]


def test_they_stay_lists_in_every_way() -> None:
    for made, plain in ((HOLDERS, list(HOLDERS)), (TWINS, list(TWINS))):
        assert isinstance(made, list)
        assert made == plain
        assert made[:1] == plain
        assert [*made, *made] == made + made == made * 2
        assert sorted(made, key=str) == plain
        assert not type(made)()
        for again in (copy.copy(made), copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
            assert again == made
            assert type(again) is type(made)
    assert copy.copy(HOLDERS).of == HOSTILE
    assert isinstance(donatree.holders({"a": jnp.ones(3)}), Holders)
    assert isinstance(donatree.twins({"a": jnp.ones(3)}), TwinsList)


def test_showing_keeps_no_array_alive() -> None:
    state = {"w": jnp.ones((4, 4))}
    best = [state["w"]]
    step = jax.jit(lambda state: {"w": state["w"] * 2})
    made: list[Any] = [donatree.holders(state), donatree.twins([best[0], best[0]])]
    made += [donatree.advise(step, state), donatree.audit(step, state)]
    with donatree.watch() as watched:
        jax.jit(lambda state: {"w": state["w"] * 3}, donate_argnums=0)({"w": state["w"] + 1})
    made.append(watched)
    assert all(each._repr_mimebundle_()["text/html"] for each in made)
    alive = weakref.ref(best[0])
    del state, best
    gc.collect()
    assert alive() is None
    assert len(made) == 5


# The magic.


class Shell:
    """A shell of IPython in this process, with what its cells show."""

    def __init__(self, shell: Any) -> None:
        self.it = shell

    def run(self, *cells: str) -> tuple[Any, list[dict[str, str]], str]:
        """The result of the last cell, all that was displayed, all that was printed."""
        from IPython.utils.capture import capture_output

        result = None
        with capture_output() as captured:
            for cell in cells:
                result = self.it.run_cell(cell, store_history=True)
        return result, [each.data for each in captured.outputs], captured.stdout + captured.stderr


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    pytest.importorskip("IPython")
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("IPYTHONDIR", str(tmp_path_factory.mktemp("ipython")))
        options = {"InteractiveShell": {"colors": "nocolor"}, "HistoryManager": {"enabled": False}}
        config = Config(options)
        hook, modules = sys.excepthook, sys.modules["__main__"]
        made = InteractiveShell.instance(config=config)
        try:
            made.run_cell("import gc, weakref, jax, jax.numpy as jnp, donatree\n%load_ext donatree")
            yield Shell(made)
        finally:
            made.restore_sys_module_state()
            InteractiveShell.clear_instance()
            sys.excepthook, sys.modules["__main__"] = hook, modules


STEP = "step = jax.jit(lambda s: {**s, 'n': s['n'] * 1.5}, donate_argnums=0)\n"
CALL = "made = step({'w': jnp.ones(4), 'n': jnp.int8(1)})\n"


def test_options_choose_what_is_looked_at(shell: Shell) -> None:
    honoured = {}
    for options in ("--check compile", "--check=calls", "--calls 5 --check names", ""):
        result, _, _ = shell.run(f"%%donatree {options} learnt\n{STEP}{CALL}")
        assert result.success
        (ledger,) = shell.it.user_ns["learnt"].ledgers
        honoured[options] = "honoured" in {gate.value for gate in ledger.checked}
    assert list(honoured.values()) == [False, True, True, True]


def test_expanded_every_leaf_is_shown(shell: Shell) -> None:
    many = "f = jax.jit(lambda t: [x + 1 for x in t], donate_argnums=0)\n"
    call = "_ = f([jnp.ones(2) for _ in range(60)]);\n"
    for options, seen in (("--expand", True), ("", False)):
        _, (bundle,), _ = shell.run(f"%%donatree {options}\n{many}{call}")
        assert ("-> result[17]" in bundle["text/plain"]) is seen
        assert ("result[17]" in tags(bundle["text/html"]).text) is seen


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("%%donatree --check all", "argument --check: invalid choice: 'all'"),
        ("%%donatree --calls many", "argument --calls: invalid int value: 'many'"),
        ("%%donatree --calls 1", "--calls must be 2 or more, not 1"),
        ("%%donatree --loud", "unrecognized arguments: --loud"),
        ("%%donatree one two", "unrecognized arguments: two"),
        ("%%donatree not-a-name", "`not-a-name` is no name for a variable"),
        ("%%donatree class", "`class` is no name for a variable"),
        ("%%donatree --target", "argument --target: expected"),
        ("%%donatree --target abacus", "no target is called `abacus`"),
        ("%%donatree 'open", "No closing quotation"),
    ],
)
def test_a_bad_option_is_one_line_and_nothing_runs(shell: Shell, line: str, said: str) -> None:
    result, shown, printed = shell.run(f"{line}\nran = True\n")
    assert not result.success
    assert printed.startswith("UsageError: donatree: ")
    assert said in printed
    assert len(printed.splitlines()) == 1
    assert shown == []
    assert "ran" not in shell.it.user_ns


@pytest.mark.parametrize(
    "line", ["step", "", "1 + 1", "if", "step(1); step(2)", "--target abacus step(1)", "len([1])"]
)
def test_a_line_that_is_no_call_of_a_jitted_function_is_one_line(shell: Shell, line: str) -> None:
    result, _, printed = shell.run(STEP, f"%donatree {line}")
    assert not result.success
    assert printed.startswith("UsageError: donatree: ")
    assert len(printed.splitlines()) == 1


@pytest.mark.parametrize(
    "call",
    [
        "step({'w': jnp.ones(4), 'n': jnp.int8(1)})",
        "made = step(s={'w': jnp.ones(4), 'n': jnp.int8(1)})",
        "made, other = step(*[{'w': jnp.ones(4), 'n': audit(1)} for audit in [jnp.int8]])",
        "--target host {'f': step}['f'](**{'s': {'w': jnp.ones(4), 'n': jnp.int8(1)}})",
    ],
)
def test_the_line_magic_takes_the_call_as_it_stands(shell: Shell, call: str) -> None:
    shell.it.user_ns.pop("made", None)
    result, _, _ = shell.run(STEP, f"ledger = %donatree {call}")
    assert result.success
    ledger = shell.it.user_ns["ledger"]
    assert isinstance(ledger, Ledger)
    assert (ledger.promised, len(ledger.entries)) == (17, 2)
    assert "made" not in shell.it.user_ns, "nothing is run and nothing is bound"


def test_an_error_is_told_once_and_the_next_one_as_well(shell: Shell) -> None:
    result, shown, printed = shell.run(f"%%donatree\n{STEP}{CALL}1 / 0\n")
    assert isinstance(result.error_in_exec, ZeroDivisionError)
    assert printed.count("ZeroDivisionError: division by zero") == 1
    assert "run_cell_magic" not in printed
    assert len(shown) == 1
    assert "showtraceback" not in vars(shell.it)
    result, _, printed = shell.run("{}['missing']")
    assert printed.count("KeyError: 'missing'") == 1


def test_an_error_that_the_caller_of_the_magic_catches_silences_no_other(shell: Shell) -> None:
    caught = (
        "try:\n    get_ipython().run_cell_magic('donatree', '', '1 / 0')\n"
        "except ZeroDivisionError:\n    pass\n{}['missing']\n"
    )
    result, _, printed = shell.run(caught)
    assert isinstance(result.error_in_exec, KeyError)
    assert printed.count("KeyError: 'missing'") == 1


def test_other_magics_work_in_the_cell_and_around_it(shell: Shell) -> None:
    _, shown, printed = shell.run(f"%%donatree\n%%time\n{STEP}{CALL}")
    assert "Wall time" in printed
    assert "17 bytes" in shown[-1]["text/plain"]
    _, shown, printed = shell.run(f"%%capture kept\n%%donatree\n{STEP}{CALL}print('inside')")
    assert (shown, printed) == ([], "")
    kept = shell.it.user_ns["kept"]
    assert kept.stdout == "inside\n"
    assert "17 bytes" in kept.outputs[0].data["text/plain"]


def test_the_magic_keeps_no_array_alive_and_leaves_the_shell_as_it_was(shell: Shell) -> None:
    before = vars(shell.it.compile).keys(), shell.it.custom_exceptions
    shell.run(f"%%donatree learnt\n{STEP}{CALL}alive = weakref.ref(made['w'])\n")
    shell.run("del made\n_ = gc.collect()\ngone = alive() is None\n")
    assert shell.it.user_ns["gone"]
    assert "17 bytes" in str(shell.it.user_ns["learnt"])
    assert (vars(shell.it.compile).keys(), shell.it.custom_exceptions) == before


def test_what_is_inside_another_object_is_shown_by_its_repr(shell: Shell) -> None:
    _, (bundle,), _ = shell.run(
        "from IPython.display import display\n"
        "display((donatree.holders({'q': jnp.ones(3)}), donatree.Finding('DT402', 'x')))"
    )
    assert bundle["text/plain"].startswith("([],")
    assert "Finding(code='DT402', headline='x'" in bundle["text/plain"]
