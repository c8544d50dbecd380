"""A user's own description of a GPU: XLA's ``GpuTargetConfigProto`` in text."""

from __future__ import annotations

import re
from dataclasses import dataclass

from donatree.errors import TargetError

NEEDED: dict[str, str] = {
    "threads_per_block_limit": "without it sorting does not compile",
    "threads_per_warp": "without it XLA crashes by SIGFPE",
    "shared_memory_per_block": "without it sorting does not compile",
    "core_count": "without it XLA puts copies where there would be none",
    "fpus_per_core": "without it XLA puts copies where there would be none",
    "block_dim_limit_x": "without it XLA crashes by SIGFPE",
    "clock_rate_ghz": "without it XLA puts copies where there would be none",
    "shared_memory_per_block_optin": "without it softmax does not compile",
    "cuda_compute_capability": "without it XLA compiles for no GPU that there is",
}
"""The fields that decide alias maps and temporaries, and what happens without each."""

_FIELD = re.compile(r"([A-Za-z_]\w*)\s*(:|\{|<)")
_NOISE = re.compile(r"#[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'")


@dataclass(frozen=True, slots=True)
class Description:
    """What a description says.

    Attributes:
        text: all of it.
        memory: its ``device_memory_size`` in bytes; None where it has none.
        kind: its ``device_description_str``.
    """

    text: str
    memory: int | None
    kind: str | None


def read_description(text: str, name: str) -> Description:
    """Checks a description for the fields without which XLA crashes or is wrong.

    Args:
        text: the description.
        name: what to call it in the error.

    Returns:
        The description.

    Raises:
        TargetError: one line that names the missing fields, or says that it is none.

    Example:
        >>> from donatree.targets.gpus import GPUS
        >>> read_description(GPUS["l4"].text(), "mine.txtpb").memory
        23659151360
    """
    plain = _NOISE.sub(lambda found: '""' if found[0][0] in "\"'" else "", text)
    if "\x00" in text or not re.search(r"\bgpu_device_info\s*:?\s*[{<]", plain):
        raise TargetError(
            f"`{name}` is no description of a GPU: it has no `gpu_device_info {{ ... }}`; XLA"
            " writes one as `*gpu_target_config.pbtxt` where `--xla_dump_to` is set and the GPU is"
        )
    numbers = dict(re.findall(r"\b(\w+)\s*:\s*([\d.eE+-]+)", plain))
    present = {found[1] for found in _FIELD.finditer(plain)}
    missing = [
        field
        for field in NEEDED
        if field not in present or (field in numbers and _is_zero(numbers[field]))
    ]
    if "cuda_compute_capability" in present and _is_zero(numbers.get("major", "0")):
        missing.append("cuda_compute_capability { major }")
    if missing:
        fields = ", ".join(f"`{field}`" for field in missing)
        why = NEEDED.get(missing[0], NEEDED["cuda_compute_capability"])
        raise TargetError(
            f"`{name}` has no {fields}: {why if len(missing) == 1 else _WHY}"
            "; `donatree targets --describe h100` prints a whole one"
        )
    memory = numbers.get("device_memory_size", "")
    kind = re.search(r"device_description_str\s*:\s*\"([^\"]*)\"", text)
    return Description(
        text=text,
        memory=int(memory) if memory.isdigit() and int(memory) else None,
        kind=kind[1] if kind else None,
    )


_WHY = "without them XLA crashes, or answers wrongly and says nothing"


def _is_zero(number: str) -> bool:
    try:
        return float(number) == 0
    except ValueError:
        return True
