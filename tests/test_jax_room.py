"""`donatree._jax`: what it relies on is there, and no program notices that it is watched.

Each private name in `src/donatree/_jax/README.md` is held by a test here. A shim for older JAX
fails with "remove ..." once no supported JAX needs it.
"""

from __future__ import annotations

import ast
import gc
import importlib
import inspect
import io
import pickle
import re
import sys
import threading
import tomllib
import traceback
import warnings
import weakref
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.monitoring
import jax.numpy as jnp
import numpy as np
import pytest
from jax._src import core, pjit
from jax._src.interpreters import pxla

import donatree
from donatree._jax import equinox as equinox_names
from donatree._jax import facts, hooks, inner, objects, read, request, sources, specs, stages
from donatree.errors import DonationError
from donatree.ledger import Ledger
from donatree.reports import Options, terminal
from donatree.watch import Watched
from donatree.watch.recorder import Recorder

ROOT = Path(__file__).parents[1]
NAMED_IN_THE_README = (
    "test_jax_room.py",
    "test_names.py",
    "test_processes.py",
    "test_consumed.py",
    "test_plugin.py",
    "test_before.py",
    "test_honoured.py",
    "test_abroad.py",
    "test_targets_compile.py",
)


def version(text: str) -> tuple[int, int]:
    major, minor = re.findall(r"\d+", text)[:2]
    return int(major), int(minor)


HERE = version(jax.__version__)


