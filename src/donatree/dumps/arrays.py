"""Leaves and slots of a module, from its shapes and what it names them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from donatree import paths
from donatree.hlo.padding import padded_size_in_bytes
from donatree.hlo.shape import EntryShape
from donatree.ledger import ArraySpec, Leaf, Slot

_JAX_NAMES = {
    "pred": "bool",
    **{f"s{bits}": f"int{bits}" for bits in (2, 4, 8, 16, 32, 64)},
    **{f"u{bits}": f"uint{bits}" for bits in (2, 4, 8, 16, 32, 64)},
    **{f"f{bits}": f"float{bits}" for bits in (16, 32, 64)},
    "bf16": "bfloat16",
    "c64": "complex64",
    "c128": "complex128",
    "f8e4m3fn": "float8_e4m3fn",
    "f8e5m2": "float8_e5m2",
}
_MEMORIES = {5: "host"}


def spec_of(shape: EntryShape) -> ArraySpec:
    """What is known of an array: the shard of one device, in the layout of its target."""
    size = padded_size_in_bytes(shape)
    size = shape.size_in_bytes if size is None else size
    kind = _MEMORIES.get(shape.memory_space) if shape.memory_space else None
    if shape.memory_space and kind is None:
        kind = f"memory space {shape.memory_space}"
    dtype = _JAX_NAMES.get(shape.dtype, shape.dtype)
    return ArraySpec(dtype, shape.shape, shape.shape, size, size, memory_kind=kind)


def leaves_of(shapes: Sequence[EntryShape], names: Mapping[int, str]) -> tuple[Leaf, ...]:
    """The leaves of a module's parameters.

    A name that several parameters have, as PyTorch/XLA gives them, tells nothing and is left out.

    Args:
        shapes: of the parameters, as `Alias.input` counts them.
        names: what the framework named them.

    Example:
        >>> from donatree.hlo.header import read_header
        >>> text = "HloModule f, entry_computation_layout={(f32[4]{0}, s32[])->f32[4]{0}}"
        >>> [leaf.path for leaf in leaves_of(read_header(text).inputs, {1: "state.step"})]
        ['parameter 0', 'state.step']
    """
    times = Counter(names.values())
    answer = []
    for number, shape in enumerate(shapes):
        name = names.get(number, "")
        known = bool(name) and times[name] == 1
        path = name if known else f"parameter {number}"
        argument = paths.split(name)[0] if known else "parameters"
        answer.append(Leaf(path, argument, number, spec_of(shape)))
    return tuple(answer)


def slots_of(shapes: Sequence[EntryShape], names: Sequence[str]) -> tuple[Slot, ...]:
    """The slots of a module's result; those without a name are counted."""
    named = len(names) == len(shapes) and len(set(names)) == len(names) and all(names)
    return tuple(
        Slot(names[number] if named else f"output {number}", number, spec_of(shape))
        for number, shape in enumerate(shapes)
    )
