"""What a file of a dump is, by its name."""

from __future__ import annotations

import enum
import re

_AFTER = r"(?:cpu_|tpu_|gpu_|sm_[0-9.]+[a-z]?_gpu_|gfx\w+_gpu_)?after_optimizations"
_NAME = re.compile(
    r"(module_[0-9]+(?:\..+?)?)\."
    rf"(before_optimizations|{_AFTER}|oom_intermediate_module)"
    r"(-buffer-assignment|-live-range|_after_buffer_assignment)?"
    r"\.(txt|hlo\.pb|hlo)",
    re.S,
)
_OF_XLA = re.compile(r"module_[0-9]+\.", re.S)
_READABLE = (".txt", ".hlo", ".pb", ".mlir", ".stablehlo", ".text", ".textpb")


class Stage(enum.Enum):
    """What a file says of a module."""

    BEFORE = "the module as XLA was given it"
    AFTER = "the compiled module"
    ASSIGNMENT = "its buffer assignment"
    RANGES = "when its values live"
    MLIR = "the StableHLO that JAX lowered to"
    UNKNOWN = "what its content says"


def stage_of(name: str) -> tuple[str, Stage, int] | None:
    """What the name of a file says.

    Args:
        name: without its folder.

    Returns:
        The module, the stage, and a rank: of two files that say the same the lower one is read.
        None where the file says nothing of a module's donation.

    Example:
        >>> stage_of("module_0001.jit_step.sm_9.0a_gpu_after_optimizations.txt")
        ('module_0001.jit_step', <Stage.AFTER: 'the compiled module'>, 0)
        >>> stage_of("module_0001.jit_step.thunk_sequence.txt") is None
        True
    """
    found = _NAME.fullmatch(name)
    if found is not None:
        module, stage, part, ending = found.groups()
        rank = 2 * (ending != "txt") + (part == "_after_buffer_assignment")
        if stage == "oom_intermediate_module":
            return module, Stage.AFTER, 8
        if part == "-buffer-assignment":
            return (module, Stage.ASSIGNMENT, rank) if ending == "txt" else None
        if part == "-live-range":
            return (module, Stage.RANGES, rank) if ending == "txt" else None
        return module, Stage.BEFORE if stage == "before_optimizations" else Stage.AFTER, rank
    if _OF_XLA.match(name) or not name.endswith(_READABLE):
        return None
    return name, Stage.MLIR if name.endswith(".mlir") else Stage.UNKNOWN, 0


def platform_of(name: str) -> str | None:
    """The platform that a compiled module's file name tells of; None where it tells none.

    Example:
        >>> platform_of("module_0001.jit_step.cpu_after_optimizations.txt")
        'cpu'
        >>> platform_of("module_0000.jit_step.cl_1004524046.after_optimizations.txt")
        'tpu'
    """
    if ".cpu_after_optimizations" in name:
        return "cpu"
    if re.search(r"gpu_after_optimizations", name):
        return "gpu"
    return "tpu" if re.search(r"\.cl_[0-9]+\.", name) else None