def oldest_supported() -> tuple[int, int]:
    """The oldest JAX that the package declares."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    [jax_itself] = [each for each in declared if re.match(r"jax\b", each)]
    return version(jax_itself)


def floats(*shape: int) -> jax.Array:
    return jnp.ones(shape, jnp.float32)


def donating(**options: Any) -> Any:
    """A jitted function that JAX has never seen: a steady one is not compiled again."""
    return jax.jit(lambda state, batch: {"w": state["w"] + batch}, donate_argnums=0, **options)


class Ear:
    """An observer that keeps what it is told."""

    def __init__(self) -> None:
        self.heard: defaultdict[str, list[tuple[Any, ...]]] = defaultdict(list)

    def declared(self, fun: Any, info: Any) -> None:
        self.hear("declared", fun, info)

    def disabled(self) -> None:
        self.hear("disabled")

    def requested(self, fun: Any, info: Any, args: Any, kwargs: Any, params: Any) -> None:
        self.hear("requested", fun, info, args, kwargs, params)

    def lowered(self, jaxpr: Any, computation: Any, again: hooks.Lowering) -> None:
        assert again.args[0] is jaxpr
        self.hear("lowered", jaxpr, computation)

    def compiled(
        self, computation: Any, executable: Any, error: BaseException | None, seconds: float
    ) -> None:
        assert seconds >= 0
        self.hear("compiled", computation, executable, error)

    def fault(self, where: str, error: BaseException) -> None:
        self.hear("fault", where, error)

    def hear(self, name: str, *arguments: Any) -> None:
        self.heard[name].append(arguments)


class Raising(Ear):
    """An observer of which the methods of these names raise."""

    def __init__(self, error: Exception, *names: str) -> None:
        super().__init__()
        self.error, self.names = error, names

    def hear(self, name: str, *arguments: Any) -> None:
        super().hear(name, *arguments)
        if name in self.names:
            raise self.error


OBSERVER = ("declared", "disabled", "requested", "lowered", "compiled")


@pytest.fixture(autouse=True)
def nobody_else() -> Iterator[None]:
    """`whole` in another test file leaves an observer behind, which is not to be met here."""
    others = hooks._observers
    for each in others:
        hooks.detach(each)
    yield
    assert hooks._observers == ()
    for each in others:
        hooks.attach(each)


@pytest.fixture(scope="module")
def seen() -> dict[str, tuple[Any, ...]]:
    """What the hooks tell of one plain call: the newest arguments of each method."""
    ear = Ear()
    hooks.attach(ear)
    try:
        step = jax.jit(lambda n, state: {"w": state["w"] * n}, static_argnums=0, donate_argnums=1)
        declared = ear.heard["declared"][-1]
        step(3, {"w": floats(3)})
        newest = {name: calls[-1] for name, calls in ear.heard.items()}
        return {**newest, "declared": declared}
    finally:
        hooks.detach(ear)


# The room's walls.


def violations(path: Path) -> list[str]:
    """Where a file touches private JAX: an import, a mention in a string that is looked up, or an
    underscore attribute of anything but `self`, `cls` and modules of the standard library."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    imported: dict[str, str] = {}
    found: list[tuple[int, str]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                imported[(alias.asname or alias.name).split(".")[0]] = alias.name
                found += [(node.lineno, alias.name)] if _is_private(alias.name) else []
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                imported[alias.asname or alias.name] = name
                found += [(node.lineno, name)] if _is_private(name) else []
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            name, owner, line = node.attr, node.value, node.lineno
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
            texts = [str(each.value) for each in node.args if isinstance(each, ast.Constant)]
            found += [(node.lineno, text) for text in texts if _is_private(text)]
            if node.func.id not in ("getattr", "hasattr", "setattr", "delattr") or not texts:
                continue
            name, owner, line = texts[0], node.args[0], node.lineno
        else:
            continue
        if name.startswith("_") and not name.startswith("__") and not _is_open(owner, imported):
            found.append((line, ast.unparse(node)))
    return [f"{path.name}:{line}: {what}" for line, what in sorted(found)]


def _is_open(owner: ast.expr, imported: dict[str, str]) -> bool:
    """Whether underscore attributes of it are its own business: `self` and Python's modules."""
    if isinstance(owner, ast.Name) and owner.id in ("self", "cls"):
        return True
    while isinstance(owner, ast.Attribute):
        owner = owner.value
    module = imported.get(owner.id, "") if isinstance(owner, ast.Name) else ""
    return module.split(".")[0] in sys.stdlib_module_names


def _is_private(name: str) -> bool:
    return name.startswith(("jaxlib.", "jax._")) or name == "jaxlib"


def test_private_jax_is_touched_in_one_room_only():
    source = ROOT / "src" / "donatree"
    files = [path for path in source.rglob("*.py") if path.parent != source / "_jax"]
    assert len(files) > 30
    assert [each for path in sorted(files) for each in violations(path)] == []


@pytest.mark.parametrize(
    "line",
    [
        "import jax._src.core",
        "import jaxlib",
        "from jaxlib import xla_client",
        "from jax import _src",
        "from jax._src import pjit",
        "__import__('jax._src.core')",
        "import importlib; importlib.import_module('x'); f('jaxlib.xla_extension')",
        "step._jit_info",
        "self.step._fun",
        "import jax; jax._src.core",
        "getattr(step, '_fun')",
        "hasattr(self.step, '_cache_size')",
    ],
)
def test_a_planted_violation_is_found(line, tmp_path):
    planted = tmp_path / "planted.py"
    planted.write_text(f"import os\n{line}\n")
    assert len(violations(planted)) >= 1
    planted.write_text("import os\nos._exit(0)\nself._mine\nstep.__name__\nimport jax.numpy\n")
    assert violations(planted) == []


# The hooks.

LEADING = {
    ("jax", "disable_jit"): ("disable",),
    ("jax._src.api", "disable_jit"): ("disable",),
    ("jax._src.pjit", "_parse_jit_arguments"): ("fun",),
    ("jax._src.pjit", "_infer_params"): ("fun", "ji", "args", "kwargs"),
    ("jax._src.interpreters.pxla", "lower_sharding_computation"): ("closed_jaxpr",),
    ("jax._src.interpreters.pxla", "MeshComputation.compile"): ("self",),
}


def found_at(module: str, path: str) -> Any:
    thing: Any = importlib.import_module(module)
    for name in path.split("."):
        thing = getattr(thing, name)
    return thing


def jax_own_functions() -> dict[tuple[str, str], Any]:
    return {place: found_at(*place) for place in LEADING}


@pytest.mark.parametrize("place", LEADING, ids=".".join)
def test_a_hook_exists_with_the_leading_parameters_relied_on(place):
    names = list(inspect.signature(found_at(*place)).parameters)
    assert tuple(names[: len(LEADING[place])]) == LEADING[place]


def test_every_hook_is_in_the_table():
    assert {(module, path) for module, path, _ in hooks._HOOKS} == set(LEADING)
    assert set(facts.HOOKS) == set(LEADING) - {("jax", "disable_jit")}


def test_hooks_tell_of_each_stage_with_what_is_read_there(seen):
    assert set(seen) == {"declared", "requested", "lowered", "compiled"}
    fun, info = seen["declared"]
    assert callable(fun)
    assert info.static_argnums == (0,)
    assert info.donate_argnames in ((), ("state",))
    _, again, args, kwargs, params = seen["requested"]
    assert again is info
    assert (args[0], kwargs) == (3, {})
    assert [aval.shape for aval in params.in_avals] == [(3,)]
    assert params.out_tree.num_leaves == 1
    assert params.params["donated_invars"] == (True,)
    jaxpr, computation = seen["lowered"]
    assert jaxpr is params.params["jaxpr"]
    assert request.leaf_names(request.core_jaxpr(jaxpr), 1) == ["state['w']"]
    assert request.result_names(request.core_jaxpr(jaxpr)) == ["result['w']"]
    assert str(request.core_jaxpr(jaxpr).debug_info.func_src_info).startswith("<lambda> at ")
    same, executable, error = seen["compiled"]
    assert same is computation
    assert error is None
    assert list(computation._donated_invars) == [True]
    assert [str(each) for each in computation._platforms] == ["cpu"]
    assert request.name_of(computation) == "<lambda>"
    details = computation.compile_args
    assert sorted(details["kept_var_idx"]) == [0]
    for name in ("global_in_avals", "global_out_avals", "in_shardings", "out_shardings"):
        assert len(details[name]) == 1, name
    assert len(details["all_args_info"].in_avals) == 1
    assert {"backend", "in_layouts", "out_layouts", "mut", "num_devices"} <= set(details)
    assert read.read_lowering(computation).attributes == {0: 0}
    for name in ("_in_shardings", "_out_shardings", "_xla_in_layouts", "_xla_out_layouts"):
        assert len(getattr(executable, name)) == 1, name
    assert len(executable.xla_executable.hlo_modules()) == 1
    assert executable.xla_executable.get_compiled_memory_stats().alias_size_in_bytes == 12


def test_staging_is_told_from_transforming():
    found: dict[str, bool] = {}

    def look(name: str) -> Callable[[Any], Any]:
        def inside(x: Any) -> Any:
            found[name] = inner.is_being_staged()
            return x * 2

        return inside

    look("eager")(1.0)
    jax.jit(look("jit"))(1.0)
    jax.vmap(look("vmap"))(floats(2))
    jax.grad(look("grad"))(1.0)
    jax.jit(jax.vmap(look("vmap in jit")))(floats(2))
    jax.vmap(jax.jit(look("jit in vmap")))(floats(2))
    assert found == {
        "eager": False,
        "jit": True,
        "vmap": False,
        "grad": False,
        "vmap in jit": True,
        "jit in vmap": True,
    }


def test_an_equation_tells_the_expression_that_made_it():
    def step(x):
        return x + 1, jnp.tanh(x)

    jaxpr = request.core_jaxpr(jax.make_jaxpr(step)(floats(2)))
    places = [sources.location_of_equation(equation) for equation in jaxpr.eqns]
    line = inspect.getsourcelines(step)[1] + 1
    text = inspect.getsource(step).splitlines()[1]
    assert [place and place.line for place in places] == [line, line]
    assert [text[place.column : place.end_column] for place in places if place] == [
        "x + 1",
        "jnp.tanh(x)",
    ]


def test_a_key_has_the_bytes_of_the_array_that_stores_it():
    key = jax.random.key(0)
    [spec] = specs.specs_of([key.aval])
    assert (spec.dtype, spec.shape, spec.bytes) == ("key<fry>", (), 8)


def test_a_mutable_reference_is_told_from_a_leaf():
    new_ref: Any = getattr(jax, "new_ref", None) or getattr(core, "mutable_array", None)

    def step(counts, state):
        counts[...] = counts[...] + 1
        return state * 2

    ledger = donatree.audit(jax.jit(step, donate_argnums=1), new_ref(floats(2)), floats(3))
    assert [(e.path, e.slot and e.slot.path) for e in ledger.entries] == [("state", "result")]
    assert ledger.alias_not_donated_bytes == 8
    assert ledger.notes == ("8 bytes of the alias map belong to the mutable reference `counts`",)


def test_the_readme_names_every_hook_and_only_tests_that_exist():
    readme = (ROOT / "src" / "donatree" / "_jax" / "README.md").read_text(encoding="utf-8")
    for module, path in facts.HOOKS:
        assert f"`{module}.{path}(" in readme
    tests = [ROOT / "tests" / name for name in NAMED_IN_THE_README]
    there = set(re.findall(r"^def (test_\w+)", "".join(map(Path.read_text, tests)), re.MULTILINE))
    named = set(re.findall(r"\btest_\w+(?!\w*\.py)\b", readme)) - {path.stem for path in tests}
    assert len(named) > 20
    assert named - there == set()


# Shims for older JAX: each says what of the installed JAX needs it.


@dataclass(frozen=True)
class Shim:
    """A branch for older JAX: where it stands, the last JAX that needs it, does this one."""

    where: str
    last: tuple[int, int]
    needed: Callable[[dict[str, tuple[Any, ...]]], bool]
    first: tuple[int, int] = (0, 0)


def _room_of_print_options(room: str) -> bool:
    try:
        return hasattr(importlib.import_module(room), "HloPrintOptions")
    except ImportError:
        return False


def _names_in_order_of_signature(_: Any) -> bool:
    traced = jax.jit(lambda b, a: a + b).trace(b=1.0, a=2.0)
    return request.leaf_names(request.core_jaxpr(traced.jaxpr), 2) == ["b", "a"]


SHIMS = [
    Shim(
        "`facts.donate_argnums_skip_static` and its use in `request._declared_positions`",
        (0, 8),
        lambda seen: seen["declared"][1].donate_argnums == (0,),  # argument 1, behind a static one
    ),
    Shim(
        "`request.core_jaxpr`",
        (0, 10),
        lambda seen: seen["lowered"][0].jaxpr is not seen["lowered"][0],
    ),
    Shim(
        "`ClosedJaxpr` in `inner._jaxpr_types`",
        (0, 10),
        lambda _: getattr(core, "ClosedJaxpr", core.Jaxpr) is not core.Jaxpr,
    ),
    Shim(
        "`jaxlib.xla_extension` in `read._module_text`",
        (0, 5),
        lambda _: _room_of_print_options("jaxlib.xla_extension"),
    ),
    Shim(
        "`jaxlib._jax` in `read._module_text`",
        (0, 9),
        lambda _: _room_of_print_options("jaxlib._jax"),
        first=(0, 6),
    ),
    Shim(
        "`read._get`",
        (0, 8),
        lambda seen: not hasattr(seen["lowered"][1].stablehlo().operation.attributes, "get"),
    ),
    Shim(
        "the test for `const_args` in `read` and `request`",
        (0, 6),
        lambda seen: not hasattr(seen["lowered"][1], "const_args"),
    ),
    Shim(
        "`_cache_size` in `stages.jitted_inside`",
        (0, 5),
        lambda _: not hasattr(donating(), "_jit_info"),
    ),
    Shim("`parameters.in_flatten_order`", (0, 5), _names_in_order_of_signature),
]


@pytest.mark.parametrize("shim", SHIMS, ids=lambda shim: shim.where)
def test_a_shim_is_needed_where_it_is_said_to_be(shim, seen):
    assert shim.needed(seen) == (shim.first <= HERE <= shim.last)
    assert shim.last >= oldest_supported(), f"remove {shim.where}: no supported JAX needs it"


def test_hlo_print_options_are_found_in_one_of_the_rooms(seen):
    """Else `_module_text` prints the whole module, which takes twice the time."""
    rooms = ["jaxlib._hlo", "jaxlib._jax", "jaxlib.xla_extension"]
    assert sum(map(_room_of_print_options, rooms)) == 1
    module = seen["compiled"][1].xla_executable.hlo_modules()[0]
    assert len(read._module_text(module)) < len(module.to_string())


# Shims for older flax and equinox.

OLDEST_FLAX: tuple[int, int] = (0, 10)


def flax_version() -> tuple[int, int, int]:
    flax = pytest.importorskip("flax", reason="flax is not installed")
    major, minor, patch = re.findall(r"\d+", flax.__version__)[:3]
    return int(major), int(minor), int(patch)


def test_insides_of_nnx_variables_and_states():
    found = flax_version()
    from flax import nnx

    variable = objects._attributes(nnx.Param(floats(2)))
    names = [name for name in objects._VALUE_NAMES if name in variable]
    assert names == ["_raw_value" if found >= (0, 12, 1) else "raw_value"]
    assert objects._VARIABLE_MARK in variable
    state = nnx.state(nnx.Linear(2, 3, rngs=nnx.Rngs(0)))
    assert isinstance(objects._attributes(state)[objects._STATE_INSIDE], dict)
    leaf = objects._attributes(state["kernel"])
    assert ("value" in leaf) == (found < (0, 11)), "`value` is for VariableState"
    assert OLDEST_FLAX < (0, 11), "remove `value` in `objects._VALUE_NAMES`"
    assert OLDEST_FLAX < (0, 13), "remove `raw_value` in `objects._VALUE_NAMES`"


def test_insides_of_nnx_lists_are_numbered_attributes():
    flax_version()
    from flax import nnx

    if not hasattr(nnx, "List"):
        pytest.skip("this flax has no nnx.List")
    inside = objects._attributes(nnx.List([nnx.Param(floats(2))]))
    assert "0" in inside, "remove `isdecimal` in `objects._attribute_path`"


def test_where_nnx_keeps_the_jitted_function():
    found = flax_version()
    from flax import nnx

    step = nnx.jit(lambda model: None, donate_argnums=0)
    holders = [name for name in stages._HOLDERS if hasattr(step, name)]
    assert holders == ["jitted_fn" if found >= (0, 11) else "inner"]
    assert OLDEST_FLAX < (0, 11), "remove `inner` in `stages._HOLDERS`"
    inside = stages.jitted_inside(step)
    assert type(inside) is type(donating())
    assert type(stages.function_of(inside)).__name__ == "JitFn"


def test_where_equinox_keeps_the_jitted_function_and_its_marker():
    eqx = pytest.importorskip("equinox", reason="equinox is not installed")
    step = eqx.filter_jit(lambda x: x * 2, donate="all")
    inside = stages.jitted_inside(step)
    assert type(inside) is type(donating())
    assert equinox_names.is_wrapper(stages.function_of(inside))
    ear = Ear()
    hooks.attach(ear)
    try:
        step(floats(3))
    finally:
        hooks.detach(ear)
    [params] = [each[-1] for each in ear.heard["requested"] if each[0] is inside._fun]
    slots = request.core_jaxpr(params.params["jaxpr"]).outvars
    by_jax = request.result_names(request.core_jaxpr(params.params["jaxpr"]))
    assert by_jax == ["result[0]", "result[1]"], "remove `MARKER` in `equinox.py`"
    assert slots[0].aval.shape == (), "remove `MARKER` in `equinox.py`"


def test_stages_find_the_function_and_the_computation():
    def step(x):
        return x + 1

    jitted = jax.jit(step)
    assert stages.jitted_inside(jitted) is jitted
    assert stages.function_of(jitted) is step
    assert stages.jitted_inside(step) is None
    assert stages.jitted_inside(3) is None
    lowered = jitted.lower(floats(2))
    assert stages.jax_lowered(lowered) is lowered
    assert isinstance(stages.computation_of(lowered), pxla.MeshComputation)
    assert stages.jax_lowered(object()) is None


# Facts.

FACTS: dict[str, Callable[[tuple[int, int]], Any]] = {
    "donate_argnums_skip_static": lambda jax: jax <= (0, 8),
    "donation_is_switched_off": lambda jax: False,
    "jit_is_disabled": lambda jax: False,
    "platforms_with_donation": lambda jax: (
        ("cpu", "cuda", "rocm", "tpu", "neuron") + (("oneapi",) if jax >= (0, 11) else ())
    ),
    "pairs_by_element_count": lambda jax: jax >= (0, 8),
    "buffer_assignment_is_readable": lambda jax: jax >= (0, 6),  # measured on 0.6.2
    "hook pjit._infer_params": lambda jax: True,
    "hook pjit._parse_jit_arguments": lambda jax: True,
    "hook api.disable_jit": lambda jax: True,
    "hook interpreters.pxla.lower_sharding_computation": lambda jax: True,
    "hook interpreters.pxla.MeshComputation.compile": lambda jax: True,
}
MEASURED = [(0, minor) for minor in range(5, 13)]


def test_facts_are_as_measured_on_this_jax():
    assert HERE in MEASURED, f"measure JAX {jax.__version__} and enter it here"
    found = facts.all_facts()
    assert all(fact.how and fact.why for fact in found)
    assert {fact.name: fact.value for fact in found} == {
        name: value(HERE) for name, value in FACTS.items()
    }


def test_facts_that_depend_on_settings_are_read_anew():
    assert not facts.donation_is_switched_off()
    assert not facts.jit_is_disabled()
    with jax.debug_nans(True), jax.disable_jit():
        assert facts.donation_is_switched_off()
        assert facts.jit_is_disabled()
    assert not facts.donation_is_switched_off()
    assert not facts.jit_is_disabled()


def test_facts_name_the_versions_in_use():
    found = facts.versions()
    assert found["donatree"] == donatree.__version__
    assert found["jax"] == jax.__version__
    assert version(found["jaxlib"]) == HERE
    assert found["python"] == ".".join(map(str, sys.version_info[:3]))


def test_a_hook_that_is_gone_is_a_fact(monkeypatch):
    assert facts.hook_exists("jax._src.pjit", "_infer_params")
    monkeypatch.delattr(pjit, "_infer_params")
    assert not facts.hook_exists("jax._src.pjit", "_infer_params")
    assert not facts.hook_exists("jax._src.nowhere", "_infer_params")


# Attaching and detaching.


def test_the_last_observer_to_leave_puts_jax_back():
    before = jax_own_functions()
    first, second = Ear(), Ear()
    hooks.attach(first)
    wrapped = jax_own_functions()
    assert all(wrapped[place] is not before[place] for place in LEADING)
    hooks.attach(second)
    assert jax_own_functions() == wrapped
    hooks.detach(first)  # not in the order of a stack
    assert jax_own_functions() == wrapped
    hooks.detach(second)
    after = jax_own_functions()
    assert all(after[place] is before[place] for place in LEADING)
    assert "compile" in vars(pxla.MeshComputation)
    hooks.detach(second)  # once more does nothing
    assert all(found_at(*place) is before[place] for place in LEADING)


def test_observers_hear_from_their_attach_to_their_detach():
    first, second = Ear(), Ear()

    def program() -> None:
        donating()({"w": floats(2)}, 1.0)

    program()  # what JAX itself compiles only once
    hooks.attach(first)
    program()
    hooks.attach(second)
    program()
    hooks.detach(first)
    program()
    hooks.detach(second)
    program()
    for ear in (first, second):
        mine = {
            "declared": [info for _, info in ear.heard["declared"] if info.donate_argnums],
            "requested": [call for call in ear.heard["requested"] if call[1].donate_argnums],
            "lowered": ear.heard["lowered"],
            "compiled": ear.heard["compiled"],
        }
        assert {name: len(calls) for name, calls in mine.items()} == dict.fromkeys(mine, 2)


def test_two_watches_that_overlap_learn_the_same():
    first = donatree.watch()
    second = donatree.watch()
    with first:
        donating()({"w": floats(2)}, 1.0)
        second.__enter__()
        donating()({"w": floats(3)}, 1.0)
    donating()({"w": floats(4)}, 1.0)
    second.__exit__(None, None, None)
    assert [ledger.promised for ledger in first.ledgers] == [8, 12]
    assert [ledger.promised for ledger in second.ledgers] == [12, 16]


@pytest.mark.parametrize("names", [OBSERVER, (*OBSERVER, "fault")])
def test_an_observer_that_raises_never_disturbs_a_program(names):
    raising, ear = Raising(ValueError("broken"), *names), Ear()
    hooks.attach(raising)
    hooks.attach(ear)
    try:
        with jax.disable_jit():
            pass
        assert donating()({"w": floats(3)}, 1.0)["w"].tolist() == [2.0, 2.0, 2.0]
    finally:
        hooks.detach(raising)
        hooks.detach(ear)
    assert {where for where, _ in raising.heard["fault"]} == set(OBSERVER)
    assert set(ear.heard) == set(OBSERVER), "the next observer still hears"


def test_a_donation_error_is_let_through_before_anything_runs():
    raising = Raising(DonationError("lost", Ledger("step", "()", ("state",), ())), "compiled")
    state = {"w": floats(3)}
    step = donating()
    hooks.attach(raising)
    try:
        with pytest.raises(DonationError, match="lost"):
            step(state, 1.0)
    finally:
        hooks.detach(raising)
    assert state["w"].tolist() == [1.0, 1.0, 1.0], "nothing was donated"
    assert step(state, 1.0)["w"].tolist() == [2.0, 2.0, 2.0], "and the next call runs"


def test_an_error_of_the_program_reaches_it_unchanged():
    def fails(x):
        raise ZeroDivisionError("mine")

    with donatree.watch() as watched, pytest.raises(ZeroDivisionError) as caught:
        jax.jit(fails, donate_argnums=0)(floats(2))
    assert caught.value.args == ("mine",)
    assert watched.account.faults == ()
    with pytest.raises(ZeroDivisionError) as plain:
        jax.jit(fails, donate_argnums=0)(floats(2))
    assert frames_of(caught.value) == frames_of(plain.value)


def frames_of(error: BaseException) -> list[tuple[str, str]]:
    """The files and functions of a traceback, as JAX's own filter leaves it."""
    return [(frame.filename, frame.name) for frame in traceback.extract_tb(error.__traceback__)]


def test_two_threads_that_compile_at_once_are_both_learnt():
    meeting = threading.Barrier(2)
    results: dict[int, list[float]] = {}

    def program(size: int) -> None:
        def step(state):
            meeting.wait(timeout=60)  # both are inside a trace now
            return state * size

        results[size] = jax.jit(step, donate_argnums=0)(floats(size)).tolist()

    with donatree.watch() as watched:
        threads = [threading.Thread(target=program, args=(size,)) for size in (2, 3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert watched.account.faults == ()
    assert results == {2: [2.0, 2.0], 3: [3.0, 3.0, 3.0]}
    found = sorted((each.promised, each.entries[0].leaf.spec.aval) for each in watched.ledgers)
    assert found == [(8, "float32[2]"), (12, "float32[3]")]


def test_a_recorder_of_one_thread_does_not_hear_another():
    recorder = Recorder(thread=threading.get_ident())
    recorder.start()
    try:
        other = threading.Thread(target=lambda: donating()({"w": floats(5)}, 1.0))
        other.start()
        other.join()
        donating()({"w": floats(6)}, 1.0)
    finally:
        recorder.stop()
    assert [ledger.promised for ledger in recorder.ledgers] == [24]


# The program's objects.


def step_to_look_at(state: Any, batch: float = 1.0) -> Any:
    """Its docstring."""
    return {"w": state["w"] + batch}


def look_at_step() -> dict[str, Any]:
    """What a program can see of a jitted function without private names."""
    jitted: Any = jax.jit(step_to_look_at, donate_argnums=0)
    state = {"w": floats(7)}
    try:
        pickled: Any = pickle.loads(pickle.dumps(jitted))
    except Exception as error:
        pickled = type(error), re.sub(r"0x\w+", "0x", str(error))
    return {
        "type": type(jitted),
        "is jax's": isinstance(jitted, type(jax.jit(lambda: 0))),
        "attributes": dir(jitted),
        "own attributes": sorted(vars(jitted)),
        "repr": repr(jitted),
        "names": (jitted.__name__, jitted.__qualname__, jitted.__module__, jitted.__doc__),
        "wrapped": jitted.__wrapped__ is step_to_look_at,
        "pickle": pickled,
        "signature": str(inspect.signature(jitted)),
        "jaxpr": str(jax.make_jaxpr(jitted)(state)),
        "lowered": jitted.lower(state).as_text(),
        "compiled": jitted.lower(state).compile().as_text(),
        "shape": jax.eval_shape(jitted, state),
        "result": jitted(state)["w"].tolist(),
        "deleted": state["w"].is_deleted(),
        "cached": jitted._cache_size(),
    }


def test_a_watched_program_sees_the_same_objects():
    look_at_step()
    plain = look_at_step()
    with donatree.watch() as watched:
        watched_look = look_at_step()
    assert plain["deleted"] is True
    assert plain["result"] == [2.0] * 7
    assert [ledger.summary for ledger in watched.ledgers] == ["28 of 28 bytes, 1 of 1 leaves"]
    for name, value in plain.items():
        assert watched_look[name] == value, name


# No second compile, the same results.


COMPILES: Counter[str] = Counter()


def _count(event: str, *_: Any, **__: Any) -> None:
    if event.startswith("/jax/core/compile/"):
        COMPILES[event] += 1


jax.monitoring.register_event_duration_secs_listener(_count)
BACKEND = "/jax/core/compile/backend_compile_duration"


def plain_jit() -> Any:
    step = donating()
    first = step({"w": floats(3)}, 0.3)
    return step(first, 0.4)


def ahead_of_time() -> Any:
    compiled = donating().lower({"w": floats(3)}, floats(3)).compile()
    return compiled({"w": floats(3)}, floats(3))


def through_vmap() -> Any:
    return jax.vmap(donating())({"w": floats(3, 4)}, jnp.arange(3.0))


def through_grad() -> Any:
    loss = jax.jit(lambda state, x: jnp.sin(state["w"] * x).sum(), donate_argnums=0)
    return jax.grad(loss)({"w": floats(3)}, jnp.arange(3.0))


def with_static_arguments() -> Any:
    step = jax.jit(lambda n, x: x * n, static_argnums=0, donate_argnums=1)
    return [step(n, jnp.arange(4.0) / 3) for n in (2, 3, 2)]


def inside_another_jit() -> Any:
    inner = donating()
    return jax.jit(lambda state: inner(state, 0.1)["w"] * 3)({"w": jnp.arange(5.0)})


def a_loss_that_is_not_usable() -> Any:
    return jax.jit(lambda x: x.astype(jnp.bfloat16), donate_argnums=0)(jnp.arange(4.0) / 3)


PROGRAMS = [
    plain_jit, ahead_of_time, through_vmap, through_grad, with_static_arguments,
    inside_another_jit, a_loss_that_is_not_usable,
]  # fmt: skip


def measured(program: Callable[[], Any]) -> tuple[list[Any], Counter[str], int]:
    """A program's result as bytes, JAX's own compile events and how many arrays are left."""
    COMPILES.clear()
    result = program()
    events = Counter(COMPILES)
    leaves = [np.asarray(leaf) for leaf in jax.tree_util.tree_leaves(result)]
    return [(leaf.dtype, leaf.shape, leaf.tobytes()) for leaf in leaves], events, len(leaves)


@pytest.mark.filterwarnings("ignore:Some donated buffers were not usable")
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_a_watched_program_compiles_once_and_gives_the_same_bits(program):
    measured(program)  # what JAX itself compiles only once, such as `jnp.ones`
    gc.collect()
    before = len(jax.live_arrays())
    result, events, _ = measured(program)
    gc.collect()
    kept = len(jax.live_arrays()) - before
    with donatree.watch() as watched:
        watched_result, watched_events, _ = measured(program)
        gc.collect()
        watched_kept = len(jax.live_arrays()) - before - kept
    assert watched.account.faults == ()
    assert watched.ledgers
    assert events[BACKEND] >= 1
    assert watched_events == events
    assert watched_result == result
    assert watched_kept == kept


def test_the_count_of_compiles_would_see_a_second_one():
    measured(plain_jit)  # what JAX itself compiles only once
    _, once, _ = measured(plain_jit)
    _, twice, _ = measured(lambda: [plain_jit(), plain_jit()])
    assert twice[BACKEND] == once[BACKEND] + 1 >= 2


def through_equinox() -> tuple[Any, Any]:
    eqx = pytest.importorskip("equinox", reason="equinox is not installed")
    step = eqx.filter_jit(lambda kept, given: given * kept.sum(), donate="all-except-first")
    return step, (floats(5), floats(6))


def through_nnx() -> tuple[Any, Any]:
    pytest.importorskip("flax", reason="flax is not installed")
    from flax import nnx

    step = nnx.jit(lambda kept, given: given * kept.sum(), donate_argnums=1)
    return step, (floats(5), floats(6))


def through_jit() -> tuple[Any, Any]:
    step = jax.jit(lambda kept, given: given * kept.sum(), donate_argnums=1)
    return step, (floats(5), floats(6))


@pytest.mark.parametrize("library", [through_jit, through_equinox, through_nnx])
def test_no_reference_to_an_argument_is_kept(library):
    def program() -> tuple[Any, list[Any]]:
        step, arguments = library()
        seen = [weakref.ref(each) for each in arguments]
        step(*arguments)
        return step, seen

    program()
    with donatree.watch() as watched:
        step, seen = program()
        gc.collect()
        alive = [reference() is not None for reference in seen]
    assert [ledger.promised for ledger in watched.ledgers] == [24]
    assert alive == [False, False]
    assert step is not None


# Ledgers hold plain data.

PLAIN = ("builtins", "enum", "types", "collections", "donatree")


def foreign(root: Any) -> list[Any]:
    """Objects that can be reached from `root` and are neither plain data nor donatree's own."""
    found, queue, met = [], [root], set()
    while queue:
        each = queue.pop()
        if id(each) in met or isinstance(each, type) or inspect.ismodule(each):
            continue
        met.add(id(each))
        if type(each).__module__.partition(".")[0] not in PLAIN or callable(each):
            found.append(each)
            continue
        queue += gc.get_referents(each)
        queue += [] if gc.is_tracked(each) else list(getattr(each, "__dict__", {}).values())
        if hasattr(type(each), "__slots__"):
            names = getattr(type(each), "__slots__", ())
            queue += [getattr(each, name, None) for name in names]
    return found


@pytest.mark.filterwarnings("ignore:Some donated buffers were not usable")
def test_a_ledger_holds_no_object_of_jax():
    with donatree.watch() as watched:
        for program in PROGRAMS:
            program()
    account = watched.account
    assert len(account.ledgers) >= len(PROGRAMS) - 1
    assert foreign(account) == []


def test_a_planted_array_is_found_in_a_ledger():
    entry = {"deep": [("x", floats(2))]}
    planted = Ledger("step", "()", (), (), notes=(entry,))  # type: ignore[arg-type]
    assert len(foreign(planted)) == 1
    assert len(foreign(Ledger("step", "()", (), (), notes=(np.float32(1),)))) == 1  # type: ignore


# Faults: where private JAX is not as it was.


def report_of(watched: Watched) -> str:
    stream = io.StringIO()
    terminal.write(watched.account, stream, Options())
    return stream.getvalue()


def test_a_failing_reader_is_a_fault_and_the_program_runs(monkeypatch):
    def gone(computation: Any) -> Any:
        raise AttributeError("'Module' object has no attribute 'body'")

    monkeypatch.setattr(read, "read_lowering", gone)
    with donatree.watch() as watched:
        result = donating()({"w": floats(3)}, 1.0)
    assert result["w"].tolist() == [2.0, 2.0, 2.0]
    [fault] = watched.account.faults
    assert fault.where == "lowered"
    assert fault.error == "AttributeError: 'Module' object has no attribute 'body'"
    assert "in gone" in fault.traceback
    assert watched.account.versions["jax"] == jax.__version__
    report = report_of(watched)
    assert "donatree itself failed here; your program was not touched" in report
    assert fault.error in report
    assert f"jax {jax.__version__}" in report


# JAX's own warning.


def unusable(size: int) -> None:
    jax.jit(lambda x: x[:1].astype(jnp.int8), donate_argnums=0)(floats(size))


def test_the_warning_goes_into_the_ledger_and_other_warnings_are_shown():
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        with donatree.watch() as watched:
            unusable(3)
            warnings.warn("mine", UserWarning, stacklevel=1)
        unusable(6)
    [ledger] = watched.ledgers
    assert [note for note in ledger.notes if "Some donated buffers were not usable" in note]
    assert [str(each.message)[:20] for each in shown] == ["mine", "Some donated buffers"]


def test_the_last_watch_to_leave_puts_the_warnings_back():
    before = warnings.showwarning
    first, second = donatree.watch(), donatree.watch()
    with first:
        second.__enter__()
        unusable(4)
    assert warnings.showwarning is not before
    unusable(5)
    second.__exit__(None, None, None)
    assert warnings.showwarning is before
    for watched, sizes in ((first, [16]), (second, [16, 20])):
        noted = [ledger for ledger in watched.ledgers if "JAX itself warned" in str(ledger.notes)]
        assert [ledger.promised for ledger in noted] == sizes


def test_warnings_that_somebody_else_took_since_are_left_alone():
    def mine(*_: Any, **__: Any) -> None:
        return None

    before = warnings.showwarning
    with donatree.watch():
        warnings.showwarning = mine
    assert warnings.showwarning is mine
    warnings.showwarning = before


class Without:
    """A computation that lacks one attribute."""

    def __init__(self, computation: Any, name: str) -> None:
        self._computation, self._name_gone = computation, name

    def __getattr__(self, name: str) -> Any:
        if name == self._name_gone:
            raise AttributeError(f"'MeshComputation' object has no attribute '{name}'")
        return getattr(self._computation, name)


@pytest.mark.parametrize("name", ["compile_args"])
def test_a_private_name_that_is_gone_is_a_fault_and_the_program_runs(name, monkeypatch):
    observe = read.observe

    def without(computation: Any, *rest: Any) -> Any:
        return observe(Without(computation, name), *rest)

    monkeypatch.setattr(read, "observe", without)
    with donatree.watch() as watched:
        result = donating()({"w": floats(3)}, 1.0)
    assert result["w"].tolist() == [2.0, 2.0, 2.0]
    assert watched.ledgers == ()
    [fault] = watched.account.faults
    assert fault.where == "compiled"
    assert f"no attribute '{name}'" in fault.error
    assert f"no attribute '{name}'" in report_of(watched)


def test_a_fault_is_an_error_of_audit(monkeypatch):
    monkeypatch.setattr(read, "observe", lambda *_: 1 / 0)
    with pytest.raises(RuntimeError, match="donatree failed in compiled: ZeroDivisionError"):
        donatree.audit(donating(), {"w": floats(3)}, 1.0)


@pytest.mark.parametrize(("module", "path"), [each[:2] for each in hooks._HOOKS])
def test_a_hook_that_is_gone_is_a_fault_and_the_others_work(module, path, monkeypatch):
    wraps = {(each[0], each[1]): each[2] for each in hooks._HOOKS}
    there = [(m, p, wraps[m, p]) for m, p in wraps if (m, p) != (module, path)]
    moved = (module, f"{path}_as_it_was", wraps[module, path])
    before = jax_own_functions()
    monkeypatch.setattr(hooks, "_HOOKS", (moved, *there))
    with donatree.watch() as watched:
        result = donating()({"w": floats(3)}, 1.0)
    assert result["w"].tolist() == [2.0, 2.0, 2.0]
    assert [fault.where for fault in watched.account.faults] == [f"hook {module}.{path}_as_it_was"]
    assert all(found_at(*place) is before[place] for place in LEADING)


def test_a_fault_is_kept_once_and_not_without_end(monkeypatch):
    count = iter(range(1000))
    monkeypatch.setattr(read, "read_lowering", lambda _: [][next(count) % 30])
    with donatree.watch() as watched:
        for size in range(1, 4):
            donating()({"w": floats(size)}, 1.0)
    assert len(watched.account.faults) == 1


def test_donate_argnums_skip_static_agrees_with_what_jax_donates():
    """The fact says how to read JAX's numbers; this says that the reading is right."""
    step = jax.jit(lambda n, a, m, b: (a * n, b * m), static_argnums=(0, 2), donate_argnums=(1, 3))
    with donatree.watch() as watched:
        step(2, floats(3), 3, floats(4))
    [ledger] = watched.ledgers
    assert [entry.path for entry in ledger.entries] == ["a", "b"]
    assert ledger.lost == ()
