"""The pytest plugin: what a user reads of tests that are marked, that assert, that are watched."""

from __future__ import annotations

import gc
import importlib
import json
import linecache
import pkgutil
import re
import sys
import textwrap
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest

import donatree
import pages
from donatree import pytest_plugin
from donatree._jax import frames
from donatree.ledger import Account, ArraySpec, Entry, Finding, Gate, Leaf, Ledger
from donatree.reports import json as json_report
from donatree.testing import demand, table
from donatree.testing.part import Part, Test, merged
from programs import python, write

pytest_plugins = ("pytester",)

TRAIN = """
    import jax, jax.numpy as jnp

    def make(n=4):
        return {"w": jnp.ones((n, 4)), "b": jnp.ones(3)}

    @jax.jit
    def plain(x):
        return x + 1

    def lossy_step(state):
        return {"w": (state["w"] * 2.0).astype(jnp.bfloat16), "b": state["b"] + 1}

    def good_step(state):
        return {"w": state["w"] * 2.0, "b": state["b"] + 1}

    lossy = jax.jit(lossy_step, donate_argnums=0)
    good = jax.jit(good_step, donate_argnums=0)
"""
HEAD = "import jax, pytest, unittest\nimport jax.numpy as jnp\nfrom train import *\n"
BELOW = "`lossy_step` (*train.py:11) keeps 12 of 76 bytes, 1 of 2 leaves; all were to be kept"
CAUSE = (
    "error[DT402]: `state['w']` is donated as float32 and returned as bfloat16: 64 bytes not reused"
)
WHY = [
    CAUSE,
    "*--> *train.py:12",
    "*= leaf: state['w'], 64 bytes",
    "*= help: return it as float32*",
]
PLUGIN = ("-p", "donatree.pytest_plugin", "-p", "no:cacheprovider")
NEXT = "next: donatree explain DT402"
SINCE_08 = tuple(map(int, jax.__version__.split(".")[:2])) >= (0, 8)

pytestmark = pytest.mark.skipif(not SINCE_08, reason="the drift is silent since JAX 0.8")


@pytest.fixture(scope="module", autouse=True)
def _all_is_imported() -> Iterator[None]:
    """What a run in this process imports it takes away again, and two hooks modules are one too
    many."""
    for each in pkgutil.walk_packages(donatree.__path__, "donatree."):
        if not each.name.endswith("__main__"):
            importlib.import_module(each.name)
    with donatree.watch() as watched:
        jax.jit(lambda x: x.astype(jnp.bfloat16), donate_argnums=0)(jnp.ones(4))
    assert watched.ledgers[0].lost
    list(table.lines(Part(watched.account, (Test(0, "warm"),))))
    gc.collect()
    gc.freeze()  # looking for who holds a leaf is quick where there is little to look through
    yield
    gc.unfreeze()


@pytest.fixture(autouse=True)
def _no_module_of_another_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """`train` is the one that a test here writes, also where another test has read one."""
    monkeypatch.delitem(sys.modules, "train", raising=False)


def run(pytester: pytest.Pytester, text: str, *options: str) -> pytest.RunResult:
    """Runs a file of tests beside `TRAIN`."""
    write(pytester.path, TRAIN)
    (pytester.path / "test_it.py").write_text(HEAD + textwrap.dedent(text))
    return run_all(pytester, *options)


def run_all(pytester: pytest.Pytester, *options: str) -> pytest.RunResult:
    """Runs pytest in this process, with the plugin and without the other ones."""
    linecache.clearcache()  # each run has its own `train.py`
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frames, "_START_FOLDER", str(pytester.path))  # as in a process of its own
        patch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        options = ("-p", "no:cacheprovider", "--strict-markers", *options)
        return pytester.runpytest_inprocess(*options, syspathinsert=True, plugins=[pytest_plugin])


def failure(result: pytest.RunResult, test: str) -> str:
    """What is told of one failed test."""
    text = result.stdout.str()
    _, _, rest = text.partition(f"_ {test} _")
    assert rest, f"`{test}` did not fail:\n{text}"
    return rest.partition("\n")[2].partition("\n____")[0].partition("\n====")[0]


def assert_shows(text: str, *wanted: str) -> None:
    """Lines that stand in a text in this order; `*` is anything, and brackets are brackets."""
    lines = iter(text.splitlines())
    for each in wanted:
        pattern = ".*".join(map(re.escape, each.split("*")))
        assert any(re.fullmatch(pattern, line) for line in lines), f"no `{each}` in:\n{text}"


