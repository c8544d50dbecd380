"""What JAX itself says of a call: the truth of a case, measured without a line of donatree.

Read are `args_info` of the lowering, the attributes of `@main` and the first line of the compiled
module by regular expression, `alias_size_in_bytes`, and after a real call which leaves are gone.
"""

from __future__ import annotations

import re
import warnings
from typing import Any, NamedTuple

import jax

from cases_table import Call, plain

Leaf = tuple[bool, bool, str | None]


class Measured(NamedTuple):
    """What JAX did: per donated leaf (kept, matched, slot), XLA's total and JAX's warning."""

    leaves: list[Leaf]
    alias: int
    warning: str | None


def measure(call: Call) -> Measured:
    """Lowers and compiles; runs nothing."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        lowered = call.step.lower(*call.args, **call.kwargs)
    compiled = lowered.compile()
    donated = [info.donated for info in jax.tree_util.tree_leaves(lowered.args_info)]
    # The one private attribute: nothing public tells which leaves are parameters of the module.
    indices: Any = compiled._executable
    number_of = {leaf: number for number, leaf in enumerate(sorted(indices._kept_var_idx))}
    attributes = _attributes(lowered.as_text())
    aliases = _aliases(compiled.as_text().split("\n", 1)[0])
    slots = [
        "result" + jax.tree_util.keystr(path)
        for path, _ in jax.tree_util.tree_flatten_with_path(lowered.out_info)[0]
    ]
    leaves: list[Leaf] = []
    for leaf in (index for index, flag in enumerate(donated) if flag):
        number = number_of.get(leaf)
        if number is None:
            leaves.append((False, False, None))
        else:
            slot = slots[aliases[number]] if number in aliases else None
            leaves.append((True, attributes[number], slot))
    statistics: Any = compiled.memory_analysis()
    return Measured(leaves, statistics.alias_size_in_bytes, _donation_warning(caught))


def gone_after(call: Call) -> list[bool | None]:
    """Which of the donated leaves are gone after a call; None for what was no array."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        infos = jax.tree_util.tree_leaves(call.step.lower(*call.args, **call.kwargs).args_info)
        jax.block_until_ready(call.step(*call.args, **call.kwargs))
    dynamic = [value for place, value in enumerate(call.args) if place not in call.static]
    leaves = jax.tree_util.tree_leaves((dynamic, dict(call.kwargs)))
    assert len(leaves) == len(infos)
    return [
        leaf.is_deleted() if isinstance(leaf, jax.Array) else None
        for leaf, info in zip(leaves, infos, strict=True)
        if info.donated
    ]


def _attributes(stablehlo: str) -> list[bool]:
    """For each parameter of `@main` whether JAX marked it for reuse."""
    found = re.search(r"func\.func public @main\((.*?)\) -> ", stablehlo, re.DOTALL)
    assert found is not None
    parts = re.split(r"%arg\d+: ", found[1])[1:]
    return ["tf.aliasing_output" in part or "jax.buffer_donor" in part for part in parts]


def _aliases(header: str) -> dict[int, int]:
    """Number of the output by number of the parameter."""
    found = re.search(r"input_output_alias=\{(.*?)\}, entry_computation_layout", header)
    pairs = re.findall(r"\{(\d*)\}: \((\d+), \{\}, m", found[1] if found else "")
    return {int(parameter): int(output or 0) for output, parameter in pairs}


def _donation_warning(caught: list[warnings.WarningMessage]) -> str | None:
    lines = [plain(str(each.message).splitlines()[0]) for each in caught]
    found = [line for line in lines if line.startswith("Some donated buffers")]
    assert len(found) < 2
    return found[0] if found else None
