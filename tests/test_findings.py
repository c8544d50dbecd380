"""Every finding's page, its two programs, and the wording of all that the findings say.

The programs run in two processes: one sees one CPU device, the other eight, because JAX makes its
devices once in a process. This file is also what those processes run.
"""

from __future__ import annotations

import contextlib
import difflib
import json
import linecache
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

import donatree
import wording
from donatree import findings, gates
from donatree.findings import dt102, dt104, dt407, dt410
from donatree.findings.rule import subject
from donatree.hlo.header import Alias, Header
from donatree.ledger import ArraySpec, Entry, Finding, Leaf, Location, Slot
from donatree.observation import Observation, Request
from donatree.why.causes import Group

SOURCE = Path(donatree.__file__).parents[1]

RULES = {code: findings.rule(code) for code in findings.CODES}
WITHOUT_PROGRAM = {"DT409", "DT410"}
WITHOUT_REPAIR = {"DT303", "DT407"}
DROPS_THE_KEYWORD = {"DT503"}
RUN = [code for code in findings.CODES if RULES[code].runs]  # see test_findings_run.py
FAILING = [code for code in findings.CODES if code not in {*WITHOUT_PROGRAM, *RUN}]
REPAIRED = [code for code in FAILING if code not in WITHOUT_REPAIR]
HEADINGS = ("What it means", "Why it happens", "What to do", "Since when")

# Programs beside those of the pages, for what the pages claim.
BESIDE = {
    "a weak type": """\
import jax
import jax.numpy as jnp

step = jax.jit(lambda state: {"x": state["x"] * jnp.ones(4)}, donate_argnums=0)
args = ({"x": jax.lax.full((4,), 2.0)},)
""",
    "a transposition": """\
import jax
import jax.numpy as jnp

step = jax.jit(lambda state: {"x": state["x"].T}, donate_argnums=0)
args = ({"x": jnp.ones((8, 4))},)
""",
    "a twice used type": """\
import jax
import jax.numpy as jnp

step = jax.jit(lambda x, params: {"w": params["w"] - x}, donate_argnums=(0, 1))
args = (jnp.ones(8), {"w": jnp.ones(8)})
""",
    "a bare batch": RULES["DT301"]
    .failing.replace('batch["images"]', "batch")
    .replace('{"images": jnp.ones((128, 784))}', "jnp.ones((128, 784))"),
    "shards of one size": RULES["DT404"]
    .failing.replace('out_shardings={"w": replicated}', 'out_shardings={"w": columns}')
    .replace(
        "replicated = ", 'columns = NamedSharding(mesh, PartitionSpec(None, "data"))\nunused = '
    ),
}


# What the processes do.


def programs() -> dict[str, str]:
    """All programs by name: `DT402 failing`, `DT402 repaired` and those beside."""
    found = {f"{code} failing": RULES[code].failing for code in FAILING}
    found |= {f"{code} repaired": RULES[code].repaired for code in REPAIRED}
    return found | BESIDE


def answer(devices: int) -> dict[str, Any]:
    """Runs the programs for so many devices; the first of them makes the devices."""
    told: dict[str, Any] = {}
    for name, source in programs().items():
        if ("XLA_FLAGS" in source) != (devices == 8):
            continue
        warnings.simplefilter("always")
        try:
            told[name] = run(name, source)
        except Exception as error:
            told[name] = {"error": f"{type(error).__name__}: {error}"}
        clean()
    return {"programs": told, "facts": known_facts()}


def run(name: str, source: str) -> dict[str, Any]:
    """One program as a reader would run it, then its audit."""
    with donatree.watch() as watched:
        space = execute(name, source)
        step, args, kwargs = space["step"], space["args"], space.get("kwargs", {})
        with platform_without_donation() if name == "DT303 failing" else contextlib.nullcontext():
            proved = any(RULES[c].proved for c in RULES if name.startswith(c))
            audit = donatree.prove if proved else donatree.audit
            ledger = audit(step, *args, **kwargs)
        if name.startswith("DT102"):
            step(*args, **kwargs)
    told = ledger.to_dict() | {"kept": ledger.kept_in_place}
    # What is run here holds the arguments itself.
    told["watched"] = [each.to_dict() for each in watched.findings if each.code != "DT701"]
    told["faults"] = [each.error for each in watched.account.faults]
    if name.startswith(("DT408", "DT5")):
        told["live undonated"] = live_bytes(undonated(step).lower(*args))
    if name.startswith("DT406"):
        told["temporary"] = step.lower(*args).compile().memory_analysis().temp_size_in_bytes
    if name == "DT101 failing":
        told["later"] = after_the_flag(step, args)
    return told