# The marker.


def test_a_marked_test_fails_with_leaves_causes_and_the_fix(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
        @pytest.mark.donated
        def test_good(): good(make())

        @pytest.mark.donated
        def test_compiled_before(): good(make())

        @pytest.mark.donated
        def test_lossy(): lossy(make())

        @pytest.mark.donated
        def test_lossy_compiled_before(): lossy(make())

        @pytest.mark.donated(min=0.1)
        def test_enough(): lossy(make())

        @pytest.mark.donated(min=0.5)
        def test_too_little(): good(make()), lossy(make())

        @pytest.mark.donated(function="good_step")
        def test_other_function(): good(make()), lossy(make())

        @pytest.mark.donated(ignore="DT402")
        def test_ignored(): lossy(make())

        @pytest.mark.donated(ignore=[{"code": "DT402", "path": "state['b']"}])
        def test_ignored_elsewhere(): lossy(make())

        def test_unmarked(): lossy(make())
        """,
    )
    result.assert_outcomes(passed=6, failed=4, warnings=1)
    for test in ("test_lossy", "test_lossy_compiled_before", "test_ignored_elsewhere"):
        assert_shows(failure(result, test), BELOW, *WHY, NEXT)
        assert "donatree/testing" not in failure(result, test)
    text = failure(result, "test_too_little")
    assert "1 of 2 leaves; at least 50 % of the bytes were to be kept" in text
    assert "good_step" not in text
    assert_shows(result.stdout.str(), "FAILED *test_lossy - Failed: `lossy_step` (*")
    assert_shows(result.stdout.str(), "*an ignore that matches nothing: *donated: `DT402` for *")


def test_nothing_to_judge_is_said_and_fails(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
        @pytest.mark.donated
        def test_without_a_jit(): pass

        @pytest.mark.donated
        def test_without_donation(): plain(1.0)

        @pytest.mark.donated
        def test_disabled():
            with jax.disable_jit():
                jax.jit(good_step, donate_argnums=0)(make())

        @pytest.mark.donated(function=["good_step", "god_step"])
        def test_misspelt(): good(make())

        compiled = jax.jit(good_step, donate_argnums=0).lower(make()).compile()

        @pytest.mark.donated
        def test_ahead_of_time(): compiled(make())

        @pytest.mark.donated
        def test_around():
            outer = jax.jit(lambda state: jax.jit(good_step, donate_argnums=0)(state))
            outer(make())

        @pytest.mark.donated(min=0)
        def test_nothing_is_allowed(): plain(1.0)
        """,
    )
    result.assert_outcomes(passed=1, failed=6)
    nothing = "nothing was donated in this test, so there is nothing to judge"
    for test in ("test_without_a_jit", "test_without_donation", "test_disabled"):
        assert nothing in failure(result, test)
    text = failure(result, "test_without_donation")
    assert_shows(text, "*note: met and donating nothing: `plain` (*train.py:7)")
    assert "help: give `jax.jit` the argument that is replaced" in text
    assert "warning[DT102]: nothing was donated to `good_step`" in failure(result, "test_disabled")
    assert failure(result, "test_misspelt").splitlines()[0] == (
        "no function `god_step` donated anything in this test; seen were `good_step`"
    )
    text = " ".join(failure(result, "test_ahead_of_time").split())
    assert nothing in text
    assert "compile it inside the test, or call `jax.clear_caches()` first" in text
    assert "error[DT103]" in failure(result, "test_around")


