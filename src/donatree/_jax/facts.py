"""Named facts about the installed JAX, each with how it was established.

The rest of donatree asks a fact and never a version. `donatree debug` prints all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact: its name, its value here, how that was established, and what rests on it."""

    name: str
    value: Any
    how: str
    why: str


def versions() -> dict[str, str]:
    """Versions of donatree, jax, jaxlib and Python."""
    import platform

    import jax
    import jaxlib.version

    from donatree import _version

    return {
        "donatree": _version.__version__,
        "jax": jax.__version__,
        "jaxlib": jaxlib.version.__version__,
        "python": platform.python_version(),
    }


@cache
def donate_argnums_skip_static() -> bool:
    """Whether `PjitInfo.donate_argnums` counts dynamic arguments only (JAX up to 0.8).

    Up to 0.8 `resolve_argnums` calls `rebase_donate_argnums`; since 0.9 the numbers stay as the
    user wrote them. Read from the code object of `resolve_argnums`.
    """
    from jax._src import api_util

    return "rebase_donate_argnums" in api_util.resolve_argnums.__code__.co_names


def donation_is_switched_off() -> bool:
    """Whether `jax_debug_nans` is on: JAX then records no donation (pjit.py, measured 0.5-0.12)."""
    import jax

    config: Any = jax.config  # not every JAX declares its flags to type checkers
    return bool(config.jax_debug_nans)


def jit_is_disabled() -> bool:
    """Whether `jax_disable_jit` is on: jitted functions run as plain Python, nothing is donated."""
    import jax

    config: Any = jax.config
    return bool(config.jax_disable_jit)


def platforms_with_donation() -> tuple[str, ...]:
    """The platforms for which JAX lowers donation; for any other it is dropped with a warning."""
    from jax._src.interpreters import mlir

    return tuple(mlir._platforms_with_donation)


@cache
def pairs_by_element_count() -> bool:
    """Whether a leaf without a slot of its type may take one of equal element count (since 0.8).

    It then becomes a `jax.buffer_donor` and XLA decides; JAX's warning stays silent. Established
    by lowering `int32[3] -> float32[3]`.
    """
    import warnings

    import jax
    import jax.numpy as jnp

    def drifted(x: Any) -> Any:
        return x + 0.5

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        shape = jax.ShapeDtypeStruct((3,), jnp.int32)
        text = jax.jit(drifted, donate_argnums=0).lower(shape).as_text()
    return "jax.buffer_donor" in text


@cache
def buffer_assignment_is_readable() -> bool:
    """Whether the executable carries its buffer assignment (filled since jaxlib 0.6.2)."""
    import jax
    import jax.numpy as jnp

    compiled = jax.jit(jnp.sin).lower(jax.ShapeDtypeStruct((3,), jnp.float32)).compile()
    return bool(getattr(compiled.memory_analysis(), "serialized_buffer_assignment_proto", None))


def hook_exists(module: str, path: str) -> bool:
    """Whether the private function that a hook wraps is there."""
    import importlib

    try:
        found: Any = importlib.import_module(module)
        for name in path.split("."):
            found = getattr(found, name)
    except (ImportError, AttributeError):
        return False
    return callable(found)


HOOKS: tuple[tuple[str, str], ...] = (
    ("jax._src.api", "disable_jit"),
    ("jax._src.pjit", "_parse_jit_arguments"),
    ("jax._src.pjit", "_infer_params"),
    ("jax._src.interpreters.pxla", "lower_sharding_computation"),
    ("jax._src.interpreters.pxla", "MeshComputation.compile"),
)


def all_facts() -> list[Fact]:
    """Every fact, established now (lowers and compiles two tiny functions)."""
    rows: list[tuple[str, Callable[[], Any], str, str]] = [
        (
            "donate_argnums_skip_static",
            donate_argnums_skip_static,
            "code of `api_util.resolve_argnums`",
            "which argument a number of `donate_argnums` means beside static arguments",
        ),
        (
            "donation_is_switched_off",
            donation_is_switched_off,
            "`jax.config.jax_debug_nans` now",
            "DT101",
        ),
        ("jit_is_disabled", jit_is_disabled, "`jax.config.jax_disable_jit` now", "DT102"),
        (
            "platforms_with_donation",
            platforms_with_donation,
            "`mlir._platforms_with_donation`",
            "DT303",
        ),
        (
            "pairs_by_element_count",
            pairs_by_element_count,
            "lowered int32[3] -> float32[3] and read `@main`",
            "whether a dtype drift is silent (DT402) or reused (DT403)",
        ),
        (
            "buffer_assignment_is_readable",
            buffer_assignment_is_readable,
            "compiled sin(float32[3]) and looked",
            "the gate in place",
        ),
    ]
    facts = [Fact(name, value(), how, why) for name, value, how, why in rows]
    for module, path in HOOKS:
        name = f"hook {module.removeprefix('jax._src.')}.{path}"
        facts.append(Fact(name, hook_exists(module, path), "looked it up", "`run` and `watch`"))
    return facts