def execute(name: str, source: str) -> dict[str, Any]:
    """Executes a program's text, in the words of the installed JAX."""
    source = in_its_words(source)
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    space: dict[str, Any] = {"__name__": name}
    exec(compile(source, name, "exec"), space)
    return space


def in_its_words(source: str) -> str:
    """JAX 0.5 and 0.6 have other names for layouts, and none that is public for a reference."""
    if "layout import" in source:
        from jax.experimental import layout

        if hasattr(layout, "DeviceLocalLayout"):
            return source.replace("Layout", "DeviceLocalLayout").replace("Format", "Layout")
    if "jax.new_ref" in source:
        import jax

        if not hasattr(jax, "new_ref"):
            return f"from jax._src import core\n{source}".replace(
                "jax.new_ref", "core.mutable_array"
            )
    return source


@contextlib.contextmanager
def platform_without_donation() -> Iterator[None]:
    """Takes the CPU off JAX's private list, because every platform at hand is on it."""
    from jax._src.interpreters import mlir

    listed = mlir._platforms_with_donation
    mlir._platforms_with_donation = [each for each in listed if each != "cpu"]
    try:
        yield
    finally:
        mlir._platforms_with_donation = listed


def undonated(step: Any) -> Any:
    import jax

    return jax.jit(step.__wrapped__)


def live_bytes(lowered: Any) -> int:
    """What the step needs at its height, as `memory_analysis` tells it."""
    size = lowered.compile().memory_analysis()
    total = size.argument_size_in_bytes + size.output_size_in_bytes + size.temp_size_in_bytes
    return total - size.alias_size_in_bytes


def after_the_flag(step: Any, args: Any) -> list[int]:
    """Bytes kept once `jax_debug_nans` is off: before and after `jax.clear_caches()`."""
    import jax

    step(*args)
    jax.config.update("jax_debug_nans", False)
    before = donatree.audit(step, *args).kept_in_place
    jax.clear_caches()
    return [before, donatree.audit(step, *args).kept_in_place]


def clean() -> None:
    """Leaves nothing of a program behind for the next one."""
    import jax

    jax.config.update("jax_debug_nans", False)
    jax.config.update("jax_disable_jit", False)


def known_facts() -> dict[str, Any]:
    import jax

    from donatree._jax import facts

    kinds = [memory.kind for memory in jax.devices()[0].addressable_memories()]
    shape = jax.ShapeDtypeStruct((2,), "float32")
    lowered = jax.jit(lambda a, b: (a, b), donate_argnums=-1).lower(shape, shape)
    return {
        "negative_numbers_donate": any(leaf.donated for leaf in jax.tree.leaves(lowered.args_info)),
        "pairs_by_element_count": facts.pairs_by_element_count(),
        "memory_kinds": kinds,
        "devices": len(jax.devices()),
    }


# What the tests read.


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    """The answers of both processes by the name of the program."""
    with ThreadPoolExecutor() as pool:
        one, eight = pool.map(ask, (1, 8))
    assert (one["facts"]["devices"], eight["facts"]["devices"]) == (1, 8)
    return {**one["programs"], **eight["programs"], "facts": one["facts"]}