def test_a_limit_hides_no_failure_of_the_test_itself(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
        @pytest.fixture
        def breaks():
            yield
            raise RuntimeError("teardown broke")

        @pytest.mark.donated
        def test_own_failure():
            lossy(make())
            assert 1 == 2

        @pytest.mark.donated
        def test_fails_first():
            raise ValueError("first")

        @pytest.mark.donated
        def test_both(breaks): lossy(make())

        @pytest.mark.donated
        def test_skips(): pytest.skip("not here")

        @pytest.mark.donated
        def test_expects(): pytest.xfail("known")

        @pytest.mark.donated
        @pytest.mark.xfail(strict=True)
        def test_is_expected(): lossy(make())

        @pytest.mark.donated
        class TestCase(unittest.TestCase):
            def test_case_skips(self): self.skipTest("not here")

            def test_case_fails(self):
                lossy(make())
                self.assertEqual(1, 2)

            def test_case_lossy(self): lossy(make())

        @pytest.mark.donated
        def test_deleted():
            state = make()
            good(state)
            state["w"].sum()
        """,
    )
    result.assert_outcomes(failed=6, errors=1, skipped=2, xfailed=2)
    assert result.ret == 1
    for test in ("test_own_failure", "TestCase.test_case_fails"):
        text = failure(result, test)
        own, _, verdict = text.partition("- donation -")
        assert "1 == 2" in own or "1 != 2" in own
        assert "keeps" not in own
        assert_shows(verdict, BELOW, *WHY)
    assert "nothing was donated" not in failure(result, "test_fails_first")
    assert_shows(failure(result, "test_both"), BELOW)
    assert_shows(failure(result, "TestCase.test_case_lossy"), BELOW)
    assert "teardown broke" in failure(result, "ERROR at teardown of test_both")
    text = failure(result, "test_deleted")
    assert "error[DT704]: `state['w']` is used after it was donated to `good_step`" in text
    assert_shows(result.stdout.str(), "FAILED *test_own_failure - assert 1 == 2")


def test_the_nearest_marker_counts_and_a_wrong_one_is_said(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
        pytestmark = pytest.mark.donated

        def test_of_the_module(): lossy(make())

        @pytest.mark.donated(min=0.1)
        class TestClass:
            def test_of_the_class(self): lossy(make())

            @pytest.mark.donated(min=1)
            @pytest.mark.parametrize("n", [4, 5])
            def test_nearest(self, n): lossy(make(n)) if n == 5 else good(make(n))

        @pytest.mark.donated(mni=1)
        def test_misspelt(): good(make())

        @pytest.mark.donated(min=99)
        def test_percentage(): good(make())

        @pytest.mark.donated(0.5)
        def test_positional(): good(make())

        @pytest.mark.donated(ignore="DT999")
        def test_no_code(): good(make())
        """,
    )
    result.assert_outcomes(passed=2, failed=6)
    assert "12 of 76" in failure(result, "test_of_the_module")
    assert "12 of 92" in failure(result, "TestClass.test_nearest[5]")
    said = [
        ("test_misspelt", "`@pytest.mark.donated` has no `mni`; it has min, function, ignore"),
        (
            "test_percentage",
            "`@pytest.mark.donated(min=...)` takes a fraction from 0 to 1, not a percentage: "
            "0.99 and not 99",
        ),
        ("test_positional", "`@pytest.mark.donated` takes keywords alone: `min=0.99`"),
        ("test_no_code", "`@pytest.mark.donated(ignore=...)`: there is no code `DT999`"),
    ]
    for test, text in said:
        assert failure(result, test).strip() == text


def test_the_projects_own_ignores_count(pytester: pytest.Pytester) -> None:
    pytester.makepyprojecttoml(
        '[tool.donatree]\nignore = [{ code = "DT402", path = "state[\'w\']", reason = "known" }]\n'
    )
    result = run(
        pytester,
        """
        @pytest.mark.donated
        def test_ignored(donation):
            lossy(make())
            donation.assert_whole(lossy, make())
            donation.assert_whole()
        """,
        "--donation-fail-under=100",
    )
    result.assert_outcomes(passed=1)
    assert result.ret == 0
    assert_shows(
        result.stdout.str(), "12 of 76 bytes*", "1 finding ignored", "*100 is reached: 100 %*"
    )


def test_what_is_wrong_in_pyproject_is_said(pytester: pytest.Pytester) -> None:
    pytester.makepyprojecttoml('[tool.donatree]\nignore = ["DT999"]\n')
    text = "@pytest.mark.donated\ndef test_it(): good(make())\n"
    result = run(pytester, text)
    result.assert_outcomes(failed=1)
    assert "there is no code `DT999`" in failure(result, "test_it")
    result = run(pytester, text, "--donation")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert_shows(result.stderr.str(), "ERROR: *there is no code `DT999`")


# The fixture.


def test_the_fixture_audits_watches_and_asserts(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
        def test_good(donation):
            ledger = donation.audit(good, make())
            assert ledger.summary == "76 of 76 bytes, 2 of 2 leaves"
            donation.assert_whole(ledger)
            donation.assert_whole(good, state=make())
            with donation.watch() as watched:
                good(make())
            donation.assert_whole(watched)
            donation.assert_whole(watched.account)
            donation.assert_whole()
            donation.assert_at_least(0.1, lossy, make())
            donation.assert_at_least(0, plain, 1.0)

        def test_lossy(donation):
            donation.assert_whole(lossy, make())

        def test_remembered(donation):
            with donation.watch():
                good(make()), lossy(make())
            donation.assert_at_least(0.99)

        def test_plain(donation): donation.assert_whole(plain, 1.0)

        def test_of_nothing(donation): donation.assert_at_least(0.99)

        def test_watched_nothing(donation):
            with donation.watch():
                plain(1.0)
            donation.assert_whole()

        def test_percentage(donation): donation.assert_at_least(99, good, make())

        def test_not_jitted(donation): donation.assert_whole(good_step, make())

        def test_raises(donation):
            with pytest.raises(AssertionError, match="keeps 12 of 76"):
                donation.assert_whole(lossy, make())
            with pytest.raises(ValueError, match="takes a fraction"):
                donation.assert_at_least("all")

        def test_forgotten(donation):
            assert donation.account.ledgers == ()
        """,
    )
    result.assert_outcomes(passed=3, failed=7)
    text = failure(result, "test_lossy")
    below = BELOW.replace("all were", "*").replace(" to be kept", "")
    assert_shows(text, f"E *{below}*", *(f"E *{each}" for each in WHY), f"E *{NEXT}")
    text = failure(result, "test_remembered")
    assert "at least 99 % of the bytes were to be kept" in text
    assert "good_step" not in text
    said = [
        ("test_plain", "donates nothing, so there is nothing to judge"),
        ("test_of_nothing", "nothing was audited or watched in this test"),
        ("test_watched_nothing", "nothing was donated in what was audited and watched in this"),
        ("test_percentage", "not a percentage: 0.99 and not 99"),
        ("test_not_jitted", "`good_step` is not jitted"),
    ]
    for test, words in said:
        assert words in failure(result, test), failure(result, test)
    shown = result.stdout.str()
    assert "donatree/testing" not in shown
    assert "donatree/audit" not in shown
    assert "of_ledger" not in shown


def test_the_fixture_explains_itself(pytester: pytest.Pytester) -> None:
    result = run(pytester, "", "--fixtures")
    assert_shows(
        result.stdout.str(), "donation -- *", "    Audits, watches and asserts what became*"
    )
    result = run(pytester, "", "--markers")
    assert_shows(result.stdout.str(), "@pytest.mark.donated(min=1.0, function=None, ignore=()): *")


# The switch.

SUITE = """
    def test_good(): good(make())
    def test_lossy(): lossy(make())
    def test_again(): lossy(make()), good(make()), good(make(5))
"""


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (("--donation",), 0, None),
        (("--donation-fail-under", "50"), 0, "--donation-fail-under 50 is reached: 73.77 % *"),
        (("--donation-fail-under=90",), 1, "--donation-fail-under 90 is not reached: 73.77 % *"),
        (("-o", "donation=true"), 0, None),
        (("--donation", "--donation-check=compile", "-v"), 0, None),
    ],
    ids=str,
)
def test_the_switch_prints_a_table(
    options: tuple[str, ...], code: int, said: str | None, pytester: pytest.Pytester
) -> None:
    result = run(pytester, SUITE, *options, "--donation-report=out.json")
    result.assert_outcomes(passed=3)
    assert result.ret == code
    text = result.stdout.str().partition("= donation =")[2]
    assert_shows(
        text,
        "function *place *promised *kept *lost *codes *first test",
        "lossy_step *train.py:11 *76 bytes *12 bytes *64 bytes *DT402 *::test_lossy",
        "good_step (2 signatures) *train.py:14 *168 bytes *168 bytes *- *- *::test_good",
        "180 of 244 bytes, 5 of 6 leaves are reused (73.77 %)",
        *WHY,
        NEXT,
    )
    assert ("note: JAX gives no warning here" in text) == ("-v" in options)
    if said is not None:
        assert_shows(text, said)
    else:
        assert "fail-under" not in text
    account = json_report.loads((pytester.path / "out.json").read_text())
    assert account.program == "pytest"
    assert [(each.function, each.notes[-1]) for each in account.ledgers] == [
        ("good_step", "first met in test_it.py::test_good"),
        ("lossy_step", "first met in test_it.py::test_lossy"),
        ("good_step", "first met in test_it.py::test_again"),
    ]


@pytest.mark.parametrize(
    ("options", "code"),
    [(("--donation",), 0), (("--donation-fail-under=1",), 1), (("--donation-fail-under=0",), 0)],
)
def test_a_suite_that_donates_nothing_is_said_to(
    options: tuple[str, ...], code: int, pytester: pytest.Pytester
) -> None:
    result = run(pytester, "def test_plain(): plain(1.0)\n", *options)
    result.assert_outcomes(passed=1)
    assert result.ret == code
    assert_shows(result.stdout.str(), "nothing was donated: no function that donates was met in *")
    if code:
        assert_shows(result.stdout.str(), "*: nothing was donated, so there is nothing to judge")


def test_real_failures_and_usage_errors_keep_their_exit_codes(pytester: pytest.Pytester) -> None:
    failing = "def test_fails(): good(make()), 1 / 0\n"
    assert run(pytester, failing, "--donation-fail-under=10").ret == 1
    assert run(pytester, "", "--donation-fail-under=10").ret == pytest.ExitCode.NO_TESTS_COLLECTED
    for options, said in [
        (("--donation-fail-under=101",), "takes 0 to 100, not 101"),
        (("--donation-report=gone/out.json",), "there is no folder"),
    ]:
        result = run(pytester, failing, *options)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        assert said in result.stderr.str()
    collected = run(pytester, failing, "--donation-fail-under=100", "--collect-only")
    assert collected.ret == 0
    assert "= donation =" not in collected.stdout.str()


def test_without_the_switch_nothing_is_said(pytester: pytest.Pytester) -> None:
    result = run(pytester, SUITE)
    result.assert_outcomes(passed=3)
    assert "donat" not in result.stdout.str().replace(str(pytester.path), "")


# The page.


def test_the_page_shows_what_is_printed(pytester: pytest.Pytester) -> None:
    page = Path(__file__).parents[1] / "docs" / "pytest.md"
    found = list(pages.blocks(page.read_text("utf-8"), page.name))
    for block in found:
        name = block.mark("file") or block.mark("tests")
        if name:
            (pytester.path / name).write_text(block.text)
    result = run_all(pytester, "--donation", "test_marked.py", "test_asserted.py")
    result.assert_outcomes(passed=3, failed=2)
    printed = result.stdout.str().splitlines()
    shown = [block for block in found if any("printed by" in mark for mark in block.marks)]
    assert len(shown) == 2
    for block in shown:
        assert pages.shows(block.text.splitlines(), printed, whole=False), block.place
    assert "donation.assert_whole(train.train_step" in failure(result, "test_all_of_it")


# Faults, processes, and what is not imported.


def test_a_fault_of_donatrees_own_fails_no_test(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
        import donatree.testing.recorder, donatree.testing.verdict
        from donatree.testing.recorder import TestRecorder

        @pytest.mark.donated
        def test_not_begun(): lossy(make())

        def test_not_judged(donation): donation.assert_whole(lossy, make())

        @pytest.fixture(autouse=True)
        def broken(monkeypatch):
            def fails(*args, **kwargs):
                raise KeyError("broken inside")
            monkeypatch.setattr(TestRecorder, "start", fails)
            monkeypatch.setattr(donatree.testing.verdict, "judge", fails)
        """,
    )
    result.assert_outcomes(passed=2)
    assert result.ret == 0
    assert_shows(
        result.stdout.str(),
        "*= donatree failed, and no test failed for it =*",
        "*test_not_begun was not judged: KeyError: 'broken inside'*",
        "*test_not_judged: an assertion was not judged: KeyError: 'broken inside'*",
    )