def ask(devices: int) -> dict[str, Any]:
    ignored = ("XLA_FLAGS", "JAX_DEBUG_NANS", "JAX_DISABLE_JIT", "PYTHONWARNINGS")
    environ = {name: value for name, value in os.environ.items() if name not in ignored}
    environ |= {"JAX_PLATFORMS": "cpu", "PYTHONPATH": str(SOURCE)}
    command = [sys.executable, __file__, str(devices)]
    done = subprocess.run(command, capture_output=True, text=True, env=environ, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def of_code(found: Iterable[dict[str, Any]], code: str) -> list[dict[str, Any]]:
    return [each for each in found if each["code"] == code]


def code_here(code: str, told: dict[str, Any]) -> str:
    """The code that a page's program has on this JAX: up to 0.7 what DT403 speaks of is lost."""
    reused = told["facts"]["pairs_by_element_count"]
    return "DT402" if code == "DT403" and not reused else code


def skip_unless_shown(code: str, told: dict[str, Any]) -> None:
    if code == "DT304" and len(told["facts"]["memory_kinds"]) == 1:
        assert "Could not find memory" in told["DT304 failing"]["error"]
        pytest.skip("this JAX knows one memory kind on the CPU")
    if code == "DT106" and told["facts"]["negative_numbers_donate"]:
        assert told["DT106 failing"]["findings"] == []
        pytest.skip("this JAX counts negative numbers from the end")


@pytest.mark.parametrize("code", FAILING)
def test_the_failing_program_of_a_page_shows_its_code(code, told):
    skip_unless_shown(code, told)
    shown = told[f"{code} failing"]
    assert "error" not in shown, shown["error"]
    assert shown["faults"] == []
    code = code_here(code, told)
    (found,) = of_code(shown["findings"], code)
    if RULES[code].describe is None:
        return
    assert found["bytes"] > 0
    if code == "DT103":  # the leaves are those of the inner function, the ledger is the outer one's
        assert found["leaves"] == ["state['w']"]
        return
    entries = [entry for entry in shown["entries"] if entry["finding"] == code]
    assert sorted(found["leaves"]) == sorted(entry["path"] for entry in entries)
    assert found["bytes"] == sum(entry["bytes"] for entry in entries)
    refused = [e for e in shown["entries"] if e["stopped_at"] not in (None, "in_place")]
    assert (found["level"] == "error") == bool(refused)


def jax_version() -> tuple[int, ...]:
    return tuple(map(int, metadata.version("jax").split(".")[:3]))


@pytest.mark.parametrize("code", REPAIRED)
def test_the_repaired_program_keeps_every_promised_byte_and_has_no_finding(code, told):
    shown = told[f"{code} repaired"]
    assert "error" not in shown, shown["error"]
    if jax_version() < (0, 6, 2):  # its CPU compiler copies a counter of four bytes
        granted = shown["bytes_after"]["granted"]
        assert granted == shown["promised_bytes"]
        for told in (shown["findings"], shown["watched"]):
            assert [each for each in told if each["code"] != "DT501" or each["bytes"] > 4] == []
        assert shown["faults"] == []
        return
    assert shown["findings"] == shown["watched"] == shown["faults"] == []
    assert shown["kept"] == shown["promised_bytes"]
    assert shown["kept"] > 0 or code in DROPS_THE_KEYWORD
    assert [entry["finding"] for entry in shown["entries"]] == [None] * len(shown["entries"])


def test_a_lost_promise_counts_as_a_loss_so_that_keeping_every_byte_says_something(told):
    shown = told["DT402 failing"]
    assert shown["kept"] < shown["promised_bytes"]


def test_what_is_reused_in_spite_of_a_drift_is_lost_where_jax_pairs_by_type_only(told):
    reused = told["facts"]["pairs_by_element_count"]
    for name, lost in (("DT403 failing", "DT402"), ("a transposition", "DT401")):
        (entry,) = told[name]["entries"]
        assert entry["finding"] == ("DT403" if reused else lost), name
        # A transposition is turned by a copy, and 0.8 and 0.9 copy the new dtype as well.
        copied = name == "a transposition" or jax_version() < (0, 10)
        assert entry["stopped_at"] == (("in_place" if copied else None) if reused else "matched")


def test_a_drift_is_said_to_be_silent_where_jax_offers_the_leaf_to_xla(told):
    (found,) = told["DT402 failing"]["findings"]
    silent = told["facts"]["pairs_by_element_count"]
    assert ("JAX gives no warning here" in found["notes"]) == silent
    warned = any("JAX itself warned" in note for note in told["DT402 failing"]["notes"])
    assert warned == (not silent)


def test_a_change_of_the_weak_type_costs_a_compile_on_every_jax_and_no_memory(told):
    (found,) = of_code(told["a weak type"]["findings"], "DT403")
    assert found["headline"] == (
        "`state['x']` is reused by `result['x']` but comes back as another type "
        "(weak float32 -> strong float32): the next call compiles again"
    )
    assert not any("as many bytes" in note for note in found["notes"])
    (drifted,) = of_code(told["DT403 failing"]["findings"], code_here("DT403", told))
    if told["facts"]["pairs_by_element_count"]:
        assert any("as many bytes" in note for note in drifted["notes"])


def test_shards_of_one_size_are_reused_where_jax_pairs_by_element_count(told):
    (found,) = of_code(told["shards of one size"]["findings"], "DT404")
    reused = told["facts"]["pairs_by_element_count"]
    assert found["level"] == ("warning" if reused else "error")


def test_the_memory_is_what_the_pages_say(told):
    measured = {
        name: (told[name]["live"]["total"], told[name]["live undonated"])
        for name in told
        if name.startswith(("DT408", "DT5"))
    }
    assert measured == {
        "DT408 failing": (16_400, 24_592),
        "DT408 repaired": (8_192, 16_384),
        "DT501 failing": (32_768, 32_768),
        "DT501 repaired": (16_384, 32_768),
        "DT502 failing": (32_784, 32_784),
        "DT502 repaired": (24_592, 32_784),
        "DT503 failing": (65_536, 65_536),
        "DT503 repaired": (65_536, 65_536),
    }
    assert told["DT502 failing"]["alias_size_in_bytes"] == 8_192


def test_turning_a_layout_costs_what_the_page_of_dt406_says(told):
    assert (told["DT406 failing"]["temporary"], told["DT406 repaired"]["temporary"]) == (8_192, 0)


def test_what_was_compiled_under_debug_nans_stays_without_donation_until_caches_are_cleared(told):
    assert told["DT101 failing"]["later"] == [0, 8_192]


def test_disable_jit_is_told_by_watch_as_a_finding_about_the_program(told):
    shown = told["DT102 failing"]
    (found,) = of_code(shown["watched"], "DT102")
    assert found["headline"] == (
        "nothing was donated to `train_step` while `jax_disable_jit` was on"
    )
    assert "`train_step` is defined at DT102 failing:7" in found["notes"]
    assert (found["leaves"], found["bytes"]) == ([], 0)
    assert of_code(told["DT102 repaired"]["watched"], "DT102") == []


def test_a_leaf_that_came_too_late_names_the_one_that_took_its_slot(told):
    (found,) = told["a twice used type"]["findings"]
    assert (found["code"], found["headline"]) == (
        "DT302",
        "`params['w']` is donated but its slot went to `x`: 32 bytes not reused",
    )


def test_a_batch_that_is_a_bare_array_has_no_slot_just_as_one_in_a_dict(told):
    assert [each["code"] for each in told["a bare batch"]["findings"]] == ["DT301"]


# Pages and programs as text.


def test_every_code_has_programs_or_a_page_that_says_why_it_has_none():
    assert {c for c in RULES if not RULES[c].failing} == WITHOUT_PROGRAM
    assert {c for c in RULES if not RULES[c].repaired} == WITHOUT_PROGRAM | WITHOUT_REPAIR
    for code in WITHOUT_PROGRAM:
        assert re.search(r"this page has (none|no program)", RULES[code].page), code
    for code in WITHOUT_REPAIR:
        assert "no repaired program" in RULES[code].page, code


@pytest.mark.parametrize("code", FAILING)
def test_a_program_is_complete_and_short(code):
    for text in (RULES[code].failing, RULES[code].repaired):
        if text:
            assert 8 <= len(text.splitlines()) <= 25
            assert max(map(len, text.splitlines())) <= 100
            assert "\nstep = jax.jit(" in text
            assert "\nargs = (" in text
            assert text.endswith("\n")


@pytest.mark.parametrize("code", RUN)
def test_a_program_that_is_run_is_complete_and_short(code):
    for text in (RULES[code].failing, RULES[code].repaired):
        assert 8 <= len(text.splitlines()) <= 40
        assert max(map(len, text.splitlines())) <= 100
        assert "jax.jit" in text
        assert text.endswith("\n")


@pytest.mark.parametrize("code", [*REPAIRED, *RUN])
def test_the_repaired_program_differs_by_the_cure_only(code):
    old, new = RULES[code].failing.splitlines(), RULES[code].repaired.splitlines()
    changed = [line for line in difflib.ndiff(old, new) if line[0] in "+-" and line[2:].strip()]
    assert 1 <= len(changed) <= 4


def sections(page: str) -> dict[str, str]:
    """The text under each heading of a page; the title stands under an empty name."""
    parts = re.split(r"^## (.*)$", page, flags=re.MULTILINE)
    return {"": parts[0].strip()} | {
        name: text.strip() for name, text in zip(parts[1::2], parts[2::2], strict=True)
    }


def without_code(text: str) -> str:
    return re.sub(r"`[^`]*`", "`code`", text)


def page_faults(page: str) -> list[str]:
    """What is wrong with a page; empty where nothing is."""
    found = sections(page)
    names = tuple(found)
    wrong = []
    if names not in (("", *HEADINGS), ("", *HEADINGS, "Limits")):
        wrong.append(f"headings are {names}")
    title = found.pop("")
    wrong += [f"title {fault}" for fault in faults(title[:1].lower() + title[1:])]
    for name, text in found.items():
        sentences = len(re.findall(r"[.](?=\s|$)", without_code(text)))
        if not 1 <= sentences <= 6:
            wrong.append(f"{name!r} has {sentences} sentences")
        if not text.endswith("."):
            wrong.append(f"{name!r} ends with {text[-10:]!r}")
        wrong += [f"{name!r} {fault}" for fault in text_faults(text)]
    wrong += [f"long line {line!r}" for line in page.splitlines() if len(line) > 100]
    return wrong


@pytest.mark.parametrize("code", findings.CODES)
def test_every_code_has_a_page_of_the_fixed_form(code):
    assert page_faults(RULES[code].page) == []
    assert RULES[code].title == RULES[code].page.splitlines()[0]
    assert RULES[code].code == code


def test_the_check_of_pages_can_say_no():
    good = RULES["DT402"].page
    assert page_faults(good) == []
    for bad in (
        good.replace("## Since when", "## When"),
        good.replace("## What to do\n", ""),
        good + "\n## Limits\n",
        good + "\n## Limits\n\n" + "It can be so. " * 7,
        good.replace("dtype\n", "dtype.\n", 1),
        good.replace("The step changes", "The step  changes"),
        good.replace("`+ 1.0`", "`+ 1.0"),
        good.replace("The step changes", "Why, you ask? The step changes"),
    ):
        assert page_faults(bad) != [], bad


def test_names_are_short_different_and_in_the_form_of_a_name():
    names = [each.name for each in RULES.values()]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", name) for name in names)


# The wording of headlines, notes and helps.

NAMES = re.compile(r"(JAX|XLA)\b")


def text_faults(text: str) -> list[str]:
    """What is wrong with any text."""
    wrong = []
    if text.count("`") % 2:
        wrong.append("leaves a backtick open")
    if "?" in without_code(text):
        wrong.append("asks a question")
    if "  " in text:
        wrong.append("has a double space")
    if text != text.strip() or not text:
        wrong.append("is empty or begins or ends with a space")
    return wrong


def faults(text: str) -> list[str]:
    """What is wrong with a headline, a note or a help; empty where nothing is."""
    wrong = text_faults(text)
    if text[:1].isupper() and not NAMES.match(text):
        wrong.append("begins with a capital")
    if re.search(r"[.!](\s|$)", without_code(text)):
        wrong.append("has a full stop")
    if "\n" in text:
        wrong.append("is more than one line")
    return wrong + wording.faults(text)


@pytest.mark.parametrize(
    "bad",
    [
        "",
        "The leaf is donated",
        "the leaf is donated.",
        "the leaf is donated. it is not reused",
        "the leaf is donated!",
        "why is the leaf not donated?",
        "the  leaf",
        "the leaf `w is donated",
        " the leaf",
        "the leaf ",
        "the leaf\nis donated",
        "Jaxlib is old",
    ],
)
def test_the_check_of_wording_rejects_bad_text(bad):
    assert faults(bad) != []


@pytest.mark.parametrize(
    "good",
    [
        "`State.w` is donated",
        "JAX gives no warning here",
        "use `.at[].set`",
        "the error was `ValueError: Did you mean it?`",
        "up to JAX 0.7.2 it is lost",
    ],
)
def test_the_check_of_wording_accepts_good_text(good):
    assert faults(good) == []


def said(found: Iterable[dict[str, Any]]) -> list[str]:
    """Every headline, note and help."""
    return [
        text
        for each in found
        for text in (each["headline"], *each["notes"], each["help"])
        if text is not None
    ]


def wrong_words(texts: Iterable[str]) -> dict[str, list[str]]:
    return {text: faults(text) for text in texts if faults(text)}


def test_all_that_the_programs_of_the_pages_are_told_is_well_worded(told):
    texts = [
        text
        for name, shown in told.items()
        if name != "facts" and "error" not in shown
        for text in said((*shown["findings"], *shown["watched"]))
    ]
    assert len(texts) > 2 * len(FAILING)
    assert wrong_words(texts) == {}


def test_headlines_and_labels_are_short_but_for_the_code_in_them(told):
    told = [shown for name, shown in told.items() if name != "facts" and "error" not in shown]
    found = [each for shown in told for each in (*shown["findings"], *shown["watched"])]
    texts = {each["headline"]: "headline" for each in found}
    texts |= {label["text"]: "label" for each in found for label in each["labels"]}
    assert len(texts) > len(FAILING)
    assert [text for text, kind in texts.items() if wording.faults(text, kind)] == []


def test_the_check_of_what_was_told_would_find_a_bad_headline():
    bad = Finding("DT402", "Bad.", notes=("`", "fine"), help="What now?")
    assert set(wrong_words(said([bad.to_dict()]))) == {"Bad.", "`", "What now?"}


# Findings from evidence written by hand.

DEVICE = "P('data', None) on (data: 8)"


def spec(dtype: str = "float32", shape: tuple[int, ...] = (4, 4), **more: Any) -> ArraySpec:
    return ArraySpec(dtype, shape, shape, 64, 64, **more)


def group(code: str, number: int, *, lost: bool, detail: str) -> Group:
    entries = [
        Entry(
            Leaf(f"state.m[{index}]", "state", index, spec()),
            slot=None if lost else Slot(f"result.n[{index}]", index, spec("int32")),
            successor=Slot(f"result.m[{index}]", index + number, spec("bfloat16", (index, 4))),
            evidence={"asked": "args_info: donated=True"},
        )
        for index in range(number)
    ]
    return Group(code, detail, tuple(entries), lost)


def observation(number: int, **more: Any) -> Observation:
    ways = ("passed_by_keyword", "passed_by_position")
    return Observation(
        Request(
            "train_step",
            tuple(Leaf(f"state.m[{index}]", "state", index, spec()) for index in range(number)),
            why_not={index: ways[index % 2] for index in range(number)},
            declared="donate_argnums=0",
            call=Location("train.py", 7),
        ),
        platform="cpu",
        **more,
    )


REUSED = ("DT403", "DT404", "DT405", "DT406", "DT408")
KINDS = [
    (code, lost, detail)
    for code in findings.CODES
    if RULES[code].describe
    for lost in (True, False)
    if code in REUSED[1:4] or lost is (code not in REUSED)
    for detail in ("", "float32 -> bfloat16")
    if detail or code != "DT402"
]


@pytest.mark.parametrize("number", [1, 2, 7])
@pytest.mark.parametrize(("code", "lost", "detail"), KINDS)
def test_a_finding_is_well_worded_for_one_leaf_and_for_many(code, lost, detail, number):
    make = RULES[code].describe
    assert make is not None
    for evidence in (observation(number), observation(number, devices=8, jax_warning="W")):
        found = make(group(code, number, lost=lost, detail=detail), evidence)
        assert wrong_words(said([found.to_dict()])) == {}
        assert found.code == code
        assert found.bytes == 64 * number
        assert len(found.leaves) == number
        assert ("`state.m[0]`" in found.headline) == (number == 1)
        leaves = "`state.m[0]`" if number == 1 else f"{number} leaves of `state.m`"
        assert re.match(
            rf"{re.escape(leaves)} ({'is|was|comes' if number == 1 else 'are|were|come'}) ",
            found.headline,
        )


def test_many_leaves_of_several_arguments_are_named_by_their_arguments():
    entries = [Entry(Leaf(f"{name}[0]", name, i, spec())) for i, name in enumerate(("a", "b"))]
    assert subject(Group("DT301", "", tuple(entries), True)) == "2 leaves of `a` and `b`"


def test_a_group_that_was_passed_both_ways_is_told_both():
    make = RULES["DT105"].describe
    assert make is not None
    found = make(group("DT105", 2, lost=True, detail=""), observation(2))
    assert found.headline == (
        "2 leaves of `state.m` are declared by position but passed by keyword or name but passed "
        "by position, and so not donated: 128 bytes"
    )


def lost_declaration(*undelivered: str) -> Finding | None:
    request = Request("step", (), declared="donate_argnums=0", undelivered=undelivered)
    return dt104.about(Observation(request))


def references(number: int) -> Finding | None:
    """What is said of so many of two aliased parameters that are references."""
    both = (Alias((0,), 0, (), "may-alias"), Alias((1,), 1, (), "may-alias"))
    return dt407.about(
        observation(
            2,
            parameter_of={0: 0, 1: 1},
            header=Header("jit_step", both),
            reference_parameters=frozenset(range(number)),
        )
    )


def test_findings_about_a_program_or_a_call_are_well_worded():
    place, error = Location("train.py", 7), "ValueError: `x` is what?"
    found = [
        dt102.about([("train_step", place)], place, True),
        dt102.about([(f"step_{index}", None) for index in range(6)], None, False),
        lost_declaration("positional argument 0"),
        lost_declaration("positional argument 0", "keyword argument `x`"),
        references(1),
        references(2),
        dt410.about(Observation(Request("step", ()), compile_error=error)),
        dt410.about(Observation(Request("step", ()), header_error=error)),
    ]
    assert all(found)
    assert wrong_words(said(each.to_dict() for each in found if each)) == {}


def test_where_there_is_nothing_to_say_about_a_call_nothing_is_said():
    assert lost_declaration() is None
    assert references(0) is None
    assert dt410.about(Observation(Request("step", ()))) is None


def judged(**more: Any) -> Any:
    """The ledger of one donated leaf that is offered to XLA, with a slot of its type left."""
    leaf = Leaf("state.w", "state", 0, spec())
    request = Request("step", (leaf,), promised=frozenset({0}), asked=frozenset({0}))
    return gates.judge(
        Observation(
            request,
            slots=(Slot("result.w", 0, spec()),),
            parameter_of={0: 0},
            attributes={0: "donor"},
            **more,
        )
    )


def test_a_leaf_that_xla_refused_beside_a_slot_of_its_type_has_no_known_cause():
    ledger = judged(header=Header("jit_step"))
    assert [entry.finding for entry in ledger.entries] == ["DT409"]
    (found,) = ledger.findings
    assert (found.code, found.bytes, found.leaves) == ("DT409", 64, ("state.w",))
    assert found.notes == ("the last evidence is: parameter 0 is not in input_output_alias",)
    assert wrong_words(said([found.to_dict()])) == {}


def test_the_same_leaf_has_no_finding_where_xla_took_it():
    ledger = judged(header=Header("jit_step", (Alias((0,), 0, (), "may-alias"),), ()))
    assert ledger.findings == ()
    assert ledger.kept_in_place == 64


@pytest.mark.parametrize(
    ("field", "headline"),
    [
        (
            "compile_error",
            "what XLA granted is not known, because `step` was not compiled",
        ),
        (
            "header_error",
            "what XLA granted is not known, because `step` has no readable header",
        ),
    ],
)
def test_a_module_that_cannot_be_read_leaves_the_grant_open(field, headline):
    ledger = judged(**{field: "XlaRuntimeError: NOT_FOUND: no `call`"})
    (found,) = ledger.findings
    assert (found.code, found.level, found.headline) == ("DT410", "warning", headline)
    assert found.notes == ("the error was `XlaRuntimeError: NOT_FOUND: no 'call'`",)
    assert ledger.entries[0].finding is None
    assert donatree.Gate.GRANTED not in ledger.checked


if __name__ == "__main__":
    with contextlib.redirect_stdout(sys.stderr):
        found = answer(int(sys.argv[1]))
    json.dump(found, sys.stdout)