def test_the_workers_of_xdist_make_one_table(tmp_path: Path) -> None:
    pytest.importorskip("xdist")
    write(tmp_path, TRAIN)
    lossy = "@pytest.mark.donated(min=0.1)\ndef test_lossy(): lossy(make())\n"
    (tmp_path / "test_a.py").write_text(f"{HEAD}def test_good(): good(make())\n{lossy}")
    (tmp_path / "test_b.py").write_text(f"{HEAD}{lossy}def test_more(): good(make(5))\n")
    (tmp_path / "conftest.py").write_text(
        "import os, sys\n"
        "assert 'jax' not in sys.modules, 'the plugin imported JAX'\n"
        "os.environ['XLA_FLAGS'] = '--xla_force_host_platform_device_count=2'\n"
    )
    options = ("--donation-fail-under=90", "--donation-report=out.json", "-n2", "--dist=loadfile")
    command = ("-m", "pytest", *PLUGIN, "-p", "xdist", "--donation-check=compile", *options)
    ended = python(*command, cwd=tmp_path, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
    assert ended.code == 1, ended.out
    assert "4 passed" in ended.out
    text = ended.out.partition("= donation =")[2]
    assert_shows(
        text,
        "lossy_step *76 bytes *12 bytes *64 bytes  DT402  test_a.py::test_lossy",
        "good_step (2 signatures) *168 bytes *168 bytes *-  *-  *test_a.py::test_good",
        "180 of 244 bytes, 5 of 6 leaves are reused (73.77 %)",
        "--donation-fail-under 90 is not reached: 73.77 % of the promised bytes are reused",
    )
    assert text.count("error[DT402]: `state['w']` is donated as float32") == 1
    report = json.loads((tmp_path / "out.json").read_text())
    assert len(report["ledgers"]) == 3
    assert report["jax"] == jax.__version__


def test_without_being_used_it_imports_no_jax(tmp_path: Path) -> None:
    """Also where JAX is what the tests are to import first, for its environment variables."""
    (tmp_path / "test_it.py").write_text(
        "import sys\n"
        "def test_light(request):\n"
        "    assert 'donatree.pytest_plugin' in sys.modules\n"
        "    heavy = {'jax', 'rich', 'click', 'jinja2', 'donatree.watch.recorder'}\n"
        "    if not request.config.getoption('donation'):\n"
        "        heavy |= {'donatree.testing', 'donatree.reports', 'donatree.gates'}\n"
        "    assert sorted(heavy & sys.modules.keys()) == []\n"
    )
    # Of itself where it is installed; other plugins may import anything.
    here = {each.name: each for each in metadata.entry_points(group="pytest11")}
    if "donatree" in here:
        assert here["donatree"].value == "donatree.pytest_plugin"
    for options, said in [((), False), (("--donation",), True)]:
        command = ("-m", "pytest", "-q", *PLUGIN, *options)
        ended = python(*command, cwd=tmp_path, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
        assert ended.code == 0, ended.out
        assert ("nothing was donated" in ended.out) == said
        assert ("donat" in ended.out) == said


# What several processes learnt, put together.


def ledger(function: str = "step", lost: Gate | None = None, gates: int = 4) -> Ledger:
    spec = ArraySpec("float32", (4,), (4,), 16, 16)
    entry = Entry(Leaf("state", "state", 0, spec), stopped_at=lost)
    return Ledger(function, "(f32[4])", ("state",), (entry,), checked=tuple(Gate)[:gates])


def part(*rows: tuple[Ledger, int], **more: object) -> Part:
    account = Account(tuple(each for each, _ in rows), **more)  # type: ignore[arg-type]
    return Part(account, tuple(Test(number, f"test_{number}") for _, number in rows))


def test_a_program_of_several_workers_counts_once_and_the_worst_of_it() -> None:
    parts = [
        part((ledger(gates=6), 5), (ledger("other"), 6)),
        part((ledger(lost=Gate.HONOURED, gates=6), 7), (ledger(lost=Gate.GRANTED), 2)),
    ]
    for each in (parts, parts[::-1]):
        found = merged(each)
        rows = zip(found.account.ledgers, found.first, strict=True)
        assert [(one.function, [e.stopped_at for e in one.lost], t.order) for one, t in rows] == [
            ("step", [Gate.GRANTED], 2),  # another program: it was refused
            ("step", [Gate.HONOURED], 5),
            ("other", [], 6),
        ]


def test_a_part_survives_the_way_to_another_process() -> None:
    finding = Finding("DT102", "nothing was donated", level="warning")
    sent = part((ledger(), 3), findings=(finding,), versions={"jax": "0.12"}, platform="cpu")
    assert Part.loads(sent.dumps()) == sent
    found = merged([part(), sent, sent])
    assert found.account.findings == (finding,)
    assert (found.account.platform, found.account.versions) == ("cpu", {"jax": "0.12"})


@pytest.mark.parametrize(
    ("value", "text"), [(0.99, "99 %"), (1.0, "100 %"), (0.999999, "99.99 %"), (0, "0 %")]
)
def test_a_percentage_is_not_rounded_up(value: float, text: str) -> None:
    assert demand.percent(value) == text


def test_names_in_the_table_cannot_act_on_a_terminal() -> None:
    shown = list(table.lines(part((ledger("st\x1b[31mep"), 1))))
    assert "\x1b" not in "".join(text for text, _ in shown)
    assert sys.modules["donatree.testing.table"] is table
